//===- GemmOperands.h - Operands in memory ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operands of a GEMM in memory: a stage's tiles, and the copies that fill
/// them. `Engine` multiplies (HopperGemm, BlackwellGemm):
///
///   class GemmHopper : public GemmOperands<HopperGemm> { … };
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GEMMOPERANDS_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GEMMOPERANDS_H

#include "passes/kernels/gpu/gemm/TmaGemm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kpc::kernels {

/// Why TMA does not copy A, B and the result, or wgmma and tcgen05 do not
/// multiply them; none: they do.
std::optional<schedule::Refusal> refusalByTma(GemmMatch &P);

/// What a schedule is chosen for; none where there are too few rows or columns
/// for tensor cores.
std::optional<schedule::GemmShape> gemmShapeOf(GemmMatch &P);

template <typename Engine> class GemmOperands : public Engine {
public:
  using Engine::Engine;

protected:
  using TileCoord = typename Engine::TileCoord;
  using Values = typename Engine::Values;

  /// Blocks that need the same tile of A, of B: each copies a part of its rows
  /// to all.
  virtual int64_t multicastOfA() { return 1; }
  virtual int64_t multicastOfB() { return 1; }
  /// Columns of B that are in this block's stages, and where they begin.
  virtual int64_t columnsOfB() { return this->S.TileN; }
  virtual mlir::Value firstColumnOfB(const TileCoord &Where) {
    return Where.Column;
  }
  /// What tiles hold of a matrix: its elements, or bytes of two.
  virtual mlir::Type tileElement(const Matrix &M) { return M.Element; }
  /// Fills those of a stage's tiles that are behind A and B; `Step` is how far
  /// the stage's K is from the tile's first.
  virtual void loadMore(const TileCoord &, mlir::Value /*Step*/,
                        mlir::ValueRange /*Tiles*/, mlir::Value /*Stage*/) {}

  void declareTiles() override;
  void addOperandViews() override;

private:
  mlir::Value countK() override { return this->W.size(this->P.C.K.Sizes); }
  mlir::Value produceTile(const TileCoord &Where, mlir::Value Cursor) override;
  void loadTile(mlir::BlockArgument View, const Matrix &M,
                const TileCoord &Where, mlir::Value Row, mlir::Value Column,
                mlir::Value Tile, mlir::Value Stage, int64_t Blocks);
  void loadB(const TileCoord &Where, mlir::Value K, mlir::Value Tile,
             mlir::Value Stage);
  /// The columns of a stage's B that one product reads: all, or half of them.
  tile::SharedType tileOfOneB() const;

  mlir::BlockArgument ViewA, ViewB, ViewOfSecondB;
};

template <typename Engine> void GemmOperands<Engine>::declareTiles() {
  auto &P = this->P;
  auto &S = this->S;
  mlir::Type OfA = tileElement(P.A), OfB = tileElement(P.B);
  this->ATransposed = P.A.ColumnStride != shape::Expr(1);
  this->BTransposed = P.B.RowStride == shape::Expr(1);
  this->TileA = this->ATransposed ? this->sharedTile(S.TileK, S.TileM, OfA)
                                  : this->sharedTile(S.TileM, S.TileK, OfA);
  this->TileB = this->BTransposed
                    ? this->sharedTile(columnsOfB(), S.TileK, OfB)
                    : this->sharedTile(S.TileK, columnsOfB(), OfB);
}

template <typename Engine> void GemmOperands<Engine>::addOperandViews() {
  auto &P = this->P;
  auto LinesA = this->viewOfLines(P.A, this->TileA,
                                  this->TileA.getRows() / multicastOfA());
  ViewA = this->ATransposed ? this->addMatrixView(P.A, LinesA, true, P.K, P.M)
                            : this->addMatrixView(P.A, LinesA, false, P.M, P.K);
  tile::SharedType OneB = tileOfOneB();
  auto LinesB = this->viewOfLines(P.B, OneB, OneB.getRows() / multicastOfB());
  auto View = [&](const Matrix &M) {
    return this->BTransposed ? this->addMatrixView(M, LinesB, true, P.N, P.K)
                             : this->addMatrixView(M, LinesB, false, P.K, P.N);
  };
  ViewB = View(P.B);
  if (P.Second)
    ViewOfSecondB = View(P.Second->B);
}

