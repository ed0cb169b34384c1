//===- SortedRuns.h - A kernel that sorts or merges runs --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_SORTEDRUNS_H
#define KPC_PASSES_KERNELS_FORM_SORTEDRUNS_H

#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/FusedKernel.h"

namespace kpc::kernels {

/// A kernel whose one output is a `kernel.sort_runs`.
struct SortedRuns {
  kernel::SortRunsOp Op;
  mlir::Value Memref; ///< that it is written to
  /// The sizes of the rows' dims, that of a row, and how many elements of each
  /// are written.
  llvm::SmallVector<mlir::OpFoldResult> RowSizes;
  mlir::OpFoldResult Size, Written;

  /// None where the kernel is something else.
  static std::optional<SortedRuns> read(const FusedKernel &Form);

  /// The memory that runs are read from; null if they are computed.
  mlir::Value source() { return viewOf(Op.getX()); }
  int64_t from() { return Op.getFrom(); }
  int64_t to() { return Op.getTo(); }
  bool writesAll() const { return Size == Written; }
  /// Parts of `Elements` that all rows have together; none where a size has no
  /// expression. Rows are a multiple of it long, or end with a shorter part.
  std::optional<shape::Expr> parts(int64_t Elements) const;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_SORTEDRUNS_H
