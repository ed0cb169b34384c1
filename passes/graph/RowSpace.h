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
/// Softmax and norms are chains of elementwise ops and reductions over the same
/// dimensions of one shape, the row space:
///
///   [batch, 64 | 1024]     outer dimensions | the row
///   [n | h·w | 32 | 10]    the second and the fourth are the row: groups of
///                          channels-last images
///   [n | 96 | h·w]         the second: columns of memory
///
/// All values in it either have the whole shape, or one element a row (the
/// outer dimensions, with ones in any place). A kernel that
/// holds a row at a time computes all of them in one pass over memory.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROWSPACE_H
#define KPC_PASSES_GRAPH_ROWSPACE_H

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SmallBitVector.h"

namespace kpc::graph {

class RowSpace {
public:
  /// The space whose rows `Op` reduces; none where it reduces no numbers.
  static std::optional<RowSpace> reducedBy(mlir::Operation *Op);

  bool operator==(const RowSpace &) const = default;

  /// Elements of a row.
  shape::Expr rowSize() const;
  /// Those of its last dimensions, which are one piece of memory; all of them,
  /// where the row is one.
  shape::Expr pieceSize() const;
  bool isOnePiece() const { return pieceRank() == size_t(IsRow.count()); }
  /// Whether the last dimension is none of the row's.
  bool hasColumns() const { return !IsRow.test(Dims.size() - 1); }
  /// Whether one kernel should read such rows, given the length of the longest
  /// that is one piece.
  bool fitsKernel(int64_t LongestPiece, const shape::Facts &Facts) const;
  /// Elements of the longest row of one piece: what one block walks, or the
  /// blocks of a cluster together.
  static constexpr int64_t LongestOfBlock = 131072,
                           LongestOfCluster = 4 * LongestOfBlock;
  /// Elements of a piece of memory that is read well as part of a row.
  static constexpr int64_t LongPiece = 256;
  /// Elements of the longest row that one kernel should read, given that of
  /// rows which are one piece. One of many pieces, as a group of a
  /// channels-last image, is read again less fast: several kernels that read
  /// whole lines are ahead sooner.
  int64_t longestRow(int64_t OfOnePiece, const shape::Facts &Facts) const;

  /// A value of the whole shape.
  bool isWhole(SymbolicTensorType Ty) const;
  /// A value of one element a row.
  bool isPerRow(SymbolicTensorType Ty) const;

  /// Whether `Op`, of whose operands one or more are made of reduced rows,
  /// gives values of this space that need the same row alone.
  bool keepsRows(mlir::Operation *Op) const;

private:
  bool isAligned(SymbolicTensorType Ty) const;
  size_t pieceRank() const;

  std::vector<shape::Expr> Dims;
  llvm::SmallBitVector IsRow; ///< for each dimension
};

/// The size that kernels are chosen for, if someone has said it.
std::optional<int64_t> saidSize(const shape::Expr &Size,
                                const shape::Facts &Facts);

/// A reshape that adds or drops dimensions of size 1 alone.
bool movesOnesOnly(ReshapeOp Op);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROWSPACE_H
