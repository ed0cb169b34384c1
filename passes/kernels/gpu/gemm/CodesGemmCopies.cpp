//===- CodesGemmCopies.cpp - The rings of rows and of codes ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One thread fills both rings. Of each tile it copies the rows of its steps,
/// and after them the codes of the step that follows: those of the next tile at
/// last, since they are multiplied by no wait for a tile's end. After a block's
/// last tile codes are copied that nobody multiplies.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/CodesGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// Columns of a tile of codes.
static constexpr int64_t TileColumns = 8;

void CodesGemm::declareTiles() {
  TileA = sharedTile(S.TileM, HalfK, P.A.Element);
  MLIRContext *Context = W.B.getContext();
  int64_t Line = StepK * P.Codes->Bits / 8 * TileColumns / 4;
  for (unsigned I = 0; I < matrices(); ++I) {
    CodeTiles.push_back(tile::SharedType::get(
        Context, {columns() / TileColumns, Line}, W.B.getI32Type(), 0));
    auto OfBlocks = [&](const Matrix &M) {
      CodeTiles.push_back(tile::SharedType::get(
          Context, {blocksOf(StepK), columns()}, M.Element, 0));
    };
    if (hasBlocks(P))
      OfBlocks(codesOf(I).Scales);
    if (codesOf(I).Zeros)
      OfBlocks(*codesOf(I).Zeros);
  }
}

void CodesGemm::addOperandViews() {
  ViewX = addMatrixView(P.A, viewOfLines(P.A, TileA, S.TileM), false, P.M, P.K);
  for (unsigned I = 0; I < matrices(); ++I)
    addCodeViews(codesOf(I));
}

/// Codes as rows of words, a row for each 8 columns.
void CodesGemm::addCodeViews(const GemmMatch::TiledCodes &Codes) {
  MLIRContext *Context = W.B.getContext();
  int64_t K = *P.K.asConstant(), Depth = TileBytes / Codes.Bits,
          Tiles = llvm::divideCeil(K, Depth), Words = Tiles * TileBytes / 4;
  auto Add = [&](unsigned Argument, Type Stored, const Expr &Rows,
                 const Expr &Columns, int64_t RowBytes) {
    auto Tile = cast<tile::SharedType>(CodeTiles[CodeViews.size()]);
    int64_t Box[] = {Tile.getColumns(), Tile.getRows()};
    auto View =
        tile::ViewType::get(Context, Tile.getElement(), {Box[1], Box[0]}, 0);
    CodeViews.push_back(addExactView(View, Argument, Stored, {Columns, Rows},
                                     {Expr(RowBytes)}, Box));
  };
  Add(Codes.Tiles.Argument, W.B.getI32Type(), P.N.ceilDiv(Expr(TileColumns)),
      Expr(Words), Words * 4);
  auto OfBlocks = [&](const Matrix &M) {
    int64_t Columns = *M.RowStride.asConstant();
    Add(M.Argument, M.Element, Expr(llvm::divideCeil(K, Codes.Block)),
        Expr(Columns), Columns * M.Element.getIntOrFloatBitWidth() / 8);
  };
  if (hasBlocks(P))
    OfBlocks(Codes.Scales);
  if (Codes.Zeros)
    OfBlocks(*Codes.Zeros);
}

