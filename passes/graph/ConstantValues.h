//===- ConstantValues.h - What is known when compiling -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CONSTANTVALUES_H
#define KPC_PASSES_GRAPH_CONSTANTVALUES_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Whether sizes that only a run knows decide what an op computes, beside those
/// of its operands: a slice of one row may begin at any of them.
bool readsSizes(mlir::Operation *Op);
/// Whether a value depends on constants and weights alone. Looks at most a few
/// dozen ops back: what lies farther is folded by and by.
bool isConstant(mlir::Value V);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CONSTANTVALUES_H
