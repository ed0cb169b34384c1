//===- MmaSyncResults.cpp - Results of kernels on mma.sync ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/MmaSyncResults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

/// From this compute capability on there is stmatrix.
static constexpr int32_t StoresMatrices = 90;

Value MmaSyncResults::sub(Value A, Value C) {
  return W.B.createOrFold<arith::SubIOp>(W.Loc, A, C);
}
Value MmaSyncResults::least(Value A, Value C) {
  return W.B.createOrFold<arith::MinSIOp>(W.Loc, A, C);
}

/// Columns that have room in shared memory at a time.
int64_t MmaSyncResults::partColumns(int64_t RoomBytes) const {
  int64_t OfColumn = S.TileM * P.D.Element.getIntOrFloatBitWidth() / 8;
  int64_t Columns = resultColumns();
  while (OfColumn * Columns > RoomBytes)
    Columns /= 2;
  return Columns;
}

/// Bytes that each store of the result moves.
int64_t MmaSyncResults::resultPiece() const {
  int64_t ElementBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  int64_t Elements = 16 / ElementBytes;
  while (Elements > 1 && (P.Facts.divisor(P.D.RowStride) % Elements ||
                          divisorOfBatches(P, P.D) % Elements))
    Elements /= 2;
  return Elements * ElementBytes;
}

/// What the kernel makes of the accumulators of `Columns` of this warpgroup's
/// columns, from `First` on; `Row`, `Column`: where they are in the result.
Value MmaSyncResults::mapPart(Value Acc, Value Row, Value Column, int64_t First,
                              int64_t Columns) {
  auto PartTy = tile::FragmentType::get(
      W.B.getContext(), {S.WarpgroupM, Columns}, P.accumulatorType());
  Value Part = tile::ExtractColumnsOp::create(W.B, W.Loc, PartTy, Acc, First);
  Value Paired;
  if (P.Second)
    Paired = tile::ExtractColumnsOp::create(W.B, W.Loc, PartTy, Acc,
                                            groupColumns() + First);
  else if (P.RotateHalf)
    Paired = tile::ExtractColumnsOp::create(W.B, W.Loc, PartTy, Acc, First,
                                            P.RotateHalf);
  AccumulatorCoord At{Batch, Row, Column, RowCount, ColumnCount};
  locate(At);
  // The columns of a block that takes several groups end before its tile does.
  if (P.RotateHalf)
    keepColumnsInside(W, P, At, Columns, resultColumns());
  return mapAccumulators(W, P, At, Part, Result, Paired);
}

/// The tile's columns from `First` on: into `StagingTile`, and on.
void MmaSyncResults::storePart(Value Acc, Value StagingTile, int64_t First) {
  auto Whole = cast<tile::SharedType>(StagingTile.getType());
  int64_t Columns = Whole.getColumns();
  // Of this part, what this warpgroup has.
  int64_t OfGroup = groupColumns(), Mine = std::min(Columns, OfGroup);
  Value Down = W.index(S.groupsDown());
  Value InTile = W.mul(W.B.createOrFold<arith::RemUIOp>(W.Loc, Group, Down),
                       W.index(S.WarpgroupM));
  Value ColumnGroup = W.B.createOrFold<arith::DivUIOp>(W.Loc, Group, Down);
  auto Put = [&] {
    // The group's first column in the tile, and in this part of it.
    Value Begin = W.mul(ColumnGroup, W.index(OfGroup));
    Value InPart = Columns < OfGroup ? W.index(0) : sub(Begin, W.index(First));
    Value Column = W.add(Begin, W.index(First % OfGroup));
    Value Out = mapPart(Acc, W.add(FirstRow, InTile),
                        W.add(FirstColumn, Column), First % OfGroup, Mine);
    auto Type = [&](int64_t Rows, int64_t Across) {
      return tile::SharedType::get(W.B.getContext(), {Rows, Across},
                                   Whole.getElement(), Whole.getSwizzle(),
                                   Whole.getPitch());
    };
    Value To = StagingTile;
    if (S.WarpgroupM < S.TileM)
      To = tile::SubviewRowsOp::create(
          W.B, W.Loc, Type(S.WarpgroupM, Whole.getColumns()), To, InTile);
    if (Mine < Columns)
      To = tile::SubviewColumnsOp::create(W.B, W.Loc, Type(S.WarpgroupM, Mine),
                                          To, InPart);
    tile::StoreSharedOp::create(W.B, W.Loc, Out, To,
                                T.Compute < StoresMatrices);
  };
  // Others wait where their columns are not in this part.
  if (Columns == resultColumns()) {
    Put();
  } else {
    Value From = W.mul(ColumnGroup, W.index(OfGroup)),
          End = W.add(From, W.index(OfGroup));
    W.when(W.both(W.less(From, W.index(First + Columns)),
                  W.less(W.index(First), End)),
           Put);
  }
  tile::SyncOp::create(W.B, W.Loc, Meets);
  Value Base = batchOffset(W, Form, P, P.D, Batch);
  Value Stride = valueOf(W, Form, P.D.RowStride);
  int64_t OfPiece = resultPiece() * 8 / P.D.Element.getIntOrFloatBitWidth();
  auto Scatter = tile::StoreGlobalOp::create(
      W.B, W.Loc, StagingTile,
      flatView(W, Form.Func.getArgument(P.D.Argument), P.D.Element),
      uint32_t(resultPiece()), P.Facts.divisor(P.N) % OfPiece == 0,
      Meets == tile::Scope::Warpgroup);
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Scatter.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  MemoryRow Row = rowOf(Body->getArgument(0));
  Value Column =
      W.add(W.add(FirstColumn, W.index(First)), Body->getArgument(1));
  Value At = W.add(W.add(W.mul(Row.At, Stride), Base), Column);
  Value Count = arith::SelectOp::create(W.B, W.Loc, Row.IsThere(),
                                        sub(ColumnCount, Column), W.index(0));
  tile::YieldAddressOp::create(W.B, W.Loc, At, Count);
}

MmaSyncResults::MemoryRow MmaSyncResults::rowOf(Value InTile) {
  Value Row = W.add(FirstRow, InTile);
  return {Row, [this, Row] { return W.less(Row, RowCount); }};
}

void MmaSyncResults::storeTile(Value Acc, Value Room) {
  auto From = cast<tile::SharedType>(Room.getType());
  int64_t Columns = partColumns(From.getBytes());
  // A warpgroup's part is of whole lines.
  int64_t Line = std::min(Columns, groupColumns()) *
                 P.D.Element.getIntOrFloatBitWidth() / 8;
  // There is no stricter alignment than the room's.
  auto Staging =
      tile::SharedType::get(W.B.getContext(), {S.TileM, Columns}, P.D.Element,
                            std::min<int64_t>(Line, From.getSwizzle()));
  Value StagingTile;
  for (int64_t First = 0; First < resultColumns(); First += Columns) {
    // All have read the stages, or the part before.
    tile::SyncOp::create(W.B, W.Loc, Meets);
    if (!StagingTile)
      StagingTile = tile::ReuseOp::create(W.B, W.Loc, Staging, Room);
    storePart(Acc, StagingTile, First);
  }
}

} // namespace kpc::kernels
