//===- AttentionDecodeCopies.cpp - Keys and values on their way -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp's ring: a stage has a step's keys and its values, rows of a power of
/// two units of 16 bytes. As many lanes copy a row, so that each copy is of
/// whole lines of memory.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionDecode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

AttentionDecode::SharedRows AttentionDecode::rowsOf(const HeadsInMemory &H,
                                                    int64_t Columns) {
  Value Base = Form.Func.getArgument(H.Argument), None = W.index(0);
  SharedRows Rows;
  Rows.Memory =
      flatView(W, Base, cast<MemRefType>(Base.getType()).getElementType());
  Rows.First = offsetOf(H, {Batch, Group, None, None});
  Rows.Stride = W.size(H.StrideSizes[2]);
  Rows.Columns = Columns;
  return Rows;
}

/// Swizzles, as bits of a byte's place in a tile: the lanes that load together
/// meet no bank twice. Of keys they want 4 units of 2 rows: bit 0 of the row
/// moves units by four. Of values they want 2 units of 4 rows, every other one:
/// bits 1 and 2 of the row move units by two and by four.
void AttentionDecode::declareRing() {
  MLIRContext *Context = W.B.getContext();
  auto TileOf = [&](const HeadsInMemory &H, int64_t Units, int64_t Bits,
                    int64_t Base, int64_t RowBit) {
    int64_t Shift = llvm::Log2_64(uint64_t(Units * PieceBytes)) + RowBit - Base;
    SmallVector<int64_t> Swizzle = {Bits, Base, Shift};
    if (Units < 8) // a row is too short to move its units by four
      Swizzle.clear();
    return tile::SharedType::get(Context, {S.Keys, Units * pieceElements()},
                                 H.Element, /*swizzle=*/0, S.Keys, Swizzle);
  };
  StageTiles = {TileOf(A.K, S.keyLanes(Shape), 1, 6, 0),
                TileOf(A.V, S.valueLanes(Shape), 2, 5, 1)};
  Ring = tile::PipeOp::create(
      W.B, W.Loc, tile::PipeType::get(Context, S.Stages, StageTiles),
      tile::Completion::CpAsync, /*producers=*/1, /*consumers=*/0,
      /*pair=*/false, S.Warps);
}

/// Starts the copies of the step whose first key is `First`, as one group. Keys
/// behind the last one are zeros.
void AttentionDecode::fill(Value First, Value At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, Ring, At);
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, StageTiles, Ring, Stage);
  Value Left = compute<arith::SubIOp>(End, First);
  for (auto [Rows, Tile] : llvm::zip_equal(
           ArrayRef<SharedRows>{KeyRows, ValueRows}, Tiles.getResults()))
    tile::CpAsyncRowsOp::create(
        W.B, W.Loc, Rows.Memory, W.add(Rows.First, W.mul(First, Rows.Stride)),
        Rows.Stride, Left, Rows.Columns, Tile, Ring, Stage);
  tile::CommitOp::create(W.B, W.Loc, Ring, Stage);
}

} // namespace kpc::kernels
