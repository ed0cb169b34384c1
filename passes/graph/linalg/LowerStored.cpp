//===- LowerStored.cpp - Rows that are in memory where they are many ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/LowerStored.h"
#include "dialects/graph/GraphStored.h"
#include "dialects/kernel/KernelStored.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

FailureOr<Value> graph::lowerStored(Operation *Op, KernelWriter &W) {
  auto Stored = dyn_cast<StoredOp>(Op);
  if (!Stored)
    return failure();
  SymbolicTensorType Ty = typeOf(Stored.getY());
  AffineMap Same = leadingDims(Ty.getRank(), Ty.getRank(), Op->getContext());
  Value Y = W.map(
      Ty, {W.tensor(Stored.getComputed()), W.tensor(Stored.getMemory())},
      {Same, Same}, [](OpBuilder &, Location, ValueRange X) { return X[0]; });
  Y.getDefiningOp()->setAttr(kernel::StoredAboveName, Stored.getAboveAttr());
  return Y;
}

void graph::setLaunchedIf(RegionOp Region, KernelWriter &W) {
  auto Above = Region->getAttrOfType<IntegerAttr>(LaunchedAboveName);
  if (!Above)
    return;
  Expr Rows(1);
  for (const Expr &Dim : typeOf(Region.getOutputs()[0]).getDims().drop_back()) {
    Expr One = Dim;
    if (!One.isConstant())
      One = Expr::symbol(
          "arg" +
          std::to_string(cast<BlockArgument>(W.size(Dim)).getArgNumber()));
    Rows = Rows * One;
  }
  Expr Is = Expr::min(Rows.floorDiv(Expr(Above.getInt() + 1)), Expr(1));
  W.kernel()->setAttr(kernel::LaunchedIfName,
                      StringAttr::get(Region.getContext(), Is.str()));
}
