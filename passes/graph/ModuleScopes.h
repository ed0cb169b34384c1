//===- ModuleScopes.h - Which module of the model a node is of --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Modules are what PyTorch calls them, `encoder.layer.3.attention.self`.
/// Exporters tell them in two ways: nodes are called after them
/// (`/encoder/layer.3/attention/self/MatMul`, `encoder.layer.3/linear_2`), or
/// have them as metadata, which the importer keeps in `graph.scopes`.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_MODULESCOPES_H
#define KPC_PASSES_GRAPH_MODULESCOPES_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// The module of a node that is called after it; empty: none.
std::string scopeOfName(mlir::StringRef Node);

/// The module that a region belongs to: that of its main op, or that of most of
/// its ops, of equally many the last. `Scopes`: modules of nodes, may be null.
std::string scopeOf(RegionOp Region, mlir::Operation *Main,
                    mlir::DictionaryAttr Scopes);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_MODULESCOPES_H
