//===- RegionTitle.h - What a region computes, in words ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REGIONTITLE_H
#define KPC_PASSES_GRAPH_REGIONTITLE_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

struct RegionTitle {
  /// "GEMM", "convolution", "attention", "normalization", "softmax",
  /// "pooling", "gather", "scatter", "reduction", "elementwise" or "movement".
  std::string Kind;
  /// "GEMM {batch*seq}x3072x768 + bias + GELU": what stands in braces is an
  /// expression over the module's symbols.
  std::string Text;
  /// The op that most of the work is in; null where all are alike.
  mlir::Operation *Main = nullptr;
};

/// What the region computes, named as people name it: the contraction or
/// reduction with its sizes, what comes before it, and its epilogue. It is
/// read from the region's ops; the model's names play no part.
RegionTitle titleOf(RegionOp Region);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REGIONTITLE_H