void CodesGemm::declare() {
  MLIRContext *Context = W.B.getContext();
  declareTiles();
  int64_t StagedRows = S.partRows() * schedule::StagingBuffers;
  // Of heads, one tile of all warpgroups' columns: the same bytes.
  auto Staging = hasHeads() ? sharedTile(StagedRows, S.TileN, P.D.Element)
                            : sharedTile(S.groups() * StagedRows,
                                         schedule::StagingColumns, P.D.Element);
  addOperandViews();
  ViewD = addMatrixView(P.D, viewOfLines(P.D, Staging, S.partRows()), false,
                        P.M, P.N);
  Form.Func->setAttr(kernel::KernelDialect::TensorMapsAttrHelper::getNameStr(),
                     W.B.getArrayAttr(TensorMaps));
  auto Ring = [&](int64_t Stages, ArrayRef<Type> Tiles) -> Value {
    return tile::PipeOp::create(
        W.B, W.Loc, tile::PipeType::get(Context, Stages, Tiles),
        tile::Completion::Tma, /*producers=*/1, /*consumers=*/S.groups() * 4,
        /*pair=*/false);
  };
  Pipe = Ring(S.Stages, {TileA});
  CodePipe = Ring(S.CodeStages, CodeTiles);
  StagingTile = tile::AllocOp::create(W.B, W.Loc, Staging);
  Factors = factorsOf(P);
  if (Factors)
    FactorTile = tile::AllocOp::create(
        W.B, W.Loc,
        tile::SharedType::get(Context, {1, S.TileM}, W.B.getF32Type(), 0));
  RowCount = W.size(P.C.M.Sizes);
  ColumnCount = W.size(P.C.N.Sizes);
  FirstK = W.index(0);
  KCount = countK();
  countTiles();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The codes of a step, and what belongs to their blocks; gives the next place.
Value CodesGemm::loadCodes(Value Column, Value K, Value At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, CodePipe, At);
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, CodeTiles, CodePipe, Stage);
  Value Slices = W.B.createOrFold<arith::DivUIOp>(W.Loc, Column,
                                                  W.index(TileColumns)),
        // 8 columns of codes in words.
      Word = W.B.createOrFold<arith::MulIOp>(
          W.Loc, K, W.index(P.Codes->Bits * TileColumns / 32)),
        Block =
            W.B.createOrFold<arith::DivUIOp>(W.Loc, K, W.index(P.Codes->Block));
  int64_t OfMatrix = int64_t(CodeTiles.size()) / matrices();
  for (auto [I, View, Tile] : llvm::enumerate(CodeViews, Tiles.getResults())) {
    bool IsCodes = int64_t(I) % OfMatrix == 0;
    Values Place = IsCodes ? Values{Slices, Word} : Values{Block, Column};
    tile::TmaLoadOp::create(W.B, W.Loc, View, Place, Tile, CodePipe, Stage);
  }
  tile::CommitOp::create(W.B, W.Loc, CodePipe, Stage);
  return next(CodePipe, At);
}

Value CodesGemm::loadRows(const TileCoord &Where, Value K, Value At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, At);
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA}, Pipe, Stage);
  tile::TmaLoadOp::create(W.B, W.Loc, ViewX, ValueRange{Where.Row, K},
                          Tiles.getResult(0), Pipe, Stage);
  tile::CommitOp::create(W.B, W.Loc, Pipe, Stage);
  return next(Pipe, At);
}

void CodesGemm::produceAll() {
  elect(tile::Scope::Role, [&] {
    Value First, Between;
    if (S.SplitK > 1)
      First = compute<arith::DivUIOp>(toI32(W.block()), i32(S.SplitK));
    else
      std::tie(First, Between) = firstTile();
    Values Start = {cursor(),
                    loadCodes(placeOf(First).Column, FirstK, cursor())};
    forEachTile(Start, [&](Value Tile, ValueRange In) -> Values {
      TileCoord Where = placeOf(Tile);
      Value Following = Tile;
      if (Between) {
        Value After = compute<arith::AddIOp>(Tile, Between);
        Value Is = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ult,
                                         After, Tiles);
        Following = arith::SelectOp::create(W.B, W.Loc, Is, After, Tile);
      }
      Value FollowingColumn = placeOf(Following).Column;
      return W.loop(W.index(0), KCount, W.index(StepK), In,
                    [&](Value Step, ValueRange At) -> Values {
                      Value K = W.add(FirstK, Step), Rows = At[0];
                      for (int64_t Half : {int64_t(0), HalfK})
                        Rows = loadRows(Where, W.add(K, W.index(Half)), Rows);
                      Value More = W.less(W.add(Step, W.index(StepK)), KCount);
                      auto Either = [&](Value A, Value B) -> Value {
                        return arith::SelectOp::create(W.B, W.Loc, More, A, B);
                      };
                      Value Codes = loadCodes(
                          Either(Where.Column, FollowingColumn),
                          Either(W.add(K, W.index(StepK)), FirstK), At[1]);
                      return {Rows, Codes};
                    });
    });
  });
}

} // namespace kpc::kernels
