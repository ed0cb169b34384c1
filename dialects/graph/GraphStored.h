//===- GraphStored.h - Values in memory where rows are many -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_GRAPHSTORED_H
#define KPC_DIALECTS_GRAPH_GRAPHSTORED_H

#include "dialects/graph/Graph.h"

#define GET_OP_CLASSES
#include "dialects/graph/GraphStored.h.inc"

namespace kpc::graph {

/// Of a region, an i64 attribute: its kernel is launched only where its first
/// result has more rows.
inline constexpr llvm::StringLiteral LaunchedAboveName = "graph.launched_above";

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_GRAPHSTORED_H
