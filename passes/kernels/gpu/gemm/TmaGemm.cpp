//===- TmaGemm.cpp - GEMMs that TMA feeds ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/TmaGemm.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/schedule/HopperCosts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// Bytes of the longest line of shared memory, and of its swizzle.
static constexpr int64_t LineBytes = 128;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Type> TmaGemm::tilesOfStage() const {
  SmallVector<Type> All = {TileA, TileB};
  llvm::append_range(All, MoreTiles);
  return All;
}

tile::SharedType TmaGemm::sharedTile(int64_t Rows, int64_t Columns, Type Of) {
  int64_t Row = Columns * Of.getIntOrFloatBitWidth() / 8;
  return tile::SharedType::get(W.B.getContext(), {Rows, Columns}, Of,
                               std::min(Row, LineBytes));
}

tile::ViewType TmaGemm::viewOfLines(const Matrix &M, tile::SharedType Tile,
                                    int64_t Rows) {
  SmallVector<int64_t> Box = {Rows, Tile.getLineElements()};
  Box.insert(Box.begin(), M.Batches.size(), 1);
  return tile::ViewType::get(W.B.getContext(), Tile.getElement(), Box,
                             Tile.getSwizzle());
}

/// Of f32 that is multiplied as tf32, copies round it.
Type TmaGemm::elementOf(tile::ViewType View, unsigned Buffer) const {
  bool Rounded = View.getElement().isF32() && Buffer != P.D.Argument;
  return Rounded ? Type(FloatTF32Type::get(View.getContext()))
                 : View.getElement();
}

BlockArgument TmaGemm::addView(tile::ViewType View, unsigned Buffer,
                               ArrayRef<Expr> Dims, ArrayRef<Expr> Strides,
                               ArrayRef<int64_t> Box,
                               ArrayRef<int64_t> Traversal,
                               kernel::Im2colAttr Im2col) {
  return addExactView(View, Buffer, elementOf(View, Buffer), Dims, Strides, Box,
                      Traversal, Im2col);
}

BlockArgument TmaGemm::addExactView(tile::ViewType View, unsigned Buffer,
                                    Type Stored, ArrayRef<Expr> Dims,
                                    ArrayRef<Expr> Strides,
                                    ArrayRef<int64_t> Box,
                                    ArrayRef<int64_t> Traversal,
                                    kernel::Im2colAttr Im2col) {
  Builder B(W.B.getContext());
  auto List = [&](ArrayRef<int64_t> Given) {
    return Given.empty() ? DenseI64ArrayAttr() : B.getDenseI64ArrayAttr(Given);
  };
  TensorMaps.push_back(kernel::TensorMapAttr::get(
      B.getContext(), Buffer, Stored, kernel::textsOf(B.getContext(), Dims),
      kernel::textsOf(B.getContext(), Strides), List(Box), View.getSwizzle(),
      kernel::DefaultL2, kernel::TensorMapFill::Zero, List(Traversal), Im2col));
  func::FuncOp Func = Form.Func;
  unsigned Position = Func.getNumArguments();
  (void)Func.insertArgument(Position, View, {}, Func.getLoc());
  return Func.getArgument(Position);
}

BlockArgument TmaGemm::addMatrixView(const Matrix &M, tile::ViewType View,
                                     bool ByColumn, const Expr &Rows,
                                     const Expr &Columns) {
  // Two codes of 4 bits are a byte, in strides, too.
  int64_t Bytes = View.getElement().getIntOrFloatBitWidth() / 8;
  SmallVector<Expr> Dims = {Columns, Rows};
  SmallVector<Expr> Strides = {(ByColumn ? M.ColumnStride : M.RowStride) *
                               Bytes};
  for (const BatchDim &Dim : llvm::reverse(M.Batches)) {
    Dims.push_back(Dim.Size);
    Strides.push_back(Dim.Stride * Bytes);
  }
  SmallVector<int64_t> Box(View.getBox());
  std::reverse(Box.begin(), Box.end());
  return addView(View, M.Argument, Dims, Strides, Box);
}

Value TmaGemm::rowsOf(Value Tile, Value First, int64_t Rows) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Tile, First);
}

