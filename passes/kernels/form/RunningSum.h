//===- RunningSum.h - A generic that is a running sum -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_RUNNINGSUM_H
#define KPC_PASSES_KERNELS_FORM_RUNNINGSUM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kpc::kernels {

/// A generic by which each element is the sum of those in front of it along one
/// axis, by definition: it folds over all of them, or over its block, and takes
/// what lies before it.
struct RunningSum {
  mlir::Value X;     ///< the tensor that is summed up
  unsigned Axis = 0; ///< a dim of X and of the result
  /// Sums begin anew at multiples of it.
  std::optional<int64_t> Block;
  bool Exclusive = false, Reverse = false;

  /// None where `Op` is something else.
  static std::optional<RunningSum> read(mlir::linalg::LinalgOp Op);
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_RUNNINGSUM_H
