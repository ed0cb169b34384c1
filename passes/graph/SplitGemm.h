//===- SplitGemm.h - GEMMs of few tiles and a long K ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM with fewer tiles than a chip has multiprocessors, as a batch of GEMMs
/// over parts of K, whose results are added up in the order of the parts.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_SPLITGEMM_H
#define KPC_PASSES_GRAPH_SPLITGEMM_H

#include "compiler/target/Target.h"
#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// What decides about the kernels that a GEMM gets.
struct GemmTargets {
  llvm::SmallVector<const target::Target *> Targets;
  bool Narrow = false; ///< f32 values are stored in 16 bits
  bool Tf32 = false;   ///< factors of f32 may be rounded to tf32
};

/// The sum that replaces `Op`, written in front of it; null where one kernel is
/// as fast by the cost models of all targets.
mlir::Value splitGemm(MatmulOp Op, const shape::Facts &Facts,
                      const GemmTargets &For);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_SPLITGEMM_H
