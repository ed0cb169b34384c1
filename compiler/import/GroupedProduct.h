//===- GroupedProduct.h - Groups of rows, a matrix each ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_GROUPEDPRODUCT_H
#define KPC_COMPILER_IMPORT_GROUPEDPRODUCT_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// Rows of x by the matrix of their group; zeros after the last group. Rows
/// of a group are cut into blocks of `T` rows, the last of which is filled up
/// by whatever follows; a block is one matrix of a batched product:
///
///   x       ┆ group 0    ┆ 1 ┆ group 2        ┆       T = 4
///   blocks  ┆ 0  ┆ 1     ┆ 2 ┆ 3   ┆ 4        ┆ not used
///   own       0    0       1   2     2
///
/// S rows fill at most S / T whole blocks, and each group that has rows one
/// more.
///
/// x: [S, K], sorted by group; W: [G, K, N]; `Ends`, integers [G]: the first
/// row after each group. Null after a report.
Value groupedProduct(Emitter &N, Value X, Value W, Value Ends);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_GROUPEDPRODUCT_H
