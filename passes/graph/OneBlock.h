//===- OneBlock.h - Rewriting where regions have one block ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ONEBLOCK_H
#define KPC_PASSES_GRAPH_ONEBLOCK_H

#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kpc::graph {

/// How patterns are applied to graphs. Their regions have one block, so blocks
/// need no merging, which would look at each use of 100,000 nodes again. What
/// is not used goes all the same.
inline mlir::GreedyRewriteConfig inOneBlock() {
  mlir::GreedyRewriteConfig Config;
  Config.setRegionSimplificationLevel(
      mlir::GreedySimplifyRegionLevel::Disabled);
  return Config;
}

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ONEBLOCK_H
