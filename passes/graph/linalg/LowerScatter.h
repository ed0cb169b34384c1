//===- LowerScatter.h - How an update meets what is there -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_LOWERSCATTER_H
#define KPC_PASSES_GRAPH_LINALG_LOWERSCATTER_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// The element behind an update: `New` itself, or `Old` and `New` combined.
mlir::Value combineUpdate(mlir::OpBuilder &B, mlir::Location Loc,
                          ScatterKind Kind, mlir::Value Old, mlir::Value New,
                          bool Unsigned);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_LOWERSCATTER_H
