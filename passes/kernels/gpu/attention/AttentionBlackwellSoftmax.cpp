//===- AttentionBlackwellSoftmax.cpp - Scores, powers, sums ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the warpgroups of the softmax do, one for each tile of 128 queries: see
/// AttentionBlackwell.cpp. Thread t of a warpgroup has query t: its scores, its
/// greatest one and its total, and its sums, where these shrink or are stored.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionBlackwell.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Columns of sums that a thread holds at a time.
constexpr int64_t SumColumns = 32;
/// Chains of maxima and of sums in a thread.
constexpr int64_t Chains = 4;
/// A total below this is of powers by multiply-adds that stand for 0; of a
/// query that sees a key it is at least 1.
constexpr double LeastTotal = 0x1p-64;

} // namespace

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// 2^x on the units of multiply-adds, for x below 2^7: x is a whole number and
/// a rest of -1/2 to 1/2, of whose power a polynomial is within 2^-13.7
/// (relative; minimax of degree 3), less than the rounding to 16 bits that
/// follows. Below -126, as for what a mask hides, it is 2^-126.
Value AttentionBlackwell::powerByFma(Value X) {
  constexpr std::array<double, 4> Of = {0.9999280571937561, 0.6932609677314758,
                                        0.2426111251115799, 0.0551716685295105};
  // Added to a small number, its last bit is worth 1: low bits hold the whole
  // number, in two's complement.
  constexpr double Rounder = 0x1.8p23;
  constexpr int64_t ExponentBit = 23;
  Value Kept = compute<arith::MaximumFOp>(X, f32(-126));
  Value Rounded = compute<arith::AddFOp>(Kept, f32(Rounder));
  Value Rest = compute<arith::SubFOp>(
      Kept, compute<arith::SubFOp>(Rounded, f32(Rounder)));
  Value Power = f32(Of[3]);
  for (int64_t I : {2, 1, 0})
    Power = math::FmaOp::create(W.B, W.Loc, Power, Rest, f32(Of[I]));
  auto Bits = [&](Value V) -> Value {
    return arith::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(), V);
  };
  Value Exponent = compute<arith::ShLIOp>(Bits(Rounded), i32(ExponentBit));
  Value Sum = compute<arith::AddIOp>(Bits(Power), Exponent);
  return arith::BitcastOp::create(W.B, W.Loc, W.B.getF32Type(), Sum);
}

/// 2^(score · scale − shift). Of each 8 columns some are computed by
/// multiply-adds beside the special function unit; which ones is known where a
/// column's number is, and LLVM drops the other half.
Value AttentionBlackwell::powersOf(Value Scores, Value Shift) {
  Value Factor = f32(Scale);
  return apply(Scores.getType(), {Scores, Shift}, [&](ValueRange In) -> Value {
    Value Minus = arith::NegFOp::create(W.B, W.Loc, In[1]);
    Value X = math::FmaOp::create(W.B, W.Loc, In[0], Factor, Minus);
    if (!S.FmaShare)
      return exp2(X);
    // Evenly spread: both kinds of instructions stand side by side.
    Value Turn = compute<arith::AndIOp>(
        compute<arith::MulIOp>(In[2], i32(S.FmaShare)), i32(7));
    Value ByFma = compare(arith::CmpIPredicate::slt, Turn, i32(S.FmaShare));
    return arith::SelectOp::create(W.B, W.Loc, ByFma, powerByFma(X), exp2(X));
  });
}

//===----------------------------------------------------------------------===//
// A block of keys
//===----------------------------------------------------------------------===//

/// Columns of tensor memory in registers.
Value AttentionBlackwell::loaded(Value From, int64_t First, int64_t Columns) {
  tile::FragmentType Ty = fragment(Columns, W.B.getF32Type());
  Value Pending = tile::TmemLoadOp::create(
      W.B, W.Loc, tile::PendingType::get(W.B.getContext(), Ty), From,
      W.index(First));
  return tile::AwaitOp::create(W.B, W.Loc, Ty, Pending);
}

/// Sums times a factor of their row, in tensor memory.
void AttentionBlackwell::rescale(Value Sums, Value Shrink) {
  for (int64_t C = 0; C < A.Width; C += SumColumns)
    tile::TmemStoreOp::create(W.B, W.Loc,
                              scaledBy(loaded(Sums, C, SumColumns), Shrink),
                              Sums, W.index(C));
}

