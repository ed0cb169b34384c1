//===- LowerLoop.h - The kernel of a loop -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_LOWERLOOP_H
#define KPC_PASSES_GRAPH_LINALG_LOWERLOOP_H

#include "passes/graph/linalg/KernelWriter.h"

namespace kpc::graph {

/// All steps of the loop, in the kernel that `W` writes.
mlir::LogicalResult lowerLoop(LoopOp Op, KernelWriter &W);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_LOWERLOOP_H
