//===- GemmSchedule.cpp - How a product is cut and piped ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/GemmSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t GemmSchedule::slotBytes(int64_t ElementBytes) const {
  return (TileRows + TileColumns) * TileSum * ElementBytes;
}

int64_t GemmSchedule::sharedBytes(int64_t ElementBytes) const {
  return Slots * slotBytes(ElementBytes) +
         TileRows * StagingColumns * StagingBuffers * ElementBytes;
}

std::string GemmSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "gemm %ldx%ldx%ld slots %ld group %ld",
                long(TileRows), long(TileColumns), long(TileSum), long(Slots),
                long(GroupRows));
  return Text;
}

std::string GemmCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f waves x (max(%.2f multiply, %.2f bring) + "
                "%.2f finish)",
                Schedule.str().c_str(), Total, Waves, Multiply, Bring, Finish);
  return Text;
}

namespace {

/// Bytes per cycle and multiprocessor from the second cache, as slots of 32 KiB
/// reached on an H200 (tiles of 128×128, 8192³: 763 TFLOP/s).
constexpr double CacheBytesPerCycle = 61;
/// Operations (a multiply-add is two) per cycle and multiprocessor of sm_90a.
constexpr double OperationsPerCycle = 4096;
/// Cycles from a launch to its first product, and of the epilogue of each 64
/// columns of 128 rows: what 4096×3072×768 took on an H200 beyond its products,
/// with tiles of 128, 192 and 256 columns. Warpgroups share what stores take.
constexpr double StartCycles = 3000, FinishCycles = 950;
/// Bytes for barriers and the rounding of places.
constexpr int64_t BarrierRoom = 1024;
/// More slots than this hide nothing more; with fewer than two, copies and
/// products take turns.
constexpr int64_t MostSlots = 14, FewestSlots = 2;
/// Three warpgroups multiply, 64 rows each; wgmma has 256 columns.
constexpr int64_t MostRows = 192, MostColumns = 256;
/// Three warpgroups have 160 registers a thread: sums of 192 columns fit.
constexpr int64_t MostColumnsOfThree = 192;
/// One line of the widest swizzle.
constexpr int64_t LineBytes = 128;

/// As many row tiles that blocks which run together read the least: rows and
/// columns of about the same extent.
int64_t groupRows(const GemmSchedule &S, const target::Target &T) {
  double Square = std::sqrt(double(T.Cost.SmCount) * double(S.TileColumns) /
                            double(S.TileRows));
  return std::max<int64_t>(std::lround(Square), 1);
}

GemmCost costOf(const GemmSchedule &S, const GemmShape &Shape,
                const target::Target &T) {
  // In floating point: sizes of which nothing is known may be huge.
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Tiles = Ceil(double(Shape.Rows), S.TileRows) *
                 Ceil(double(Shape.Columns), S.TileColumns) *
                 double(Shape.Batch);
  double Steps = Ceil(double(Shape.Sum), S.TileSum);
  // 10^12 operations a second, over those of a cycle: the clock at peak.
  double PerMicrosecond =
      T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
  GemmCost Cost{S};
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

/// As many slots as fit beside all else.
int64_t roomForSlots(GemmSchedule S, const GemmShape &Shape,
                     const target::Target &T) {
  S.Slots = 0;
  int64_t Rest =
      T.Limit.SharedPerBlock - BarrierRoom - S.sharedBytes(Shape.ElementBytes);
  return Rest / S.slotBytes(Shape.ElementBytes);
}

bool isLegal(const GemmSchedule &S, const GemmShape &Shape,
             const target::Target &T) {
  auto Steps = [](int64_t Size, int64_t Most) {
    return Size >= 64 && Size <= Most && Size % 64 == 0;
  };
  return T.Can.Wgmma && Steps(S.TileRows, MostRows) &&
         Steps(S.TileColumns,
               S.TileRows == MostRows ? MostColumnsOfThree : MostColumns) &&
         S.TileSum == LineBytes / Shape.ElementBytes &&
         S.Slots >= FewestSlots && S.Slots <= MostSlots &&
         S.Slots <= roomForSlots(S, Shape, T) && S.GroupRows >= 1 &&
         S.GroupRows <= INT32_MAX;
}

} // namespace

std::optional<GemmCost> schedule::readGemmSchedule(const std::string &Text,
                                                   const GemmShape &Shape,
                                                   const target::Target &T) {
  long Rows, Columns, Sum, Slots, Group;
  if (std::sscanf(Text.c_str(), "gemm %ldx%ldx%ld slots %ld group %ld", &Rows,
                  &Columns, &Sum, &Slots, &Group) != 5)
    return std::nullopt;
  GemmSchedule S;
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

std::vector<GemmCost> schedule::rankGemmSchedules(const GemmShape &Shape,
                                                  const target::Target &T) {
  std::vector<GemmCost> Ranked;
  for (int64_t Rows = 64; Rows <= MostRows; Rows += 64)
    for (int64_t Columns = 64; Columns <= MostColumns; Columns += 64) {
      GemmSchedule S;
      S.TileRows = Rows;
      S.TileColumns = Columns;
      S.TileSum = LineBytes / Shape.ElementBytes;
      S.GroupRows = groupRows(S, T);
      S.Slots = std::min(roomForSlots(S, Shape, T), MostSlots);
      if (isLegal(S, Shape, T))
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const GemmCost &A, const GemmCost &B) { return A.Total < B.Total; });
  return Ranked;
}
