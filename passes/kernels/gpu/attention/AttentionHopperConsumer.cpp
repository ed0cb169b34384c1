//===- AttentionHopperConsumer.cpp - Products and softmax -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the warpgroups that multiply do: see AttentionHopper.cpp.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionHopper.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace kpc::kernels {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Whether the causal mask, if there is one, hides keys of a tile's last block
/// alone: tiles of queries begin where blocks of keys do.
bool AttentionHopper::masksLastBlockOnly() const {
  return !A.Limits.HasEnd &&
         (!A.Offset || (S.TileKeys % S.TileQueries == 0 &&
                        A.Facts.divisor(*A.Offset) % S.TileQueries == 0));
}

/// Whether a query may see no key of a block that comes before others which it
/// sees: then its greatest score so far is none.
bool AttentionHopper::mayHideAll() const {
  return A.Op.getBias() || A.Op.getMask() || !masksLastBlockOnly();
}

/// Whether a tile's last block may have columns after the last key.
bool AttentionHopper::endsInside() const {
  return A.Facts.divisor(A.Keys) % S.TileKeys != 0;
}

/// A warpgroup's queries of a tile.
AttentionHopper::QueriesAt AttentionHopper::queriesOf(const Place &Where,
                                                      Value Group) {
  return {Where.Batch, Where.Head, W.add(Where.Row, W.mul(Group, W.index(64)))};
}

