//===- RopeGemm.h - A GEMM and its RoPE as one region -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROPEGEMM_H
#define KPC_PASSES_GRAPH_ROPEGEMM_H

#include "passes/graph/GemmRegion.h"
#include "passes/graph/RopeRegion.h"

namespace kpc::graph {

/// Why the two regions cannot be one: what they hold must have sizes in the
/// product's loops. Empty: they can.
llvm::StringRef refusalOfRope(GemmRegion &Gemm, RopeRegion &Rope,
                              const RopeSizes &Sizes);

/// Writes one region of both in front of the embedding's; views of inputs stand
/// there as well. It gives all heads, those turned that are to be.
RegionOp writeRopeGemm(GemmRegion &Gemm, RopeRegion &Rope,
                       const RopeSizes &Sizes);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROPEGEMM_H
