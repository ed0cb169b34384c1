//===- TurnedProduct.h - A product and its rotary embedding -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_TURNEDPRODUCT_H
#define KPC_PASSES_GRAPH_TURNEDPRODUCT_H

#include "passes/graph/ProductRegion.h"
#include "passes/graph/RotaryRegion.h"

namespace kpc::graph {

/// Why the two regions cannot be one: what they hold must have sizes in the
/// product's loops. Empty: they can.
llvm::StringRef refusalOfTurned(ProductRegion &Product, RotaryRegion &Rotary,
                                const TurnedSizes &Sizes);

/// Writes one region of both in front of the embedding's; views of inputs stand
/// there as well. It gives all heads, those turned that are to be.
RegionOp writeTurned(ProductRegion &Product, RotaryRegion &Rotary,
                     const TurnedSizes &Sizes);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_TURNEDPRODUCT_H
