//===- Factorizations.h - Matrices of known sizes, for rules ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

/// Matrices as one batch, [R, m, n] in f32 or f64.
struct Matrices {
  Value X;
  Dims Batch;
  int64_t Rows = 0, Columns = 0;
  Type Stored;
  int64_t least() const { return std::min(Rows, Columns); }
};

/// The matrices in the last two axes, whose sizes must be known and the smaller
/// at most `MostOfLess`. None after a report.
std::optional<Matrices> matricesOf(NodeImport &N, Value X, int64_t MostOfLess);
/// The same of matrices with as many rows as columns.
std::optional<Matrices> squareMatricesOf(NodeImport &N, Value X, int64_t Most);
/// The last two axes in each other's places; null for less than two.
Value transposed(NodeImport &N, Value X);
/// A value of [R, ...] with the batch as it was.
Value inBatch(NodeImport &N, const Matrices &M, Value V);

/// X of A X = B, by elimination with pivots, for [R, n, n] and [R, n, k].
Value solvedSystem(NodeImport &N, Value A, Value B, int64_t Size);

/// The singular values of the matrices in the last two axes, in descending
/// order: [..., least side]. Null after a report.
Value singularValuesOf(NodeImport &N, Value X);

/// Refuses what gives complex numbers of reals, with a way out.
void unsymmetricEigenvalues(NodeImport &N);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H
