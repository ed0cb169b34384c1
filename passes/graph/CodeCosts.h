//===- CodeCosts.h - Whether codes of FP8 pay in a product -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CODECOSTS_H
#define KPC_PASSES_GRAPH_CODECOSTS_H

#include "compiler/target/Target.h"
#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Why a GEMM, convolution or attention of 16 bits is to stay one, as a clause:
/// by the cost model of one of the targets FP8 is slower. Empty: it is not.
std::string slowerAsFp8(mlir::Operation *Product, const shape::Facts &Facts,
                        llvm::ArrayRef<const target::Target *> Targets);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CODECOSTS_H
