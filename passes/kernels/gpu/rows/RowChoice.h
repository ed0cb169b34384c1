//===- RowChoice.h - How rows are cut for a GPU -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sizes that a schedule of rows is chosen for, and the cases that the
/// kernel must distinguish at run time.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H
#define KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H

#include "passes/kernels/gpu/rows/RowKernel.h"
#include "passes/schedule/RowSchedule.h"

namespace kpc::kernels {

/// What the sizes of a kernel say of its rows.
struct RowChoice {
  schedule::RowShape Shape;
  int64_t Lanes = 1;     ///< of aligned rows
  bool MayBeOdd = false; ///< rows may be others
  /// Rows may be empty, or of a length without a bound.
  bool MayBeEmpty = false;
  std::optional<int64_t> MaxLength;
  llvm::SmallVector<mlir::OpFoldResult> Check;
  /// Rows begin anywhere, but in all views alike: there are vectors from the
  /// first element on that is a multiple of Lanes behind the view's start.
  /// Strides of the dims before the row.
  llvm::SmallVector<mlir::OpFoldResult> Strides;

  /// Whether there may be rows that do not fit the registers of `S`.
  bool mayBeLong(const schedule::RowSchedule &S) const {
    return MayBeEmpty || !MaxLength || *MaxLength > S.capacity();
  }
};

/// Threads of a block that walks a row of any length.
inline constexpr int64_t LongThreads = 512;

RowChoice readRowChoice(const RowKernel &K);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ROWS_ROWCHOICE_H
