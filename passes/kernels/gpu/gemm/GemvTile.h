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
/// stages in shared memory (tile.pipe cp_async). It copies weights and rows
/// into later stages while it multiplies earlier ones. Warps wait for one
/// another only where accumulators are joined.
///
///   stage     a tile of weights, Depth of K × columns, one of rows of A, and
///             of codes their scales and zero points; swizzled so that neither
///             copies nor loads meet in a bank
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

#include "passes/kernels/gpu/gemm/CodeNumbers.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/schedule/GemvSchedule.h"

#include "dialects/tile/Tile.h"

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

  /// What the target and its caches add to a schedule.
  struct Chip {
    bool KeepsWeights; ///< the second cache may hold them until the next run
    bool ConvertsFp8;  ///< cvt.rn.f16x2.e4m3x2
    bool StartsEarly;  ///< before the kernels that it depends on have ended
  };
  GemvTile(GpuWriter &W, const GemmMatch &P, const schedule::GemvSchedule &S,
           Chip On)
      : W(W), P(P), S(S), On(On) {
    if (P.Codes)
      Numbers.emplace(W, P.A.Element, *P.Codes, On.ConvertsFp8);
  }

  /// Of a tile: half of the sums' where there are two products.
  int64_t resultColumns() const { return P.Second ? half() : S.columns(); }
  /// `SeveralTiles`: of 16 rows.
  mlir::LogicalResult emit(bool SeveralTiles);

