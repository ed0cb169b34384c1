//===- AttentionSchedule.cpp - How an attention is cut and piped ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t schedule::stagedColumns(int64_t Width) {
  int64_t Columns = paddedColumns(Width),
          Staged = std::min<int64_t>(Columns, 128);
  while (Columns % Staged)
    Staged -= 16;
  return Staged;
}

int64_t AttentionSchedule::neededRegisters(const AttentionShape &Shape) const {
  // Scores and sums in f32, powers in 16 bits or FP8, one value of each 64 rows
  // in 128 threads; the rest is room for addresses, greatest scores and sums,
  // and for the limits of rows where blocks after the first have a mask.
  // Where a mask says where keys begin, a row has two limits: with heads of 256
  // and one warpgroup ptxas 13.0 spilled up to 148 bytes.
  constexpr int64_t Room = 32, MaskRoom = 8, LimitRoom = 16;
  // Scales of rows, and which keys columns are: with heads of 64, 192 queries
  // and 128 keys on the diagonal ptxas 13.0 spilled 16 bytes.
  constexpr int64_t CodeRoom = 4, CodeMaskRoom = 8;
  bool Masks = (Shape.Causal && TileKeys % TileQueries != 0) || Shape.Limited,
       IsFp8 = Shape.ElementBytes == 1;
  // What is read ahead of a bias. With sizes that are dynamic ptxas 13.0 spills
  // with heads of 256 and 80 keys, and not with 64, nor with heads of 192 and
  // 96 keys, but on a diagonal: there it does not with 80.
  // One warpgroup of 240 registers spills where two of 232 do not: with heads
  // of 256 and 64 keys.
  int64_t ScoreRoom = Masks ? (TileKeys - 48) * 3 / 4 : TileKeys * 3 / 8 - 8;
  int64_t WideRoom =
      consumers() == 1
          ? std::max<int64_t>(paddedColumns(Shape.Width) - 128, 0) / 4
          : 0;
  ScoreRoom += WideRoom;
  return TileKeys / 2 + TileKeys * Shape.ElementBytes / 8 +
         paddedColumns(Shape.Width) / 2 + Room + (Masks ? MaskRoom : 0) +
         (Shape.Limited ? LimitRoom + WideRoom : 0) +
         (IsFp8 ? CodeRoom + (Masks ? CodeMaskRoom : 0) : 0) +
         (Shape.Scored && !Shape.ScoredByKey ? ScoreRoom : 0);
}

int64_t AttentionSchedule::sharedBytes(const AttentionShape &Shape) const {
  int64_t Depth = paddedColumns(Shape.Depth),
          Width = paddedColumns(Shape.Width);
  // Of FP8 results may be f32.
  int64_t ResultBytes = Shape.ElementBytes == 1 ? 4 : 2;
  // Numbers of keys are f32, twice. BarrierRoom is for three pipes, and this is
  // a fourth.
  constexpr int64_t KeyNumberBytes = 8, StageBarrierBytes = 16;
  return (TileQueries * QueryStages * Depth +
          Stages * TileKeys * (Depth + Width)) *
             Shape.ElementBytes +
         TileQueries * stagedColumns(Shape.Width) * ResultBytes +
         (Shape.ScoredByKey
              ? Stages * (TileKeys * KeyNumberBytes + StageBarrierBytes)
              : 0);
}

std::string AttentionSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "attention %ldx%ld stages %ld ahead %ld%s",
                long(TileQueries), long(TileKeys), long(Stages), long(Ahead),
                Pairs ? " pairs" : "");
  return Text;
}

std::string AttentionCost::str() const {
  char Text[224];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f waves x (%.2f mma + %.2f softmax + "
                "%.2f score + %.2f epilogue)",
                Schedule.str().c_str(), Total, Waves, Mma, Softmax, Score,
                Epilogue);
  return Text;
}

