//===- ResidualTiles.h - What an epilogue reads by element ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The residual of a GEMM's epilogue, an element for each result. Loaded where
/// it is added, it comes from memory while no warp of the tile multiplies, in
/// pieces of 8 or 16 bytes of a row. So the thread that fills the stages also
/// copies it by TMA, in the parts that the epilogue stores, into a pipe of
/// their own.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_RESIDUALTILES_H
#define KPC_PASSES_KERNELS_GPU_GEMM_RESIDUALTILES_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "dialects/tile/Tile.h"

namespace kpc::kernels {

class ResidualTiles {
public:
  using Value = mlir::Value;

  /// Parts like `Part`, of which a tile has `OfTile`, for up to `Tiles` tiles
  /// at once; fewer where `Room` bytes are not enough.
  ResidualTiles(GpuWriter &W, tile::SharedType Part, int64_t OfTile,
                int64_t Tiles, int64_t Room);
  /// Tiles whose parts have room, at least one.
  int64_t tiles() const { return Stages / OfTile; }
  int64_t parts() const { return OfTile; }
  /// Of all stages; their barriers are among those of BarrierRoom.
  int64_t bytes() const;
  /// The pipe, whose stages `Consumers` warps release; copies go through
  /// `View`.
  void declare(Value View, int64_t Consumers);

  /// The place `Count` tiles after `At`: other warpgroups have those between.
  Value skip(Value At, Value Count);
  /// One thread copies the part at `Where` of the residual; gives the next
  /// place.
  Value load(mlir::ValueRange Where, Value At);
  /// Waits for the part at `At`, whose rows from `First` on are read and given
  /// back.
  Value fragment(Value First, tile::FragmentType Ty, Value At);
  Value next(Value At);

private:
  GpuWriter &W;
  tile::SharedType Part;
  int64_t OfTile, Stages;
  Value Pipe, View;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_RESIDUALTILES_H
