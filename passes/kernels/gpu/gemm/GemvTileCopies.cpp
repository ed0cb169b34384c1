//===- GemvTileCopies.cpp - What a product of few rows loads --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp's copies into its ring: which columns a tile has, and which lanes
/// copy which pieces of weights and rows.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace kpc::kernels {

/// `Bytes` from an element on, past the first cache; zeros where `Inside` is
/// false. Without a predicate all lanes copy.
void GemvTile::copy(Value To, Value Base, Value Element, Value Inside,
                    int64_t Bytes, Value Predicate) {
  Value Offset = W.mul(Element, W.index(ElementBytes));
  copyBytes(To, W.add(Base, Offset), Inside, Bytes, Predicate);
}

/// The same from an address on.
void GemvTile::copyBytes(Value To, Value Address, Value Inside, int64_t Bytes,
                         Value Predicate) {
  Type I64 = W.B.getI64Type();
  Value From = arith::IndexCastOp::create(W.B, W.Loc, I64, Address);
  Value Count = i32(Bytes);
  if (Inside) {
    Value None = i32(0);
    Count = arith::SelectOp::create(W.B, W.Loc, Inside, Count, None);
  }
  // Less than 16 bytes go through the first cache.
  std::string Text = std::string("cp.async.") +
                     (Bytes == PieceBytes ? "cg" : "ca") +
                     ".shared.global.L2::cache_hint [{$r0}], [{$r1}], " +
                     std::to_string(Bytes) + ", {$r2}, {$r3};";
  NVVM::InlinePtxOp::create(W.B, W.Loc, TypeRange(),
                            ValueRange{To, From, Count, Policy}, ValueRange(),
                            Text, Predicate);
}

/// Lines are Depth elements of K, their pieces 8 columns.
void GemvTile::copyWeightsAlongColumns(Value To, Value Column, Value First) {
  int64_t Pieces = S.Slices, LineLanes = std::min<int64_t>(Pieces, 8),
          Lines = 32 / LineLanes, Width = columnsOfAccess(P);
  Value Piece = rem32(Lane, LineLanes), Line = div32(Lane, LineLanes);
  Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Columns, W.index(Width));
  for (int64_t Part = 0; Part < 8 / Width; ++Part) {
    Value InTile = add32(mul32(Piece, 8), Part * Width);
    Value Mine = least(columnOf(Column, InTile), Last), Base = baseOf(InTile);
    for (int64_t N = 0; N < S.Depth / Lines; ++N) {
      Value K = add32(Line, N * Lines);
      Value At = W.add(First, toIndex(K));
      Value Inside = W.less(At, Sum);
      Value Eight = rem32(div32(K, 8), 4);
      Value Other = S.Slices >= 8 ? add32(mul32(Eight, 2), rem32(K, 2))
                                  : rem32(Eight, S.Slices);
      Value InStage = add32(mul32(K, S.columns() * ElementBytes),
                            mul32(xor32(Piece, Other), PieceBytes));
      copy(add32(To, add32(InStage, Part * Width * ElementBytes)), Base,
           W.add(W.mul(At, StrideB), Mine), Inside, Width * ElementBytes);
    }
  }
}

/// Lines are columns, their pieces 8 elements of K.
void GemvTile::copyWeightsAlongK(Value To, Value Column, Value First) {
  int64_t Lines = 32 / pieces();
  Value Piece = rem32(Lane, pieces()), Line = div32(Lane, pieces());
  Value At = W.add(First, toIndex(mul32(Piece, ThreadK)));
  Value Inside = W.less(At, Sum);
  bool Whole = P.Facts.divisor(P.N) % S.columns() == 0;
  Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Columns, W.index(1));
  for (int64_t N = 0; N < S.columns() / Lines; ++N) {
    Value InTile = add32(Line, N * Lines);
    Value Mine = W.add(Column, toIndex(InTile));
    if (!Whole)
      Mine = least(Mine, Last);
    Value Other = rem32(InTile, pieces());
    Value InStage = add32(mul32(InTile, S.Depth * ElementBytes),
                          mul32(xor32(Piece, Other), PieceBytes));
    copy(add32(To, InStage), BaseB, W.add(W.mul(Mine, StrideB), At), Inside,
         PieceBytes);
  }
}

/// What is changed in the numbers of a row's pieces. Beside codes, lanes of two
/// neighbouring rows load at once.
Value GemvTile::rowSwizzle(Value Row) {
  return P.Codes ? mul32(rem32(Row, 2), 4) : rem32(Row, pieces());
}

