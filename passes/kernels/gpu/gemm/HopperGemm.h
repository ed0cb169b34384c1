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

private:
  void consume(mlir::Value Group);
  void consumeInTurn(mlir::Value Group);
  /// Products that are under way, the stage that they read, and the next.
  struct StageProducts {
    mlir::Value Pending, Stage, Next;
  };
  StageProducts multiplyStage(mlir::Value Group, mlir::Value At,
                              mlir::Value Add);
  mlir::Value addAccumulators(mlir::Value Sum, mlir::Value More);
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
  mlir::Value storeForSplitK(mlir::Value Group, mlir::Value Acc);

protected:
  tile::FragmentType Acc;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_HOPPERGEMM_H
