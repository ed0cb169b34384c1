//===- Matrices.h - Determinants and eliminations ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_MATRICES_H
#define KPC_COMPILER_IMPORT_MATRICES_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// The largest matrix whose determinant is written out.
inline constexpr int64_t LargestDeterminant = 4;
/// Steps of an elimination that are iterations of a loop.
inline constexpr int64_t LargestElimination = 1024;

/// Laplace's expansion of [..., n, n], with n known and small.
Value determinant(Emitter &N, Value X);

/// One step of Gauss and Jordan on [R, n, m] with m >= n: of the rows from
/// `Step` on the one with the greatest element of column `Step` becomes row
/// `Step`, and the column a unit vector. `Pivot`, if asked for, becomes that
/// element [R, 1, 1], negated where rows changed places.
Value eliminate(Emitter &N, Value A, const Expr &Step, Value *Pivot = nullptr);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_MATRICES_H
