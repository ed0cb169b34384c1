//===- ColumnVectors.h - What an epilogue reads by column -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The vectors of a GEMM's epilogue that have an element for each column: a
/// bias, scales of FP8. Loaded where they are used, they come from the second
/// cache while all tensor cores wait, once for each 64 columns of a tile. So
/// the thread that fills the stages also copies each tile's part of them into a
/// pipe of their own, before the tile's products.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_COLUMNVECTORS_H
#define KPC_PASSES_KERNELS_GPU_GEMM_COLUMNVECTORS_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "dialects/tile/Tile.h"

namespace kpc::kernels {

class ColumnVectors {
public:
  using Value = mlir::Value;

  /// A fragment for each vector, in place of what the function would read.
  using Fragments = llvm::SmallVector<std::pair<Value, Value>>;

  /// Whether a vector is of f32, f16 or bf16, and `Columns` of its elements are
  /// a multiple of 128 bytes.
  static bool fits(const GemmMatch::ColumnVector &V, int64_t Columns);

  /// Parts of `Columns` columns of `Of`, for as many tiles at once as `Stages`.
  ColumnVectors(GpuWriter &W, llvm::ArrayRef<GemmMatch::ColumnVector> Of,
                int64_t Columns, int64_t Stages);
  /// Of all stages, with their barriers.
  int64_t bytes() const;
  /// The pipe, whose stages `Consumers` warps release; copies go through
  /// `Views`, one for each vector.
  void declare(llvm::ArrayRef<Value> Views, int64_t Consumers);

  /// The place `Count` tiles after `At`: other warpgroups have those between.
  Value skip(Value At, Value Count);
  /// One thread copies what the tile that begins at `Column` needs; gives the
  /// next place.
  Value load(Value Column, Value At);
  /// Waits for the copies of the tile at `At`, and gives the next place.
  Value wait(Value At);
  /// Elements of the columns from `First` of that tile on.
  Fragments fragments(Value First, mlir::ArrayRef<int64_t> Shape);
  /// The tile's epilogue has read all.
  void release();

private:
  GpuWriter &W;
  llvm::ArrayRef<GemmMatch::ColumnVector> Of;
  int64_t Stages;
  llvm::SmallVector<mlir::Type> Tiles;
  llvm::SmallVector<Value> Views;
  Value Pipe, Stage;
  llvm::SmallVector<Value> Held; ///< the tiles of `Stage`
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_COLUMNVECTORS_H