void GemvTile::copyRows(Value To, Value First) {
  int64_t Lines = 32 / pieces();
  int64_t Most = std::min(P.Facts.range(P.M).Max, stageRows());
  Value Piece = rem32(Lane, pieces()), Line = div32(Lane, pieces());
  Value At = W.add(First, toIndex(mul32(Piece, ThreadK)));
  Value Inside = W.less(At, Sum);
  for (int64_t N = 0; N * Lines < Most; ++N) {
    Value Row = add32(Line, N * Lines);
    Value Is = W.less(toIndex(Row), RowsHere);
    Value InStage = add32(mul32(Row, S.Depth * ElementBytes),
                          mul32(xor32(Piece, rowSwizzle(Row)), PieceBytes));
    Value Mine = W.add(FirstRow, toIndex(Row));
    copy(add32(To, InStage), BaseA, W.add(W.mul(Mine, RowStrideA), At), Inside,
         PieceBytes, Is);
  }
}

/// Stages are told by their addresses, which differ from warp to warp. An
/// offset that is the same in all threads would become a uniform register, and
/// ptxas 13.0 to 13.5 makes an illegal instruction of `cp.async` with a cache
/// hint and such a register in its address (sm_90a, seen on an H200).
Value GemvTile::nextStage(Value Stage) {
  Value Next = add32(Stage, S.stageBytes()),
        End = add32(Ring, S.Stages * S.stageBytes());
  Value IsEnd =
      arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Next, End);
  return arith::SelectOp::create(W.B, W.Loc, IsEnd, Ring, Next);
}

Value GemvTile::firstColumn(Value Tile) {
  Value Grid = gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x);
  Value Number = W.add(W.mul(Tile, Grid), W.block());
  if (!P.RotateHalf)
    return W.mul(Number, W.index(resultColumns()));
  int64_t OfHead = P.RotateHalf / half(); // tiles
  Value Head = W.B.createOrFold<arith::DivUIOp>(W.Loc, Number, W.index(OfHead));
  Value InHead =
      W.B.createOrFold<arith::RemUIOp>(W.Loc, Number, W.index(OfHead));
  return W.add(W.mul(Head, W.index(2 * P.RotateHalf)),
               W.mul(InHead, W.index(half())));
}

Value GemvTile::isInSecondHalf(Value InTile) {
  return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::uge, InTile,
                               i32(half()));
}

/// The matrix that a column of the tile is of.
Value GemvTile::baseOf(Value InTile) {
  if (!P.Second)
    return BaseB;
  return arith::SelectOp::create(W.B, W.Loc, isInSecondHalf(InTile),
                                 BaseSecondB, BaseB);
}

/// Its number there: columns of the second half are as many of the second
/// matrix, or those that change places with the first half's.
Value GemvTile::columnOf(Value First, Value InTile) {
  if (hasHalves()) {
    Value Step = i32((P.Second ? 0 : P.RotateHalf) - half()), None = i32(0);
    InTile = add32(InTile, arith::SelectOp::create(
                               W.B, W.Loc, isInSecondHalf(InTile), Step, None));
  }
  return W.add(First, toIndex(InTile));
}

/// Starts the copies of a slice, if one is left; the place behind it.
GemvTile::Place GemvTile::fill(Place At) {
  W.when(W.less(At.Tile, Tiles), [&] {
    Value OfWarps = W.mul(At.Slice, W.index(S.Warps));
    Value First = W.mul(W.add(OfWarps, toIndex(Warp)), W.index(S.Depth));
    Value Column = firstColumn(At.Tile);
    Value To = At.Stage;
    if (P.Codes)
      copyCodes(To, Column, First);
    else if (KContiguous)
      copyWeightsAlongK(To, Column, First);
    else
      copyWeightsAlongColumns(To, Column, First);
    copyRows(add32(To, S.weightBytes()), First);
  });
  NVVM::CpAsyncCommitGroupOp::create(W.B, W.Loc);
  Value Next = W.add(At.Slice, W.index(1));
  Value IsLast =
      arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Next, Slices);
  Value Behind = W.add(At.Tile, W.index(1)), Start = W.index(0);
  Place Then;
  Then.Stage = nextStage(At.Stage);
  Then.Tile = arith::SelectOp::create(W.B, W.Loc, IsLast, Behind, At.Tile);
  Then.Slice = arith::SelectOp::create(W.B, W.Loc, IsLast, Start, Next);
  return Then;
}

} // namespace kpc::kernels
