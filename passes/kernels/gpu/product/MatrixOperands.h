//===- MatrixOperands.h - Operands that are matrices in memory --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operands of a product of matrices as they lie in memory: a slot's tiles,
/// and the copies that fill them. `Engine` is what multiplies (HopperProduct,
/// BlackwellProduct):
///
///   class GemmHopper : public MatrixOperands<HopperProduct> { … };
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXOPERANDS_H
#define KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXOPERANDS_H

#include "passes/kernels/gpu/product/TmaProduct.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kpc::kernels {

/// Whether copies of A and B, 16 bits each or tf32, and of the result can be
/// made, and the sum is never empty.
bool areMatrixOperands(MatrixProduct &P);

/// What a schedule is chosen for; none where there are too few rows or columns
/// for tensor cores.
std::optional<schedule::GemmShape> gemmShapeOf(MatrixProduct &P);

template <typename Engine> class MatrixOperands : public Engine {
public:
  using Engine::Engine;

protected:
  using Place = typename Engine::Place;
  using Values = typename Engine::Values;

  /// Blocks that need the same tile of A, of B: each copies a part of its rows
  /// to all.
  virtual int64_t sharersOfA() { return 1; }
  virtual int64_t sharersOfB() { return 1; }
  /// Columns of B that are in this block's slots, and where they begin.
  virtual int64_t columnsOfB() { return this->S.TileColumns; }
  virtual mlir::Value firstColumnOfB(const Place &Where) {
    return Where.Column;
  }

private:
  void declareTiles() override;
  void addOperandViews() override;
  mlir::Value countSum() override { return this->W.size(this->P.C.Sum.Sizes); }
  mlir::Value produceTile(const Place &Where, mlir::Value Cursor) override;
  void bring(mlir::BlockArgument View, const Place &Where, mlir::Value Row,
             mlir::Value Column, mlir::Value Tile, mlir::Value Slot,
             int64_t Blocks);
  void bringB(const Place &Where, mlir::Value Sum, mlir::Value Tile,
              mlir::Value Slot);
  /// The columns of a slot's B that one product reads: all, or half of them.
  tile::SharedType tileOfOneB() const;

  mlir::BlockArgument ViewA, ViewB, ViewOfSecondB;
};

template <typename Engine> void MatrixOperands<Engine>::declareTiles() {
  auto &P = this->P;
  auto &S = this->S;
  mlir::Type Element = P.A.Element;
  this->ATransposed = P.A.ColumnStride != shape::Expr(1);
  this->BTransposed = P.B.RowStride == shape::Expr(1);
  this->TileA = this->ATransposed
                    ? this->sharedTile(S.TileSum, S.TileRows, Element)
                    : this->sharedTile(S.TileRows, S.TileSum, Element);
  this->TileB = this->BTransposed
                    ? this->sharedTile(columnsOfB(), S.TileSum, Element)
                    : this->sharedTile(S.TileSum, columnsOfB(), Element);
}

template <typename Engine> void MatrixOperands<Engine>::addOperandViews() {
  auto &P = this->P;
  auto LinesA =
      this->viewOfLines(this->TileA, this->TileA.getRows() / sharersOfA());
  ViewA = this->ATransposed
              ? this->addMatrixView(P.A, LinesA, true, P.Sum, P.Rows)
              : this->addMatrixView(P.A, LinesA, false, P.Rows, P.Sum);
  tile::SharedType OneB = tileOfOneB();
  auto LinesB = this->viewOfLines(OneB, OneB.getRows() / sharersOfB());
  auto View = [&](const Matrix &M) {
    return this->BTransposed
               ? this->addMatrixView(M, LinesB, true, P.Columns, P.Sum)
               : this->addMatrixView(M, LinesB, false, P.Sum, P.Columns);
  };
  ViewB = View(P.B);
  if (P.Second)
    ViewOfSecondB = View(P.Second->B);
}

template <typename Engine>
tile::SharedType MatrixOperands<Engine>::tileOfOneB() const {
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
void MatrixOperands<Engine>::bring(mlir::BlockArgument View, const Place &Where,
                                   mlir::Value Row, mlir::Value Column,
                                   mlir::Value Tile, mlir::Value Slot,
                                   int64_t Blocks) {
  auto &W = this->W;
  if (Blocks == 1) {
    tile::LoadOp::create(W.B, W.Loc, View, this->at(Where, Row, Column), Tile,
                         this->Pipe, Slot);
    return;
  }
  int64_t Rows =
      mlir::cast<tile::SharedType>(Tile.getType()).getRows() / Blocks;
  mlir::Value First = W.mul(this->Rank, W.index(Rows));
  mlir::Value Part = this->rowsOf(Tile, First, Rows);
  tile::MulticastOp::create(W.B, W.Loc, View,
                            this->at(Where, W.add(Row, First), Column), Part,
                            this->Pipe, Slot, Blocks);
}

/// What the slot holds of B; of two products the columns of the second behind
/// those of the first.
template <typename Engine>
void MatrixOperands<Engine>::bringB(const Place &Where, mlir::Value Sum,
                                    mlir::Value Tile, mlir::Value Slot) {
  auto &W = this->W;
  mlir::Value Column = firstColumnOfB(Where);
  mlir::Value Row = this->BTransposed ? Column : Sum,
              Other = this->BTransposed ? Sum : Column;
  if (!this->P.Second)
    return bring(ViewB, Where, Row, Other, Tile, Slot, sharersOfB());
  tile::SharedType Half = tileOfOneB();
  for (mlir::BlockArgument View : {ViewB, ViewOfSecondB}) {
    mlir::Value First = W.index(View == ViewB ? 0 : this->resultColumns());
    mlir::Value Part =
        this->BTransposed
            ? mlir::Value(tile::RowsOp::create(W.B, W.Loc, Half, Tile, First))
            : mlir::Value(tile::LinesOp::create(W.B, W.Loc, Half, Tile, First));
    bring(View, Where, Row, Other, Part, Slot, sharersOfB());
  }
}

template <typename Engine>
mlir::Value MatrixOperands<Engine>::produceTile(const Place &Where,
                                                mlir::Value Cursor) {
  auto &W = this->W;
  auto Free = tile::SlotType::get(W.B.getContext(), tile::SlotState::Free);
  return W.loop(W.index(0), this->SumCount, W.index(this->S.TileSum), Cursor,
                [&](mlir::Value Step, mlir::ValueRange In) -> Values {
                  mlir::Value Sum = W.add(this->SumFirst, Step);
                  mlir::Value Slot = tile::AcquireOp::create(W.B, W.Loc, Free,
                                                             this->Pipe, In[0]);
                  auto Parts = tile::TilesOp::create(
                      W.B, W.Loc, mlir::TypeRange{this->TileA, this->TileB},
                      this->Pipe, Slot);
                  if (this->ATransposed)
                    bring(ViewA, Where, Sum, Where.Row, Parts.getResult(0),
                          Slot, sharersOfA());
                  else
                    bring(ViewA, Where, Where.Row, Sum, Parts.getResult(0),
                          Slot, sharersOfA());
                  bringB(Where, Sum, Parts.getResult(1), Slot);
                  tile::CommitOp::create(W.B, W.Loc, this->Pipe, Slot);
                  return {tile::NextOp::create(W.B, W.Loc, In[0].getType(),
                                               this->Pipe, In[0])};
                })[0];
}

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_PRODUCT_MATRIXOPERANDS_H
