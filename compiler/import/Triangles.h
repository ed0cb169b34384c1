//===- Triangles.h - Weights that are causal masks -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exporters fold `tril(ones(n, n))` into a weight. The graph has words for
/// what it means: a comparison of places, which an attention takes as `causal`,
/// reading no mask and skipping the blocks that it hides.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TRIANGLES_H
#define KPC_COMPILER_IMPORT_TRIANGLES_H

#include "compiler/import/Emitter.h"
#include "compiler/import/WeightStore.h"

namespace kpc::frontend {

/// [1, …, rows, columns] with one value where column <= row + Diagonal, and
/// another elsewhere.
struct Triangle {
  int64_t Diagonal;
  double Inside, Outside;

  /// None for other weights, and for numbers that no mask has: bools may be
  /// any, integers are 0 and 1, of floats one is 0 and the other hides a score
  /// (at most -10000). Reads no more than the first row of most weights.
  static std::optional<Triangle> of(const Weight &W);
};

/// The ops that compute `W` from places; null where it is no triangle.
Value triangleOf(Emitter &E, const Weight &W, Type Element);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_TRIANGLES_H
