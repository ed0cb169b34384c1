//===- HopperProduct.cpp - Tiles of sums on wgmma, and their way out ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/HopperProduct.h"
#include "passes/kernels/ProductTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// Bytes of the longest line of shared memory, and of its swizzle.
static constexpr int64_t LineBytes = 128;

Value HopperProduct::i32(int64_t V) {
  return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
}
Value HopperProduct::toI32(Value V) {
  return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI32Type(), V);
}
Value HopperProduct::toIndex(Value V) {
  return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), V);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

tile::SharedType HopperProduct::sharedTile(int64_t Rows, int64_t Columns,
                                           Type Of) {
  int64_t Row = Columns * Of.getIntOrFloatBitWidth() / 8;
  return tile::SharedType::get(W.B.getContext(), {Rows, Columns}, Of,
                               std::min(Row, LineBytes));
}

tile::ViewType HopperProduct::viewOfLines(tile::SharedType Tile, int64_t Rows) {
  SmallVector<int64_t> Box = {Rows, Tile.getLineElements()};
  if (P.hasBatch())
    Box.insert(Box.begin(), 1);
  return tile::ViewType::get(W.B.getContext(), Tile.getElement(), Box,
                             Tile.getSwizzle());
}

/// Of f32 that is multiplied as tf32, copies round it.
Type HopperProduct::elementOf(tile::ViewType View, unsigned Buffer) const {
  bool Rounded = View.getElement().isF32() && Buffer != P.D.Argument;
  return Rounded ? Type(FloatTF32Type::get(View.getContext()))
                 : View.getElement();
}

BlockArgument HopperProduct::addView(tile::ViewType View, unsigned Buffer,
                                     ArrayRef<Expr> Dims,
                                     ArrayRef<Expr> Strides,
                                     ArrayRef<NamedAttribute> More) {
  Builder B(W.B.getContext());
  auto Texts = [&](ArrayRef<Expr> From) {
    SmallVector<Attribute> Strings;
    for (const Expr &One : From)
      Strings.push_back(B.getStringAttr(One.str()));
    return B.getArrayAttr(Strings);
  };
  SmallVector<NamedAttribute> Fields = {
      B.getNamedAttr("buffer", B.getI64IntegerAttr(Buffer)),
      B.getNamedAttr("element", TypeAttr::get(elementOf(View, Buffer))),
      B.getNamedAttr("dims", Texts(Dims)),
      B.getNamedAttr("strides", Texts(Strides)),
      B.getNamedAttr("swizzle", B.getI64IntegerAttr(View.getSwizzle()))};
  llvm::append_range(Fields, More);
  TensorMaps.push_back(B.getDictionaryAttr(Fields));
  func::FuncOp Func = Form.Func;
  unsigned Position = Func.getNumArguments();
  (void)Func.insertArgument(Position, View, {}, Func.getLoc());
  return Func.getArgument(Position);
}

BlockArgument HopperProduct::addMatrixView(const Matrix &M, tile::ViewType View,
                                           bool ByColumn, const Expr &Rows,
                                           const Expr &Columns) {
  Builder B(W.B.getContext());
  int64_t Bytes = M.Element.getIntOrFloatBitWidth() / 8;
  SmallVector<Expr> Dims = {Columns, Rows};
  SmallVector<Expr> Strides = {(ByColumn ? M.ColumnStride : M.RowStride) *
                               Bytes};
  if (P.hasBatch()) {
    Dims.push_back(P.Batch);
    Strides.push_back(M.BatchStride * Bytes);
  }
  SmallVector<int64_t> Box(View.getBox());
  std::reverse(Box.begin(), Box.end());
  return addView(View, M.Argument, Dims, Strides,
                 B.getNamedAttr("box", B.getDenseI64ArrayAttr(Box)));
}

void HopperProduct::declareTypes() {
  MLIRContext *Context = W.B.getContext();
  declareTiles();
  Staging = sharedTile(S.TileRows * schedule::StagingBuffers, S.partColumns(),
                       P.D.Element);
  Sums =
      tile::FragmentType::get(Context, {64, S.TileColumns}, W.B.getF32Type());
  PipeTy = tile::PipeType::get(Context, S.Slots, {TileA, TileB});
}

void HopperProduct::declare() {
  addOperandViews();
  ViewD =
      addMatrixView(P.D, viewOfLines(Staging, 64), false, P.Rows, P.Columns);
  Form.Func->setAttr("kpc.tensor_maps", W.B.getArrayAttr(TensorMaps));

  Pipe = tile::PipeOp::create(W.B, W.Loc, PipeTy, tile::Completion::Tma,
                              /*producers=*/1, S.consumers() * 4 * S.sharers());
  Stage = tile::AllocOp::create(W.B, W.Loc, Staging);
  RowCount = W.size(P.C.Rows.Sizes);
  ColumnCount = W.size(P.C.Columns.Sizes);
  SumFirst = W.index(0);
  SumCount = countSum();
  countTiles();
  tile::StartOp::create(W.B, W.Loc);
  joinCluster();
}

