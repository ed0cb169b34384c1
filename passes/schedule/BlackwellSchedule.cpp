//===- BlackwellSchedule.cpp - Products on tcgen05 ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t BlackwellSchedule::tensorMemoryColumns() const {
  return int64_t(std::bit_ceil(uint64_t(TileColumns * Accumulators)));
}

int64_t BlackwellSchedule::slotBytes(int64_t ElementBytes) const {
  return (TileRows + ownColumns()) * TileSum * ElementBytes;
}

std::string BlackwellSchedule::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text, "gemm %ldx%ldx%ld slots %ld group %ld%s",
                long(TileRows * ClusterRows), long(TileColumns), long(TileSum),
                long(Slots), long(GroupRows), isPair() ? " pair" : "");
  return Text;
}

std::string BlackwellCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                ": %.1f us = %.0f waves x max(%.2f multiply, %.2f bring, %.2f "
                "finish) + %.2f finish + %.2f start",
                Total, Waves, Multiply, Bring, Finish, Finish, Start);
  return Schedule.str() + Text;
}

namespace {

/// Operations (a multiply-add is two) per cycle and multiprocessor: the peak of
/// a B200 at its 1.86 GHz.
constexpr double OperationsPerCycle = 8192;
// Nothing here was measured on a chip with tcgen05: the rest is what an H200
// showed, until somebody does.
using hopper::BarrierRoom, hopper::CacheBytesPerCycle, hopper::FewestSlots,
    hopper::FinishCycles, hopper::LineBytes, hopper::LinesPerCycle,
    hopper::MeetCycles, hopper::MostSlots, hopper::StartCycles;

/// Rows of a block's tensor memory.
constexpr int64_t BlockRows = 128;
/// Columns of one instruction; those of B that a block of a pair copies are
/// whole lines of 64.
constexpr int64_t MostColumns = 256, ColumnStep = 64, PairColumnStep = 128;

int64_t roomForSlots(const BlackwellSchedule &S, const GemmShape &Shape,
                     const target::Target &T) {
  int64_t Staging =
      S.TileRows * S.partColumns() * StagingBuffers * Shape.ElementBytes;
  return (T.Limit.SharedPerBlock - BarrierRoom - Staging) /
         S.slotBytes(Shape.ElementBytes);
}

bool isLegal(const BlackwellSchedule &S, const GemmShape &Shape,
             const target::Target &T) {
  bool Blocks =
      S.ClusterRows == 1 || (S.ClusterRows == 2 && T.Can.ClusterBlocks >= 2);
  int64_t Step = S.isPair() ? PairColumnStep : ColumnStep;
  return T.Can.Tcgen05 && Blocks && S.TileRows == BlockRows &&
         S.TileColumns >= Step && S.TileColumns <= MostColumns &&
         S.TileColumns % Step == 0 &&
         S.tensorMemoryColumns() <= T.Limit.TensorMemoryColumns &&
         S.TileSum == LineBytes / Shape.ElementBytes &&
         S.Slots >= FewestSlots && S.Slots <= MostSlots &&
         S.Slots <= roomForSlots(S, Shape, T) && S.GroupRows >= 1 &&
         S.GroupRows <= INT32_MAX;
}

BlackwellCost costOf(const BlackwellSchedule &S, const GemmShape &Shape,
                     const target::Target &T) {
  // In floating point: sizes of which nothing is known may be huge.
  auto Ceil = [](double A, double B) { return std::ceil(A / B); };
  double Tiles = Ceil(double(Shape.Rows), double(S.TileRows * S.ClusterRows)) *
                 Ceil(double(Shape.Columns), double(S.TileColumns)) *
                 double(Shape.Batch);
  double Steps = Ceil(double(Shape.Sum), double(S.TileSum));
  double PerMicrosecond =
      T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
  BlackwellCost Cost{S};
  int64_t AtOnce = T.Cost.SmCount / S.blocks();
  Cost.Waves = Ceil(Tiles, double(AtOnce));
  Cost.Multiply = Steps * double(S.TileRows * S.TileColumns * S.TileSum) * 2 /
                  OperationsPerCycle / PerMicrosecond;
  double Lines = (double(S.TileRows * Shape.LinesOfA) +
                  double(S.ownColumns() * Shape.LinesOfB)) *
                 double(S.TileSum * Shape.ElementBytes) / CacheLineBytes;
  Cost.Bring =
      Steps *
      std::max(double(S.slotBytes(Shape.ElementBytes)) / CacheBytesPerCycle,
               Lines / LinesPerCycle) /
      PerMicrosecond;
  Cost.Finish =
      FinishCycles * double(S.TileColumns) / StagingColumns / PerMicrosecond;
  Cost.Start = (StartCycles + (S.isPair() ? MeetCycles : 0)) / PerMicrosecond;
  Cost.Total = Cost.Waves * std::max({Cost.Multiply, Cost.Bring, Cost.Finish}) +
               Cost.Finish + Cost.Start;
  return Cost;
}

} // namespace

std::optional<BlackwellCost>
schedule::readBlackwellSchedule(const std::string &Text, const GemmShape &Shape,
                                const target::Target &T) {
  BlackwellSchedule S;
  std::string_view Rest = Text;
  int64_t Rows = 0;
  if (!takeNumber(Rest, "gemm ", Rows) ||
      !takeNumber(Rest, "x", S.TileColumns) ||
      !takeNumber(Rest, "x", S.TileSum) ||
      !takeNumber(Rest, " slots ", S.Slots) ||
      !takeNumber(Rest, " group ", S.GroupRows))
    return std::nullopt;
  S.ClusterRows = Rest == " pair" ? 2 : 1;
  S.TileRows = Rows / S.ClusterRows;
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<BlackwellCost>
schedule::rankBlackwellSchedules(const GemmShape &Shape,
                                 const target::Target &T) {
  std::vector<BlackwellCost> Ranked;
  // Of equals the first is taken: one block before two.
  for (int64_t Blocks : {1, 2})
    for (int64_t Columns = ColumnStep; Columns <= MostColumns;
         Columns += ColumnStep) {
      BlackwellSchedule S;
      S.TileRows = BlockRows;
      S.TileColumns = Columns;
      S.TileSum = LineBytes / Shape.ElementBytes;
      S.ClusterRows = Blocks;
      // Blocks that run together cover about a square.
      double Square = std::sqrt(double(T.Cost.SmCount) / double(Blocks) *
                                double(Columns) / double(BlockRows * Blocks));
      S.GroupRows = std::max<int64_t>(std::lround(Square), 1);
      S.Slots = std::min(roomForSlots(S, Shape, T), MostSlots);
      if (isLegal(S, Shape, T))
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const BlackwellCost &A, const BlackwellCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
