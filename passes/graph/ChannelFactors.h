//===- ChannelFactors.h - Factors between operand and weight ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `x * w` is `(x / s) * (s * w)` for any positive s of each channel: what
/// passes have in common that move such factors.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CHANNELFACTORS_H
#define KPC_PASSES_GRAPH_CHANNELFACTORS_H

#include "passes/graph/ProductWeights.h"

namespace kpc::graph {

/// No channel reaches further than all do, or than its own magnitude.
OperandStatistics dividedChannels(const OperandStatistics &Of,
                                  llvm::ArrayRef<float> Factors);

/// The products multiply `X` over the factors with their weights times the
/// factors, and have what is known of the new operand as `graph.operand`.
void divideChannels(mlir::Value X, llvm::ArrayRef<mlir::Operation *> Products,
                    const OperandStatistics &Of, llvm::ArrayRef<float> Factors);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CHANNELFACTORS_H
