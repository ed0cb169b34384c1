//===- LowerStored.h - Rows that are in memory where they are many -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_LOWERSTORED_H
#define KPC_PASSES_GRAPH_LINALG_LOWERSTORED_H

#include "passes/graph/linalg/KernelWriter.h"

namespace kpc::graph {

/// Lowers graph.stored; failure where the op is another.
mlir::FailureOr<mlir::Value> lowerStored(mlir::Operation *Op, KernelWriter &W);
/// Puts `graph.launched_above` of a region on its kernel, over the arguments of
/// that.
void setLaunchedIf(RegionOp Region, KernelWriter &W);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_LOWERSTORED_H
