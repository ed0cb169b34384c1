//===- LoopForm.h - A loop as stages of a block -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the body of a kernel.loop is made of, read off the IR:
///
/// - Stages. All threads of a block compute the elements of one, each by pull
///   evaluation, and keep them in shared memory. A barrier ends each level.
/// - Axes. Along an axis no stage reads another index than it writes, so
///   that blocks that have different indices never need each other's values.
///
/// A class of dims is what stages make one by reading at the same index. It is
/// an axis unless one of them is also read at another place: through a sum, a
/// constant or a gather. Memory may be read at any place.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_LOOPFORM_H
#define KPC_PASSES_KERNELS_FORM_LOOPFORM_H

#include "dialects/kernel/KernelLoop.h"
#include "passes/kernels/form/FusedKernel.h"
#include "passes/schedule/LoopSchedule.h"

#include <string>
#include <vector>

namespace kpc::kernels {

/// A tensor of which a block has some elements.
struct LoopValue {
  mlir::Value Tensor;
  llvm::SmallVector<mlir::OpFoldResult> Sizes;
  llvm::SmallVector<int> Axes; ///< of each dim; -1: a block has all of it
};

struct LoopForm {
  struct Stage : LoopValue {
    /// A generic of the body, or what is there already (`IsCopy`).
    bool IsCopy = false;
    /// Whether other stages read it, or the condition is its.
    bool IsKept = false;
    int Next = -1; ///< the carried value whose next one it is
    llvm::SmallVector<unsigned> Collected; ///< results that it is a part of
    unsigned Level = 1;
    schedule::LoopStage Cost; ///< without its extent
  };

  kernel::LoopOp Op;
  std::vector<LoopValue> Carried;
  std::vector<Stage> Stages;                  ///< in the order of their levels
  llvm::SmallVector<mlir::OpFoldResult> Axes; ///< sizes
  std::vector<bool> InPlace; ///< of each carried value: has one memory
  int Condition = -1; ///< the stage that says whether there is another step
  /// For each output of the kernel, the result of the loop that it holds.
  llvm::SmallVector<unsigned> ResultOf;

  /// The loop of the kernel; null if it has none.
  static kernel::LoopOp find(mlir::func::FuncOp Func);
  /// None with the reason, which follows "because", in `Why`.
  static std::optional<LoopForm> read(FusedKernel &Form, std::string &Why);

  schedule::LoopShape shape() const;
  schedule::LoopExtent extentOf(const LoopValue &V) const;
  const Stage *stageOf(mlir::Value Tensor) const;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_LOOPFORM_H
