//===- RowSpace.h - What a kernel that works row by row may hold -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax and norms are chains of elementwise ops and reductions over the last
/// dimensions of one shape, the row space:
///
///   [batch, 64 | 1024]        outer dimensions | the row
///
/// All values in it either have the whole shape, or one element a row (the
/// outer dimensions, with or without ones behind them). A kernel that holds a
/// row at a time computes all of them in one pass over memory.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROWSPACE_H
#define KPC_PASSES_GRAPH_ROWSPACE_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

class RowSpace {
public:
  /// The space whose rows `Op` reduces; none where it reduces other than the
  /// last dimensions, or no numbers.
  static std::optional<RowSpace> reducedBy(mlir::Operation *Op);

  bool operator==(const RowSpace &) const = default;

  /// Elements of a row.
  shape::Expr rowSize() const;

  /// A value of the whole shape.
  bool isWhole(SymbolicTensorType Ty) const;
  /// A value of one element a row.
  bool isPerRow(SymbolicTensorType Ty) const;

  /// Whether `Op`, of whose operands one or more are made of reduced rows,
  /// gives values of this space that need the same row alone.
  bool keepsRows(mlir::Operation *Op) const;

private:
  std::vector<shape::Expr> Dims;
  size_t RowRank = 0;
};

/// A reshape that adds or drops dimensions of size 1 alone.
bool movesOnesOnly(ReshapeOp Op);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROWSPACE_H