void TmaGemm::stageReads(int64_t Consumers, int64_t SharedBytes) {
  Readers = Consumers;
  MostShared = SharedBytes;
  // RoPE also reads those of the other half's columns. A residual that is not
  // staged is waited for as long, and its loads would begin only after the wait
  // for the vectors.
  if (P.RotateHalf || (P.ReadsAtResult && !S.StagesResidual))
    return;
  llvm::copy_if(P.ColumnVectors, std::back_inserter(StagedVectors),
                [&](const GemmMatch::ColumnVector &V) {
                  return ColumnVectors::fits(V, resultColumns());
                });
}

Value TmaGemm::addResidualView(int64_t SharedBytes) {
  if (!S.StagesResidual)
    return {};
  const Matrix &M = P.Residual->M;
  tile::SharedType Part =
      sharedTile(S.TileM, S.partColumns(), M.storedElement());
  Residual.emplace(W, Part, resultColumns() / S.SplitK / S.partColumns(),
                   schedule::MostResidualTiles, MostShared - SharedBytes);
  tile::ViewType View = viewOfLines(M, Part, S.TileM);
  SmallVector<Expr> Dims = {P.N, P.M}, Strides;
  Expr Bytes = M.storedElement().getIntOrFloatBitWidth() / 8;
  Strides.push_back(M.RowStride * Bytes);
  for (const BatchDim &Dim : llvm::reverse(M.Batches)) {
    Dims.push_back(Dim.Size);
    Strides.push_back(Dim.Stride * Bytes);
  }
  SmallVector<int64_t> Box(View.getBox());
  std::reverse(Box.begin(), Box.end());
  return addExactView(View, M.Argument, View.getElement(), Dims, Strides, Box);
}

TmaGemm::Values TmaGemm::addVectorViews(int64_t SharedBytes) {
  // As many tiles as the ring is ahead of the one that is multiplied, and that
  // one: a sum of one step leaves the ring on tiles that are far ahead.
  int64_t Steps =
      llvm::divideCeil(P.K.asConstant().value_or(S.Stages * S.TileK), S.TileK);
  int64_t TilesAhead =
      llvm::divideCeil(S.Stages, std::max<int64_t>(Steps / S.SplitK, 1));
  while (!StagedVectors.empty()) {
    Vectors.emplace(W, StagedVectors, resultColumns(), 1 + TilesAhead);
    if (SharedBytes + Vectors->bytes() <= MostShared)
      break;
    Vectors.reset();
    StagedVectors.pop_back();
  }
  Values Views;
  for (const GemmMatch::ColumnVector &V : StagedVectors) {
    auto View = tile::ViewType::get(W.B.getContext(), V.Element,
                                    {resultColumns()}, /*swizzle=*/0);
    Views.push_back(addExactView(View, V.Argument, V.Element, P.N,
                                 /*Strides=*/{}, resultColumns()));
  }
  return Views;
}

void TmaGemm::declareMemory(int64_t Groups, int64_t Rows, int64_t Consumers,
                            bool Pair) {
  StagedRows = Rows;
  declareTiles();
  auto Staging = sharedTile(Groups * StagedRows * schedule::StagingBuffers,
                            S.partColumns(), P.D.Element);
  auto PipeTy = tile::PipeType::get(W.B.getContext(), S.Stages, tilesOfStage());
  addOperandViews();
  ViewD = addMatrixView(P.D, viewOfLines(P.D, Staging, StagedRows), false, P.M,
                        P.N);
  int64_t OfStage =
      llvm::accumulate(tilesOfStage(), int64_t(0), [](int64_t Sum, Type Tile) {
        return Sum + cast<tile::SharedType>(Tile).getBytes();
      });
  int64_t Shared =
      OfStage * S.Stages + Staging.getBytes() + schedule::hopper::BarrierRoom;
  if (S.StagesResidual)
    Shared += schedule::hopper::SecondRingRoom;
  Value ResidualView = addResidualView(Shared);
  if (Residual)
    Shared += Residual->bytes();
  Values VectorViews = addVectorViews(Shared);
  Form.Func->setAttr(kernel::KernelDialect::TensorMapsAttrHelper::getNameStr(),
                     W.B.getArrayAttr(TensorMaps));

  Pipe = tile::PipeOp::create(W.B, W.Loc, PipeTy, tile::Completion::Tma,
                              /*producers=*/1, Consumers, Pair);
  if (Vectors)
    Vectors->declare(VectorViews, Readers);
  if (Residual)
    Residual->declare(ResidualView, Readers);
  StagingTile = tile::AllocOp::create(W.B, W.Loc, Staging);
  RowCount = W.size(P.C.M.Sizes);
  ColumnCount = W.size(P.C.N.Sizes);
  FirstK = W.index(0);
  KCount = countK();
  countTiles();
}