private:
  static constexpr int64_t ElementBytes = 2, PieceBytes = 16;
  /// Elements of 16 bits in a piece.
  static constexpr int64_t PieceElements = PieceBytes / ElementBytes;
  using Values = llvm::SmallVector<mlir::Value>;
  /// The next stage to fill, and with what.
  struct Place {
    mlir::Value At;          ///< in the ring
    mlir::Value Tile, Slice; ///< numbers among the block's
  };
  /// A stage: free, its tiles are filled; full, they are multiplied.
  struct Stage {
    mlir::Value Token;
    mlir::Value Weights, Rows, Scales, Zeros; ///< tiles; the last two of codes
  };

  // Arithmetic on indices.
  mlir::Value add(mlir::Value A, int64_t B) { return W.add(A, W.index(B)); }
  mlir::Value mul(mlir::Value A, int64_t B) { return W.mul(A, W.index(B)); }
  mlir::Value sub(mlir::Value A, mlir::Value B);
  mlir::Value div(mlir::Value A, int64_t B);
  mlir::Value rem(mlir::Value A, int64_t B);
  mlir::Value least(mlir::Value A, mlir::Value B);
  mlir::Value i32(int64_t V);

  mlir::Value tilesOfBlock();
  void prepare();
  void placeThread();
  mlir::Value firstColumn(mlir::Value Tile);
  mlir::Value isInSecondHalf(mlir::Value InTile);
  /// The first or the second memory: that of the matrix that a column of the
  /// tile is of.
  mlir::Value memoryOf(mlir::Value InTile, mlir::Value First,
                       mlir::Value Second);
  mlir::Value columnOf(mlir::Value First, mlir::Value InTile);

  // Copies: GemvTileCopies.cpp.
  tile::SharedType weightsType() const;
  tile::SharedType rowsType() const;
  void declareRing();
  Stage tilesOf(mlir::Value Token);
  struct Piece {
    mlir::Value Memory, At, Inside; ///< from which element on; none: all are
    mlir::Value Tile, Row, Column;
    int64_t Bytes = PieceBytes;
    mlir::Value Condition = {}; ///< that the lane has one; none: all have
  };
  void copy(const Stage &To, const Piece &One);
  mlir::Value numberOfStage(const Place &At);
  mlir::Value elementsAlong(const Place &At, mlir::Value InStage,
                            mlir::Value Stride);
  mlir::Value insideOfSum(const Place &At, mlir::Value InStage);
  bool hasWholeTiles() const;
  void copyWeightsAlongColumns(const Stage &To, const Place &From);
  void copyWeightsAlongK(const Stage &To, const Place &From);
  void copyRows(const Stage &To, const Place &From);
  bool readsConstantWeights() const;
  Stage acquire(const Place &At);
  void copyWeights(const Stage &To, const Place &From);
  Place after(const Place &At);
  Place fill(Place Next);
  Place fillRing(mlir::Value Begin);
  mlir::Value next(mlir::Value At);

  // Of codes: GemvTileCodes.cpp.
  mlir::Value inTiles(mlir::Value Column, mlir::Value Slice);
  void copyCodes(const Stage &To, const Place &From);
  void copyOfBlocks(const Stage &To, mlir::Value Tile, mlir::Value Memory,
                    mlir::Value SecondMemory, const Matrix &Of,
                    const Place &From);
  mlir::Value numberOf(mlir::Value V);
  mlir::Value ofColumn(mlir::Value Tile, const Matrix &Of, int64_t Block,
                       int64_t Slice);
  Values sumsOfRows(const Values &Before, const Values &Rows);
  Values scaled(const Stage &From, int64_t Block, int64_t First,
                llvm::ArrayRef<Values> Products, llvm::ArrayRef<Values> OfRows,
                bool HasShift, Values Sums);
  Values multiplyCodes(const Stage &From, mlir::ValueRange Sums);
  /// Slices of one matrix, and the matrix that a slice is of.
  int64_t ownSlices() const { return resultColumns() / 8; }
  /// Slices of heads between both halves of a tile.
  int64_t slicesToOther() const { return (P.RotateHalf - half()) / 8; }
  const GemmMatch::TiledCodes &codesOf(int64_t Slice) const {
    return Slice < ownSlices() ? *P.Codes : *P.Second->Codes;
  }
  /// Of 8 rows, which are the right operand of codes.
  int64_t halvesOfRows() const { return HasLower ? 2 : 1; }
  /// Instructions of all slices, each of two, and all rows.
  int64_t productsOfCodes() const {
    return (S.Slices + 1) / 2 * halvesOfRows();
  }
  void storeColumns(mlir::ValueRange Sums);
  int64_t blocksOfStage() const {
    return std::max<int64_t>(S.Depth / P.Codes->Block, 1);
  }
  int64_t bytesOf(const Matrix &M) const {
    return M.Element.getIntOrFloatBitWidth() / 8;
  }

  mlir::Value load(mlir::Type Ty, mlir::Value Tile, mlir::Value Row,
                   int64_t RowOffset, mlir::Value Column, int64_t ColumnOffset);
  Values elementsOf(mlir::Value Vector);
  Values load16(mlir::Value Tile, mlir::Value Row, int64_t RowOffset,
                mlir::Value Column, int64_t ColumnOffset);
  Values rowsOf(mlir::Value Tile, int64_t Offset, int64_t Part);
  Values weightsOf(mlir::Value Tile, int64_t Part, int64_t Slice);
  Values multiplyStage(const Stage &From, mlir::ValueRange Sums);
  mlir::Value multiply(llvm::ArrayRef<mlir::Value> Upper,
                       llvm::ArrayRef<mlir::Value> Lower,
                       llvm::ArrayRef<mlir::Value> Weights, int64_t Half,
                       mlir::Value Sums);
  Values initialSums();
  Values sumsOf(mlir::ValueRange Sums, int64_t Number);
  void storePartial(mlir::ValueRange Sums);
  void epilogue(mlir::Value Column);
  mlir::Value totalOf(mlir::Value Row, mlir::Value InTile);
  void multiplyRows(llvm::ArrayRef<mlir::Value> Upper,
                    llvm::ArrayRef<mlir::Value> Lower,
                    llvm::MutableArrayRef<Values> Sums);
  void storeRows(mlir::ValueRange Sums);
  void storeSquares(mlir::ValueRange Sums);
  mlir::Value totalIn(mlir::Value Of, mlir::Value Row, mlir::Value Column);
  void epilogueElement(mlir::Value Row, mlir::Value InTile, mlir::Value First);
  mlir::Value rowsFrom(mlir::Value First, mlir::Value Begin);

  bool hasHalves() const { return P.Second || P.RotateHalf > 1; }
  int64_t half() const { return S.columns() / 2; }
  int64_t stageRows() const { return S.StageRows; }
  /// Of 16 bytes, in a row of a stage's.
  int64_t pieces() const { return S.Depth / PieceElements; }

  GpuWriter &W;
  const GemmMatch &P;
  const schedule::GemvSchedule &S;
  const Chip On;
  std::optional<CodeNumbers> Numbers; ///< of codes
  bool KContiguous = false, HasLower = true;
  bool CopiesBeforeWait = false; ///< weights, while earlier kernels still run
  mlir::Value Rows, Columns, Sum, RowStrideA, StrideB, Tiles, Slices;
  mlir::Value MemoryA, MemoryB, MemorySecondB;
  mlir::Value MemoryScales, MemoryZeros; ///< of codes; those of the second B
  mlir::Value MemorySecondScales, MemorySecondZeros;
  mlir::Value Thread, Warp, Lane, G, T; ///< indices
  llvm::SmallVector<mlir::Type> StageTiles;
  mlir::Value Ring, Policy;
  mlir::Value Partial; ///< the warps' sums: a tile of f32
  mlir::Value Squares; ///< the same of the squares of rows; none: not asked for
  mlir::Value FirstRow, RowsHere;
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMVTILE_H
