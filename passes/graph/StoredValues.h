//===- StoredValues.h - Which values a precision narrows --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_STOREDVALUES_H
#define KPC_PASSES_GRAPH_STOREDVALUES_H

#include "passes/graph/ExactValues.h"
#include "passes/graph/NodePatterns.h"

namespace kpc::graph {

/// Ops whose results lose too much in 16 bits: range or cancellation, which is
/// what becomes of a row's greatest element.
bool isSensitive(mlir::Operation *Op);

/// The f32 weights and results of regions that are to be stored narrow, in the
/// order of the function. `WideShare`: small values stay wide while all such
/// together are at most one of so many elements, of weights and of results
/// each; 0: none does. No value of `Exact` is among them; null: there is none.
llvm::SmallVector<mlir::Value> narrowValues(mlir::func::FuncOp Func,
                                            const shape::Facts &Facts,
                                            const NodePatterns &Kept,
                                            unsigned WideShare,
                                            const ExactValues *Exact);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_STOREDVALUES_H
