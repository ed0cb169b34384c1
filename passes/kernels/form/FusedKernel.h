//===- FusedKernel.h - A kernel in linalg form ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders ask of a kernel in its linalg form: its outputs, its root
/// op, and the sizes and memory behind its tensors. All of it is read off
/// the IR; nothing is changed.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_FUSEDKERNEL_H
#define KPC_PASSES_KERNELS_FORM_FUSEDKERNEL_H

#include "dialects/shape/Expr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace kpc::kernels {

/// One value that the kernel writes, and where to.
struct KernelOutput {
  mlir::Value Tensor;
  mlir::Value Memref;
};

struct FusedKernel {
  mlir::func::FuncOp Func;
  llvm::SmallVector<KernelOutput> Outputs;
  /// The one op with reduction iterators; null if there is none.
  mlir::linalg::LinalgOp Root;
  /// Several ops reduce: pull evaluation handles this, and builders that
  /// say so.
  bool SeveralRoots = false;
  /// The first of exactly two that reduce, `Root` being the second.
  mlir::linalg::LinalgOp FirstRoot;

  /// The same kernel with `One` as its root: each of two ops that reduce
  /// sees it so.
  FusedKernel withRoot(mlir::linalg::LinalgOp One) const {
    return {Func, Outputs, One, /*SeveralRoots=*/false, /*FirstRoot=*/{}};
  }

  /// Reads `Func`. Reports a diagnostic where it is not in the form.
  static mlir::FailureOr<FusedKernel> read(mlir::func::FuncOp Func);
};

/// The size of dimension `Dim` of a kernel's tensor: an attribute, or a value
/// at function level. Null where the producer is none that the form allows.
mlir::OpFoldResult tensorSize(mlir::Value Tensor, unsigned Dim);

/// The number of iterations of loop `Loop` of `Op`. Null if no operand has it
/// as a plain dimension.
mlir::OpFoldResult loopSize(mlir::linalg::LinalgOp Op, unsigned Loop);

/// The operation `acc op value` that result `Number` of `Op` yields; null if it
/// is something else.
mlir::Operation *combinerOf(mlir::linalg::LinalgOp Op, unsigned Number);

/// `Op` where it is one that loops compute: null for fills, which are the same
/// everywhere, and for ops that are not of the form.
mlir::linalg::LinalgOp loopsOf(mlir::Operation *Op);
/// The op whose loops compute `Tensor`; null for what is in memory.
mlir::linalg::LinalgOp loopsBehind(mlir::Value Tensor);

/// The memref that `Tensor` is a view of, or null if it is computed.
mlir::Value viewOf(mlir::Value Tensor);

/// The stride, in elements, of dimension `Dim` of `Memref`.
mlir::OpFoldResult strideOf(mlir::Value Memref, unsigned Dim);

/// The constant behind `Size`, if it is one.
std::optional<int64_t> constantOf(mlir::OpFoldResult Size);

/// A size, stride or offset as an expression over `argN`, the function's
/// arguments by position. None where an operation stands behind it that sizes
/// have no expression for.
std::optional<shape::Expr> sizeExpr(mlir::OpFoldResult Size);
/// The product of such sizes; none if one of them is no expression.
std::optional<shape::Expr>
productExpr(llvm::ArrayRef<mlir::OpFoldResult> Sizes);

/// The iteration index of each loop of `Op` that result `Result` is at for
/// element indices `Indices`; null for reduction loops.
llvm::SmallVector<mlir::Value> loopIndicesOfElement(mlir::linalg::LinalgOp Op,
                                                    unsigned Result,
                                                    mlir::ValueRange Indices);

/// Erases the ops on tensors that a builder has replaced by loops.
void eraseTensorOps(mlir::func::FuncOp Func);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_FUSEDKERNEL_H
