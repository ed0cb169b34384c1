//===- ScoreSpace.h - Scores of any rank in four dimensions --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_SCORESPACE_H
#define KPC_PASSES_GRAPH_SCORESPACE_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Whether a reshape leaves rows and columns of each matrix as they are.
bool keepsMatrices(ReshapeOp Op);

/// The [batch, heads, queries, keys] of an attention whose model merges or
/// splits leading dimensions between one product and the other:
///
///   [b*h, n, m]               as [b*h, 1, n, m]
///   [b, h, n, m]              as it is
///   [b, w, h, n, m]           as [b, w*h, n, m]: what windows of an image do
///                             not share then differs between heads alone
class ScoreSpace {
public:
  /// By the sizes where they have most dimensions; none for other ranks.
  static std::optional<ScoreSpace> of(mlir::OpBuilder &B,
                                      llvm::ArrayRef<shape::Expr> Widest);

  llvm::ArrayRef<shape::Expr> sizes() const { return Sizes; }

  /// What is added to scores, chosen or multiplied there, in four dimensions:
  /// as a broadcast of no more than it says.
  mlir::Value spread(mlir::Value V);
  /// Queries, keys, values in four dimensions, with these leading ones or with
  /// fewer heads, which several share; null where neither fits.
  mlir::Value matrices(mlir::Value V);

private:
  ScoreSpace(mlir::OpBuilder &B) : B(B) {}
  mlir::Value reshaped(mlir::Value V, llvm::ArrayRef<shape::Expr> To);
  mlir::Value repeated(mlir::Value V, llvm::ArrayRef<shape::Expr> To);

  mlir::OpBuilder &B;
  llvm::SmallVector<shape::Expr> Sizes;
  /// [windows, heads of each]; empty where there are none.
  llvm::SmallVector<shape::Expr> Windows;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_SCORESPACE_H
