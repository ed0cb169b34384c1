//===- LowerRecurrent.cpp - The kernel of a recurrent layer ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.recurrent  →  kernel.recurrent
///
/// Its buffers are the function's, whole and row-major, in the types that they
/// have in memory.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/LowerRecurrent.h"
#include "dialects/kernel/KernelRecurrent.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

LogicalResult graph::lowerRecurrent(RecurrentOp Op, KernelWriter &W) {
  if (!Op.getBody().empty())
    return Op.emitError("a recurrent layer becomes a kernel when "
                        "choose-recurrent has taken its loops");
  func::FuncOp Kernel = W.kernel();
  auto Buffer = [&](Value V) {
    return V ? Value(Kernel.getArgument(cast<BlockArgument>(V).getArgNumber()))
             : Value();
  };
  SmallVector<Value> Xs, Writes;
  for (Value X : Op.getX())
    Xs.push_back(Buffer(X));
  unsigned Inputs = Op->getBlock()->getNumArguments();
  for (unsigned I = 0; I < Op.getNumResults(); ++I)
    Writes.push_back(Kernel.getArgument(Inputs + I));
  SymbolicTensorType Y = typeOf(Op.getResult(0));
  Value Steps = W.size(Y.getDims()[0]), Batch = W.size(Y.getDims()[1]);
  kernel::RecurrentOp::create(
      W.builder(), Op.getLoc(), stringifyCellKind(Op.getKind()), Xs,
      Buffer(Op.getR()), Buffer(Op.getBias()), Buffer(Op.getLengths()),
      Buffer(Op.getState()), Buffer(Op.getCell()), Writes, Steps, Batch,
      *Y.getStaticDim(3), Op.getReversed(), /*tf32=*/false);
  func::ReturnOp::create(W.builder(), Op.getLoc());
  return success();
}
