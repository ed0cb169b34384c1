//===- LowerLoop.cpp - The kernel of a loop -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.loop  →  kernel.loop
///
/// Sizes are arguments of the kernel. Those that name the loop's counter are
/// computed from the step's number.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/LowerLoop.h"
#include "dialects/kernel/KernelLoop.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

LogicalResult graph::lowerLoop(LoopOp Op, KernelWriter &W) {
  OpBuilder &B = W.builder();
  Location Loc = Op.getLoc();
  Block &From = Op.getBody().front();
  SmallVector<Value> Inits;
  for (Value Init : Op.getInits())
    Inits.push_back(W.tensor(Init));
  SmallVector<Type> Results;
  for (Value Result : Op.getResults())
    Results.push_back(W.tensorType(typeOf(Result)));
  Value Begins = Op.getBegins() ? W.tensor(Op.getBegins()) : Value();
  auto Loop = kernel::LoopOp::create(B, Loc, Results, W.size(Op.getTrips()),
                                     Begins, Inits, Op.getReversed());
  OpBuilder::InsertionGuard Guard(B);
  Block *To = B.createBlock(&Loop.getBody());
  W.enterLoop(Op.getCounter(), To->addArgument(B.getIndexType(), Loc));
  for (auto [Argument, Init] : llvm::zip_equal(From.getArguments(), Inits))
    W.bind(Argument, To->addArgument(Init.getType(), Loc));
  if (failed(W.writeOps(From)))
    return failure();
  SmallVector<Value> Values;
  for (Value V : From.getTerminator()->getOperands())
    Values.push_back(W.tensor(V));
  kernel::NextOp::create(B, Loc, Values);
  W.leaveLoop();
  for (auto [Old, New] : llvm::zip_equal(Op.getResults(), Loop.getResults()))
    W.bind(Old, New);
  return success();
}
