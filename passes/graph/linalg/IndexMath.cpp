//===- IndexMath.cpp - Index arithmetic in a generic's body --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/IndexMath.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace kpc::graph;

Value IndexMath::constant(int64_t V) {
  return arith::ConstantIndexOp::create(B, Loc, V);
}
Value IndexMath::add(Value X, Value Y) {
  return arith::AddIOp::create(B, Loc, X, Y);
}
Value IndexMath::sub(Value X, Value Y) {
  return arith::SubIOp::create(B, Loc, X, Y);
}
Value IndexMath::mul(Value X, Value Y) {
  return arith::MulIOp::create(B, Loc, X, Y);
}
Value IndexMath::floorDiv(Value X, Value Y) {
  return arith::FloorDivSIOp::create(B, Loc, X, Y);
}

static Value compare(IndexMath &M, arith::CmpIPredicate P, Value X, Value Y) {
  return arith::CmpIOp::create(M.B, M.Loc, P, X, Y);
}

Value IndexMath::equal(Value X, Value Y) {
  return compare(*this, arith::CmpIPredicate::eq, X, Y);
}
Value IndexMath::less(Value X, Value Y) {
  return compare(*this, arith::CmpIPredicate::slt, X, Y);
}
Value IndexMath::below(Value X, Value Y) {
  // As unsigned, a negative index is beyond the size too.
  return compare(*this, arith::CmpIPredicate::ult, X, Y);
}
Value IndexMath::both(Value X, Value Y) {
  return X ? arith::AndIOp::create(B, Loc, X, Y).getResult() : Y;
}

Value IndexMath::linearize(ValueRange Index, ValueRange Sizes) {
  if (Index.empty())
    return constant(0);
  return affine::AffineLinearizeIndexOp::create(B, Loc, Index, Sizes,
                                                /*disjoint=*/true);
}

SmallVector<Value> IndexMath::delinearize(Value Linear, ValueRange Sizes) {
  if (Sizes.empty())
    return {};
  auto Op = affine::AffineDelinearizeIndexOp::create(B, Loc, Linear, Sizes,
                                                     /*hasOuterBound=*/true);
  return SmallVector<Value>(Op.getResults());
}

Value IndexMath::wrappedIndex(Value Element, bool Unsigned, Value Size) {
  if (Unsigned)
    return arith::IndexCastUIOp::create(B, Loc, B.getIndexType(), Element);
  Value Index = arith::IndexCastOp::create(B, Loc, B.getIndexType(), Element);
  return arith::SelectOp::create(B, Loc, less(Index, constant(0)),
                                 add(Index, Size), Index);
}

Value IndexMath::clampedIndex(Value Element, bool Unsigned, Value Size) {
  Value Index = wrappedIndex(Element, Unsigned, Size);
  Value Last = sub(Size, constant(1));
  return arith::MaxSIOp::create(
      B, Loc, arith::MinSIOp::create(B, Loc, Index, Last), constant(0));
}
