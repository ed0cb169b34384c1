//===- VerifyEarlyCopies.cpp - What comes before the wait for kernels -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel that waits for others by itself (tile.grid_dependency_wait) may run
/// while they do, until then. So what comes before only copies weights, which
/// no kernel of a run writes, and touches no other memory of the device.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace kpc::tile;

/// Whether all that `Memory` may be are weights among the kernel's arguments.
static bool isWeight(Value Memory, kpc::kernel::BuffersAttr Buffers) {
  if (auto Choice = Memory.getDefiningOp<arith::SelectOp>())
    return isWeight(Choice.getTrueValue(), Buffers) &&
           isWeight(Choice.getFalseValue(), Buffers);
  if (auto View = Memory.getDefiningOp<ViewLikeOpInterface>())
    return isWeight(View.getViewSource(), Buffers);
  auto Argument = dyn_cast<BlockArgument>(Memory);
  return Argument && Buffers &&
         isa<gpu::GPUFuncOp>(Argument.getOwner()->getParentOp()) &&
         Buffers.getWeightBytesOf(Argument.getArgNumber()) > 0;
}

LogicalResult kpc::tile::verifyEarlyCopies(gpu::GPUFuncOp Kernel) {
  GridDependencyWaitOp Wait;
  WalkResult One = Kernel.walk([&](GridDependencyWaitOp Op) {
    // A loop's further rounds wait for nothing any more.
    Operation *Parent = Op->getParentOp();
    while (isa<scf::ForOp>(Parent))
      Parent = Parent->getParentOp();
    if (Wait || Parent != Kernel) {
      Op.emitOpError("expected once in a kernel, where all threads come by");
      return WalkResult::interrupt();
    }
    Wait = Op;
    return WalkResult::advance();
  });
  if (One.wasInterrupted())
    return failure();
  if (!Wait)
    return success();
  kpc::kernel::BuffersAttr Buffers = kpc::kernel::buffersOf(Kernel);
  auto Check = [&](Operation *Op) {
    if (isMemoryEffectFree(Op) || isa<scf::IfOp>(Op) ||
        isa<PipeOp, AllocOp, AcquireOp, CommitOp>(Op))
      return WalkResult::advance();
    auto Copy = dyn_cast<CpAsyncVectorOp>(Op);
    if (Copy && isWeight(Copy.getMemory(), Buffers))
      return WalkResult::advance();
    Op->emitOpError("expected copies of weights alone before "
                    "'tile.grid_dependency_wait', got memory that other "
                    "kernels may still write");
    return WalkResult::interrupt();
  };
  for (Operation *Last = Wait; Last != Kernel; Last = Last->getParentOp())
    for (Operation &Op :
         llvm::make_range(Last->getBlock()->begin(), Last->getIterator()))
      if (Op.walk(Check).wasInterrupted())
        return failure();
  return success();
}
