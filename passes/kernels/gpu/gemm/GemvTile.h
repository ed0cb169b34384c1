//===- GemvTile.h - The code of a product of few rows -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the schedule that GpuGemv.cpp has chosen. Each warp has a ring of
/// stages in shared memory. It copies weights and rows into later stages while
/// it multiplies earlier ones. Warps wait for one another only where
/// accumulators are joined.
///
///   stage      weights: Depth of the sum × columns of the tile, then rows: the
///             same of the sum; pieces of 16 bytes, their places in a line
///             exchanged (xor) so that neither side meets in a bank
///   fragment  thread (g, t), g = lane / 4, t = lane % 4, holds of 32 elements
///   of K those from 8 t to 8 t + 7 of rows g and g + 8, in one
///             load; of weights the same, as they are where K is contiguous, by
///             ldmatrix.trans where columns are
///   halves    a tile's columns, where results of two columns meet: the second
///             half is the second matrix's, or `RotateHalf` columns behind
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GEMVTILE_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GEMVTILE_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/schedule/GemvSchedule.h"

namespace kpc::kernels {

/// Columns that one access of weights whose columns are contiguous may have:
/// 8, 4 or 2.
int64_t columnsOfAccess(const GemmMatch &P);

/// The value of a size or stride that hasValue().
mlir::Value valueOf(GpuWriter &W, const GemmMatch &P, const shape::Expr &E);
bool hasValue(const GemmMatch &P, const shape::Expr &E);

class GemvTile {
public:
  /// Rows of one product instruction, and elements of K that a thread
  /// takes at once.
  static constexpr int64_t TileM = 16, ThreadK = 8;
  /// Elements of K that two products take, and bytes of a tile of codes.
  static constexpr int64_t StepK = 32, TileBytes = 512;

  GemvTile(GpuWriter &W, const GemmMatch &P, const schedule::GemvSchedule &S,
           bool KeepInCache)
      : W(W), P(P), S(S), KeepInCache(KeepInCache) {}

  /// Of a tile: half of the sums' where there are two products.
  int64_t resultColumns() const { return P.Second ? half() : S.columns(); }
  /// `SeveralTiles`: of 16 rows.
  mlir::LogicalResult emit(bool SeveralTiles);

private:
  static constexpr int64_t ElementBytes = 2, PieceBytes = 16;
  using Values = llvm::SmallVector<mlir::Value>;
  /// The next stage to fill, and with what.
  struct Place {
    mlir::Value Stage;       ///< i32, an address in shared memory
    mlir::Value Tile, Slice; ///< numbers among the block's
  };

  // 32-bit arithmetic.
  mlir::Value i32(int64_t V);
  mlir::Value add32(mlir::Value A, mlir::Value B);
  mlir::Value add32(mlir::Value A, int64_t B) { return add32(A, i32(B)); }
  mlir::Value mul32(mlir::Value A, int64_t B);
  mlir::Value div32(mlir::Value A, int64_t B);
  mlir::Value rem32(mlir::Value A, int64_t B);
  mlir::Value xor32(mlir::Value A, mlir::Value B);
  mlir::Value toIndex(mlir::Value V);
  mlir::Value least(mlir::Value A, mlir::Value B);

  void prepare();
  void placeThread();
  mlir::Value firstColumn(mlir::Value Tile);
  mlir::Value isInSecondHalf(mlir::Value InTile);
  mlir::Value baseOf(mlir::Value InTile);
  mlir::Value columnOf(mlir::Value First, mlir::Value InTile);
  void copy(mlir::Value To, mlir::Value Base, mlir::Value Element,
            mlir::Value Inside, int64_t Bytes, mlir::Value Predicate = {});
  void copyBytes(mlir::Value To, mlir::Value From, mlir::Value Inside,
                 int64_t Bytes, mlir::Value Predicate = {});
  void copyWeightsAlongColumns(mlir::Value To, mlir::Value Column,
                               mlir::Value Sum);
  void copyWeightsAlongK(mlir::Value To, mlir::Value Column, mlir::Value Sum);
  void copyRows(mlir::Value To, mlir::Value Sum);
  mlir::Value rowSwizzle(mlir::Value Row);
  Place fill(Place At);
  mlir::Value nextStage(mlir::Value Stage);

  // Of codes: GemvTileCodes.cpp.
  mlir::Value inTiles(mlir::Value Column, int64_t Slice);
  void copyCodes(mlir::Value To, mlir::Value Column, mlir::Value Sum);
  void copyOfBlocks(mlir::Value To, mlir::Value Base, const Matrix &From,
                    mlir::Value Column, mlir::Value Sum);
  mlir::Value loadShared(mlir::Type Ty, mlir::Value At);
  mlir::Value numberOf(mlir::Value V);
  mlir::Value zeroPoint(mlir::Value From, int64_t Block, int64_t Slice);
  Values numbersOf(llvm::ArrayRef<mlir::Value> Words, mlir::Value Zero);
  Values numbersBeside(mlir::Value Words, llvm::ArrayRef<int64_t> Bytes,
                       mlir::Value Zero);
  mlir::Value scaled(mlir::Value Product, mlir::Value ScalesAt,
                     mlir::Value Sums);
  Values multiplyCodes(mlir::Value Stage, mlir::ValueRange Sums);
  int64_t blocksOfStage() const {
    return std::max<int64_t>(S.Depth / P.Codes->Block, 1);
  }
  int64_t bytesOf(const Matrix &M) const {
    return M.Element.getIntOrFloatBitWidth() / 8;
  }

  Values load16(mlir::Value At);
  Values rowsOf(mlir::Value RowsAt, int64_t Offset, int64_t Part);
  Values weightsOf(mlir::Value From, int64_t Part, int64_t Slice);
  Values multiplyStage(mlir::Value Stage, mlir::ValueRange Sums);
  mlir::Value multiply(llvm::ArrayRef<mlir::Value> Upper,
                       llvm::ArrayRef<mlir::Value> Lower,
                       llvm::ArrayRef<mlir::Value> Weights, int64_t Half,
                       mlir::Value Sums);
  void storePartial(mlir::ValueRange Sums);
  void epilogue(mlir::Value Column);
  mlir::Value totalOf(mlir::Value Row, mlir::Value InTile);
  void epilogueElement(mlir::Value Row, mlir::Value InTile, mlir::Value First);
  void rowsFrom(mlir::Value First);

  bool hasHalves() const { return P.Second || P.RotateHalf; }
  int64_t half() const { return S.columns() / 2; }
  int64_t stageRows() const { return S.StageRows; }
  int64_t pieces() const { return S.Depth / 8; } ///< of 16 bytes, in a row

  GpuWriter &W;
  const GemmMatch &P;
  const schedule::GemvSchedule &S;
  const bool KeepInCache;
  bool KContiguous = false, HasLower = true;
  mlir::Value Rows, Columns, Sum, RowStrideA, StrideB, Tiles, Slices;
  mlir::Value BaseA, BaseB, BaseSecondB; ///< addresses, as index
  mlir::Value BaseScales, BaseZeros;
  mlir::Value Thread, Warp, Lane, G, T, Ring, Policy, Partial;
  mlir::Value FirstRow, RowsHere;
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMVTILE_H