namespace {

/// Operations (a multiply-add is two) and powers of two per cycle and
/// multiprocessor of sm_90a.
constexpr double OperationsPerCycle = 4096, PowersPerCycle = 16;
/// What a block of keys takes beyond its products: cycles, and a share of those
/// of its powers. An H200, heads of 64, 8192 keys: tiles of 128 and 192
/// queries.
constexpr double BlockCycles = 500, SoftmaxShown = 0.25, LongestMeasured = 128;
/// Products of FP8 are half as long, and hide less of the powers. With heads of
/// 128 and 4096 keys an H200 took 634 us, and 760 in 16 bits.
constexpr double SoftmaxShownOfFp8 = 0.8;
/// Powers and reciprocals, which are as fast, of a score that a tanh bends.
constexpr double PowersOfCapped = 3;
/// Cycles for each 128 scores that a warpgroup reads a mask or bias for: heads
/// of 64, 2048 keys, with a bias and without, tiles of 128 and 192 queries. The
/// third warpgroup's registers do not hold what is read ahead.
constexpr double ScoreCycles = 9, ScoreCyclesOfThree = 16;
/// Cycles of a tile's start and end, and from a launch to its first product.
constexpr double TileCycles = 1500, StartCycles = 3000;
/// Keys that a thread has registers for, with heads of 64.
constexpr int64_t MostKeysOfOneBlock = 208;
/// Bytes for barriers and the rounding of places.
constexpr int64_t BarrierRoom = 2048;

/// Whether registers and shared memory suffice.
bool isLegal(const AttentionSchedule &S, const AttentionShape &Shape,
             const target::Target &T) {
  return S.neededRegisters(Shape) <= S.consumerRegisters() &&
         S.sharedBytes(Shape) + BarrierRoom <= T.Limit.SharedPerBlock;
}

AttentionCost costOf(const AttentionSchedule &S, const AttentionShape &Shape,
                     const target::Target &T) {
  double Heads = double(Shape.Batch) * double(Shape.Heads);
  double RowTiles = std::ceil(double(Shape.Queries) / double(S.TileQueries));
  double Blocks = blocksOfKeys(Shape, S.TileQueries, S.TileKeys),
         Sm = T.Cost.SmCount;
  double PerMicrosecond = T.Cost.Fp16 * 1e6 / (Sm * OperationsPerCycle);
  double Scores = double(S.TileQueries * S.TileKeys);
  AttentionCost Cost{S};
  // A pair is two tiles of one block.
  Cost.Waves = S.Pairs ? 2 * std::ceil(std::ceil(RowTiles / 2) * Heads / Sm)
                       : std::ceil(RowTiles * Heads / Sm);
  if (S.Pairs && RowTiles == 1)
    Cost.Waves /= 2;
  // FP8 has twice the operations of a cycle, and half of the bytes.
  Cost.Mma = Blocks * Scores * double(Shape.ElementBytes) *
             double(paddedColumns(Shape.Depth) + paddedColumns(Shape.Width)) /
             OperationsPerCycle / PerMicrosecond;
  double Powers = Blocks * Scores / PowersPerCycle / PerMicrosecond;
  double Shown = SoftmaxShown * Powers;
  // Powers hide behind products no longer than these are. Not measured.
  if (Shape.Capped) {
    Powers *= PowersOfCapped;
    Shown =
        std::max(SoftmaxShown * Powers, Powers - (1 - SoftmaxShown) * Cost.Mma);
  }
  if (Shape.ElementBytes == 1)
    Shown = SoftmaxShownOfFp8 * Powers;
  // Of longer blocks than those that were measured nothing is known.
  double Long = std::max(1.0, double(S.TileKeys) / LongestMeasured);
  Cost.Softmax = Blocks * Long * BlockCycles / PerMicrosecond + Shown;
  if (Shape.Scored && !Shape.ScoredByKey)
    Cost.Score = Blocks * Scores / 128 *
                 (S.consumers() < 3 ? ScoreCycles : ScoreCyclesOfThree) /
                 PerMicrosecond;
  Cost.Epilogue = TileCycles / PerMicrosecond;
  Cost.Total =
      Cost.Waves * (Cost.Mma + Cost.Softmax + Cost.Score + Cost.Epilogue) +
      StartCycles / PerMicrosecond;
  return Cost;
}

} // namespace