//===----------------------------------------------------------------------===//
// Tiles and roles
//===----------------------------------------------------------------------===//

void TmaGemm::countTiles() {
  RowTiles = toI32(W.ceilDiv(RowCount, S.TileM * S.ClusterM));
  ColumnTiles = toI32(W.ceilDiv(ColumnCount, resultColumns() * S.ClusterN));
  Tiles = compute<arith::MulIOp>(RowTiles, ColumnTiles);
  if (P.hasBatch())
    Tiles = compute<arith::MulIOp>(Tiles, toI32(W.size(P.C.Batch.Sizes)));
}

TmaGemm::TileCoord TmaGemm::placeOf(Value Tile) {
  TileCoord Where;
  Value InBatch = Tile;
  if (P.hasBatch()) {
    Value PerBatch = compute<arith::MulIOp>(RowTiles, ColumnTiles);
    Where.Batch = toIndex(compute<arith::DivUIOp>(Tile, PerBatch));
    InBatch = compute<arith::RemUIOp>(Tile, PerBatch);
  }
  auto [Row, Column] = tileInOrder(W, InBatch, RowTiles, ColumnTiles, S.GroupM);
  Value RowStep = i32(S.TileM * S.ClusterM);
  Value ColumnStep = i32(resultColumns() * S.ClusterN);
  Where.Row = toIndex(compute<arith::MulIOp>(Row, RowStep));
  Where.Column = toIndex(compute<arith::MulIOp>(Column, ColumnStep));
  // Tiles of a cluster that shares copies are side by side.
  if (S.ClusterM > 1)
    Where.Row = W.add(Where.Row, W.mul(Rank, W.index(S.TileM)));
  if (S.ClusterN > 1)
    Where.Column = W.add(Where.Column, W.mul(Rank, W.index(resultColumns())));
  return Where;
}

TmaGemm::Values TmaGemm::at(const Matrix &M, const TileCoord &Where, Value Row,
                            Value Column) {
  Values All;
  if (!M.Batches.empty())
    All = batchIndices(W, P, M, Where.Batch);
  All.append({Row, Column});
  return All;
}

std::pair<Value, Value> TmaGemm::firstTile() {
  Value First = toI32(W.block());
  Value Step =
      toI32(gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x).getResult());
  if (S.blocks() > 1) {
    First = compute<arith::DivUIOp>(First, i32(S.blocks()));
    Step = compute<arith::DivUIOp>(Step, i32(S.blocks()));
  }
  return {First, Step};
}

TmaGemm::Values
TmaGemm::forEachTile(ValueRange Carried,
                     function_ref<Values(Value, ValueRange)> Body, Value Turn,
                     int64_t Turns) {
  if (S.SplitK > 1) // as many clusters as tiles
    return Body(compute<arith::DivUIOp>(toI32(W.block()), i32(S.SplitK)),
                Carried);
  auto [First, Step] = firstTile();
  if (Turns > 1) {
    Value Before = compute<arith::MulIOp>(toI32(Turn), Step);
    First = compute<arith::AddIOp>(First, Before);
    Step = compute<arith::MulIOp>(Step, i32(Turns));
  }
  return W.loop(First, Tiles, Step, Carried, Body);
}

Value TmaGemm::loadResidual(const TileCoord &Where, Value At) {
  Value First = Where.Column;
  if (S.SplitK > 1) // of the columns that are this block's
    First = W.add(First, W.mul(Rank, W.index(S.storedColumns())));
  for (int64_t Part = 0; Part < Residual->parts(); ++Part) {
    Value Column = W.add(First, W.index(Part * S.partColumns()));
    At = Residual->load(at(P.Residual->M, Where, Where.Row, Column), At);
  }
  return At;
}