template <typename Engine>
tile::SharedType GemmOperands<Engine>::tileOfOneB() const {
  tile::SharedType All = this->TileB;
  if (!this->P.Second)
    return All;
  int64_t Rows = All.getRows(), Columns = All.getColumns();
  (this->BTransposed ? Rows : Columns) /= 2;
  return tile::SharedType::get(All.getContext(), {Rows, Columns},
                               All.getElement(), All.getSwizzle(),
                               All.getPitch());
}

/// Copies this block's rows of a tile into it, in all blocks that need it.
template <typename Engine>
void GemmOperands<Engine>::loadTile(mlir::BlockArgument View, const Matrix &M,
                                    const TileCoord &Where, mlir::Value Row,
                                    mlir::Value Column, mlir::Value Tile,
                                    mlir::Value Stage, int64_t Blocks) {
  auto &W = this->W;
  if (Blocks == 1) {
    tile::TmaLoadOp::create(W.B, W.Loc, View, this->at(M, Where, Row, Column),
                            Tile, this->Pipe, Stage);
    return;
  }
  int64_t Rows =
      mlir::cast<tile::SharedType>(Tile.getType()).getRows() / Blocks;
  mlir::Value First = W.mul(this->Rank, W.index(Rows));
  mlir::Value Part = this->rowsOf(Tile, First, Rows);
  tile::TmaMulticastOp::create(W.B, W.Loc, View,
                               this->at(M, Where, W.add(Row, First), Column),
                               Part, this->Pipe, Stage, Blocks);
}

/// What the stage holds of B; of two products the columns of the second behind
/// those of the first.
template <typename Engine>
void GemmOperands<Engine>::loadB(const TileCoord &Where, mlir::Value K,
                                 mlir::Value Tile, mlir::Value Stage) {
  auto &W = this->W;
  mlir::Value Column = firstColumnOfB(Where);
  mlir::Value Row = this->BTransposed ? Column : K,
              Other = this->BTransposed ? K : Column;
  if (!this->P.Second)
    return loadTile(ViewB, this->P.B, Where, Row, Other, Tile, Stage,
                    multicastOfB());
  tile::SharedType Half = tileOfOneB();
  int64_t Columns = this->BTransposed ? Half.getRows() : Half.getColumns();
  for (mlir::BlockArgument View : {ViewB, ViewOfSecondB}) {
    mlir::Value First = W.index(View == ViewB ? 0 : Columns);
    mlir::Value Part =
        this->BTransposed
            ? mlir::Value(
                  tile::SubviewRowsOp::create(W.B, W.Loc, Half, Tile, First))
            : mlir::Value(tile::SubviewColumnsOp::create(W.B, W.Loc, Half, Tile,
                                                         First));
    // A second B lies as the first.
    loadTile(View, this->P.B, Where, Row, Other, Part, Stage, multicastOfB());
  }
}

template <typename Engine>
mlir::Value GemmOperands<Engine>::produceTile(const TileCoord &Where,
                                              mlir::Value Cursor) {
  auto &W = this->W;
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  // Indices that pick matrices are read here: the emitter has an element that
  // is asked for again in the loop.
  for (const Matrix *M : {&this->P.A, &this->P.B})
    if (M->Pick)
      (void)this->at(*M, Where, Where.Row, Where.Column);
  return W.loop(W.index(0), this->KCount, W.index(this->S.TileK), Cursor,
                [&](mlir::Value Step, mlir::ValueRange In) -> Values {
                  mlir::Value K = W.add(this->FirstK, Step);
                  mlir::Value Stage = tile::AcquireOp::create(
                      W.B, W.Loc, Free, this->Pipe, In[0]);
                  auto Parts = tile::TilesOp::create(
                      W.B, W.Loc, this->tilesOfStage(), this->Pipe, Stage);
                  if (this->ATransposed)
                    loadTile(ViewA, this->P.A, Where, K, Where.Row,
                             Parts.getResult(0), Stage, multicastOfA());
                  else
                    loadTile(ViewA, this->P.A, Where, Where.Row, K,
                             Parts.getResult(0), Stage, multicastOfA());
                  loadB(Where, K, Parts.getResult(1), Stage);
                  loadMore(Where, Step, Parts.getResults(), Stage);
                  tile::CommitOp::create(W.B, W.Loc, this->Pipe, Stage);
                  return {tile::NextOp::create(W.B, W.Loc, In[0].getType(),
                                               this->Pipe, In[0])};
                })[0];
}

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMMOPERANDS_H
