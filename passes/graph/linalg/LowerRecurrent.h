//===- LowerRecurrent.h - The kernel of a recurrent layer -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_LOWERRECURRENT_H
#define KPC_PASSES_GRAPH_LINALG_LOWERRECURRENT_H

#include "dialects/graph/GraphRecurrent.h"
#include "passes/graph/linalg/KernelWriter.h"

namespace kpc::graph {

/// The body of the kernel that `W` has begun, whose region holds `Op` alone.
mlir::LogicalResult lowerRecurrent(RecurrentOp Op, KernelWriter &W);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_LOWERRECURRENT_H
