//===- TmaGemm.h - GEMMs that TMA feeds -------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that GEMM kernels fed by TMA share, on all tensor cores: a ring of
/// stages with a tile of A (rows × part of K) and of B each, one thread that
/// fills it, the order of tiles, the epilogue, and stores to memory. A builder
/// of such kernels says what a stage holds, writes the copies that fill it
/// (GemmOperands.h), and multiplies (HopperGemm.h).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_TMAGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_TMAGEMM_H

#include "dialects/kernel/Kernel.h"
#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/gemm/ColumnVectors.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/ResidualTiles.h"
#include "passes/schedule/GemmSchedule.h"

namespace kpc::kernels {

class TmaGemm : protected TileBuilder {
public:
  /// Of `P`, what stands in A and B is the builder's own business.
  TmaGemm(FusedKernel &Form, GemmMatch &P, const schedule::GemmSchedule &S)
      : TileBuilder(Form), P(P), S(S) {}
  virtual ~TmaGemm() = default;

protected:
  /// Where a tile is: its first row and column, and its batch index.
  struct TileCoord {
    mlir::Value Row, Column, Batch;
  };

  /// Sets `TileA`, `TileB`, `MoreTiles` and `BTransposed`.
  virtual void declareTiles() = 0;
  /// Adds the parameters that copies of A and B go through.
  virtual void addOperandViews() = 0;
  /// All of K: as many steps of `TileK` as a tile has stages to fill.
  virtual mlir::Value countK() = 0;
  /// That of one tile, where tiles differ.
  virtual mlir::Value countOfTile(mlir::Value /*Tile*/) { return KCount; }
  /// One thread fills the stages of one tile; gives the place behind them.
  virtual mlir::Value produceTile(const TileCoord &Where,
                                  mlir::Value Cursor) = 0;

  /// The tiles of a stage, those of A and B first.
  llvm::SmallVector<mlir::Type> tilesOfStage() const;
  /// A tile whose rows lie in lines of up to 128 bytes.
  tile::SharedType sharedTile(int64_t Rows, int64_t Columns, mlir::Type Of);
  /// The view whose boxes are lines of `Rows` rows of a tile of `M`.
  tile::ViewType viewOfLines(const Matrix &M, tile::SharedType Tile,
                             int64_t Rows);
  /// A parameter of the kernel that copies go through, and its tensor map:
  /// argument `Buffer`, with a box or, in im2col mode, its walk.
  mlir::BlockArgument addView(tile::ViewType View, unsigned Buffer,
                              llvm::ArrayRef<shape::Expr> Dims,
                              llvm::ArrayRef<shape::Expr> Strides,
                              llvm::ArrayRef<int64_t> Box,
                              llvm::ArrayRef<int64_t> Traversal = {},
                              kernel::Im2colAttr Im2col = {});
  /// The same of elements that no product reads: f32 stays as it is.
  mlir::BlockArgument addExactView(tile::ViewType View, unsigned Buffer,
                                   mlir::Type Stored,
                                   llvm::ArrayRef<shape::Expr> Dims,
                                   llvm::ArrayRef<shape::Expr> Strides,
                                   llvm::ArrayRef<int64_t> Box,
                                   llvm::ArrayRef<int64_t> Traversal = {},
                                   kernel::Im2colAttr Im2col = {});
  /// The same for the matrix `M` of `Rows` lines of `Columns` contiguous
  /// elements, one for each batch index.
  mlir::BlockArgument addMatrixView(const Matrix &M, tile::ViewType View,
                                    bool ByColumn, const shape::Expr &Rows,
                                    const shape::Expr &Columns);
  /// Some rows of a tile in shared memory.
  mlir::Value rowsOf(mlir::Value Tile, mlir::Value First, int64_t Rows = 64);
  /// Views, the ring, whose stages `Consumers` release, and room for what
  /// `Groups` warpgroups store, `Rows` rows each.
  void declareMemory(int64_t Groups, int64_t Rows, int64_t Consumers,
                     bool Pair = false);
  /// Has the epilogue's residual and its vectors copied to shared memory, which
  /// `Consumers` warps read: the vectors if `declareMemory` finds room for them
  /// in `SharedBytes` of a block.
  void stageReads(int64_t Consumers, int64_t SharedBytes);

  TileCoord placeOf(mlir::Value Tile);
  /// A place in `M`, as its view counts.
  Values at(const Matrix &M, const TileCoord &Where, mlir::Value Row,
            mlir::Value Column);
  /// All tiles of this block, or, of `Turns` who share them, those of the
  /// `Turn`-th.
  Values
  forEachTile(mlir::ValueRange Carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> Body,
              mlir::Value Turn = {}, int64_t Turns = 1);
  /// This block's first tile, and how far it is to its next.
  std::pair<mlir::Value, mlir::Value> firstTile();
  /// The first places in the ring, and in those of vectors and of the residual
  /// where these are staged.
  Values firstPlaces();
  /// What the warps that copy do; with `Drain` they stay until all is read.
  void produce(bool Drain = false);

  /// Columns of the result in a tile: half of those of the accumulators where
  /// there are two GEMMs, the first's accumulators in front of the second's.
  int64_t resultColumns() const { return P.Second ? S.TileN / 2 : S.TileN; }
  /// What the kernel makes of the accumulators, as elements of the output.
  mlir::Value mapElements(const TileCoord &Where, mlir::Value Row,
                          mlir::Value Column, mlir::Value Part,
                          mlir::Value Paired = {}, KnownElements Known = {});
  /// One part of the result's columns, the `Number`-th of the tile, on its way.
  void storePart(const TileCoord &Where, mlir::Value Group, mlir::Value Row,
                 mlir::Value Column, mlir::Value Out, int64_t Number);
  void describeLaunch(GpuLaunch &Launch, int64_t Threads);
  /// Tiles of the result, over the kernel's sizes.
  shape::Expr tileCount() const;

  GemmMatch &P;
  const schedule::GemmSchedule &S;
  tile::SharedType TileA, TileB;
  llvm::SmallVector<mlir::Type> MoreTiles; ///< of a stage, behind A and B
  bool ATransposed = false;                ///< the rows are contiguous in A
  bool BTransposed = false;                ///< K is contiguous in B
  mlir::Value Pipe;
  /// Of the sum, where this block begins and how much is its own, up to whole
  /// steps of `TileK`.
  mlir::Value FirstK, KCount;
  mlir::Value Tiles; ///< of the result, i32
  mlir::Value Rank;  ///< of this block in its cluster; null: it is alone
  mlir::LogicalResult Result = mlir::success();
  /// None: the epilogue loads them itself.
  std::optional<ColumnVectors> Vectors;
  std::optional<ResidualTiles> Residual;

  /// Needs the result's sizes.
  void countTiles();

private:
  mlir::Type elementOf(tile::ViewType View, unsigned Buffer) const;
  /// Decides whether vectors are staged, and gives what their copies go
  /// through.
  Values addVectorViews(int64_t SharedBytes);
  /// The same of the residual, which takes what room is left.
  Value addResidualView(int64_t SharedBytes);
  Value loadResidual(const TileCoord &Where, Value At);

  int64_t StagedRows = 0; ///< of one warpgroup and one store
  int64_t Readers = 0, MostShared = 0;
  llvm::SmallVector<GemmMatch::ColumnVector> StagedVectors;
  mlir::Value RowTiles, ColumnTiles; ///< i32

protected:
  mlir::BlockArgument ViewD;
  mlir::Value StagingTile;
  mlir::Value RowCount, ColumnCount;
  llvm::SmallVector<mlir::Attribute> TensorMaps;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_TMAGEMM_H
