//===- GemmSchedule.cpp - How a product is cut and piped ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/GemmSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

using namespace kpc;
using namespace kpc::schedule;
using namespace kpc::schedule::hopper;

int64_t GemmSchedule::slotBytes(int64_t ElementBytes) const {
  return (TileRows + TileColumns) * TileSum * ElementBytes;
}

int64_t GemmSchedule::sharedBytes(int64_t ElementBytes,
                                  int64_t ResultBytes) const {
  return Slots * slotBytes(ElementBytes) + consumers() * consumerRows() *
                                               partColumns() * StagingBuffers *
                                               ResultBytes;
}

int64_t GemmSchedule::partColumns() const {
  return std::gcd(storedColumns(), StagingColumns);
}

std::string GemmSchedule::tileText() const {
  char Text[160];
  std::snprintf(Text, sizeof Text, " %ldx%ldx%ld slots %ld group %ld",
                long(TileRows), long(TileColumns), long(TileSum), long(Slots),
                long(GroupRows));
  return Split > 1 ? Text + (" split " + std::to_string(Split)) : Text;
}

static constexpr const char *PingPongText = " pingpong";

std::string GemmSchedule::str() const {
  std::string Text = "gemm" + tileText();
  if (Split == 1 && sharers() > 1)
    Text += " cluster " + std::to_string(ClusterRows) + "x" +
            std::to_string(ClusterColumns);
  return PingPong ? Text + PingPongText : Text;
}

std::string ProductCostParts::partsText() const {
  char Text[160], Joined[32] = "";
  if (Turn > 0) {
    std::snprintf(Text, sizeof Text,
                  ": %.1f us = %.0f waves x max(%.2f multiply, %.2f bring, "
                  "%.2f turn) + %.2f finish + %.2f start",
                  Total, Waves, Multiply, Bring, Turn, std::min(Finish, Turn),
                  Start);
    return Text;
  }
  if (Join > 0)
    std::snprintf(Joined, sizeof Joined, " + %.2f join", Join);
  std::snprintf(Text, sizeof Text,
                ": %.1f us = %.0f waves x (max(%.2f multiply, %.2f bring) + "
                "%.2f finish%s) + %.2f start",
                Total, Waves, Multiply, Bring, Finish, Joined, Start);
  return Text;
}

