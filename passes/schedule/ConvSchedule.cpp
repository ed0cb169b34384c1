//===- ConvSchedule.cpp - How a convolution is cut and piped --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

std::string ConvCost::name() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "conv %ldx%ldx%ld slots %ld group %ld",
                long(Schedule.TileRows), long(Schedule.TileColumns),
                long(Schedule.TileSum), long(Schedule.Slots),
                long(Schedule.GroupRows));
  return Text;
}

std::string ConvCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f waves x (max(%.2f multiply, %.2f bring) + "
                "%.2f finish)",
                name().c_str(), Total, Waves, Multiply, Bring, Finish);
  return Text;
}

namespace {

/// As in GemmSchedule.cpp, where it is said what they are and where from.
constexpr double CacheBytesPerCycle = 61, OperationsPerCycle = 4096;
constexpr double StartCycles = 3000, FinishCycles = 950;
constexpr int64_t BarrierRoom = 1024, MostSlots = 8;

ConvCost costOf(const GemmSchedule &S, const ConvShape &Shape,
                const target::Target &T) {
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Tiles = Ceil(double(Shape.Places), S.TileRows) *
                 Ceil(double(Shape.Outputs), S.TileColumns);
  double Steps = double(Shape.Taps) * Ceil(double(Shape.Channels), S.TileSum);
  double PerMicrosecond =
      T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
  ConvCost Cost{S};
  Cost.Waves = Ceil(Tiles, T.Cost.SmCount);
  Cost.Multiply = Steps * double(S.TileRows * S.TileColumns * S.TileSum) * 2 /
                  OperationsPerCycle / PerMicrosecond;
  Cost.Bring = Steps * double(S.slotBytes(Shape.ElementBytes)) /
               CacheBytesPerCycle / PerMicrosecond;
  Cost.Finish = FinishCycles * double(S.TileRows) / 128 *
                double(S.TileColumns) / StagingColumns / PerMicrosecond;
  Cost.Total =
      Cost.Waves * (std::max(Cost.Multiply, Cost.Bring) + Cost.Finish) +
      StartCycles / PerMicrosecond;
  return Cost;
}

} // namespace

int64_t schedule::sliceOf(const ConvShape &Shape) {
  int64_t Slice = 128 / Shape.ElementBytes;
  while (Slice / 2 >= Shape.Channels && Slice * Shape.ElementBytes > 32)
    Slice /= 2;
  return Slice;
}

std::vector<ConvCost> schedule::rankConvSchedules(const ConvShape &Shape,
                                                  const target::Target &T) {
  std::vector<ConvCost> Ranked;
  if (!T.Can.Wgmma)
    return Ranked;
  for (int64_t Rows : {64, 128, 192})
    for (int64_t Columns : {64, 128, 192, 256}) {
      // Three warpgroups have 160 registers a thread: sums of 128 columns fit.
      if (Rows == 192 && Columns > 128)
        continue;
      GemmSchedule S;
      S.TileRows = Rows;
      S.TileColumns = Columns;
      S.TileSum = sliceOf(Shape);
      double Square =
          std::sqrt(double(T.Cost.SmCount) * double(Columns) / double(Rows));
      S.GroupRows = std::max<int64_t>(std::lround(Square), 1);
      S.Slots = 0;
      int64_t Rest = T.Limit.SharedPerBlock - BarrierRoom -
                     S.sharedBytes(Shape.ElementBytes);
      S.Slots = std::min(Rest / S.slotBytes(Shape.ElementBytes), MostSlots);
      if (S.Slots >= 2)
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const ConvCost &A, const ConvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
