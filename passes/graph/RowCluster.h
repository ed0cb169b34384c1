//===- RowCluster.h - What computes on the elements of reduced rows -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A reduction of rows, and all that is computed on the same elements with it,
/// whatever shape they have there:
///
///   reshape to [n, 32, k] ─▶ sum, sub, mul, …
///     ─▶ reshape to [n, 320, h, w] ─▶ mul by [320, 1, 1] ─▶ sigmoid
///
/// Its ops are reductions of rows of one length, and elementwise ops of all
/// elements, of one element a row, or of what is repeated to these. Reshapes
/// and broadcasts between them are not its ops: they are made anew. An op in
/// front of the cluster is taken in where the cluster alone uses it; one behind
/// it where what else it reads is in memory in any case. Ops behind a reshape
/// are taken in only where that saves a kernel: nothing else needs what is
/// reshaped, and what is made of it is stored.
///
/// Where images are channels-last, the norm reads them through a transpose, and
/// its last op is behind one: `AcrossTransposes` finds dimensions that the
/// transposes can move through, [n, 32, 10, h·w], and takes what is transposed
/// as stored.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROWCLUSTER_H
#define KPC_PASSES_GRAPH_ROWCLUSTER_H

#include "passes/graph/RefinedDims.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace kpc::graph {

/// Where the elements of a value stand among all of a shape.
struct RowPlace {
  enum class Kind { Whole, PerRow, Repeated };
  Kind What = Kind::Whole;
  /// The shape of all elements that the value is given to.
  llvm::SmallVector<shape::Expr> Of;
  /// For each dimension of the value, those of `Of` that it is made of or,
  /// where its size is 1, may be repeated to.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> At;
};

class RowCluster {
public:
  /// Grows from a reduction, over all but ops of `Taken`; none where it reduces
  /// others than the last dimensions. Adds its ops to `Taken`.
  static std::optional<RowCluster>
  grow(ReduceOp Seed, llvm::DenseSet<mlir::Operation *> &Taken,
       bool AcrossTransposes = false);

  /// Whether what is made of a row is given to all of it.
  bool isNorm() const { return IsNorm; }
  /// Whether its ops have several shapes, or one that is no row space's, or
  /// rows of more dimensions than need be.
  bool wantsOtherDims() const;
  /// Whether it reads a transpose through a reshape, and a dimension of its own
  /// is never parted by that transpose.
  bool movesTransposes() const { return IsTransposed && !isTiedToDims(); }

  /// In the order of the block.
  const llvm::MapVector<mlir::Operation *, RowPlace> &ops() const {
    return Ops;
  }

  /// The place of all elements.
  static RowPlace whole(llvm::ArrayRef<shape::Expr> Shape);
  /// The place of what a broadcast repeats.
  static RowPlace placeBefore(BroadcastOp Op, const RowPlace &After);

  /// Sizes at a place: as few dimensions as keep all borders that an op has.
  llvm::SmallVector<shape::Expr> sizesAt(const RowPlace &Place,
                                         SymbolicTensorType Ty) const;
  /// Those of all elements.
  llvm::SmallVector<shape::Expr> sizes() const;
  /// How many of these are in front of the row.
  unsigned outerRank() const;

  /// Reshapes behind which nothing is of the cluster, though it is of its
  /// kind, and why.
  const llvm::MapVector<mlir::Operation *, llvm::StringRef> &refused() const {
    return Refused;
  }
  ReduceOp seed() const { return Seed; }

private:
  /// A reshape, seen from a value of the cluster, that other ops of it are
  /// behind.
  struct Crossing {
    ReshapeOp Op;
    unsigned Before; ///< the crossing that it is behind itself
    bool IsGivenUp = false;
  };
  struct Step {
    mlir::Value V;
    RowPlace Place;
    unsigned Behind; ///< of Crossings; the first stands for none
    bool IsUse;      ///< an op of the cluster uses it; else one makes it
  };

  RowCluster(ReduceOp Seed, shape::Expr Row,
             llvm::DenseSet<mlir::Operation *> &Taken);

  RowPlace perRow(llvm::ArrayRef<shape::Expr> Outer) const;
  /// At the other side of a reshape; none where that is not to be told.
  std::optional<RowPlace> across(ReshapeOp Op, mlir::Value To,
                                 const RowPlace &Place) const;
  bool isOwnRow(BroadcastOp Op) const;

  bool mayJoin(mlir::Operation *Op, const RowPlace &Place);
  bool dependsOnCluster(mlir::Value V) const;
  void join(mlir::Operation *Op, RowPlace Place, unsigned Behind);
  void countUse(const Step &Use);
  void visitUsers(const Step &Made);
  bool leaves(mlir::Value V) const;
  bool isStored(mlir::Value V) const;
  bool giveUpCrossings();
  bool finish();
  llvm::SmallVector<TransposeOp> transposedOperands() const;
  void keepBordersOf(TransposeOp Op);

  bool isTiedToDims() const;
  llvm::SmallBitVector maskAt(const RowPlace &Place,
                              SymbolicTensorType Ty) const;
  llvm::SmallVector<shape::Expr> joined(const llvm::SmallBitVector &Mask) const;

  ReduceOp Seed;
  shape::Expr Row; ///< elements of a row
  RefinedDims Dims;
  llvm::MapVector<mlir::Operation *, RowPlace> Ops;
  /// Of Dims.dims(), those that a dimension begins with in the end.
  llvm::SmallBitVector Borders;
  llvm::MapVector<mlir::Operation *, llvm::StringRef> Refused;
  bool IsNorm = false;
  bool AcrossTransposes = false, IsTransposed = false;

  // While it grows.
  llvm::DenseSet<mlir::Operation *> *Taken;
  llvm::SmallVector<Crossing> Crossings;
  llvm::DenseMap<mlir::Operation *, unsigned> BehindOf;
  mlir::Operation *First; ///< of Ops
  /// Uses that are none of the cluster's yet.
  llvm::DenseMap<mlir::Value, size_t> UsesLeft;
  llvm::SmallVector<Step> Worklist;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROWCLUSTER_H
