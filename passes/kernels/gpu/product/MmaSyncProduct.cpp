//===- MmaSyncProduct.cpp - Tiles of sums on mma.sync ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/product/MmaSyncProduct.h"
#include "passes/kernels/gpu/product/ProductTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// Bytes of the longest line of shared memory, and of its swizzle.
static constexpr int64_t LineBytes = 128;
/// From this compute capability on there is stmatrix.
static constexpr int32_t StoresMatrices = 90;

Value MmaSyncProduct::sub(Value A, Value C) {
  return W.B.createOrFold<arith::SubIOp>(W.Loc, A, C);
}
Value MmaSyncProduct::least(Value A, Value C) {
  return W.B.createOrFold<arith::MinSIOp>(W.Loc, A, C);
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Slots of one operand below each other: `Extent` of its rows or columns, by
/// `TileSum` of the sum.
tile::SharedType MmaSyncProduct::slotType(const Source &From, int64_t Extent,
                                          int64_t Slots) {
  int64_t Rows = From.AlongSum ? Extent : S.TileSum,
          Columns = From.AlongSum ? S.TileSum : Extent;
  // A warpgroup's part is of whole lines.
  int64_t OfGroup = &From == &A ? S.GroupRows : S.GroupColumns;
  int64_t Line = From.AlongSum ? Columns : OfGroup;
  int64_t Row = Line * From.Element.getIntOrFloatBitWidth() / 8;
  return tile::SharedType::get(W.B.getContext(), {Rows * Slots, Columns},
                               From.Element, std::min(Row, LineBytes));
}

Value MmaSyncProduct::slotOf(Value Ring, const Source &From, int64_t Extent,
                             Value Slot) {
  auto Whole = cast<tile::SharedType>(Ring.getType());
  int64_t Rows = slotType(From, Extent, 1).getRows();
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::RowsOp::create(W.B, W.Loc, Part, Ring,
                              W.mul(Slot, W.index(Rows)));
}

/// One tile for each block.
void MmaSyncProduct::placeBlock() {
  RowCount = W.size(P.C.Rows.Sizes);
  ColumnCount = W.size(P.C.Columns.Sizes);
  Value RowTiles = toI32(W.ceilDiv(RowCount, S.TileRows)),
        ColumnTiles = toI32(W.ceilDiv(ColumnCount, S.TileColumns));
  Value Tile = toI32(W.block());
  if (P.hasBatch()) {
    Value PerBatch =
        W.B.createOrFold<arith::MulIOp>(W.Loc, RowTiles, ColumnTiles);
    Batch = toIndex(W.B.createOrFold<arith::DivUIOp>(W.Loc, Tile, PerBatch));
    Tile = W.B.createOrFold<arith::RemUIOp>(W.Loc, Tile, PerBatch);
  }
  TilePlace Place = tileInOrder(W, Tile, RowTiles, ColumnTiles, S.OrderRows);
  FirstRow = W.mul(toIndex(Place.Row), W.index(S.TileRows));
  FirstColumn = W.mul(toIndex(Place.Column), W.index(S.TileColumns));
  // The warpgroup's number; ptxas keeps it in uniform registers.
  Group = W.B.createOrFold<arith::DivUIOp>(W.Loc, W.thread(),
                                           W.index(tile::WarpgroupThreads));
}

void MmaSyncProduct::gather(const Source &From, Value Slot,
                            function_ref<Piece(Value, Value)> PieceAt) {
  auto Gather = tile::GatherOp::create(W.B, W.Loc, From.Memory, Slot,
                                       uint32_t(From.PieceBytes));
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Gather.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Piece One = PieceAt(Body->getArgument(0), Body->getArgument(1));
  tile::PlaceOp::create(W.B, W.Loc, One.At, One.Count);
}

/// Begins the copies of the step of the sum that begins at `Step`.
void MmaSyncProduct::fill(Value Slot, Value Step) {
  auto At = [&](const Source &From, Value First, Value Row, Value Column) {
    return std::pair(W.add(First, From.AlongSum ? Row : Column),
                     W.add(Step, From.AlongSum ? Column : Row));
  };
  gather(A, slotOf(RingA, A, S.TileRows, Slot), [&](Value Row, Value Column) {
    auto [OfA, Sum] = At(A, FirstRow, Row, Column);
    return pieceOfA(OfA, Sum);
  });
  gather(B, slotOf(RingB, B, S.TileColumns, Slot),
         [&](Value Row, Value Column) {
           auto [OfB, Sum] = At(B, FirstColumn, Row, Column);
           return pieceOfB(OfB, Sum);
         });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// This warpgroup's part of a slot's product.
Value MmaSyncProduct::multiply(Value Slot, Value Sums) {
  auto Mine = [&](Value Ring, const Source &From, int64_t Extent, Value Number,
                  int64_t OfGroup) -> Value {
    Value Tile = slotOf(Ring, From, Extent, Slot);
    auto Whole = cast<tile::SharedType>(Tile.getType());
    if (OfGroup == Extent)
      return Tile;
    Value First = W.mul(Number, W.index(OfGroup));
    bool Rows = From.AlongSum;
    auto Part = tile::SharedType::get(
        W.B.getContext(),
        {Rows ? OfGroup : Whole.getRows(), Rows ? Whole.getColumns() : OfGroup},
        Whole.getElement(), Whole.getSwizzle(), Whole.getPitch());
    if (Rows)
      return tile::RowsOp::create(W.B, W.Loc, Part, Tile, First);
    return tile::LinesOp::create(W.B, W.Loc, Part, Tile, First);
  };
  Value Down = W.index(S.groupsDown());
  Value RowGroup = W.B.createOrFold<arith::RemUIOp>(W.Loc, Group, Down),
        ColumnGroup = W.B.createOrFold<arith::DivUIOp>(W.Loc, Group, Down);
  Value Left = Mine(RingA, A, S.TileRows, RowGroup, S.GroupRows),
        Right = Mine(RingB, B, S.TileColumns, ColumnGroup, S.GroupColumns);
  return tile::MultiplyOp::create(W.B, W.Loc, Sums.getType(), Left, Right, Sums,
                                  !A.AlongSum, B.AlongSum);
}

/// A slot is filled again, `Slots` - 1 steps ahead, when all have multiplied
/// what was in it: in the step after.
Value MmaSyncProduct::sumTile() {
  auto Fragment = tile::FragmentType::get(
      W.B.getContext(), {S.GroupRows, S.GroupColumns}, W.B.getF32Type());
  Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getF32FloatAttr(0));
  Value Sums = tile::SplatOp::create(W.B, W.Loc, Fragment, Zero);
  auto FillWhere = [&](Value Slot, Value Step) {
    W.when(W.less(Step, SumCount), [&] { fill(Slot, Step); });
    tile::CommitGathersOp::create(W.B, W.Loc);
  };
  for (int64_t Slot = 0; Slot < S.Slots - 1; ++Slot)
    FillWhere(W.index(Slot), W.index(Slot * S.TileSum));
  Value Ahead = W.index((S.Slots - 1) * S.TileSum);
  auto After = [&](Value Slot) -> Value {
    Value Next = W.add(Slot, W.index(1));
    Value IsLast = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                         Next, W.index(S.Slots));
    return arith::SelectOp::create(W.B, W.Loc, IsLast, W.index(0), Next);
  };
  return W.loop(W.index(0), SumCount, W.index(S.TileSum),
                {Sums, W.index(0), W.index(S.Slots - 1)},
                [&](Value Step, ValueRange In) -> Values {
                  tile::WaitGathersOp::create(W.B, W.Loc, S.Slots - 2);
                  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
                  FillWhere(In[2], W.add(Step, Ahead));
                  Value More = multiply(In[1], In[0]);
                  return {More, After(In[1]), After(In[2])};
                })[0];
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Columns that go through the slots of A at a time: a line for each slot, at
/// most.
int64_t MmaSyncProduct::partColumns() const {
  int64_t PerLine = LineBytes * 8 / P.D.Element.getIntOrFloatBitWidth();
  int64_t Room = cast<tile::SharedType>(RingA.getType()).getBytes() /
                 (S.TileRows * LineBytes) * PerLine;
  int64_t Columns = S.TileColumns;
  while (Columns > Room)
    Columns /= 2;
  return Columns;
}

/// Bytes that each store of the result moves.
int64_t MmaSyncProduct::resultPiece() const {
  int64_t ElementBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  int64_t Elements = 16 / ElementBytes;
  while (Elements > 1 && (P.Facts.divisor(P.D.RowStride) % Elements ||
                          P.Facts.divisor(P.D.BatchStride) % Elements))
    Elements /= 2;
  return Elements * ElementBytes;
}

/// Columns [First, First + partColumns()) of the tile: into `Stage`, and on.
void MmaSyncProduct::storePart(Value Sums, Value Stage, int64_t First) {
  int64_t Columns = partColumns();
  // Of this part, what this warpgroup has.
  int64_t Mine = std::min(Columns, S.GroupColumns);
  Value Down = W.index(S.groupsDown());
  Value InTile = W.mul(W.B.createOrFold<arith::RemUIOp>(W.Loc, Group, Down),
                       W.index(S.GroupRows));
  Value ColumnGroup = W.B.createOrFold<arith::DivUIOp>(W.Loc, Group, Down);
  auto Whole = cast<tile::SharedType>(Stage.getType());
  auto Put = [&] {
    auto PartTy = tile::FragmentType::get(W.B.getContext(), {S.GroupRows, Mine},
                                          W.B.getF32Type());
    Value Part = tile::ColumnsOp::create(W.B, W.Loc, PartTy, Sums,
                                         First % S.GroupColumns);
    // The group's first column in the tile, and in this part of it.
    Value OfGroup = W.mul(ColumnGroup, W.index(S.GroupColumns));
    Value InPart =
        Columns < S.GroupColumns ? W.index(0) : sub(OfGroup, W.index(First));
    Value Column = W.add(OfGroup, W.index(First % S.GroupColumns));
    Value Out = mapSums(W, P,
                        {Batch, W.add(FirstRow, InTile),
                         W.add(FirstColumn, Column), RowCount, ColumnCount},
                        Part, Result);
    auto Type = [&](int64_t Rows, int64_t Across) {
      return tile::SharedType::get(W.B.getContext(), {Rows, Across},
                                   Whole.getElement(), Whole.getSwizzle(),
                                   Whole.getPitch());
    };
    Value To = Stage;
    if (S.GroupRows < S.TileRows)
      To = tile::RowsOp::create(
          W.B, W.Loc, Type(S.GroupRows, Whole.getColumns()), To, InTile);
    if (Mine < Columns)
      To = tile::LinesOp::create(W.B, W.Loc, Type(S.GroupRows, Mine), To,
                                 InPart);
    tile::PutOp::create(W.B, W.Loc, Out, To, T.Compute < StoresMatrices);
  };
  // Others wait where their columns are not in this part.
  if (Columns == S.TileColumns) {
    Put();
  } else {
    Value From = W.mul(ColumnGroup, W.index(S.GroupColumns)),
          End = W.add(From, W.index(S.GroupColumns));
    W.when(W.both(W.less(From, W.index(First + Columns)),
                  W.less(W.index(First), End)),
           Put);
  }
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Value Base =
      Batch ? W.mul(Batch, valueOf(W, Form, P.D.BatchStride)) : W.index(0);
  Value Stride = valueOf(W, Form, P.D.RowStride);
  auto Scatter = tile::ScatterOp::create(
      W.B, W.Loc, Stage,
      flatView(W, Form.Func.getArgument(P.D.Argument), P.D.Element),
      uint32_t(resultPiece()));
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Scatter.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Value Row = W.add(FirstRow, Body->getArgument(0));
  Value Column =
      W.add(W.add(FirstColumn, W.index(First)), Body->getArgument(1));
  Value At = W.add(W.add(W.mul(Row, Stride), Base), Column);
  Value Count = arith::SelectOp::create(W.B, W.Loc, W.less(Row, RowCount),
                                        sub(ColumnCount, Column), W.index(0));
  tile::PlaceOp::create(W.B, W.Loc, At, Count);
}

void MmaSyncProduct::finish(Value Sums) {
  int64_t Columns = partColumns();
  // A warpgroup's part is of whole lines.
  int64_t Line = std::min(Columns, S.GroupColumns) *
                 P.D.Element.getIntOrFloatBitWidth() / 8;
  // Where A's slots are there is no stricter alignment than theirs.
  int64_t OfA = cast<tile::SharedType>(RingA.getType()).getSwizzle();
  auto Staging = tile::SharedType::get(W.B.getContext(), {S.TileRows, Columns},
                                       P.D.Element, std::min(Line, OfA));
  tile::WaitGathersOp::create(W.B, W.Loc, 0);
  Value Stage;
  for (int64_t First = 0; First < S.TileColumns; First += Columns) {
    // All have read the slots, or the part before.
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
    if (!Stage)
      Stage = tile::ReuseOp::create(W.B, W.Loc, Staging, RingA);
    storePart(Sums, Stage, First);
  }
}

LogicalResult MmaSyncProduct::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  placeBlock();
  SumCount = countSum();
  prepare();
  RingA = tile::AllocOp::create(W.B, W.Loc, slotType(A, S.TileRows, S.Slots));
  RingB =
      tile::AllocOp::create(W.B, W.Loc, slotType(B, S.TileColumns, S.Slots));
  tile::StartOp::create(W.B, W.Loc);
  finish(sumTile());
  Launch.Grid[0] = (P.Rows.ceilDiv(Expr(S.TileRows)) *
                    P.Columns.ceilDiv(Expr(S.TileColumns)) * P.Batch)
                       .str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  // Left to its own judgement ptxas 13.0 keeps to 80 registers for sm_80, and
  // spills.
  Launch.ResidentBlocks = 1;
  return Result;
}

} // namespace kpc::kernels
