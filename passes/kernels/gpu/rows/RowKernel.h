//===- RowKernel.h - A kernel whose reductions share their rows -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax, norms and similar kernels: reductions, all over the same dimensions
/// of one shape (the row), and the ops between them, which use elements of the
/// same row and earlier reductions of it:
///
///   m[o] = max x[o, r]     s[o] = sum exp(x[o, r] - m[o])
///   y[o, r] = exp(x[o, r] - m[o]) / s[o]
///
/// Outputs have the whole shape (wide) or one element a row (narrow). The row's
/// dimensions may come before outer ones, such as the pixels of a channels-last
/// image before its groups, or the channels before all pixels.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ROWS_ROWKERNEL_H
#define KPC_PASSES_KERNELS_GPU_ROWS_ROWKERNEL_H

#include "passes/kernels/form/FusedKernel.h"

namespace kpc::kernels {

struct RowReduction {
  mlir::linalg::LinalgOp Op;
  /// Per result, the operation that joins partial results.
  llvm::SmallVector<mlir::Operation *> Combiners;
};

struct RowKernel {
  FusedKernel &Form;
  /// In the order in which they need one another.
  llvm::SmallVector<RowReduction> Reductions;
  llvm::SmallVector<mlir::OpFoldResult> OuterSizes, RowSizes;
  /// Of each dimension of the shape, its number among outer ones and then those
  /// of the row.
  llvm::SmallVector<unsigned> LoopOfDim;
  llvm::SmallVector<KernelOutput> Wide, Narrow;

  /// Whether the last dimension is none of the row's.
  bool areRowsColumns() const {
    return LoopOfDim.back() + 1 == OuterSizes.size();
  }
  bool areRowsContiguous() const {
    return LoopOfDim.back() + 1 == LoopOfDim.size();
  }
  /// `Loops`, one for each outer dimension and those of the row, in the order
  /// of the shape.
  template <typename T>
  llvm::SmallVector<T> inShape(llvm::ArrayRef<T> Loops) const {
    return llvm::map_to_vector(LoopOfDim,
                               [&](unsigned Loop) { return Loops[Loop]; });
  }

  /// Of each dimension of an output of one element a row, its outer dimension;
  /// none where its size is 1.
  llvm::SmallVector<std::optional<unsigned>>
  loopsOfNarrow(const KernelOutput &Out) const;

  /// None where the kernel is something else.
  static std::optional<RowKernel> read(FusedKernel &Form);

  /// Bytes of all buffers of the whole shape, for one element of it.
  int64_t BytesRead = 0, BytesWritten = 0;
  /// Of the smallest element among these.
  int64_t LeastBytes = 8;
  /// Their views.
  llvm::SmallVector<mlir::Value> WideViews = {};
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ROWS_ROWKERNEL_H
