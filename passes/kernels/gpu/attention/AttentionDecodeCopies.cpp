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
#include "passes/kernels/gpu/attention/KeyRange.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

AttentionDecode::RowsInMemory AttentionDecode::rowsOf(const HeadsInMemory &H) {
  Value Base = Form.Func.getArgument(H.Argument), None = W.index(0);
  RowsInMemory Rows;
  Rows.Memory =
      flatView(W, Base, cast<MemRefType>(Base.getType()).getElementType());
  Rows.First = offsetOf(H, {Batch, Group, None, None});
  Rows.Stride = W.size(H.StrideSizes[2]);
  return Rows;
}

void AttentionDecode::placeAppended() {
  auto Of = [&](SharedRows &Rows, const HeadsInMemory &Past,
                const HeadsInMemory &New, const HeadsInMemory &Present,
                const std::optional<CacheRows> &Choice) {
    Rows.New = rowsOf(New);
    Rows.Present = rowsOf(Present);
    if (!Choice)
      return;
    Rows.Choice = &*Choice;
    if (Choice->MayBeInPlace) {
      auto Begin = [&](const HeadsInMemory &H) -> Value {
        return memref::ExtractAlignedPointerAsIndexOp::create(
            W.B, W.Loc, Form.Func.getArgument(H.Argument));
      };
      Rows.InPlace = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                           Begin(Past), Begin(Present));
    }
  };
  const AppendedRows &New = *A.New;
  if (!New.OfK)
    PastCount = W.size(New.PastSize);
  Of(KeyRows, A.K, New.K, New.PresentK, New.OfK);
  Of(ValueRows, A.V, New.V, New.PresentV, New.OfV);
}

/// Keys that no query sees need not be read, unless rows are stored that are
/// not in their place already.
void AttentionDecode::limitKeys() {
  Begin = W.index(0);
  Value Mask = A.Op.getMask();
  if (!Mask || lead() || A.Limits.Lead) // a sink is seen by all
    return;
  auto Reach = [&](KeyRange Range) -> KeyRange {
    Value None = W.index(0);
    Range.End = Range.End ? compute<arith::MinSIOp>(Range.End, End) : End;
    Range.End = compute<arith::MaxSIOp>(Range.End, None);
    Range.First =
        Range.First ? compute<arith::MaxSIOp>(Range.First, None) : None;
    return Range;
  };
  Value Last = compute<arith::SubIOp>(Queries, W.index(1));
  KeyRange Seen = keysWhere(
      W, {Mask, 3, /*Query=*/2, Last, {Batch, Value(), Value(), Value()}});
  if (!Seen.First && !Seen.End)
    return;
  Seen = Reach(Seen);
  for (const SharedRows &Rows : {KeyRows, ValueRows}) {
    if (!A.appends())
      break;
    if (!Rows.InPlace)
      return;
    const CacheRows &Of = *Rows.Choice;
    SmallVector<Value> At(4);
    At[Of.Dims[0]] = Batch, At[Of.Dims[1]] = Group;
    At[Of.Dims[3]] = W.index(0);
    KeyRange New =
        Of.Negated
            ? KeyRange()
            : keysWhere(W, {Of.IsNew, Of.Dims[2], std::nullopt, Value(), At});
    New = Reach(New);
    Seen.First = choose(Rows.InPlace,
                        compute<arith::MinSIOp>(Seen.First, New.First), Begin);
    Seen.End =
        choose(Rows.InPlace, compute<arith::MaxSIOp>(Seen.End, New.End), End);
  }
  // Warps take whole rounds of steps in turn.
  Value Step = W.index(S.stride());
  Begin = W.mul(compute<arith::DivUIOp>(Seen.First, Step), Step);
  End = Seen.End;
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
  const SharedRows Both[] = {KeyRows, ValueRows};
  for (auto [Rows, Tile] : llvm::zip_equal(Both, Tiles.getResults())) {
    if (Rows.Choice)
      fillChosen(Rows, First, Left, Tile, Stage);
    else if (A.appends())
      fillFromBoth(Rows, First, Left, Tile, Stage);
    else
      tile::CpAsyncRowsOp::create(
          W.B, W.Loc, Rows.Past.Memory,
          W.add(Rows.Past.First, W.mul(First, Rows.Past.Stride)),
          Rows.Past.Stride, Left, Rows.Columns, Tile, Ring, Stage);
  }
  tile::CommitOp::create(W.B, W.Loc, Ring, Stage);
}

