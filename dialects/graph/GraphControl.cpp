//===- GraphControl.cpp - Loops and branches -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"

#include <set>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

bool graph::names(ArrayRef<Expr> Dims, StringRef Symbol) {
  std::set<std::string, std::less<>> Names;
  for (const Expr &E : Dims)
    E.collectSymbols(Names);
  return Names.count(Symbol.str());
}

LogicalResult LoopOp::verify() {
  if (getCount().getDims().size() != 1)
    return emitOpError("counts its iterations in one expression, not in ")
           << getCount().getDims().size();
  if (names(getCount().getDims(), getCounter()))
    return emitOpError("counts its iterations by its own counter '")
           << getCounter() << "'";
  if (Value Begins = getBegins();
      Begins && typeOf(Begins).getNumElements() != Expr(1))
    return emitOpError("takes one bool, not ") << Begins.getType();
  if (getNumResults() != getNumCarried() + getReversed().size())
    return emitOpError("has ")
           << getNumResults() << " results, but carries " << getNumCarried()
           << " values and collects " << getReversed().size();
  return success();
}

/// What leaves one iteration has the same sizes in each.
static LogicalResult verifyLeaves(LoopOp Loop, Type Ty) {
  if (!names(cast<SymbolicTensorType>(Ty).getDims(), Loop.getCounter()))
    return success();
  return Loop.emitOpError("yields ")
         << Ty << ", whose sizes change from iteration to iteration";
}

LogicalResult LoopOp::verifyRegions() {
  Block &Body = getBody().front();
  if (Body.getArgumentTypes() != TypeRange(getInits()))
    return emitOpError("block arguments differ from the initial values' types");
  auto Yield = dyn_cast<YieldOp>(Body.back());
  if (!Yield || Yield.getValues().size() != getNumResults() + endsByData())
    return emitOpError("yields another number of values than its results");
  if (Value Begins = getBegins();
      Begins && Yield.getValues().front().getType() != Begins.getType())
    return emitOpError("yields ")
           << Yield.getValues().front().getType()
           << " first, which should say whether there is another iteration";
  for (auto [I, Yielded] : llvm::enumerate(getYielded().getTypes())) {
    if (failed(verifyLeaves(*this, Yielded)))
      return failure();
    Type Wanted = Yielded;
    if (I >= getNumCarried()) {
      auto Part = cast<SymbolicTensorType>(Yielded);
      SmallVector<Expr> Dims{getTrips()};
      llvm::append_range(Dims, Part.getDims());
      Wanted = Part.withDims(Dims);
    } else if (Yielded != getInits()[I].getType()) {
      return emitOpError("carries ") << getInits()[I].getType()
                                     << " into its body and yields " << Yielded;
    }
    if (getResult(I).getType() != Wanted)
      return emitOpError("result ") << I << " is " << getResult(I).getType()
                                    << ", but should be " << Wanted;
  }
  return success();
}

LogicalResult IfOp::verify() {
  if (typeOf(getCondition()).getNumElements() == Expr(1))
    return success();
  return emitOpError("takes one bool, not ") << getCondition().getType();
}

LogicalResult IfOp::verifyRegions() {
  for (Region *Branch : {&getThen(), &getOtherwise()}) {
    auto Yield = dyn_cast<YieldOp>(Branch->front().back());
    if (!Yield || TypeRange(Yield.getValues()) != getResultTypes())
      return emitOpError("a branch yields other types than the results");
  }
  return success();
}
