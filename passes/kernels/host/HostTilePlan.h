//===- HostTilePlan.h - How a reduction is tiled into registers -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A root generic whose results are contiguous along a parallel dim (matmul,
/// convolution, pooling, column reductions) is computed in tiles of
/// accumulators that stay in registers: `Rows` indices of a row dim times
/// `Vectors` vectors along the vector dim, over all of the reduction.
///
/// Where an operand comes from in the inner loop:
///  - Direct: the buffer it is a view of, walked by linear strides;
///  - Region: a box of the operand's index space, computed once for a unit into
///    memory of the task (padding, conversions, elementwise producers);
///  - Panel: for an operand shared by all rows, its elements for one run of
///    vectors, one reduction step after the other;
///  - Pull: computed where it is used.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_HOST_HOSTTILEPLAN_H
#define KPC_PASSES_KERNELS_HOST_HOSTTILEPLAN_H

#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/host/HostBuilder.h"

namespace kpc::kernels {

/// Adjacent loops that are walked as one. The index stands at the last of them,
/// the others stay 0.
struct JoinedLoops {
  llvm::SmallVector<unsigned> Loops;
  shape::Expr Size;
  /// Expected size, where `Size` is not constant.
  int64_t Typical = 1;

  unsigned last() const { return Loops.back(); }
  std::optional<int64_t> constant() const { return Size.asConstant(); }
};

struct TileOperand {
  enum class Source { Direct, Region, Panel, Pull };

  mlir::OpOperand *Operand = nullptr;
  mlir::AffineMap Map;
  Source From = Source::Direct;
  bool OnVector = false; ///< differs along the vector dim
  bool OnRow = false;    ///< differs along the row dim
  /// Whether neighbours along the vector dim are neighbours in the tensor.
  bool Contiguous = false;
  /// A conversion in the body that is this operand's only use. It is applied
  /// when a region or panel is filled.
  mlir::Operation *Lift = nullptr;
  mlir::Type Element; ///< of the region or panel
  /// Region: the box's sizes.
  llvm::SmallVector<int64_t> Box;

  mlir::Value tensor() const { return Operand->get(); }
  bool dependsOn(const JoinedLoops &Group) const {
    return llvm::any_of(
        Group.Loops, [&](unsigned Loop) { return Map.isFunctionOfDim(Loop); });
  }
  /// Region: elements between neighbours along each of the box's dims.
  llvm::SmallVector<int64_t> BoxStrides;
  int64_t boxElements() const {
    return Box.empty() ? 1 : Box.front() * BoxStrides.front();
  }
};

struct TilePlan {
  mlir::linalg::LinalgOp Root;
  llvm::SmallVector<mlir::OpFoldResult> LoopSizes;
  /// Parallel groups, slow to fast; the last is the vector group.
  llvm::SmallVector<JoinedLoops> Parallel;
  llvm::SmallVector<JoinedLoops> Reduction;
  llvm::SmallVector<TileOperand> Operands;
  int Row = -1;                      ///< a parallel group; -1: one row
  llvm::SmallVector<int64_t> Blocks; ///< of a unit, per parallel group

  unsigned Lanes = 1;
  unsigned Rows = 1;    ///< of a register tile
  unsigned Vectors = 1; ///< of a register tile

  /// The reduction is cut: groups before `ChunkGroup` are walked one index at
  /// a time, it itself in steps of `Chunk`. Partial sums go through memory.
  bool Split = false;
  unsigned ChunkGroup = 0;
  int64_t Chunk = 0;

  /// The consumers of the root generic have a vector form.
  bool VectorEpilogue = true;

  bool has(TileOperand::Source Source) const {
    return llvm::any_of(
        Operands, [&](const TileOperand &One) { return One.From == Source; });
  }
  unsigned vectorGroup() const { return Parallel.size() - 1; }
  int64_t tileColumns() const { return int64_t(Lanes) * Vectors; }
  bool isRowGroup(unsigned Group) const {
    return Group != vectorGroup() && Blocks[Group] > 1;
  }
  /// Rows of a unit, over all groups with blocks.
  int64_t unitRows() const;
  shape::Expr work() const;
  std::string text() const;
};

/// A plan, or none where the kernel does not fit.
std::optional<TilePlan> planTiles(const FusedKernel &Form,
                                  const HostMachine &Machine);

/// Steps of `planTiles`: rows and vectors of a register tile for the operands'
/// sources, the blocks of a unit, the boxes of region operands (smaller blocks
/// until they fit), and the cuts of the reduction.
void chooseTileSize(TilePlan &Plan, const HostMachine &Machine);
void chooseBlocks(TilePlan &Plan);
void shapeRegions(TilePlan &Plan);
void chooseChunks(TilePlan &Plan, const HostMachine &Machine);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_HOST_HOSTTILEPLAN_H