/// The lane's pieces of a tile: from its first row on, whole lines at a time.
AttentionDecode::LanePieces AttentionDecode::piecesOf(const SharedRows &Rows,
                                                      Value Tile) {
  auto Type = cast<tile::SharedType>(Tile.getType());
  int64_t Lanes = Type.getColumns() / WideElements;
  LanePieces P;
  P.Row = compute<arith::DivUIOp>(Lane, W.index(Lanes));
  P.Column = W.mul(compute<arith::RemUIOp>(Lane, W.index(Lanes)),
                   W.index(WideElements));
  if (Rows.Columns < Type.getColumns())
    P.InRow = W.less(P.Column, W.index(Rows.Columns));
  P.RowsAtOnce = 32 / Lanes;
  return P;
}

/// Where the piece of row `Key` of a group is; that of a row `Number` further
/// on is as many strides after it.
Value AttentionDecode::placeOf(const RowsInMemory &Rows, Value Key,
                               const LanePieces &Of) {
  return W.add(W.add(Rows.First, W.mul(Key, Rows.Stride)), Of.Column);
}

/// The copies of one tile, each from the cache or from the new rows.
void AttentionDecode::fillFromBoth(const SharedRows &Rows, Value First,
                                   Value Left, Value Tile, Value Stage) {
  LanePieces P = piecesOf(Rows, Tile);
  Value Key = W.add(First, P.Row);
  Value FromNew = compute<arith::SubIOp>(Key, PastCount);
  Value OfPast = placeOf(Rows.Past, Key, P),
        OfNew = placeOf(Rows.New, FromNew, P), None = W.index(0);
  for (int64_t Number = 0; Number < S.Keys; Number += P.RowsAtOnce) {
    Value Further = W.index(Number), Here = W.add(P.Row, Further);
    Value Inside = W.less(Here, Left);
    if (P.InRow)
      Inside = W.both(Inside, P.InRow);
    Value IsPast = W.less(W.add(FromNew, Further), None);
    Value IsNew = opposite(IsPast);
    auto Copy = [&](const RowsInMemory &From, Value At, Value If) {
      tile::CpAsyncVectorOp::create(
          W.B, W.Loc, From.Memory, W.add(At, W.mul(From.Stride, Further)),
          Inside, Tile, Here, P.Column, int32_t(PieceBytes), If,
          /*policy=*/Value(), Ring, Stage);
    };
    Copy(Rows.Past, OfPast, IsPast);
    Copy(Rows.New, OfNew, IsNew);
  }
}

/// The element of each row, at that of key `Key`. Keys after the last one have
/// that of the last.
AttentionDecode::RowOrigin AttentionDecode::originOf(const CacheRows &Of,
                                                     Value Key) {
  Value One = W.index(1), None = W.index(0);
  Value Last = compute<arith::SubIOp>(Keys, One);
  Value Row = compute<arith::MinSIOp>(Key, Last);
  SmallVector<Value> At(4, None);
  At[Of.Dims[0]] = Batch, At[Of.Dims[1]] = Group, At[Of.Dims[2]] = Row;
  auto Element = [&](Value Tensor) -> Value {
    Value Found = W.Emitter.element(W.B, Tensor, At);
    if (!Found)
      Result = failure();
    return Found;
  };
  // As an index of graph.gather_elements: from the end where it is negative.
  auto Index = [&](Value Tensor, OpFoldResult Count) -> Value {
    Value Number = Element(Tensor), Size = W.size(Count);
    if (!Number)
      return None;
    Number =
        W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), Number);
    Number = choose(W.less(Number, None), W.add(Number, Size), Number);
    Value Greatest = compute<arith::SubIOp>(Size, One);
    Number = compute<arith::MinSIOp>(Number, Greatest);
    return compute<arith::MaxSIOp>(Number, None);
  };
  RowOrigin Origin;
  Origin.IsNew = Element(Of.IsNew);
  if (!Origin.IsNew)
    return {None, None, None};
  if (Of.Negated)
    Origin.IsNew = opposite(Origin.IsNew);
  Origin.NewRow = Index(Of.NewAt, Of.NewCount);
  Origin.PastRow = Of.PastAt ? Index(Of.PastAt, Of.PastCount) : Row;
  return Origin;
}