/// Sums and totals shrink where the greatest score grows. The first block has
/// no sums yet.
AttentionBlackwell::State AttentionBlackwell::grown(const State &Before,
                                                    Value Most, Value Sums,
                                                    Value Number) {
  auto [Grows, Kept, Greater] = growth(Before.Most, Most);
  State After = Before;
  After.Most = Kept;
  auto If = scf::IfOp::create(W.B, W.Loc, TypeRange{PartsTy}, Grows,
                              /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.setInsertionPointToStart(If.thenBlock());
  Value Shrink = shrinkOf(Before.Most, shiftOf(Greater, /*MayBeNone=*/true));
  W.when(compare(arith::CmpIPredicate::ne, Number, i32(0)),
         [&] { rescale(Sums, Shrink); });
  scf::YieldOp::create(W.B, W.Loc, scaledBy(Before.Total, Shrink));
  W.B.setInsertionPointToStart(If.elseBlock());
  scf::YieldOp::create(W.B, W.Loc, Before.Total);
  After.Total = If.getResult(0);
  return After;
}

/// The `Number`-th block from the last: powers of its scores, in their place.
AttentionBlackwell::State AttentionBlackwell::step(const QueriesAt &Mine,
                                                   Value Sums, Value Number,
                                                   const State &Before) {
  MLIRContext *Context = W.B.getContext();
  auto Free = tile::StageType::get(Context, tile::StageState::Free),
       Full = tile::StageType::get(Context, tile::StageState::Full);
  Value Block = blockAt(Blocks, Number);
  Value Stage =
      tile::WaitOp::create(W.B, W.Loc, Full, PipeScores, Before.Scores);
  Value Scores = loaded(tileOf(PipeScores, Stage), 0, S.TileKeys);
  tile::ReleaseOp::create(W.B, W.Loc, PipeScores, Stage);
  Scores = visible(Mine, capped(Scores), Block, Blocks);

  // Where powers have room the last product is over: sums may shrink.
  Values Rooms;
  Value Cursor = Before.Powers;
  for (int64_t Part = 0; Part < Parts; ++Part) {
    Rooms.push_back(
        tile::AcquireOp::create(W.B, W.Loc, Free, PipePowers, Cursor));
    Cursor = next(PipePowers, Cursor);
  }
  State After = grown(Before, greatest(Scores, Chains), Sums, Number);
  Value Shift = shiftOf(After.Most, /*MayBeNone=*/true);
  for (int64_t Part = 0; Part < Parts; ++Part) {
    auto Ty = fragment(S.partKeys(), W.B.getF32Type());
    Value Mine = tile::ExtractColumnsOp::create(W.B, W.Loc, Ty, Scores,
                                                Part * S.partKeys());
    Value Powers = powersOf(Mine, Shift);
    After.Total =
        tile::ThreadReduceOp::create(W.B, W.Loc, PartsTy, tile::ReduceKind::Add,
                                     Powers, After.Total, Chains);
    Value Narrow = apply(
        fragment(S.partKeys(), Element), Powers, [&](ValueRange In) -> Value {
          return arith::TruncFOp::create(W.B, W.Loc, Element, In[0]);
        });
    Value Room = part(tileOf(PipePowers, Rooms[Part]), W.index(0), S.partKeys(),
                      Element);
    tile::TmemStoreOp::create(W.B, W.Loc, Narrow, Room, W.index(0));
    tile::CommitOp::create(W.B, W.Loc, PipePowers, Rooms[Part]);
  }
  // Others use the stages between.
  After.Scores = skip(PipeScores, Before.Scores, W.index(S.Tiles));
  After.Powers = skip(PipePowers, Before.Powers, W.index(S.Tiles * Parts));
  return After;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Sums over their total, through shared memory; 0 where a query sees nothing.
void AttentionBlackwell::store(const QueriesAt &Mine, Value Sums, Value Group,
                               const State &Last) {
  // The last product is over.
  tile::DrainOp::create(W.B, W.Loc, PipePowers, Last.Powers, Parts);
  Value Total = tile::LaneReduceOp::create(W.B, W.Loc, ColumnTy,
                                           tile::ReduceKind::Add, Last.Total);
  Value Inverse = apply(ColumnTy, Total, [&](ValueRange In) -> Value {
    Value None = arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OLT,
                                       In[0], f32(LeastTotal));
    return arith::SelectOp::create(W.B, W.Loc, None, f32(0), reciprocal(In[0]));
  });
  Value Staged = rowsOf(StagingTile, W.mul(Group, W.index(TileRows)), TileRows);
  auto WaitForStores = [&] {
    elect(tile::Scope::Warpgroup,
          [&] { tile::TmaStoreWaitOp::create(W.B, W.Loc, 0); });
  };
  for (int64_t C = 0; C < A.Width; C += StagedColumns) {
    Value Out = narrowed(loaded(Sums, C, StagedColumns), Inverse);
    if (C) {
      WaitForStores();
      tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    }
    tile::StoreSharedOp::create(W.B, W.Loc, Out, Staged);
    tile::FenceProxyOp::create(W.B, W.Loc);
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Warpgroup);
    elect(tile::Scope::Warpgroup, [&] {
      Values At = {Mine.Batch, Mine.Head, Mine.Row, W.index(C)};
      tile::TmaStoreOp::create(W.B, W.Loc, Staged, ViewY, At);
      tile::TmaStoreCommitOp::create(W.B, W.Loc);
    });
  }
  // Shared memory lives until the stores have read it.
  WaitForStores();
}

/// A warpgroup has a tile of queries, all blocks of keys of it.
void AttentionBlackwell::soften(Value Group) {
  QueriesAt Mine = {Batch, Head,
                    W.add(FirstRow, W.mul(Group, W.index(TileRows)))};
  Value Sums = sumsOf(Group);
  State Start = {splat(ColumnTy, f32(-INFINITY)), splat(PartsTy, f32(0)),
                 skip(PipeScores, cursor(), Group),
                 skip(PipePowers, cursor(), W.mul(Group, W.index(Parts)))};
  State Last =
      State::of(W.loop(i32(0), Blocks.Steps, i32(1), Start.list(),
                       [&](Value Number, ValueRange In) {
                         return step(Mine, Sums, Number, State::of(In)).list();
                       }));
  store(Mine, Sums, Group, Last);
}

} // namespace kpc::kernels
