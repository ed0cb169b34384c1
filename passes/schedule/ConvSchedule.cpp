//===- ConvSchedule.cpp - How a convolution is cut and piped --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>

using namespace kpc;
using namespace kpc::schedule;
using namespace kpc::schedule::hopper;

std::string ConvSchedule::str() const {
  std::string Text = "conv" + tileText();
  if (Split == 1 && ClusterRows > 1)
    Text += " cluster " + std::to_string(ClusterRows);
  return Text;
}

namespace {

/// Bytes of the shortest line that copies swizzle.
constexpr int64_t ShortLineBytes = 32;
/// Cycles that a step of the sum takes beside its products: slots of half the
/// bytes took 8 % longer on an H200 (tiles of 128×256, 8192³).
constexpr double StepCycles = 40;

double stepsOf(const ConvShape &Shape, int64_t Slice) {
  return double(Shape.Taps) * std::ceil(double(Shape.Channels) / double(Slice));
}

ConvCost costOf(const ConvSchedule &S, const ConvShape &Shape,
                const target::Target &T) {
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Clusters = Ceil(double(Shape.Places), S.TileRows * S.ClusterRows) *
                    Ceil(double(Shape.Outputs), S.TileColumns);
  double Steps = Ceil(stepsOf(Shape, S.TileSum), S.Split);
  double PerMicrosecond = cyclesPerMicrosecond(T);
  double Products = double(S.TileRows * S.TileColumns * S.TileSum) * 2;
  ConvCost Cost;
  Cost.Schedule = S;
  Cost.Waves = Ceil(Clusters, clustersAtOnce(S.blocks(), T));
  Cost.Multiply =
      Steps * (Products / OperationsPerCycle + StepCycles) / PerMicrosecond;
  // One line for each pixel, and each channel's outputs, of which blocks that
  // share them look up a part each.
  double Lines = double(S.TileRows) +
                 double(S.TileSum * S.TileColumns * Shape.ElementBytes) /
                     double(LineBytes * S.ClusterRows);
  double Bytes = double(S.slotBytes(Shape.ElementBytes));
  Cost.Bring = Steps *
               (std::max(Bytes / CacheBytesPerCycle, Lines / LinesPerCycle) +
                StepCycles) /
               PerMicrosecond;
  Cost.Finish = FinishCycles * double(S.TileRows) / 128 *
                double(S.storedColumns()) / StagingColumns / PerMicrosecond;
  if (S.Split > 1)
    Cost.Join = (double(S.keptBytes()) / PeerBytesPerCycle + MeetCycles) /
                PerMicrosecond;
  Cost.Start =
      (StartCycles + (S.sharers() > 1 ? MeetCycles : 0)) / PerMicrosecond;
  Cost.Total = Cost.Waves * (std::max(Cost.Multiply, Cost.Bring) + Cost.Finish +
                             Cost.Join) +
               Cost.Start;
  return Cost;
}

int64_t roomForSlots(ConvSchedule S, const ConvShape &Shape,
                     const target::Target &T) {
  S.Slots = 0;
  int64_t Rest =
      T.Limit.SharedPerBlock - BarrierRoom - S.sharedBytes(Shape.ElementBytes);
  return Rest / S.slotBytes(Shape.ElementBytes);
}

/// One reason for a cluster at a time: parts of the sum, none of them without a
/// step and all of them with room in the slots; or the same outputs.
bool isLegalCluster(const ConvSchedule &S, const ConvShape &Shape,
                    const target::Target &T) {
  auto IsCount = [](int64_t N) { return N == 1 || N == 2 || N == 4 || N == 8; };
  if (!IsCount(S.Split) || !IsCount(S.ClusterRows) || S.ClusterColumns != 1 ||
      S.blocks() > T.Can.ClusterBlocks || (S.Split > 1 && S.ClusterRows > 1))
    return false;
  if (S.TileSum / S.ClusterRows % 8)
    return false;
  return S.Split == 1 ||
         (double(Shape.Taps) *
                  std::ceil(double(Shape.LeastChannels) / double(S.TileSum)) >=
              double(S.Split) &&
          S.storedColumns() % 16 == 0 &&
          S.keptBytes() <= S.Slots * S.slotBytes(Shape.ElementBytes));
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
         S.Slots >= FewestSlots && S.Slots <= MostSlots &&
         isLegalCluster(S, Shape, T) && S.Slots <= roomForSlots(S, Shape, T) &&
         S.GroupRows >= 1 && S.GroupRows <= INT32_MAX;
}

/// Splits and clusters that are ranked; of equals the first is taken.
struct Cluster {
  int64_t Split, Rows;
};
constexpr Cluster Clusters[] = {{1, 1}, {1, 2}, {2, 1}, {4, 1}};

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
  ConvSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "conv ", S.TileRows) ||
      !takeNumber(Rest, "x", S.TileColumns) ||
      !takeNumber(Rest, "x", S.TileSum) ||
      !takeNumber(Rest, " slots ", S.Slots) ||
      !takeNumber(Rest, " group ", S.GroupRows))
    return std::nullopt;
  takeNumber(Rest, " split ", S.Split);
  takeNumber(Rest, " cluster ", S.ClusterRows);
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<ConvCost> schedule::rankConvSchedules(const ConvShape &Shape,
                                                  const target::Target &T) {
  std::vector<ConvCost> Ranked;
  auto Add = [&](int64_t Rows, int64_t Columns, int64_t Slice, Cluster C) {
    ConvSchedule S;
    S.TileRows = Rows;
    S.TileColumns = Columns;
    S.TileSum = Slice;
    S.Split = C.Split;
    S.ClusterRows = C.Rows;
    // Blocks that run together cover about a square.
    double Square = std::sqrt(double(T.Cost.SmCount) / double(S.blocks()) *
                              double(Columns) / double(Rows * S.ClusterRows));
    S.GroupRows = std::max<int64_t>(std::lround(Square), 1);
    S.Slots = std::min(roomForSlots(S, Shape, T), MostSlots);
    if (isLegal(S, Shape, T))
      Ranked.push_back(costOf(S, Shape, T));
  };
  // Of equals the tallest.
  for (int64_t Rows = MostRows; Rows >= 64; Rows -= 64)
    for (int64_t Columns = 64; Columns <= MostColumns; Columns += 64)
      for (int64_t Slice = sliceOf(Shape);
           Slice * Shape.ElementBytes >= ShortLineBytes; Slice /= 2)
        for (Cluster C : Clusters)
          Add(Rows, Columns, Slice, C);
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const ConvCost &A, const ConvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
