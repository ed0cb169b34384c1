//===- RegionFacts.h - What people want to know of a region -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REGIONFACTS_H
#define KPC_PASSES_GRAPH_REGIONFACTS_H

#include "dialects/graph/Graph.h"

#include <optional>

namespace kpc::graph {

/// The model's nodes whose work the region does, in its order, each once.
/// Constants and weights are left out.
std::vector<mlir::StringRef> nodesOf(RegionOp Region);

/// Floating-point operations of one run: a multiplication and the addition of
/// its product are two, any other elementwise operation or function and any
/// step of a reduction one; comparisons, conversions, selections and all that
/// moves data, none. None where it does not fit into 64 bits.
std::optional<shape::Expr> flopsOf(RegionOp Region);

/// The contraction that the region is formed around, as plan.launch names it;
/// empty where there is none.
llvm::StringRef rootOf(RegionOp Region);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REGIONFACTS_H
