//===- PickedMatrix.h - Matrices that indices pick --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of a stack [g, k, n], the operand [batch, k, n] whose matrices a vector of
/// indices picks:
///
///   %w = linalg.generic { %i = linalg.index 0
///                         %g = tensor.extract %indices[%i]   (then clamped)
///                         %e = tensor.extract %stack[%g, %k, %n] }
///   kernel.gemm %x, %w
///
/// A kernel reads the index once for a tile, and then the stack.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_PICKEDMATRIX_H
#define KPC_PASSES_KERNELS_GPU_GEMM_PICKEDMATRIX_H

#include "passes/kernels/gpu/GpuThreads.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kpc::kernels {

struct MatrixPick {
  mlir::linalg::GenericOp By;
  mlir::Value Index; ///< in its body: of the matrix in the stack

  /// What makes `Tensor`, where that is a pick; `Stack` is then what it picks
  /// from.
  static std::optional<MatrixPick> read(mlir::Value Tensor, mlir::Value &Stack);
  /// The index at `Batch`; some index after a diagnostic.
  mlir::Value at(GpuWriter &W, mlir::Value Batch) const;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_PICKEDMATRIX_H
