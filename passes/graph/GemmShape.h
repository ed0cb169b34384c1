//===- GemmShape.h - GEMMs that tiles do not suit ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_GEMMSHAPE_H
#define KPC_PASSES_GRAPH_GEMMSHAPE_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// What replaces a GEMM whose K is 1, or whose result is one number of a long
/// K, written in front of it; null where it stays as it is.
mlir::Value reshapeGemm(MatmulOp Op, const shape::Facts &Facts);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_GEMMSHAPE_H