/// Blocks that share copies wait until all of them have their barriers; those
/// that share a sum take a part of it each.
void HopperProduct::joinCluster() {
  if (S.blocks() == 1)
    return;
  Rank = tile::BlockRankOp::create(W.B, W.Loc, W.B.getIndexType());
  if (S.sharers() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  if (S.Split > 1)
    shareSum();
}

/// Parts differ by at most one step. None is empty: the schedule is legal for
/// sums of `Split` steps and more only.
void HopperProduct::shareSum() {
  Value Steps = toI32(W.ceilDiv(SumCount, S.TileSum)), Of = toI32(Rank);
  auto Begin = [&](Value Part) {
    Value Before = compute<arith::MulIOp>(Part, Steps);
    return compute<arith::DivUIOp>(Before, i32(S.Split));
  };
  Value First = Begin(Of);
  Value End = Begin(compute<arith::AddIOp>(Of, i32(1)));
  Value Own = compute<arith::SubIOp>(End, First);
  SumFirst = W.mul(toIndex(First), W.index(S.TileSum));
  SumCount = W.mul(toIndex(Own), W.index(S.TileSum));
}

//===----------------------------------------------------------------------===//
// Tiles and roles
//===----------------------------------------------------------------------===//

void HopperProduct::countTiles() {
  RowTiles = toI32(W.ceilDiv(RowCount, S.TileRows * S.ClusterRows));
  ColumnTiles = toI32(W.ceilDiv(ColumnCount, S.TileColumns * S.ClusterColumns));
  Tiles = compute<arith::MulIOp>(RowTiles, ColumnTiles);
  if (P.hasBatch())
    Tiles = compute<arith::MulIOp>(Tiles, toI32(W.size(P.C.Batch.Sizes)));
}

HopperProduct::Place HopperProduct::placeOf(Value Tile) {
  Place Where;
  Value InBatch = Tile;
  if (P.hasBatch()) {
    Value PerBatch = compute<arith::MulIOp>(RowTiles, ColumnTiles);
    Where.Batch = toIndex(compute<arith::DivUIOp>(Tile, PerBatch));
    InBatch = compute<arith::RemUIOp>(Tile, PerBatch);
  }
  auto [Row, Column] =
      tileInOrder(W, InBatch, RowTiles, ColumnTiles, S.GroupRows);
  Value RowStep = i32(S.TileRows * S.ClusterRows);
  Value ColumnStep = i32(S.TileColumns * S.ClusterColumns);
  Where.Row = toIndex(compute<arith::MulIOp>(Row, RowStep));
  Where.Column = toIndex(compute<arith::MulIOp>(Column, ColumnStep));
  // Tiles of a cluster that shares copies are side by side.
  if (S.ClusterRows > 1)
    Where.Row = W.add(Where.Row, W.mul(Rank, W.index(S.TileRows)));
  if (S.ClusterColumns > 1)
    Where.Column = W.add(Where.Column, W.mul(Rank, W.index(S.TileColumns)));
  return Where;
}

HopperProduct::Values HopperProduct::at(const Place &Where, Value Row,
                                        Value Column) {
  Values All = {Row, Column};
  if (P.hasBatch())
    All.insert(All.begin(), Where.Batch);
  return All;
}

HopperProduct::Values
HopperProduct::forEachTile(ValueRange Carried,
                           function_ref<Values(Value, ValueRange)> Body) {
  Value First = toI32(W.block());
  if (S.Split > 1) // as many clusters as tiles
    return Body(compute<arith::DivUIOp>(First, i32(S.Split)), Carried);
  Value Step =
      toI32(gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x).getResult());
  if (S.blocks() > 1) {
    First = compute<arith::DivUIOp>(First, i32(S.blocks()));
    Step = compute<arith::DivUIOp>(Step, i32(S.blocks()));
  }
  return W.loop(First, Tiles, Step, Carried, Body);
}

void HopperProduct::role(StringRef Name, int64_t First, int64_t End,
                         int64_t Registers, function_ref<void(Value)> Body) {
  auto Role = tile::RoleOp::create(W.B, W.Loc, Name, First, End, Registers);
  OpBuilder::InsertionGuard Guard(W.B);
  Block *Entry =
      W.B.createBlock(&Role.getBody(), {}, {W.B.getIndexType()}, {W.Loc});
  Body(Entry->getArgument(0));
  tile::YieldOp::create(W.B, W.Loc);
}

