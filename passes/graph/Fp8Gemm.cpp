//===- Fp8Gemm.cpp - GEMMs of FP8 in the graph ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Fp8Gemm.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Rows that TMA copies begin at multiples of 16 bytes: elements of FP8 along
/// K, and of 16 bits along N.
static constexpr int64_t RowElements = 16, ResultElements = 8;
/// Rows from which a GEMM is one of tensor cores that multiply both operands;
/// those of fewer read weights alone.
static constexpr int64_t FewRows = 16;

StringRef graph::refusalOfFp8(MatmulOp Op, const shape::Facts &Facts) {
  ArrayRef<Expr> A = typeOf(Op.getA()).getDims(),
                 Y = typeOf(Op.getY()).getDims();
  const Expr &M = Y[Y.size() - 2], &N = Y.back(), &K = A.back();
  if (Facts.optimum(M).value_or(FewRows + 1) <= FewRows)
    return "it has few rows";
  if (Facts.divisor(K) % RowElements || Facts.range(K).Min < 1)
    return "K is no multiple of 16";
  if (Facts.divisor(N) % ResultElements)
    return "N is no multiple of 8";
  return "";
}

/// One element of `Scale` for each of `To`; a vector lies along dim `Dim`.
static Value spread(OpBuilder &B, Location Loc, Value Scale,
                    SymbolicTensorType To, int64_t Dim) {
  if (typeOf(Scale).getElementType() != To.getElementType())
    Scale = CastOp::create(B, Loc, Scale, To.getElementType());
  if (typeOf(Scale).getRank() == 1) {
    SmallVector<Expr> Sizes(To.getRank(), Expr(1));
    Sizes[Dim] = To.getDims()[Dim];
    Scale = B.createOrFold<ReshapeOp>(Loc, To.withDims(Sizes), Scale);
  }
  return BroadcastOp::create(B, Loc, To, Scale);
}

Value graph::scaled(OpBuilder &B, Value Product, Value ScaleOfA,
                    Value ScaleOfB) {
  SymbolicTensorType To = typeOf(Product);
  Location Loc = Product.getLoc();
  Value Scale;
  for (auto [One, Dim] : {std::pair(ScaleOfA, To.getRank() - 2),
                          std::pair(ScaleOfB, To.getRank() - 1)}) {
    if (!One)
      continue;
    Value More = spread(B, Loc, One, To, Dim);
    Scale = Scale ? Value(MulOp::create(B, Loc, Scale, More)) : More;
  }
  return Scale ? Value(MulOp::create(B, Loc, Product, Scale)) : Product;
}

bool graph::isFp8Product(Value V) {
  auto Op = V.getDefiningOp<MatmulOp>();
  return Op && isFp8(typeOf(Op.getA()).getElementType());
}

bool graph::scalesFp8Product(Operation *Op) {
  return isa<MulOp>(Op) && llvm::any_of(Op->getOperands(), isFp8Product);
}

Value graph::scalar(OpBuilder &B, Location Loc, double Value) {
  Type F32 = B.getF32Type();
  return ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, F32),
                             B.getFloatAttr(F32, Value)));
}
