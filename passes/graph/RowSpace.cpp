//===- RowSpace.cpp - What a kernel that works row by row may hold --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static bool isOne(const Expr &E) { return E == Expr(1); }

bool graph::movesOnesOnly(ReshapeOp Op) {
  auto Others = [](SymbolicTensorType Ty) {
    return llvm::to_vector(llvm::make_filter_range(
        Ty.getDims(), [](const Expr &E) { return !isOne(E); }));
  };
  return Others(typeOf(Op.getX())) == Others(typeOf(Op.getY()));
}

std::optional<RowSpace> RowSpace::reducedBy(Operation *Op) {
  auto Reduce = dyn_cast<ReduceOp>(Op);
  if (!Reduce || Reduce.getAxes().empty())
    return std::nullopt;
  SymbolicTensorType Ty = typeOf(Reduce.getX());
  if (!graph::isNumber(Ty.getElementType()))
    return std::nullopt;
  RowSpace S;
  S.Dims.assign(Ty.getDims().begin(), Ty.getDims().end());
  S.RowRank = Reduce.getAxes().size();
  for (int64_t Axis : Reduce.getAxes())
    if (Axis < Ty.getRank() - int64_t(S.RowRank))
      return std::nullopt;
  return S;
}

Expr RowSpace::rowSize() const {
  Expr Size = 1;
  for (const Expr &E : ArrayRef(Dims).take_back(RowRank))
    Size = Size * E;
  return Size;
}

bool RowSpace::isWhole(SymbolicTensorType Ty) const {
  return Ty.getDims() == ArrayRef(Dims);
}

bool RowSpace::isPerRow(SymbolicTensorType Ty) const {
  ArrayRef<Expr> Outer = ArrayRef(Dims).drop_back(RowRank);
  size_t Rank = Ty.getRank();
  return (Rank == Outer.size() || Rank == Dims.size()) &&
         Ty.getDims().take_front(Outer.size()) == Outer &&
         llvm::all_of(Ty.getDims().drop_front(Outer.size()), isOne);
}

bool RowSpace::keepsRows(Operation *Op) const {
  if (Op->getNumResults() != 1)
    return false;
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return reducedBy(Reduce) == *this;
  SymbolicTensorType To = typeOf(Op->getResult(0));
  if (Op->hasTrait<ElementwiseTrait>())
    return isWhole(To) || isPerRow(To);
  SymbolicTensorType From = Op->getNumOperands() == 1
                                ? typeOf(Op->getOperand(0))
                                : SymbolicTensorType();
  if (auto Reshape = dyn_cast<ReshapeOp>(Op))
    return isPerRow(From) && isPerRow(To);
  // Dimensions of one side by side, so that each row gets its own element.
  if (isa<BroadcastOp>(Op))
    return isPerRow(From) && (isWhole(To) || isPerRow(To)) &&
           (From.getRank() == To.getRank() || Dims.size() == RowRank);
  return false;
}