void HopperProduct::elect(tile::Scope Scope, function_ref<void()> Body) {
  auto Elect = tile::ElectOp::create(W.B, W.Loc, Scope);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.createBlock(&Elect.getBody());
  Body();
  tile::YieldOp::create(W.B, W.Loc);
}

/// One thread fills the ring, for all tiles of its block.
void HopperProduct::produce() {
  elect(tile::Scope::Role, [&] {
    Value Cursor = tile::CursorOp::create(
        W.B, W.Loc, tile::CursorType::get(W.B.getContext()));
    forEachTile(Cursor, [&](Value Tile, ValueRange In) -> Values {
      return {produceTile(placeOf(Tile), In[0])};
    });
  });
}

//===----------------------------------------------------------------------===//
// Products, and what becomes of them
//===----------------------------------------------------------------------===//

Value HopperProduct::rowsOf(Value Tile, Value First, int64_t Rows) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::RowsOp::create(W.B, W.Loc, Part, Tile, First);
}

/// 64 columns of a tile, a line of each row.
Value HopperProduct::linesOf(Value Tile, Value First) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(W.B.getContext(), {Whole.getRows(), 64},
                                    Whole.getElement(), Whole.getSwizzle(),
                                    Whole.getPitch());
  return tile::LinesOp::create(W.B, W.Loc, Part, Tile, First);
}

/// The sums of one tile's 64 rows. A slot is given back one product late: when
/// the product that reads it is over, the next is already under way.
Value HopperProduct::multiplyTile(Value Group, Value &Cursor) {
  MLIRContext *Context = W.B.getContext();
  auto Full = tile::SlotType::get(Context, tile::SlotState::Full);
  auto Pending = tile::PendingType::get(Context, Sums);
  Value First = W.mul(Group, W.index(64));
  auto Multiply = [&](Value At, Value Add) {
    Value Slot = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
    auto Parts =
        tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB}, Pipe, Slot);
    Value Rows = ATransposed ? linesOf(Parts.getResult(0), First)
                             : rowsOf(Parts.getResult(0), First);
    Value D = tile::MmaOp::create(W.B, W.Loc, Pending, Rows, Parts.getResult(1),
                                  Add, ATransposed, BTransposed);
    Value Next = tile::NextOp::create(W.B, W.Loc, At.getType(), Pipe, At);
    return std::tuple(D, Slot, Next);
  };
  auto [D, Slot, Next] = Multiply(Cursor, Value());
  Values Last =
      W.loop(W.index(S.TileSum), SumCount, W.index(S.TileSum), {D, Slot, Next},
             [&](Value, ValueRange In) -> Values {
               auto [Sum, Held, After] = Multiply(In[2], In[0]);
               Value Still =
                   tile::RetireOp::create(W.B, W.Loc, Sum.getType(), Sum, 1);
               tile::ReleaseOp::create(W.B, W.Loc, Pipe, In[1], S.sharers());
               return {Still, Held, After};
             });
  Cursor = Last[2];
  Value Done = tile::AwaitOp::create(W.B, W.Loc, Sums, Last[0]);
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Last[1], S.sharers());
  return Done;
}

/// What the kernel makes of the sums, as elements of the output.
Value HopperProduct::mapElements(const Place &Where, Value Row, Value Column,
                                 Value Part) {
  return mapSums(W, Form, P,
                 {P.hasBatch() ? Where.Batch : Value(), Row, Column, RowCount,
                  ColumnCount},
                 Part, Result);
}

/// One part of the result's columns, the `Number`-th of the tile, on its way.
void HopperProduct::storePart(const Place &Where, Value Group, Value Row,
                              Value Column, Value Out, int64_t Number) {
  int64_t Buffer = Number % schedule::StagingBuffers;
  Value OfGroup = W.mul(Group, W.index(64 * schedule::StagingBuffers));
  Value Staged = rowsOf(Stage, W.add(OfGroup, W.index(64 * Buffer)));
  // Wait until this buffer has been read: by the store before the last one, or,
  // where a tile has an odd number of parts, by the last of the tile before.
  int64_t Parts = S.storedColumns() / S.partColumns();
  bool UsedLast = Number == 0 && Parts % schedule::StagingBuffers != 0;
  elect(tile::Scope::Warpgroup, [&] {
    tile::WaitStoresOp::create(W.B, W.Loc,
                               UsedLast ? 0 : schedule::StagingBuffers - 1);
  });
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
  tile::PutOp::create(W.B, W.Loc, Out, Staged);
  tile::FenceProxyOp::create(W.B, W.Loc);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
  elect(tile::Scope::Warpgroup, [&] {
    tile::StoreOp::create(W.B, W.Loc, Staged, ViewD, at(Where, Row, Column));
    tile::CommitStoresOp::create(W.B, W.Loc);
  });
}

