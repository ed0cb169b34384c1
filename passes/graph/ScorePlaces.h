//===- ScorePlaces.h - Masks that compare places -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A window of keys, or the keys of a batch that count, are comparisons of
/// indices. Written with four sizes and without a reshape, they become part of
/// the attention's kernel, which skips what they hide.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_SCOREPLACES_H
#define KPC_PASSES_GRAPH_SCOREPLACES_H

#include "dialects/graph/Graph.h"
#include "passes/graph/LinearIndex.h"

namespace kpc::graph {

/// The bools of a mask with these sizes instead of its own, of which ones alone
/// may have moved: computed there from indices, as `V` is; null where it is not
/// computed. With `Many` queries a key may be compared with a number of its
/// batch alone.
mlir::Value placesOf(mlir::OpBuilder &B, mlir::Value V,
                     llvm::ArrayRef<shape::Expr> Sizes, bool Many);

/// Whether `Where`, at least 0, says at which key each query's begin.
bool isWindow(const LinearIndex &Where);

/// That condition, for scores [batch, heads, queries, keys].
mlir::Value windowOf(mlir::OpBuilder &B, mlir::Location Loc,
                     const LinearIndex &Where, SymbolicTensorType Scores);

/// How many keys a query of a causal attention sees at most, of which others
/// are hidden by such a condition in the mask; none where there is none.
std::optional<shape::Expr> keysInWindow(AttentionOp Op);

/// Whether `Op` is part of a mask that compares indices of queries and keys. A
/// conjunction may be with any other mask.
bool isOfPlaces(mlir::Operation *Op);
/// Whether it is, and is part of the masks of attentions alone: their kernels
/// compute it.
bool isMaskOfPlaces(mlir::Operation *Op);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_SCOREPLACES_H
