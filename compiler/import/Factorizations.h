//===- Factorizations.h - QR, eigenvalues, singular values ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_FACTORIZATIONS_H
#define KPC_COMPILER_IMPORT_FACTORIZATIONS_H

#include "compiler/import/Control.h"

namespace kpc::frontend {

/// The most columns that rotations take: sweeps times columns are iterations.
inline constexpr int64_t LargestRotated = 128;

/// The first columns of Q, [R, m, Columns], and R [R, m, n] of matrices [R, m,
/// n] of known sizes, by Householder's reflections with LAPACK's signs. None
/// after a report.
std::optional<std::pair<Value, Value>>
orthogonalTriangular(Emitter &N, Value A, int64_t Columns, LoopBuilder Loop);

/// Ascending eigenvalues [R, n] of symmetric matrices [R, n, n] and the
/// vectors, columns of [R, n, n], by Jacobi's rotations.
std::optional<std::pair<Value, Value>> eigenSymmetric(Emitter &N, Value A,
                                                      LoopBuilder Loop);

/// A = U diag(S) V^T, with S in descending order.
struct Singular {
  Value U, S, V; ///< [R, m, n], [R, n], [R, n, n]
};
/// Of [R, m, n] with m >= n, by rotations of columns (Hestenes). A column of U
/// whose singular value is 0 is 0.
std::optional<Singular> singularValues(Emitter &N, Value A, LoopBuilder Loop);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_FACTORIZATIONS_H