namespace {

/// Blocks of a cluster on every chip that has clusters.
constexpr int64_t MostBlocks = 8;

/// As many row tiles that blocks which run together read the least: rows and
/// columns of about the same extent.
int64_t groupRows(const GemmSchedule &S, const target::Target &T) {
  double Square = std::sqrt(double(T.Cost.SmCount) / double(S.blocks()) *
                            double(S.TileColumns * S.ClusterColumns) /
                            double(S.TileRows * S.ClusterRows));
  return std::max<int64_t>(std::lround(Square), 1);
}

/// Cycles from a tile's last product until its warpgroups can begin the next.
double finishCycles(const GemmSchedule &S, const GemmShape &Shape) {
  double Stored = double(S.TileRows) / 128 * double(S.storedColumns()) /
                  StagingColumns * double(Shape.ResultBytes) / 2;
  double Results =
      double(S.TileRows) * double(S.storedColumns()) / double(Shape.Products);
  double Arithmetic = Results * Shape.EpilogueOperations / LanesPerCycle;
  double Reads = Results * double(Shape.EpilogueBytes) / CacheBytesPerCycle;
  double Cycles = FinishCycles * Stored + Arithmetic + Reads;
  return S.PingPong ? Cycles * AloneFactor : Cycles;
}

/// Cycles of a step in turn, as shared memory allows: each 64 rows' products
/// read all columns again, and copies write beside them.
double sharedCycles(const GemmSchedule &S, const GemmShape &Shape) {
  int64_t Blocks = S.TileRows / 64, Lines = Blocks * (64 + S.TileColumns);
  double Read = double(Lines * S.TileSum * Shape.ElementBytes);
  double Cycles =
      (Read + double(S.slotBytes(Shape.ElementBytes))) / SharedBytesPerCycle;
  return S.TileRows == 64 ? Cycles * OneChainFactor : Cycles;
}

GemmCost costOf(const GemmSchedule &S, const GemmShape &Shape,
                const target::Target &T) {
  // In floating point: sizes of which nothing is known may be huge.
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Clusters =
      Ceil(double(Shape.Rows), S.TileRows * S.ClusterRows) *
      Ceil(double(Shape.Columns), S.TileColumns * S.ClusterColumns) *
      double(Shape.Batch);
  double Steps = Ceil(Ceil(double(Shape.Sum), S.TileSum), S.Split);
  double PerMicrosecond = cyclesPerMicrosecond(T);
  GemmCost Cost;
  Cost.Schedule = S;
  Cost.Waves = Ceil(Clusters, clustersAtOnce(S.blocks(), T));
  Cost.Multiply = Steps * double(S.TileRows * S.TileColumns * S.TileSum) * 2 /
                  (OperationsPerCycle * 2 / double(Shape.ElementBytes)) /
                  PerMicrosecond;
  // All bytes come in, but each block looks up only those that it copies.
  double Lines =
      double(S.TileRows * Shape.LinesOfA) / double(S.ClusterColumns) +
      double(S.TileColumns * Shape.LinesOfB) / double(S.ClusterRows);
  Lines *= double(S.TileSum * Shape.ElementBytes) / CacheLineBytes;
  Cost.Bring =
      Steps *
      std::max(double(S.slotBytes(Shape.ElementBytes)) / CacheBytesPerCycle,
               Lines / LinesPerCycle) /
      PerMicrosecond;
  // Where tiles have turns, nothing is brought while nobody multiplies.
  if (S.PingPong)
    Cost.Bring =
        std::max(Cost.Bring, Steps * sharedCycles(S, Shape) / PerMicrosecond);
  Cost.Finish = finishCycles(S, Shape) / PerMicrosecond;
  if (S.Split > 1)
    Cost.Join = (double(S.keptBytes()) / PeerBytesPerCycle + MeetCycles) /
                PerMicrosecond;
  Cost.Start =
      (StartCycles + (S.sharers() > 1 ? MeetCycles : 0)) / PerMicrosecond;
  double Products = std::max(Cost.Multiply, Cost.Bring);
  if (S.PingPong) {
    // A multiprocessor's products are one tile's after the other's, if each
    // warpgroup is back in time; nothing overlaps the end of the last.
    Cost.Turn = (Products + Cost.Finish) / 2;
    Cost.Total = Cost.Waves * std::max(Products, Cost.Turn) +
                 std::min(Cost.Finish, Cost.Turn) + Cost.Start;
    return Cost;
  }
  Cost.Total = Cost.Waves * (Products + Cost.Finish + Cost.Join) + Cost.Start;
  return Cost;
}

struct Cluster {
  int64_t Split, Rows, Columns;
};
/// Those that are ranked, those without a cluster first: of equals the first is
/// taken. Sums split in 8 were never the fastest.
constexpr Cluster Clusters[] = {
    {1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {4, 1, 1}};

/// All of these, then all but split sums in turn.
std::vector<std::pair<Cluster, bool>> forms() {
  std::vector<std::pair<Cluster, bool>> All;
  for (bool PingPong : {false, true})
    for (Cluster C : Clusters)
      All.emplace_back(C, PingPong);
  return All;
}

/// As many slots as fit beside all else.
int64_t roomForSlots(GemmSchedule S, const GemmShape &Shape,
                     const target::Target &T) {
  S.Slots = 0;
  int64_t Rest = T.Limit.SharedPerBlock - BarrierRoom -
                 S.sharedBytes(Shape.ElementBytes, Shape.ResultBytes);
  return Rest / S.slotBytes(Shape.ElementBytes);
}

bool isLegalCluster(const GemmSchedule &S, const GemmShape &Shape,
                    const target::Target &T) {
  auto IsCount = [](int64_t N) {
    return N >= 1 && N <= MostBlocks && (N & (N - 1)) == 0;
  };
  if (!IsCount(S.Split) || !IsCount(S.ClusterRows) ||
      !IsCount(S.ClusterColumns) || S.blocks() > T.Can.ClusterBlocks)
    return false;
  // One reason for a cluster at a time.
  if ((S.Split > 1) + (S.ClusterRows > 1) + (S.ClusterColumns > 1) > 1)
    return false;
  // No block is without a step; stores are of 16 columns or a multiple; the
  // sums find room in the slots.
  return S.Split == 1 ||
         ((Shape.LeastSum + S.TileSum - 1) / S.TileSum >= S.Split &&
          S.storedColumns() % 16 == 0 &&
          S.keptBytes() <= S.Slots * S.slotBytes(Shape.ElementBytes));
}

/// Of several products each has whole parts of the tile, in one block: shares
/// of a split sum are columns side by side.
bool isLegalShare(const GemmSchedule &S, const GemmShape &Shape) {
  return Shape.Products == 1 ||
         (S.Split == 1 &&
          S.TileColumns % (Shape.Products * StagingColumns) == 0);
}

/// Columns that change places are in one tile, and of a split sum, of which a
/// block has no more at once, in what one store moves.
bool keepsPairs(const GemmSchedule &S, const GemmShape &Shape) {
  int64_t Together = S.Split > 1 ? S.partColumns() : S.TileColumns;
  return !Shape.Exchanged || (Shape.Exchanged <= MostExchanged &&
                              Together % (2 * Shape.Exchanged) == 0);
}

/// Each warpgroup has a whole tile, and finishes it alone.
bool isLegalTurn(const GemmSchedule &S) {
  return !S.PingPong || (S.Split == 1 && S.TileRows <= MostRowsInTurn &&
                         S.TileColumns >= FewestColumnsInTurn &&
                         S.sumsOfThread() <= MostSumsInTurn);
}

bool isLegal(const GemmSchedule &S, const GemmShape &Shape,
             const target::Target &T) {
  auto Steps = [](int64_t Size, int64_t Most) {
    return Size >= 64 && Size <= Most && Size % 64 == 0;
  };
  return T.Can.Wgmma && Steps(S.TileRows, MostRows) &&
         Steps(S.TileColumns,
               S.TileRows == MostRows ? MostColumnsOfThree : MostColumns) &&
         isLegalShare(S, Shape) && keepsPairs(S, Shape) && isLegalTurn(S) &&
         S.TileSum == LineBytes / Shape.ElementBytes &&
         S.Slots >= FewestSlots && S.Slots <= MostSlots &&
         isLegalCluster(S, Shape, T) && S.Slots <= roomForSlots(S, Shape, T) &&
         S.GroupRows >= 1 && S.GroupRows <= INT32_MAX;
}

} // namespace

std::optional<GemmCost> schedule::readGemmSchedule(const std::string &Text,
                                                   const GemmShape &Shape,
                                                   const target::Target &T) {
  GemmSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "gemm ", S.TileRows) ||
      !takeNumber(Rest, "x", S.TileColumns) ||
      !takeNumber(Rest, "x", S.TileSum) ||
      !takeNumber(Rest, " slots ", S.Slots) ||
      !takeNumber(Rest, " group ", S.GroupRows))
    return std::nullopt;
  takeNumber(Rest, " split ", S.Split);
  if (takeNumber(Rest, " cluster ", S.ClusterRows))
    takeNumber(Rest, "x", S.ClusterColumns);
  S.PingPong = Rest == PingPongText;
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<GemmCost> schedule::rankGemmSchedules(const GemmShape &Shape,
                                                  const target::Target &T) {
  std::vector<GemmCost> Ranked;
  // Of equals the first is taken: two warpgroups that multiply before three,
  // which have fewer registers, and before one.
  for (int64_t Rows : {int64_t(128), MostRows, int64_t(64)})
    for (int64_t Columns = 64; Columns <= MostColumns; Columns += 64)
      for (auto [C, PingPong] : forms()) {
        GemmSchedule S;
        S.PingPong = PingPong;
        S.TileRows = Rows;
        S.TileColumns = Columns;
        S.TileSum = LineBytes / Shape.ElementBytes;
        S.Split = C.Split;
        S.ClusterRows = C.Rows;
        S.ClusterColumns = C.Columns;
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
