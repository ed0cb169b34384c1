//===- StoredRows.h - Rows that are in memory where they are many -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel of few rows computes the norm in front of its GEMM. Where there are
/// more rows, a kernel in front of it does, and the GEMM reads what that wrote
/// (kernel.stored_above): then the form is the GEMM's alone.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_STOREDROWS_H
#define KPC_PASSES_KERNELS_FORM_STOREDROWS_H

#include "passes/kernels/form/FusedKernel.h"

namespace kpc::kernels {

struct StoredRows {
  mlir::linalg::GenericOp Op;
  shape::Expr Rows; ///< over `argN`
  int64_t Above = 0;

  /// None where the kernel has no such rows.
  static std::optional<StoredRows> find(mlir::func::FuncOp Kernel);
  /// The kernel reads them; ops that nothing uses any more are erased.
  void takeFromMemory();
};

/// Whether a generic hands on its first input, which lies in memory as well
/// where there are many rows.
bool isStoredRows(mlir::linalg::GenericOp Op);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_STOREDROWS_H