/// Puts this block's sums where the others of its cluster read them: into the
/// slots, which nobody needs any more. Gives what is kept of this group.
Value HopperProduct::shareOfSums(Value Group, Value Sums) {
  auto Kept = tile::SharedType::get(
      W.B.getContext(), {S.TileRows, S.TileColumns}, W.B.getF32Type(), 0);
  // The other groups have read their last slots, too.
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Role);
  Value All = tile::ReuseOp::create(W.B, W.Loc, Kept, Pipe);
  Value Mine = rowsOf(All, W.mul(Group, W.index(64)));
  tile::KeepOp::create(W.B, W.Loc, Sums, Mine);
  tile::ClusterSyncOp::create(W.B, W.Loc);
  return Mine;
}

void HopperProduct::finishTile(const Place &Where, Value Group, Value Sums) {
  auto PartTy = tile::FragmentType::get(W.B.getContext(), {64, S.partColumns()},
                                        W.B.getF32Type());
  Value Row = W.add(Where.Row, W.mul(Group, W.index(64)));
  Value Kept, First = W.index(0); // of the columns that are this block's
  if (S.Split > 1) {
    Kept = shareOfSums(Group, Sums);
    First = W.mul(Rank, W.index(S.storedColumns()));
  }
  struct Part {
    Value Column, Sums;
  };
  SmallVector<Part> Parts;
  for (int64_t C = 0; C < S.storedColumns(); C += S.partColumns()) {
    Value InTile = W.add(First, W.index(C));
    Value Own =
        Kept ? Value(tile::CollectOp::create(W.B, W.Loc, PartTy, Kept, InTile,
                                             S.Split))
             : Value(tile::ColumnsOp::create(W.B, W.Loc, PartTy, Sums, C));
    Parts.push_back({W.add(Where.Column, InTile), Own});
    if (!P.ReadsAtResult)
      storePart(Where, Group, Row, Parts.back().Column,
                mapElements(Where, Row, Parts.back().Column, Own),
                C / S.partColumns());
  }
  if (!P.ReadsAtResult)
    return;
  // All reads of memory begin before the first store waits for anything.
  for (Part &One : Parts)
    One.Sums = mapElements(Where, Row, One.Column, One.Sums);
  for (auto [Number, One] : llvm::enumerate(Parts))
    storePart(Where, Group, Row, One.Column, One.Sums, Number);
}

void HopperProduct::consume(Value Group) {
  Value Cursor = tile::CursorOp::create(
      W.B, W.Loc, tile::CursorType::get(W.B.getContext()));
  forEachTile(Cursor, [&](Value Tile, ValueRange In) -> Values {
    Value At = In[0];
    Value Sums = multiplyTile(Group, At);
    // Behind the products: between the last of them and the wait, ptxas takes
    // any other instruction for one that might read the sums (C7514), and
    // serialises all products.
    finishTile(placeOf(Tile), Group, Sums);
    return {At};
  });
  // Shared memory lives until the stores have read it, and until the cluster's
  // other blocks have read it or told its barriers.
  if (S.blocks() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  elect(tile::Scope::Warpgroup,
        [&] { tile::WaitStoresOp::create(W.B, W.Loc, 0); });
}

LogicalResult HopperProduct::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declareTypes();
  declare();
  // Registers by warpgroups: they must fit 65,536 for all threads.
  struct Registers {
    int64_t Producer, Consumer;
  };
  constexpr Registers ByConsumers[] = {{40, 240}, {40, 232}, {32, 160}};
  Registers R = ByConsumers[S.consumers() - 1];
  role("producer", 0, 4, R.Producer, [&](Value) { produce(); });
  role("consumer", 4, 4 * (1 + S.consumers()), R.Consumer,
       [&](Value Group) { consume(Group); });
  Expr Tiles = P.Rows.ceilDiv(Expr(S.TileRows * S.ClusterRows)) *
               P.Columns.ceilDiv(Expr(S.TileColumns * S.ClusterColumns)) *
               P.Batch;
  Expr Blocks(S.blocks()), AtOnce = Expr::symbol("sm_count");
  if (S.blocks() > 1)
    AtOnce = AtOnce.floorDiv(Blocks) * Blocks;
  Tiles = Tiles * Blocks;
  // Those that share a sum compute one tile; others stay.
  Launch.Grid[0] = (S.Split > 1 ? Tiles : Expr::min(Tiles, AtOnce)).str();
  Launch.Cluster = int32_t(S.blocks());
  Launch.Block = {int32_t(S.threads()), 1, 1};
  return Result;
}

} // namespace kpc::kernels
