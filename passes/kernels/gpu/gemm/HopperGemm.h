//===- HopperGemm.h - Mainloop and epilogue on wgmma ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that all kernels on wgmma share, independent of the source of their
/// operands: warpgroups that multiply, 64 rows each, with accumulators in
/// registers, and blocks that share the K of a tile.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_HOPPERGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_HOPPERGEMM_H

#include "passes/kernels/gpu/gemm/TmaGemm.h"

namespace kpc::kernels {

class HopperGemm : public TmaGemm {
public:
  using TmaGemm::TmaGemm;

  /// `SharedBytes`: the most shared memory of a block.
  mlir::LogicalResult emit(GpuLaunch &Launch, int64_t SharedBytes);

protected:
  void setUpCluster();
  void takeShareOfK();
  void loadScalars();
  void endRole();

  /// Whether each stage begins new accumulators, which are added up in
  /// registers.
  virtual bool addsUpStages() const { return P.promotes(); }
  /// Before the first product of a tile: the accumulators of `Group` are those
  /// of its rows.
  virtual void beginTile(const TileCoord & /*Where*/, mlir::Value /*Group*/) {}
  /// What the accumulators of a stage are multiplied by, which begins at `K` of
  /// the tile's, or after its last; empty: they are not.
  virtual Values factorsOfStage(mlir::Value /*K*/) { return {}; }
  /// Before the products of a full stage begin: its tiles that follow A and B.
  virtual void readStage(mlir::ValueRange /*Tiles*/) {}
  /// `Sum` (null: none) and the accumulators of a stage.
  virtual mlir::Value addStage(mlir::Value Sum, mlir::Value More,
                               mlir::ValueRange Factors);
  /// Puts this block's accumulators, of `Rows` x `Columns` in all warpgroups,
  /// where the others of its cluster read them: into the stages, which nobody
  /// needs any more. Gives what is kept of this group.
  mlir::Value storeForSplitK(mlir::Value Group, mlir::Value Acc, int64_t Rows,
                             int64_t Columns);

private:
  void consume(mlir::Value Group);
  void consumeInTurn(mlir::Value Group);
  /// Products that are under way, the stage that they read, and the next.
  struct StageProducts {
    mlir::Value Pending, Stage, Next;
  };
  StageProducts multiplyStage(mlir::Value Group, mlir::Value At,
                              mlir::Value Add);
  mlir::Value promotedMainloop(mlir::Value Group, mlir::Value Count,
                               mlir::Value &Cursor);
  mlir::Value mainloop(mlir::Value Group, mlir::Value Count,
                       mlir::Value &Cursor);
  /// `ReadsAt`: the places of the tile's vectors and of its residual, where
  /// these are staged, which become the next.
  void epilogueTile(const TileCoord &Where, mlir::Value Group, mlir::Value Acc,
                    Values &ReadsAt);
  bool sharesAngles() const;
  mlir::Value pairedPart(mlir::Value From, int64_t First, mlir::Type Part);
  mlir::Value subviewColumns(mlir::Value Tile, mlir::Value First);

protected:
  tile::FragmentType Acc;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_HOPPERGEMM_H
