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

std::string ConvSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "conv %ldx%ldx%ld slots %ld group %ld",
                long(TileRows), long(TileColumns), long(TileSum), long(Slots),
                long(GroupRows));
  return Text;
}

std::string ConvCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f waves x (max(%.2f multiply, %.2f bring) + "
                "%.2f finish)",
                Schedule.str().c_str(), Total, Waves, Multiply, Bring, Finish);
  return Text;
}

namespace {

/// As in GemmSchedule.cpp, where it is said what they are and where from.
constexpr double CacheBytesPerCycle = 61, OperationsPerCycle = 4096;
constexpr double StartCycles = 3000, FinishCycles = 950;
constexpr int64_t BarrierRoom = 1024, MostSlots = 8;
constexpr int64_t MostRows = 192, MostColumns = 256, MostColumnsOfThree = 128;
/// Bytes of the longest and the shortest line that copies swizzle.
constexpr int64_t LineBytes = 128, ShortLineBytes = 32;
/// Cycles that a step of the sum takes beside its products: slots of half the
/// bytes took 8 % longer on an H200 (tiles of 128×256, 8192³).
constexpr double StepCycles = 40;
/// Lines, however short, that copies look up in the second cache.
constexpr double LinesPerCycle = 0.75;

ConvCost costOf(const ConvSchedule &S, const ConvShape &Shape,
                const target::Target &T) {
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Tiles = Ceil(double(Shape.Places), S.TileRows) *
                 Ceil(double(Shape.Outputs), S.TileColumns);
  double Steps = double(Shape.Taps) * Ceil(double(Shape.Channels), S.TileSum);
  double PerMicrosecond =
      T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
  double Products = double(S.TileRows * S.TileColumns * S.TileSum) * 2;
  ConvCost Cost{S};
  Cost.Waves = Ceil(Tiles, T.Cost.SmCount);
  Cost.Multiply =
      Steps * (Products / OperationsPerCycle + StepCycles) / PerMicrosecond;
  // One line for each pixel, and each channel's outputs.
  double Lines = double(S.TileRows) +
                 double(S.TileSum * S.TileColumns * Shape.ElementBytes) /
                     double(LineBytes);
  double Bytes = double(S.slotBytes(Shape.ElementBytes));
  Cost.Bring = Steps *
               (std::max(Bytes / CacheBytesPerCycle, Lines / LinesPerCycle) +
                StepCycles) /
               PerMicrosecond;
  Cost.Finish = FinishCycles * double(S.TileRows) / 128 *
                double(S.TileColumns) / StagingColumns / PerMicrosecond;
  Cost.Total =
      Cost.Waves * (std::max(Cost.Multiply, Cost.Bring) + Cost.Finish) +
      StartCycles / PerMicrosecond;
  return Cost;
}

int64_t roomForSlots(ConvSchedule S, const ConvShape &Shape,
                     const target::Target &T) {
  S.Slots = 0;
  int64_t Rest =
      T.Limit.SharedPerBlock - BarrierRoom - S.sharedBytes(Shape.ElementBytes);
  return Rest / S.slotBytes(Shape.ElementBytes);
}

bool isLegal(const ConvSchedule &S, const ConvShape &Shape,
             const target::Target &T) {
  auto Steps = [](int64_t Size, int64_t Most) {
    return Size >= 64 && Size <= Most && Size % 64 == 0;
  };
  int64_t Line = S.TileSum * Shape.ElementBytes;
  return T.Can.Wgmma && Steps(S.TileRows, MostRows) &&
         Steps(S.TileColumns,
               S.TileRows == MostRows ? MostColumnsOfThree : MostColumns) &&
         (Line == LineBytes || Line == 64 || Line == ShortLineBytes) &&
         S.GroupRows >= 1 && S.Slots >= 2 && S.Slots <= MostSlots &&
         S.Slots <= roomForSlots(S, Shape, T);
}

} // namespace

int64_t schedule::sliceOf(const ConvShape &Shape) {
  int64_t Slice = LineBytes / Shape.ElementBytes;
  while (Slice / 2 >= Shape.Channels &&
         Slice * Shape.ElementBytes > ShortLineBytes)
    Slice /= 2;
  return Slice;
}

std::optional<ConvCost> schedule::readConvSchedule(const std::string &Text,
                                                   const ConvShape &Shape,
                                                   const target::Target &T) {
  long Rows, Columns, Sum, Slots, Group;
  if (std::sscanf(Text.c_str(), "conv %ldx%ldx%ld slots %ld group %ld", &Rows,
                  &Columns, &Sum, &Slots, &Group) != 5)
    return std::nullopt;
  ConvSchedule S;
  S.TileRows = Rows;
  S.TileColumns = Columns;
  S.TileSum = Sum;
  S.Slots = Slots;
  S.GroupRows = Group;
  // What is printed must be what was read: nothing stands behind it.
  if (S.str() != Text || !isLegal(S, Shape, T))
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<ConvCost> schedule::rankConvSchedules(const ConvShape &Shape,
                                                  const target::Target &T) {
  std::vector<ConvCost> Ranked;
  for (int64_t Rows = 64; Rows <= MostRows; Rows += 64)
    for (int64_t Columns = 64; Columns <= MostColumns; Columns += 64)
      for (int64_t Slice = sliceOf(Shape);
           Slice * Shape.ElementBytes >= ShortLineBytes; Slice /= 2) {
        ConvSchedule S;
        S.TileRows = Rows;
        S.TileColumns = Columns;
        S.TileSum = Slice;
        // Blocks that run together cover about a square.
        double Square =
            std::sqrt(double(T.Cost.SmCount) * double(Columns) / double(Rows));
        S.GroupRows = std::max<int64_t>(std::lround(Square), 1);
        S.Slots = std::min(roomForSlots(S, Shape, T), MostSlots);
        if (isLegal(S, Shape, T))
          Ranked.push_back(costOf(S, Shape, T));
      }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const ConvCost &A, const ConvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