double schedule::blocksOfKeys(const AttentionShape &Shape, int64_t TileQueries,
                              int64_t TileKeys) {
  auto Ceil = [](int64_t A, int64_t B) { return (A + B - 1) / B; };
  int64_t All = Ceil(Shape.Keys, TileKeys);
  bool Ends = Shape.Causal || Shape.EndKey;
  if (!Ends && !Shape.FirstKey)
    return double(All);
  int64_t RowTiles = std::max<int64_t>(1, Ceil(Shape.Queries, TileQueries));
  // Of long sequences an even sample.
  int64_t Step = std::max<int64_t>(1, RowTiles / 1024), Count = 0, Sum = 0;
  for (int64_t Row = 0; Row < RowTiles; Row += Step, ++Count) {
    int64_t First = 0, End = All;
    if (Shape.FirstKey)
      First =
          std::max<int64_t>(Row * TileQueries + *Shape.FirstKey, 0) / TileKeys;
    if (Ends) {
      int64_t Key = (Row + 1) * TileQueries + Shape.EndKey.value_or(1) - 1;
      End = std::min(All, Ceil(std::max<int64_t>(Key, 1), TileKeys));
    }
    Sum += std::max<int64_t>(End - First, 1) + (Shape.Leads && First > 0);
  }
  return double(Sum) / double(Count);
}

bool schedule::fitsAttention(const AttentionShape &Shape,
                             const target::Target &T) {
  return !rankAttentionSchedules(Shape, T).empty();
}

std::vector<AttentionCost>
schedule::rankAttentionSchedules(const AttentionShape &Shape,
                                 const target::Target &T) {
  std::vector<AttentionCost> Ranked;
  bool IsFp8 = Shape.ElementBytes == 1;
  // Steps of a product have 32 bytes of each row.
  int64_t DepthUnit = IsFp8 ? 32 : 8, WidthUnit = IsFp8 ? 16 : 8;
  if (!T.Can.Wgmma || (!IsFp8 && Shape.ElementBytes != 2) || Shape.Depth < 8 ||
      Shape.Width < 8 || Shape.Depth % DepthUnit || Shape.Width % WidthUnit ||
      Shape.Depth > 256 || Shape.Width > 256)
    return Ranked;
  // 160 keys fit where 128 do, and were slower on an H200: 687 against 704
  // TFLOP/s with heads of 128, 409 against 465 with heads of 64. Of FP8, lines
  // of values are swizzled in whole 64 bytes.
  std::vector<int64_t> KeyTiles = {64, 80, 96, 128};
  if (IsFp8)
    KeyTiles = {64, 128, 192};
  // Where one block has all keys, nothing is scaled down: 32 × 16 heads of 64
  // with 197 keys took 23.3 us in one block of 208, and 26.9 in two of 128.
  int64_t All = paddedColumns(Shape.Keys);
  if (!IsFp8 && !Shape.Causal && Shape.Depth <= 64 && Shape.Width <= 64 &&
      All > 128 && All <= MostKeysOfOneBlock)
    KeyTiles.push_back(All);
  for (int64_t Queries : {64, 128, 192})
    for (int64_t Keys : KeyTiles) {
      AttentionSchedule S;
      S.TileQueries = Queries;
      S.TileKeys = Keys;
      // In a window all tiles have the same work.
      bool InWindow = Shape.FirstKey && Shape.EndKey &&
                      2 * (*Shape.EndKey - *Shape.FirstKey) < Shape.Keys;
      S.Pairs = Shape.Causal && !InWindow;
      S.QueryStages = 2;
      if (!isLegal(S, Shape, T))
        S.QueryStages = 1;
      if (isLegal(S, Shape, T))
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const AttentionCost &A, const AttentionCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
