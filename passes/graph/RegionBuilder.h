//===- RegionBuilder.h - Puts ops into a region -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a graph.region is made of, once it is settled which ops it holds.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REGIONBUILDER_H
#define KPC_PASSES_GRAPH_REGIONBUILDER_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Whether every region that uses the op computes it for itself.
bool isCloned(mlir::Operation *Op);

/// Whether the use needs its value in memory: builders of attention copy heads
/// from there.
bool readsMemory(mlir::OpOperand &Use);

/// "exp of 'softmax_1' (Softmax)"; the node's name and operator as far as they
/// are known.
std::string wordsFor(mlir::Operation *Op);

/// Puts copies of `Ops`, in the block's order, into a region in front of the
/// last of them, whose results it has, and `Shared` behind these. All uses of
/// these values become uses of the region's results; the ops themselves stay,
/// for the caller to erase. Cloned ops that they use are in it as well, but for
/// those that `IsPlaced` in a region of their own.
RegionOp buildRegion(llvm::ArrayRef<mlir::Operation *> Ops,
                     llvm::ArrayRef<mlir::Value> Shared,
                     llvm::function_ref<bool(mlir::Operation *)> IsPlaced);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REGIONBUILDER_H
