//===- ColumnTiles.h - Columns of a weight, on many threads -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Codes of a weight have scales of their own in each column, so that threads
/// can share the columns. Tiles have a fixed width: what is summed of each, and
/// then over tiles in order, is the same for any number of threads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_COLUMNTILES_H
#define KPC_PASSES_GRAPH_COLUMNTILES_H

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cstdint>

namespace kpc::graph {

/// Calls `Of` with (number of the tile, its first column, how many it has), on
/// as many threads as llvm::parallel::strategy has.
template <int64_t Width, typename Fn>
void forColumnTiles(int64_t Columns, Fn &&Of) {
  int64_t Tiles = llvm::divideCeil(Columns, Width);
  llvm::parallelFor(0, size_t(Tiles), [&](size_t Tile) {
    int64_t First = int64_t(Tile) * Width;
    Of(Tile, First, std::min(Width, Columns - First));
  });
}

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_COLUMNTILES_H
