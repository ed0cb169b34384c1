//===- TensorMath.cpp - Arithmetic on tensors of integers ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/TensorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

Value TensorMath::spread(Value V, ArrayRef<Expr> Dims) {
  SymbolicTensorType To = typeOf(V).withDims(Dims);
  return To == V.getType() ? V : BroadcastOp::create(B, Loc, To, V);
}

Value TensorMath::number(int64_t V, Value As) {
  Type Element = typeOf(As).getElementType();
  auto Attr = isFloat(Element)
                  ? TypedAttr(B.getFloatAttr(Element, double(V)))
                  : TypedAttr(IntegerAttr::get(
                        Element, APInt(Element.getIntOrFloatBitWidth(),
                                       uint64_t(V), /*isSigned=*/false,
                                       /*implicitTrunc=*/true)));
  Attribute One = Attr;
  Value Scalar = ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, Element),
                             ArrayRef(One)));
  return spread(Scalar, dims(As));
}

Value TensorMath::size(const Expr &E, Value As) {
  if (std::optional<int64_t> Known = E.asConstant())
    return number(*Known, As);
  Value Size = SizesOp::create(B, Loc, DimsAttr::get(B.getContext(), {E}));
  Size = cast(reshape(Size, {}), typeOf(As).getElementType());
  return spread(Size, dims(As));
}

Value TensorMath::dividedBy(Value X, int64_t Power) {
  return binary<ShrOp>(X, number(llvm::Log2_64(Power), X));
}

Value TensorMath::restOf(Value X, int64_t Power) {
  return bitAnd(X, number(Power - 1, X));
}

Value TensorMath::compare(Predicate P, Value X, Value Y) {
  return CompareOp::create(B, Loc, P, X, Y);
}

Value TensorMath::select(Value Condition, Value X, Value Y) {
  return SelectOp::create(B, Loc, Condition, X, Y);
}

Value TensorMath::cast(Value X, Type To) {
  if (typeOf(X).getElementType() == To)
    return X;
  return CastOp::create(B, Loc, X, To);
}

Value TensorMath::bitcast(Value X, Type To) {
  if (typeOf(X).getElementType() == To)
    return X;
  return BitcastOp::create(B, Loc, X, To);
}

Value TensorMath::iota(ArrayRef<Expr> Dims, int64_t Axis, Type Element) {
  return IotaOp::create(B, Loc, SymbolicTensorType::get(Dims, Element), Axis);
}

Value TensorMath::reshape(Value X, ArrayRef<Expr> Dims) {
  SymbolicTensorType To = typeOf(X).withDims(Dims);
  return To == X.getType() ? X : ReshapeOp::create(B, Loc, To, X);
}

Value TensorMath::swappedWithLast(Value X, int64_t Axis) {
  int64_t Last = typeOf(X).getRank() - 1;
  if (Axis == Last)
    return X;
  auto Perm = llvm::to_vector(llvm::seq<int64_t>(0, Last + 1));
  std::swap(Perm[Axis], Perm.back());
  return TransposeOp::create(B, Loc, X, Perm);
}

Value TensorMath::gatherElements(Value X, Value Indices, int64_t Axis) {
  return GatherElementsOp::create(B, Loc, X, Indices, Axis);
}

Value TensorMath::firstOfRows(Value X, const Expr &Count) {
  SymbolicTensorType Ty = typeOf(X);
  SmallVector<Expr> Sizes(Ty.getDims());
  if (Sizes.back() == Count)
    return X;
  Sizes.back() = Count;
  SmallVector<Expr> Start(Sizes.size(), Expr(0));
  SmallVector<int64_t> Step(Sizes.size(), 1);
  return SliceOp::create(B, Loc, Ty.withDims(Sizes), X,
                         DimsAttr::get(B.getContext(), Start), Step);
}

Value TensorMath::sum(Value X, int64_t Axis) {
  return ReduceOp::create(B, Loc, ReduceKind::sum, X, ArrayRef{Axis});
}
