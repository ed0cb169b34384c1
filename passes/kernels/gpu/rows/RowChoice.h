//===- RowChoice.h - How rows are cut for a GPU -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule that rows of a kernel are built by, and which cases its sizes
/// leave to be told apart when the kernel runs.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H
#define KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H

#include "compiler/target/Target.h"
#include "passes/kernels/gpu/GpuLaunch.h"
#include "passes/kernels/gpu/rows/RowKernel.h"
#include "passes/schedule/RowSchedule.h"

namespace kpc::kernels {

/// What the sizes of a kernel say of its rows.
struct RowChoice {
  schedule::RowSchedule S;
  int64_t Lanes = 1;      ///< of aligned rows
  bool MayBeOdd = false;  ///< rows may be others
  bool MayBeLong = false; ///< or not fit the registers
  llvm::SmallVector<mlir::OpFoldResult> Check;
  /// Rows begin anywhere, but in all views alike: there are vectors from the
  /// first element on that is a multiple of Lanes behind the view's start.
  /// Strides of the dims before the row.
  llvm::SmallVector<mlir::OpFoldResult> Strides;
};

/// None where the user asks for another family's schedule.
std::optional<RowChoice> chooseRows(const RowKernel &K, const target::Target &T,
                                    GpuLaunch &Launch);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H
