//===- MmaSyncResults.h - Results of kernels on mma.sync --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels on mma.sync make of a tile's accumulators, however these came
/// about: the epilogue in registers, and stores of whole pieces of rows, which
/// are put together in shared memory. A builder may say which rows of the
/// result the tile has.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCRESULTS_H
#define KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCRESULTS_H

#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/schedule/MmaSyncSchedule.h"

namespace kpc::kernels {

/// Bytes of the longest line of shared memory, and of its swizzle.
inline constexpr int64_t SharedLineBytes = 128;

class MmaSyncResults : protected TileBuilder {
public:
  MmaSyncResults(FusedKernel &Form, GemmMatch &P,
                 const schedule::MmaSyncSchedule &S, const target::Target &T)
      : TileBuilder(Form), P(P), S(S), T(T) {}
  virtual ~MmaSyncResults() = default;

protected:
  /// Makes and stores what the kernel makes of the sums. `Room` is what is
  /// stored goes through: a tile whose contents are no longer needed when all
  /// threads have come here.
  void storeTile(mlir::Value Acc, mlir::Value Room);
  /// The row of the result that is a row of the tile, and whether it exists.
  struct MemoryRow {
    mlir::Value At; ///< index
    std::function<mlir::Value()> IsThere;
  };
  virtual MemoryRow rowOf(mlir::Value InTile);
  /// Fills in where rows of the tile are, if not one below the other.
  virtual void locate(AccumulatorCoord &) {}

  /// Columns of the result in a tile, and a warpgroup's: of two GEMMs each has
  /// half of those of the accumulators.
  int64_t resultColumns() const { return S.TileN / products(); }
  int64_t groupColumns() const { return S.WarpgroupN / products(); }
  int64_t products() const { return P.Second ? 2 : 1; }

  mlir::Value sub(mlir::Value A, mlir::Value C);
  mlir::Value least(mlir::Value A, mlir::Value C);

  GemmMatch &P;
  const schedule::MmaSyncSchedule &S;
  const target::Target &T;
  mlir::Value FirstRow, FirstColumn, Batch; ///< of this block's tile
  mlir::Value RowCount, ColumnCount;
  mlir::Value Group; ///< index: of the warpgroups that share the tile
  /// Who shares the tile: the block, or each warpgroup has one of its own.
  tile::Scope Meets = tile::Scope::Block;
  mlir::LogicalResult Result = mlir::success();

private:
  void storePart(mlir::Value Acc, mlir::Value StagingTile, int64_t First);
  mlir::Value mapPart(mlir::Value Acc, mlir::Value Row, mlir::Value Column,
                      int64_t First, int64_t Columns);
  int64_t partColumns(int64_t RoomBytes) const;
  int64_t resultPiece() const;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCRESULTS_H
