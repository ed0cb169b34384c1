//===- GraphRecurrent.cpp - Recurrent layers ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/GraphRecurrent.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

#include "dialects/graph/GraphRecurrentEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/graph/GraphRecurrent.cpp.inc"

LogicalResult RecurrentOp::verify() {
  SymbolicTensorType R = typeOf(getR()), X = typeOf(getX().front());
  if (getX().size() != getDirections() || getDirections() < 1)
    return emitOpError("expected an input for each of ")
           << getDirections() << " directions, got " << getX().size();
  std::optional<int64_t> Hidden =
      R.getRank() == 3 ? R.getStaticDim(2) : std::nullopt;
  int64_t Gates = gatesOf(getKind());
  if (!Hidden || X.getRank() != 3 ||
      R.getDims()[0] != Expr(int64_t(getDirections())) ||
      R.getDims()[1] != Expr(Gates * *Hidden))
    return emitOpError("expected weights of [directions, ")
           << Gates << "*hidden, hidden] and inputs of rank 3, got " << R
           << " and " << X;
  Expr Steps = X.getDims()[0], Batch = X.getDims()[1];
  for (Value V : getX())
    if (typeOf(V) != X || X.getDims()[2] != Expr(Gates * *Hidden))
      return emitOpError("expected inputs of [steps, batch, ")
             << Gates * *Hidden << "], got " << V.getType();
  Expr Directions = R.getDims()[0], Size(*Hidden);
  auto HasDims = [](Value V, ArrayRef<Expr> Wanted) {
    return !V || typeOf(V).getDims() == Wanted;
  };
  bool IsLstm = getKind() == CellKind::lstm;
  if (!HasDims(getState(), {Directions, Batch, Size}) ||
      !HasDims(getCell(), {Directions, Batch, Size}) ||
      !HasDims(getBias(), {Directions, Size}) ||
      !HasDims(getLengths(), {Batch}) || IsLstm != bool(getCell()))
    return emitOpError("expected a state (and, of lstm alone, a cell) of "
                       "[directions, batch, hidden], a bias of [directions, "
                       "hidden] and lengths of [batch]");
  unsigned Meant = getNumMeant(), Own = getBody().empty() ? 3 : 0;
  if (getNumResults() != Meant + Own)
    return emitOpError("expected ")
           << Meant + Own << " results, got " << getNumResults();
  for (unsigned I = 0; I < Meant; ++I)
    if (!HasDims(getResult(I),
                 I == 0 ? ArrayRef<Expr>{Steps, Batch, Directions, Size}
                        : ArrayRef<Expr>{Directions, Batch, Size}))
      return emitOpError("result ")
             << I << " is " << getResult(I).getType()
             << "; expected y of [steps, batch, directions, hidden], and state "
                "and cell of [directions, batch, hidden]";
  return success();
}

LogicalResult RecurrentOp::verifyRegions() {
  if (getBody().empty())
    return success();
  auto Yield = dyn_cast<RecurrentYieldOp>(getBody().front().back());
  if (!Yield || TypeRange(Yield.getValues()) != getResultTypes())
    return emitOpError("its body yields other types than its results");
  return success();
}