/// Powers of the scores and their sum. Some of them are made before the wait
/// for the next values, a loop on its barrier above which ptxas cannot move the
/// wait for the product behind it (`AwaitSums`).
void AttentionHopper::makePowers(Value Scores, Value Shift, Value Total,
                                 Value ValueCursor, State &After,
                                 function_ref<void()> AwaitSums) {
  auto Columns = [&](int64_t First, int64_t Count) -> Value {
    auto Ty = tile::FragmentType::get(W.B.getContext(), {64, Count},
                                      W.B.getF32Type());
    return tile::ExtractColumnsOp::create(W.B, W.Loc, Ty, Scores, First);
  };
  Value Front = powers(Columns(0, S.Ahead), Shift, After.RowScales);
  After.Stage = waitFor(PipeV, ValueCursor).first;
  if (AwaitSums)
    AwaitSums();
  Value Back =
      powers(Columns(S.Ahead, S.TileKeys - S.Ahead), Shift, After.RowScales);
  for (Value Part : {Front, Back})
    Total = tile::ThreadReduceOp::create(
        W.B, W.Loc, PartsTy, tile::ReduceKind::Add, Part, Total, S.Chains);
  After.Total = Total;
  After.Powers =
      tile::PackOp::create(W.B, W.Loc, PowersTy, ValueRange{Front, Back});
  After.ValueCursor = next(PipeV, ValueCursor);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The queries of a tile and the stage they are in.
std::pair<Value, Value> AttentionHopper::waitForQueries(Value Cursor,
                                                        Value Group) {
  auto [Stage, Tile] = waitFor(PipeQ, Cursor);
  return {Stage, rowsOf(Tile, W.mul(Group, W.index(64)), 64)};
}

/// Begins the product of queries and keys, and gives the scores when they are
/// there, with what a mask of keys does to them. `Meanwhile` begins another
/// product, which goes on.
Value AttentionHopper::scoresOf(Value Queries, Value KeyCursor,
                                function_ref<void()> Meanwhile) {
  auto Pending = tile::PendingType::get(W.B.getContext(), ScoresTy);
  auto [Stage, Keys] = waitFor(PipeK, KeyCursor);
  bool Begins = PipeM && beginsWithColumns();
  // They are as old as the keys. A wait after the GEMM would cost time.
  Value Columns = PipeM ? waitFor(PipeM, KeyCursor).first : Value();
  Value Numbers = Begins ? columnsIn(Columns) : Value();
  if (takesTurns())
    tile::WaitTurnOp::create(W.B, W.Loc);
  Value Product = tile::MmaOp::create(W.B, W.Loc, Pending, Queries, Keys,
                                      Numbers, false, /*b_transposed=*/true);
  if (Meanwhile)
    Meanwhile();
  if (takesTurns())
    tile::PassTurnOp::create(W.B, W.Loc);
  Value Scores = tile::AwaitOp::create(W.B, W.Loc, ScoresTy, Product,
                                       /*in_flight=*/Meanwhile ? 1 : 0);
  tile::ReleaseOp::create(W.B, W.Loc, PipeK, Stage);
  Scores = capped(Scores);
  return PipeM && !Begins ? withColumns(Scores, columnsIn(Columns)) : Scores;
}

/// Scores of one block with what a mask or a bias, the end of the keys and a
/// diagonal do to them.
Value AttentionHopper::seen(const QueriesAt &Mine, Value Scores, Value Block,
                            bool IsLast, bool Masked) {
  if (!PipeM && (A.Op.getBias() || A.hasMask())) {
    // Without a causal mask all tiles of queries end with the same block of
    // keys. LLVM would keep the address of each score's bias in registers over
    // the whole loop over tiles: they spilled.
    if (IsLast)
      Block = W.renewed(Block);
    Scores = scored(Mine, Scores, Block, /*MayEnd=*/IsLast);
  }
  // Numbers of keys hide what comes after the last one.
  if (IsLast && endsInside() && !PipeM)
    Masked = true;
  return Masked ? masked(Mine, Scores, Block) : Scores;
}

/// Begins the product with the values that `Before` still owes.
Value AttentionHopper::addValues(const State &Before) {
  Value Tile =
      tile::TilesOp::create(W.B, W.Loc, TypeRange{TileV}, PipeV, Before.Stage)
          .getResult(0);
  return tile::MmaOp::create(W.B, W.Loc,
                             tile::PendingType::get(W.B.getContext(), SumsTy),
                             Before.Powers, Tile, Before.Sums, false,
                             /*b_transposed=*/A.isFp8());
}

/// A tile's first block. With `Before`, the state that the tile before ends
/// with, its last product runs beside, and the sums that it gives are put into
/// `Sums`.
AttentionHopper::State AttentionHopper::firstBlock(const Place &Where,
                                                   Value Group, Value Queries,
                                                   ValueRange Cursors,
                                                   const State *Before,
                                                   Value *Sums) {
  State First;
  QueriesAt Mine = queriesOf(Where, Group);
  // Read while the scores are computed.
  First.RowScales = rowScales(Mine);
  Value Pending;
  auto Last = [&] { Pending = addValues(*Before); };
  Value Scores = Before ? scoresOf(Queries, Cursors[0], Last)
                        : scoresOf(Queries, Cursors[0], nullptr);
  Value Block = compute<arith::SubIOp>(Where.Keys.Count, i32(1));
  Scores = seen(Mine, Scores, Block, /*IsLast=*/true,
                /*Masked=*/A.Offset || A.Limits.any());
  First.Most = greatest(Scores, S.Chains);
  auto Await = [&] {
    *Sums = tile::AwaitOp::create(W.B, W.Loc, SumsTy, Pending);
    tile::ReleaseOp::create(W.B, W.Loc, PipeV, Before->Stage);
  };
  Value Shift = shiftOf(First.Most, mayHideAll(), First.RowScales);
  if (Before)
    makePowers(Scores, Shift, Value(), Cursors[1], First, Await);
  else
    makePowers(Scores, Shift, Value(), Cursors[1], First, nullptr);
  First.Sums = splat(SumsTy, f32(0));
  First.KeyCursor = next(PipeK, Cursors[0]);
  return First;
}

/// One block's scores while the powers of the block before are multiplied with
/// its values.
AttentionHopper::State
AttentionHopper::nextBlock(const Place &Where, Value Group, Value Queries,
                           Value Block, const State &Before, bool Masked) {
  State After;
  After.RowScales = Before.RowScales;
  Value Pending;
  Value Scores =
      scoresOf(Queries, Before.KeyCursor, [&] { Pending = addValues(Before); });
  QueriesAt Mine = queriesOf(Where, Group);
  Scores = seen(Mine, Scores, Block, /*IsLast=*/false, Masked);
  Value Most = greatest(Scores, S.Chains);
  After.Most = apply(ColumnTy, {Before.Most, Most}, [&](ValueRange In) {
    return compute<arith::MaxNumFOp>(In[0], In[1]);
  });
  Value Shift = shiftOf(After.Most, mayHideAll(), After.RowScales);
  Value Shrink = shrinkOf(Before.Most, Shift, After.RowScales);
  Value Total = scaledBy(Before.Total, Shrink);
  Value Sums;
  makePowers(Scores, Shift, Total, Before.ValueCursor, After, [&] {
    Sums = tile::AwaitOp::create(W.B, W.Loc, SumsTy, Pending);
    tile::ReleaseOp::create(W.B, W.Loc, PipeV, Before.Stage);
  });
  After.Sums = scaledBy(Sums, Shrink);
  After.KeyCursor = next(PipeK, Before.KeyCursor);
  return After;
}

/// All blocks of a tile behind the first.
AttentionHopper::State AttentionHopper::walkBlocks(const Place &Where,
                                                   Value Group, Value Queries,
                                                   State Now) {
  Value Last = compute<arith::SubIOp>(Where.Keys.Count, i32(1));
  // Blocks from `From` down to `To`, `To` the last.
  auto Walk = [&](Value From, Value To, bool Masked) {
    Value Count = compute<arith::SubIOp>(From, To);
    Now = stateIn(
        W.loop(i32(0), Count, i32(1), Now.list(), [&](Value I, ValueRange In) {
          Value Block =
              compute<arith::SubIOp>(compute<arith::SubIOp>(From, i32(1)), I);
          return nextBlock(Where, Group, Queries, Block, stateIn(In), Masked)
              .list();
        }));
  };
  // Those on the diagonal need a mask.
  bool NoMore = masksLastBlockOnly();
  Value First = firstOf(Where), WholeFrom = Where.Keys.WholeFrom,
        Unmasked =
            NoMore ? Last : compute<arith::MinSIOp>(Last, Where.Keys.Whole);
  if (WholeFrom && !NoMore)
    Unmasked = compute<arith::MaxSIOp>(Unmasked, First);
  if (!NoMore)
    Walk(Last, Unmasked, true);
  if (!WholeFrom) {
    Walk(Unmasked, First, false);
    return Now;
  }
  // And so do those in which a window begins.
  WholeFrom = compute<arith::MinSIOp>(compute<arith::MaxSIOp>(WholeFrom, First),
                                      Unmasked);
  Walk(Unmasked, WholeFrom, false);
  Walk(WholeFrom, First, true);
  if (A.Limits.Lead)
    Walk(compute<arith::MinSIOp>(First, i32(1)), i32(0), true);
  return Now;
}

/// Sums over their total, through shared memory.
void AttentionHopper::storeTile(const Place &Where, Value Group, Value Sums,
                                Value Parts) {
  MLIRContext *Context = W.B.getContext();
  Value Inverse = inverseOf(Parts);
  Value First = W.mul(Group, W.index(64));
  Value Staged = rowsOf(StagingTile, First, 64);
  int64_t Width = SumsTy.getColumns(), Step = Staging.getColumns();
  for (int64_t C = 0; C < Width; C += Step) {
    auto Part = tile::FragmentType::get(Context, {64, Step}, W.B.getF32Type());
    Value Some = Step == Width
                     ? Sums
                     : tile::ExtractColumnsOp::create(W.B, W.Loc, Part, Sums, C)
                           .getResult();
    Value Out = narrowed(Some, Inverse);
    elect(tile::Scope::Warpgroup,
          [&] { tile::TmaStoreWaitOp::create(W.B, W.Loc, 0); });
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    tile::StoreSharedOp::create(W.B, W.Loc, Out, Staged);
    tile::FenceProxyOp::create(W.B, W.Loc);
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    elect(tile::Scope::Warpgroup, [&] {
      Values At = {Where.Batch, Where.Head, W.add(Where.Row, First),
                   W.index(C)};
      tile::TmaStoreOp::create(W.B, W.Loc, Staged, ViewY, At);
      tile::TmaStoreCommitOp::create(W.B, W.Loc);
    });
  }
}

/// Tile after tile. The first scores of the next run beside the last product of
/// this one, and its result is stored when their powers are there.
void AttentionHopper::consume(Value Group) {
  auto QueriesIn = [&](Value Stage) {
    Value Tile =
        tile::TilesOp::create(W.B, W.Loc, TypeRange{TileQ}, PipeQ, Stage)
            .getResult(0);
    return rowsOf(Tile, W.mul(Group, W.index(64)), 64);
  };
  auto IsMine = [&](int64_t Which) {
    return compare(arith::CmpIPredicate::eq, Group, W.index(Which));
  };
  // Nobody has the turn yet: the last one passes it to the first.
  if (takesTurns())
    W.when(IsMine(S.consumers() - 1),
           [&] { tile::PassTurnOp::create(W.B, W.Loc); });
  Values Pipes = startOfPipes();
  auto [FirstStage, FirstQueries] = waitForQueries(Pipes[0], Group);
  Values Carried = firstBlock(placeOf(firstTurn()), Group, FirstQueries,
                              ValueRange(Pipes).drop_front(), nullptr, nullptr)
                       .list();
  Carried.append({FirstStage, Pipes[0]});
  unsigned Size = stateSize(); // then the stage and the place of queries
  Values Last = eachTurn(Carried, [&](const Turn &Now, ValueRange In) {
    Place Where = placeOf(Now);
    State End = walkBlocks(Where, Group, QueriesIn(In[Size]), stateIn(In));
    tile::ReleaseOp::create(W.B, W.Loc, PipeQ, In[Size]);
    Value Cursor = next(PipeQ, In[Size + 1]);
    auto [Stage, Queries] = waitForQueries(Cursor, Group);
    Value Sums;
    State Begun = firstBlock(placeOf(after(Now)), Group, Queries,
                             {End.KeyCursor, End.ValueCursor}, &End, &Sums);
    storeTile(Where, Group, Sums, End.Total);
    Values Out = Begun.list();
    Out.append({Stage, Cursor});
    return Out;
  });
  Place Where = placeOf({Last[0], Last[1]});
  // The turn comes first.
  State End = walkBlocks(Where, Group, QueriesIn(Last[2 + Size]),
                         stateIn(ValueRange(Last).drop_front(2)));
  tile::ReleaseOp::create(W.B, W.Loc, PipeQ, Last[2 + Size]);
  Value Sums = tile::AwaitOp::create(W.B, W.Loc, SumsTy, addValues(End));
  tile::ReleaseOp::create(W.B, W.Loc, PipeV, End.Stage);
  storeTile(Where, Group, Sums, End.Total);
  // The last turn that is passed to the first one is waited for.
  if (takesTurns())
    W.when(IsMine(0), [&] { tile::WaitTurnOp::create(W.B, W.Loc); });
  // Shared memory lives until the stores have read it.
  elect(tile::Scope::Warpgroup,
        [&] { tile::TmaStoreWaitOp::create(W.B, W.Loc, 0); });
}

} // namespace kpc::kernels
