//===- AttentionHopperColumns.cpp - Masks of keys alone -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A mask or a bias that is the same for all queries of a head, as encoders
/// hide what fills up their sequences. The second warp of the copying warpgroup
/// reads or computes one number for each key of a block, and puts it into a
/// pipe of shared memory. So all warpgroups of a block have it from one read,
/// which is over before their scores are there.
///
///   bias:       score · scale + number, minus infinity after the last key
///   mask alone: min(score, number), plus infinity where a key is seen
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionHopper.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace kpc::kernels {

/// The warp that has these numbers; the first one copies heads.
static constexpr int64_t ColumnsWarp = 1, WarpLanes = 32;

void AttentionHopper::declareColumns() {
  TileM = tile::SharedType::get(W.B.getContext(), {1, S.TileKeys},
                                W.B.getF32Type(), /*swizzle=*/0);
  auto Ty = tile::PipeType::get(W.B.getContext(), S.Stages, {TileM});
  PipeM = tile::PipeOp::create(W.B, W.Loc, Ty, tile::Completion::Threads,
                               /*producers=*/1, S.consumers() * 4);
}

/// What the scores of a key are added to, or are at most.
Value AttentionHopper::columnNumber(const Place &Where, Value Key) {
  Value Inside = W.less(Key, KeyCount);
  Value Last = compute<arith::SubIOp>(KeyCount, W.index(1));
  Value At[] = {Where.Batch, Where.Head, W.index(0),
                compute<arith::MinSIOp>(Key, Last)};
  auto ElementOf = [&](Value Tensor) {
    Value V = AttentionKernel::atScore(W, Tensor, At);
    if (!V)
      Result = failure();
    return V;
  };
  Value Number = f32(INFINITY), Hidden = f32(-INFINITY);
  if (Value Bias = A.Op.getBias())
    if (Value Added = ElementOf(Bias))
      Number = AttentionKernel::addend(W, Added);
  if (Value Mask = A.Op.getMask())
    if (Value Seen = ElementOf(Mask))
      Inside = W.both(Inside, Seen);
  return arith::SelectOp::create(W.B, W.Loc, Inside, Number, Hidden);
}

/// The numbers of one block of keys; the place of the next.
Value AttentionHopper::fillColumns(const Place &Where, Value Block,
                                   Value Cursor) {
  Value Lane = compute<arith::RemUIOp>(W.thread(), W.index(WarpLanes));
  Value Start = toIndex(compute<arith::MulIOp>(Block, i32(S.TileKeys)));
  Values Numbers;
  // Read before the wait for a stage.
  for (int64_t C = 0; C < S.TileKeys; C += WarpLanes)
    Numbers.push_back(
        columnNumber(Where, W.add(Start, W.add(Lane, W.index(C)))));
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, PipeM, Cursor);
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileM}, PipeM, Stage)
                   .getResult(0);
  auto One = VectorType::get(1, W.B.getF32Type());
  for (auto [I, Number] : llvm::enumerate(Numbers)) {
    int64_t First = int64_t(I) * WarpLanes;
    auto Store = [&, Number = Number] {
      Value Vector = vector::BroadcastOp::create(W.B, W.Loc, One, Number);
      tile::StoreVectorOp::create(W.B, W.Loc, Vector, Tile, W.index(0), 0, Lane,
                                  int32_t(First));
    };
    if (First + WarpLanes <= S.TileKeys)
      Store();
    else
      W.when(W.less(Lane, W.index(S.TileKeys - First)), Store);
  }
  tile::CommitOp::create(W.B, W.Loc, PipeM, Stage);
  return next(PipeM, Cursor);
}

/// One warp fills the pipe, block after block in the order of the keys.
void AttentionHopper::produceColumns() {
  Value Warp = tile::WarpOp::create(W.B, W.Loc, W.B.getIndexType());
  Value Mine = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Warp,
                                     W.index(ColumnsWarp));
  auto FillTile = [&](const Place &Where, Value Cursor) {
    Value Last = compute<arith::SubIOp>(Where.Keys.Count, i32(1));
    return W.loop(i32(0), Where.Keys.Count, i32(1), {Cursor},
                  [&](Value I, ValueRange At) -> Values {
                    Value Block = compute<arith::SubIOp>(Last, I);
                    return {fillColumns(Where, Block, At[0])};
                  })[0];
  };
  W.when(Mine, [&] {
    Values Last = eachTurn({cursor()}, [&](const Turn &Now, ValueRange In) {
      return Values{FillTile(placeOf(Now), In[0])};
    });
    FillTile(placeOf({Last[0], Last[1]}), Last[2]);
  });
}

/// Scores with what their columns have, which `Stage` holds.
Value AttentionHopper::withColumns(Value Scores, Value Stage) {
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileM}, PipeM, Stage)
                   .getResult(0);
  Value Numbers =
      tile::LoadColumnsOp::create(W.B, W.Loc, ScoresTy, Tile, W.index(0));
  tile::ReleaseOp::create(W.B, W.Loc, PipeM, Stage);
  return apply(ScoresTy, {Scores, Numbers}, [&](ValueRange In) -> Value {
    if (A.Op.getBias())
      return math::FmaOp::create(W.B, W.Loc, In[0], f32(A.scoreFactor()),
                                 In[1]);
    return compute<arith::MinNumFOp>(In[0], In[1]);
  });
}

} // namespace kpc::kernels
