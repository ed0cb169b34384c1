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
/// The product of queries and keys begins with these numbers instead of zeros,
/// in units of its own, so that they take no instruction of a score but a
/// quarter of a load. Where a tanh bends the product, one instruction scales
/// the score and adds the number. Hidden keys, and those after the last one,
/// have minus infinity.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionHopper.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace kpc::kernels {

/// The warp that has these numbers; the first one copies heads.
static constexpr int64_t ColumnsWarp = 1, WarpLanes = 32;

/// The least that a bias adds to a product. A power of two times the scale is
/// exact, so powers of a query whose keys all have it are 1, not the rounding
/// of great numbers.
static constexpr double LeastAdded = -0x1p120;

bool AttentionHopper::beginsWithColumns() {
  // What is divided by a scale of 2^-20 stays in range, and so does the least
  // addend times one of 2^7.
  double OfScores = A.Op.getScale().convertToDouble();
  return !A.hasSoftcap() && OfScores > 0x1p-20 && OfScores < 0x1p7;
}

void AttentionHopper::declareColumns() {
  Scale = beginsWithColumns() ? A.scoreFactor() : 1;
  TileM = tile::SharedType::get(W.B.getContext(), {1, 2 * S.TileKeys},
                                W.B.getF32Type(), /*swizzle=*/0);
  auto Ty = tile::PipeType::get(W.B.getContext(), S.Stages, {TileM});
  PipeM = tile::PipeOp::create(W.B, W.Loc, Ty, tile::Completion::Threads,
                               /*producers=*/1, S.consumers() * 4);
}

/// What is added to the products or scores of a key.
Value AttentionHopper::columnNumber(const Place &Where, Value Key) {
  Value Inside = W.less(Key, KeyCount);
  Value Last = compute<arith::SubIOp>(KeyCount, W.index(1));
  Value At[] = {Where.Batch, Where.Head, W.index(0),
                compute<arith::MinSIOp>(Key, Last)};
  auto Known = [&](Value V) {
    if (!V)
      Result = failure();
    return V;
  };
  Value Number = f32(0), Hidden = f32(-INFINITY);
  if (Value Bias = A.Op.getBias())
    if (Value Added = Known(AttentionKernel::atScore(W, Bias, At))) {
      double Unit = beginsWithColumns() ? 1 / A.Op.getScale().convertToDouble()
                                        : std::numbers::log2e;
      Number = compute<arith::MaximumFOp>(
          compute<arith::MulFOp>(Added, f32(Unit)), f32(LeastAdded));
    }
  if (A.hasMask())
    if (Value Seen = Known(A.seenAt(W, At)))
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
  // Two columns lie next to each other, twice.
  Value Pair = compute<arith::DivUIOp>(Lane, W.index(2)),
        Second = compute<arith::RemUIOp>(Lane, W.index(2));
  Value At = W.add(W.mul(Pair, W.index(4)), Second);
  auto One = VectorType::get(1, W.B.getF32Type());
  for (auto [I, Number] : llvm::enumerate(Numbers)) {
    int64_t First = int64_t(I) * WarpLanes;
    auto Store = [&, Number = Number] {
      Value Vector = vector::BroadcastOp::create(W.B, W.Loc, One, Number);
      for (int64_t Copy : {0, 2})
        tile::StoreVectorOp::create(W.B, W.Loc, Vector, Tile, W.index(0), 0, At,
                                    int32_t(2 * First + Copy));
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
    return W.loop(i32(0), Where.Keys.Steps, i32(1), {Cursor},
                  [&](Value I, ValueRange At) -> Values {
                    return {fillColumns(Where, blockAt(Where.Keys, I), At[0])};
                  })[0];
  };
  W.when(Mine, [&] {
    Values Last = eachTurn({cursor()}, [&](const Turn &Now, ValueRange In) {
      return Values{FillTile(placeOf(Now), In[0])};
    });
    FillTile(placeOf({Last[0], Last[1]}), Last[2]);
  });
}

/// What a full stage has for each column.
Value AttentionHopper::columnsIn(Value Stage) {
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileM}, PipeM, Stage)
                   .getResult(0);
  Value Numbers = tile::LoadColumnsOp::create(W.B, W.Loc, ScoresTy, Tile,
                                              W.index(0), /*twice=*/true);
  tile::ReleaseOp::create(W.B, W.Loc, PipeM, Stage);
  return Numbers;
}

/// Scores, scaled, with what their columns have.
Value AttentionHopper::withColumns(Value Scores, Value Numbers) {
  return apply(ScoresTy, {Scores, Numbers}, [&](ValueRange In) -> Value {
    return math::FmaOp::create(W.B, W.Loc, In[0], f32(A.scoreFactor()), In[1]);
  });
}

} // namespace kpc::kernels
