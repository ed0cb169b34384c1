//===- RopeRegion.h - Regions of a rotary embedding -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `recognise-rope` has made of a rotary embedding, as a region: all of
/// it is elementwise but for halves of heads that change places. And its sizes
/// as those of a product whose columns are the heads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROPEREGION_H
#define KPC_PASSES_GRAPH_ROPEREGION_H

#include "dialects/graph/Graph.h"

#include <optional>

namespace kpc::graph {

/// Of heads `<[…, heads, 2, half]>`, `Rotated` from `First` on are turned; with
/// `Interleaved` pairs lie side by side, `<[…, heads, half, 2]>`.
struct RopeRegion {
  RegionOp Region;
  mlir::BlockArgument X; ///< all heads
  int64_t First = 0, Rotated = 1;
  bool Interleaved = false;

  static std::optional<RopeRegion> read(RegionOp Region);

  SymbolicTensorType heads() const { return typeOf(X); }
  /// The two dimensions of a head; heads are in front of them.
  unsigned inHead() const { return heads().getRank() - 2; }
  bool hasHeads() const { return inHead() > 0; }
  int64_t half() const {
    return *heads().getStaticDim(inHead() + (Interleaved ? 0 : 1));
  }
  /// How many columns apart are those of a pair.
  int64_t distance() const { return Interleaved ? 1 : half(); }
  int64_t count() const {
    return hasHeads() ? *heads().getStaticDim(inHead() - 1) : 1;
  }
  bool rotatesAll() const { return Rotated == count(); }
};

/// The dimension of pairs, from the end, if the op gives these in the other
/// order: 2 of halves of heads, 1 of interleaved pairs; 0 if it does something
/// else.
int64_t rotatedPairs(mlir::Operation *Op);

/// The sizes of values in the loops of a product, `<[rows, heads, 2, half]>`:
/// what stands in front of the heads is one dimension of rows.
class RopeSizes {
public:
  /// None where the product's rows and columns are not those of the heads.
  static std::optional<RopeSizes> of(const RopeRegion &Rope,
                                     SymbolicTensorType Gemm);

  /// What elements differ along, in front of the heads: the last of several
  /// dimensions alone are positions.
  enum class Along { Nothing, Positions, Rows };
  struct Sizes {
    llvm::SmallVector<shape::Expr> Dims;
    Along Front = Along::Nothing;
  };
  /// Of a value of the embedding; none where they fit no loops.
  std::optional<Sizes> ofRope(llvm::ArrayRef<shape::Expr> Dims) const;
  /// Of a value behind the product, `<[rows, columns]>` or fewer.
  std::optional<llvm::SmallVector<shape::Expr>>
  ofGemm(llvm::ArrayRef<shape::Expr> Dims) const;
  /// Of all heads.
  llvm::SmallVector<shape::Expr> all() const;

  const shape::Expr &rows() const { return Rows; }
  const shape::Expr &positions() const { return Front.back(); }
  /// All heads as others see them: `<[…, heads, 2·half]>`.
  llvm::SmallVector<shape::Expr> asHeads(int64_t Count) const;
  /// Whether the value has the turned heads, one by one, and not all are.
  bool hasRotatedHeads(llvm::ArrayRef<shape::Expr> Dims) const;

private:
  llvm::SmallVector<shape::Expr> Front, Columns;
  shape::Expr Rows, AllColumns;
  int64_t Rotated = 1;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROPEREGION_H