/// The same where the run decides which rows are new.
void AttentionDecode::fillChosen(const SharedRows &Rows, Value First,
                                 Value Left, Value Tile, Value Stage) {
  LanePieces P = piecesOf(Rows, Tile);
  for (int64_t Number = 0; Number < S.Keys; Number += P.RowsAtOnce) {
    Value Here = W.add(P.Row, W.index(Number));
    Value Inside = W.less(Here, Left);
    if (P.InRow)
      Inside = W.both(Inside, P.InRow);
    RowOrigin Origin = originOf(*Rows.Choice, W.add(First, Here));
    if (failed(Result))
      return;
    auto Copy = [&](const RowsInMemory &From, Value Row, Value If) {
      tile::CpAsyncVectorOp::create(W.B, W.Loc, From.Memory,
                                    placeOf(From, Row, P), Inside, Tile, Here,
                                    P.Column, int32_t(PieceBytes), If,
                                    /*policy=*/Value(), Ring, Stage);
    };
    Copy(Rows.Past, Origin.PastRow, opposite(Origin.IsNew));
    Copy(Rows.New, Origin.NewRow, Origin.IsNew);
  }
}

/// Stores the step's keys and values, from `First` on, behind one another:
/// whole lines, as they have been copied. Of several blocks with rows of their
/// own, the first one does it. In the memory of the cache, only rows that are
/// new: no block reads those of the cache in their places.
void AttentionDecode::storeRows(Value First, ValueRange Tiles) {
  Value Left =
      arith::SelectOp::create(W.B, W.Loc, W.less(TileRow, W.index(1)),
                              compute<arith::SubIOp>(Keys, First), W.index(0));
  auto Eight = vectorOf(WideElements, Element);
  const SharedRows Both[] = {KeyRows, ValueRows};
  for (auto [Rows, Tile] : llvm::zip_equal(Both, Tiles)) {
    LanePieces P = piecesOf(Rows, Tile);
    Value At = placeOf(Rows.Present, W.add(First, P.Row), P);
    for (int64_t Number = 0; Number < S.Keys; Number += P.RowsAtOnce) {
      Value Further = W.index(Number);
      Value Inside = W.less(W.add(P.Row, Further), Left);
      if (P.InRow)
        Inside = W.both(Inside, P.InRow);
      if (Rows.InPlace) {
        Value Key = W.add(W.add(First, P.Row), Further);
        Value IsNew = originOf(*Rows.Choice, Key).IsNew;
        Inside = W.both(Inside, arith::OrIOp::create(
                                    W.B, W.Loc, opposite(Rows.InPlace), IsNew));
      }
      W.when(Inside, [&] {
        Value Piece = tile::LoadVectorOp::create(
            W.B, W.Loc, Eight, Tile, P.Row, Number, P.Column, 0, IntegerAttr());
        auto Store = vector::StoreOp::create(
            W.B, W.Loc, Piece, Rows.Present.Memory,
            W.add(At, W.mul(Rows.Present.Stride, Further)));
        Store.setAlignment(PieceBytes);
      });
    }
  }
}

} // namespace kpc::kernels
