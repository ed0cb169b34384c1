//===- CodeHeads.h - Attention whose keys and values are codes --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Keys and values that lie in memory as codes of FP8, a cache mostly, and are
/// dequantised in front of an attention of few queries. The kernel reads the
/// codes itself: half of the bytes that bound its time.
///
///   %k = graph.mul (graph.cast %ck to f32), 0.5      %ck, %cv : f8E4M3FN
///   %v = graph.mul (graph.cast %cv to f32), 0.25
///   %y = graph.attention %q, %k, %v scale 0.1
///     →  %p = graph.attention %q, (graph.cast %ck to f32),
///                 (graph.cast %cv to f32) scale 0.05 {graph.codes}
///        %y = graph.mul %p, 0.25
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CODEHEADS_H
#define KPC_PASSES_GRAPH_CODEHEADS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Of an attention whose kernel is to read codes: its keys and values are casts
/// of them.
inline constexpr llvm::StringLiteral CodesAttr = "graph.codes";

/// Of an attention whose kernel is to write codes of FP8 by a constant scale:
/// what makes them is behind it, in front of any other order of heads.
inline constexpr llvm::StringLiteral ResultCodesAttr = "graph.result_codes";

/// Whether an attention is of few queries by all that is said of their number.
bool hasFewQueries(const shape::Expr &Queries, const shape::Facts &Facts);

/// Takes scales out from under an attention of codes. Of one constant scale,
/// that of keys becomes part of the attention's own, and that of values a
/// factor of the result that its kernel multiplies; others are factors of the
/// queries and of the result. Gives why nothing is done, as a clause: empty: it
/// is done; none: there are no codes.
std::optional<llvm::StringRef> sinkScalesOfHeads(AttentionOp Op,
                                                 const shape::Facts &Facts);

/// Whether `Op` makes numbers of codes for such an attention, and for nothing
/// else: a cast, then the factor of each row or a transpose.
bool widensHeads(mlir::Operation *Op);

/// Whether an attention reads its heads there, or what makes numbers of them.
bool readsHeads(mlir::OpOperand &Use);

/// Whether the kernel of an attention that reads or writes codes computes what
/// `Ops` make of its result, the last of them first: factors, limits, a cast
/// and another order of heads.
bool endsCodeAttention(AttentionOp Op, llvm::ArrayRef<mlir::Operation *> Ops);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CODEHEADS_H