TmaGemm::Values TmaGemm::firstPlaces() {
  Values First = {cursor()};
  if (Vectors)
    First.push_back(cursor());
  if (Residual)
    First.push_back(cursor());
  return First;
}

/// One thread fills the ring, for all tiles of its block.
void TmaGemm::produce(bool Drain) {
  elect(tile::Scope::Role, [&] {
    Values First = firstPlaces();
    Values Last = forEachTile(First, [&](Value Tile, ValueRange In) -> Values {
      TileCoord Where = placeOf(Tile);
      Values Next(In);
      // Where there is room for the residual of one tile alone, its copies wait
      // for the epilogue of the tile before; stages do not.
      bool IsAhead = Residual && Residual->tiles() > 1;
      if (IsAhead)
        Next.back() = loadResidual(Where, In.back());
      if (Vectors)
        Next[1] = Vectors->load(Where.Column, In[1]);
      Next[0] = produceTile(Where, In[0]);
      if (Residual && !IsAhead)
        Next.back() = loadResidual(Where, In.back());
      return Next;
    });
    if (Drain)
      tile::DrainOp::create(W.B, W.Loc, Pipe, Last[0]);
  });
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

Value TmaGemm::mapElements(const TileCoord &Where, Value Row, Value Column,
                           Value Part, Value Paired, KnownElements Known) {
  AccumulatorCoord At{P.hasBatch() ? Where.Batch : Value(), Row, Column,
                      RowCount, ColumnCount};
  keepColumnsInside(W, P, At, S.partColumns(), resultColumns() * S.ClusterN);
  return mapAccumulators(W, P, At, Part, Result, Paired, Known);
}

void TmaGemm::storePart(const TileCoord &Where, Value Group, Value Row,
                        Value Column, Value Out, int64_t Number) {
  int64_t Buffer = Number % schedule::StagingBuffers;
  Value OfGroup = W.mul(Group, W.index(StagedRows * schedule::StagingBuffers));
  Value Staged = rowsOf(
      StagingTile, W.add(OfGroup, W.index(StagedRows * Buffer)), StagedRows);
  // Wait until this buffer has been read: by the store before the last one, or,
  // where a tile has an odd number of parts, by the last of the tile before.
  int64_t Parts = resultColumns() / S.SplitK / S.partColumns();
  bool UsedLast = Number == 0 && Parts % schedule::StagingBuffers != 0;
  elect(tile::Scope::Warpgroup, [&] {
    tile::TmaStoreWaitOp::create(W.B, W.Loc,
                                 UsedLast ? 0 : schedule::StagingBuffers - 1);
  });
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
  tile::StoreSharedOp::create(W.B, W.Loc, Out, Staged);
  tile::FenceProxyOp::create(W.B, W.Loc);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
  elect(tile::Scope::Warpgroup, [&] {
    tile::TmaStoreOp::create(W.B, W.Loc, Staged, ViewD,
                             at(P.D, Where, Row, Column));
    tile::TmaStoreCommitOp::create(W.B, W.Loc);
  });
}

Expr TmaGemm::tileCount() const {
  return P.M.ceilDiv(Expr(S.TileM * S.ClusterM)) *
         P.N.ceilDiv(Expr(resultColumns() * S.ClusterN)) * P.Batch;
}

void TmaGemm::describeLaunch(GpuLaunch &Launch, int64_t Threads) {
  Expr Tiles = tileCount();
  Expr Blocks(S.blocks()), AtOnce = Expr::symbol("sm_count");
  if (S.blocks() > 1)
    AtOnce = AtOnce.floorDiv(Blocks) * Blocks;
  Tiles = Tiles * Blocks;
  // Those that share a sum compute one tile; others stay.
  Launch.Grid[0] = (S.SplitK > 1 ? Tiles : Expr::min(Tiles, AtOnce)).str();
  Launch.Cluster = int32_t(S.blocks());
  Launch.Block = {int32_t(Threads), 1, 1};
}

} // namespace kpc::kernels
