//===- LinearIndex.h - Integers as functions of their place -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINEARINDEX_H
#define KPC_PASSES_GRAPH_LINEARINDEX_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// The element at [i0, i1, …] is the sum of Factors[d] · i_d, plus Offset.
struct LinearIndex {
  llvm::SmallVector<int64_t> Factors;
  shape::Expr Offset = 0;

  /// None where the value is not made of indices and sizes alone.
  static std::optional<LinearIndex> of(mlir::Value V);
  /// The function that is 0 or more exactly where the bool `V` holds.
  static std::optional<LinearIndex> whereNotNegative(mlir::Value V);

  /// The number that it is at every place, if it is one.
  std::optional<int64_t> asConstant() const;
};

/// Whether the bool `V` is the same at every place, and what; none where that
/// does not follow from indices and sizes.
std::optional<bool> decided(mlir::Value V);

/// A constant number, whatever it was computed with; none for anything else.
std::optional<double> constantScalar(mlir::Value V);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINEARINDEX_H
