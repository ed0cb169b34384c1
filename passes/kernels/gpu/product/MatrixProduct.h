//===- MatrixProduct.h - A contraction as a product of matrices -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders for tensor cores ask of a kernel: whether its heavy generic is
/// a product of matrices that lie in memory as they are, in steps of one
/// stride each. Several loops for rows (a batch and a sequence, say) are one
/// where they are contiguous in every operand.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXPRODUCT_H
#define KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXPRODUCT_H

#include "passes/kernels/gpu/product/GpuContractionTile.h"

#include "dialects/shape/Facts.h"

namespace kpc::kernels {

/// A matrix in memory, or one for each batch index. Strides in elements.
struct Matrix {
  mlir::Value Memref;
  unsigned Argument = 0; ///< the function's, the base pointer
  mlir::Type Element;    ///< as stored
  shape::Expr RowStride, ColumnStride, BatchStride;
};

/// The memory behind a tensor, through casts that tensor cores make themselves;
/// null where there is none.
mlir::Value memoryOf(mlir::Value Tensor);
/// Fills in where `Memref` is; false where it is no plain view of an argument.
bool placeMatrix(Matrix &M, mlir::Value Memref);

/// D = A·B, then what the kernel does with each element of it.
struct MatrixProduct {
  Contraction C;
  shape::Facts Facts;
  shape::Expr Rows, Columns, Sum, Batch;
  Matrix A; ///< rows × sum
  Matrix B; ///< sum × columns
  Matrix D; ///< rows × columns
  /// Each element of D is made of an element of another matrix at its place,
  /// too: a residual.
  bool ReadsAtResult = false;
  /// A second product of the same A, each element of which meets that of the
  /// first at its place: a gate.
  struct Twin {
    Contraction C;
    Matrix B;
  };
  std::optional<Twin> Second = {};
  /// Each element of D may be made of the sum so many columns before or behind
  /// it, too: runs of columns that change places in pairs. 0: none is.
  int64_t Exchanged = 0;

  /// None where the kernel is something else, has two products or exchanges
  /// columns.
  static std::optional<MatrixProduct> read(KernelForm &Form);
  /// The kernel as each of its products sees it; lives as long as what is read.
  struct Forms {
    KernelForm First, Second;
  };
  /// The same for builders that know what to do with `Second` and `Exchanged`.
  static std::optional<MatrixProduct> readAny(KernelForm &Form, Forms &Own);
  /// As `read` without A and B, of which the caller knows more: a
  /// convolution's.
  static std::optional<MatrixProduct> readResult(KernelForm &Form);

  bool hasBatch() const { return Batch != shape::Expr(1); }
  /// Both factors are f32 that may be rounded to tf32 (kpc.tf32).
  bool isTf32() const;
  /// Tensor cores multiply the factors: both f16, both bf16, or tf32; sums in
  /// f32.
  bool hasTensorTypes() const;

private:
  static std::optional<MatrixProduct> readD(KernelForm &Form);
  static std::optional<MatrixProduct> readExchanging(KernelForm &Form);
  static std::optional<MatrixProduct> readPair(Forms &Own);
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXPRODUCT_H
