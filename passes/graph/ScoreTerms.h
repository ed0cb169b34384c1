//===- ScoreTerms.h - What is added to an attention's scores -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_SCORETERMS_H
#define KPC_PASSES_GRAPH_SCORETERMS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Sorts what exporters add to scores, or choose instead of them, into what
/// graph.attention has words for.
class ScoreTerms {
public:
  /// `Scores` is [batch, heads, queries, keys]; `Causal` as below.
  ScoreTerms(mlir::OpBuilder &B, SymbolicTensorType Scores,
             std::optional<shape::Expr> Causal = std::nullopt)
      : B(B), Scores(Scores), Causal(std::move(Causal)) {}

  /// Scores + `Added`; false where it does not fit.
  bool add(mlir::Value Added);
  /// Scores where `Seen` holds, else `Hidden`, a number that no score reaches.
  bool hide(mlir::Value Seen, double Hidden);

  /// Query i sees the keys up to i + this; none: all.
  std::optional<shape::Expr> causal() const { return Causal; }
  /// Whether the mask is computed from indices, by the attention's kernel.
  bool comparesPlaces() const { return ComparesPlaces; }
  /// Bools; null: all hold.
  mlir::Value mask();
  /// What is added; null: nothing.
  mlir::Value bias();

  /// Whether a number instead of a score makes its weight 0.
  static bool hides(double Number);

private:
  bool isTriangle(mlir::Value Seen);
  bool isFirstKey(mlir::Value Seen);
  void split(mlir::Value Seen, llvm::SmallVectorImpl<mlir::Value> &Parts);
  mlir::Value inFourDims(mlir::Value V);
  mlir::Value join(llvm::StringRef Op, llvm::ArrayRef<mlir::Value> Parts);
  mlir::Value scalar(double V, mlir::Type Element);

  mlir::OpBuilder &B;
  SymbolicTensorType Scores;
  std::optional<shape::Expr> Causal;
  bool ComparesPlaces = false;
  llvm::SmallVector<mlir::Value> Masks, Biases;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_SCORETERMS_H
