//===- GemmSchedule.cpp - Tiles and stages of a GEMM ----------------------===//
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

int64_t GemmSchedule::stageBytes(int64_t ElementBytes) const {
  return (TileM + TileN) * TileK * ElementBytes;
}

int64_t GemmSchedule::sharedBytes(int64_t ElementBytes,
                                  int64_t ResultBytes) const {
  return Stages * stageBytes(ElementBytes) + consumers() * consumerRows() *
                                                 partColumns() *
                                                 StagingBuffers * ResultBytes;
}

int64_t GemmSchedule::partColumns() const {
  return std::gcd(storedColumns(), MostPartColumns);
}

bool GemmSchedule::storesWholeLines(int64_t ResultBytes) const {
  return storedColumns() % 16 == 0 &&
         partColumns() * ResultBytes >= ShortLineBytes;
}

bool GemmSchedule::hasRoomToPromote() const {
  return !PingPong && 2 * sumsOfThread() <= (TileM == MaxM ? MostPromotedOfThree
                                                           : MostPromotedSums);
}

double GemmSchedule::promotedCycles(double AllCycles) const {
  double Additions = double(sumsOfThread()) * 128 / LanesPerCycle;
  return AllCycles / double(consumers()) + PromoteCycles + Additions;
}

static constexpr std::string_view ResidualText = " residual";

void GemmSchedule::takeTile(std::string_view &Rest) {
  takeNumber(Rest, " split_k ", SplitK);
  StagesResidual = Rest.starts_with(ResidualText);
  if (StagesResidual)
    Rest.remove_prefix(ResidualText.size());
}

int64_t GemmSchedule::stagesBeside(int64_t OfMost, int64_t OfFewest) const {
  int64_t Room = OfMost < EnoughStages ? OfFewest : OfMost;
  return StagesResidual && Room < EnoughStages ? 0 : std::min(Room, MaxStages);
}

std::string GemmSchedule::tileText() const {
  char Text[160];
  std::snprintf(Text, sizeof Text, " %ldx%ldx%ld stages %ld group_m %ld",
                long(TileM), long(TileN), long(TileK), long(Stages),
                long(GroupM));
  std::string Tile = Text;
  if (SplitK > 1)
    Tile += " split_k " + std::to_string(SplitK);
  return StagesResidual ? Tile.append(ResidualText) : Tile;
}

static constexpr const char *PingPongText = " pingpong";

std::string GemmSchedule::str() const {
  std::string Text = "gemm" + tileText();
  if (SplitK == 1 && multicast() > 1)
    Text +=
        " cluster " + std::to_string(ClusterM) + "x" + std::to_string(ClusterN);
  return PingPong ? Text + PingPongText : Text;
}

std::string TensorCoreCostParts::partsText() const {
  char Text[160], Reduced[32] = "";
  if (Turn > 0) {
    std::snprintf(Text, sizeof Text,
                  ": %.1f us = %.0f waves x max(%.2f mma, %.2f load, "
                  "%.2f turn) + %.2f epilogue + %.2f launch",
                  Total, Waves, Mma, Load, Turn, std::min(Epilogue, Turn),
                  Launch);
    return Text;
  }
  if (Reduce > 0)
    std::snprintf(Reduced, sizeof Reduced, " + %.2f reduce", Reduce);
  std::snprintf(Text, sizeof Text,
                ": %.1f us = %.0f waves x (max(%.2f mma, %.2f load) + "
                "%.2f epilogue%s) + %.2f launch",
                Total, Waves, Mma, Load, Epilogue, Reduced, Launch);
  return Text;
}

namespace {

/// Blocks of a cluster on every chip that has clusters.
constexpr int64_t MostBlocks = 8;

/// As many row tiles that blocks which run together read the least: rows and
/// columns of about the same extent.
int64_t groupM(const GemmSchedule &S, const target::Target &T) {
  double Square =
      std::sqrt(double(T.Cost.SmCount) / double(S.blocks()) *
                double(S.TileN * S.ClusterN) / double(S.TileM * S.ClusterM));
  return std::max<int64_t>(std::lround(Square), 1);
}

/// Cycles from a tile's last product until its warpgroups can begin the next.
double finishCycles(const GemmSchedule &S, const GemmShape &Shape) {
  double Stored = double(S.TileM) / 128 * double(S.storedColumns()) /
                  StagingColumns * double(Shape.ResultBytes) / 2;
  double Results =
      double(S.TileM) * double(S.storedColumns()) / double(Shape.Products);
  double Arithmetic = Results * Shape.EpilogueOperations / LanesPerCycle;
  double Reads = Results * double(S.epilogueReads(Shape.EpilogueBytes)) /
                 CacheBytesPerCycle;
  double Cycles = EpilogueCycles * Stored + Arithmetic + Reads;
  return S.PingPong ? Cycles * AloneFactor : Cycles;
}

/// Cycles of a step in turn, as shared memory allows: each 64 rows' products
/// read all columns again, and copies write beside them.
double sharedCycles(const GemmSchedule &S, const GemmShape &Shape) {
  int64_t Blocks = S.TileM / 64, Lines = Blocks * (64 + S.TileN);
  double Read = double(Lines * S.TileK * Shape.ElementBytes);
  double Cycles =
      (Read + double(S.stageBytes(Shape.ElementBytes))) / SharedBytesPerCycle;
  return S.TileM == 64 ? Cycles * OneChainFactor : Cycles;
}

GemmCost costOf(const GemmSchedule &S, const GemmShape &Shape,
                const target::Target &T) {
  // In floating point: sizes of which nothing is known may be huge.
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Clusters = Ceil(double(Shape.M), S.TileM * S.ClusterM) *
                    Ceil(double(Shape.N), S.TileN * S.ClusterN) *
                    double(Shape.Batch);
  double Steps = Ceil(Ceil(double(Shape.K), S.TileK), S.SplitK);
  double PerMicrosecond = cyclesPerMicrosecond(T);
  GemmCost Cost;
  Cost.Schedule = S;
  Cost.Waves = Ceil(Clusters, clustersAtOnce(S.blocks(), T));
  double StepCycles = double(S.TileM * S.TileN * S.TileK) * 2 /
                      (OperationsPerCycle * 2 / double(Shape.ElementBytes));
  Cost.Mma =
      Steps *
      std::max(StepCycles, Shape.Promotes ? S.promotedCycles(StepCycles) : 0) /
      PerMicrosecond;
  // All bytes come in, but each block looks up only those that it copies.
  double Lines = double(S.TileM * Shape.LinesOfA) / double(S.ClusterN) +
                 double(S.TileN * Shape.LinesOfB) / double(S.ClusterM);
  Lines *= double(S.TileK * Shape.ElementBytes) / CacheLineBytes;
  double Residual = double(S.residualBytes(Shape.StagedBytes, Shape.Products));
  Cost.Load = (Steps * std::max(double(S.stageBytes(Shape.ElementBytes)) /
                                    CacheBytesPerCycle,
                                Lines / LinesPerCycle) +
               Residual / CacheBytesPerCycle) /
              PerMicrosecond;
  // Where tiles have turns, nothing is brought while nobody multiplies.
  if (S.PingPong)
    Cost.Load =
        std::max(Cost.Load, Steps * sharedCycles(S, Shape) / PerMicrosecond);
  Cost.Epilogue = finishCycles(S, Shape) / PerMicrosecond;
  if (S.SplitK > 1)
    Cost.Reduce =
        (double(S.accumulatorBytes()) / PeerBytesPerCycle + MeetCycles) /
        PerMicrosecond;
  Cost.Launch =
      (LaunchCycles + (S.multicast() > 1 ? MeetCycles : 0)) / PerMicrosecond;
  double Products = std::max(Cost.Mma, Cost.Load);
  if (S.PingPong) {
    // A multiprocessor's products are one tile's after the other's, if each
    // warpgroup is back in time; nothing overlaps the end of the last.
    Cost.Turn = (Products + Cost.Epilogue) / 2;
    Cost.Total = Cost.Waves * std::max(Products, Cost.Turn) +
                 std::min(Cost.Epilogue, Cost.Turn) + Cost.Launch;
    return Cost;
  }
  Cost.Total =
      Cost.Waves * (Products + Cost.Epilogue + Cost.Reduce) + Cost.Launch;
  return Cost;
}

struct Cluster {
  int64_t SplitK, M, N;
};
/// Those that are ranked, those without a cluster first: of equals the first is
/// taken. Sums split in 8 were never the fastest.
constexpr Cluster Clusters[] = {
    {1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {4, 1, 1}};

/// All of these, then all but split-K in turn.
std::vector<std::pair<Cluster, bool>> forms() {
  std::vector<std::pair<Cluster, bool>> All;
  for (bool PingPong : {false, true})
    for (Cluster C : Clusters)
      All.emplace_back(C, PingPong);
  return All;
}

/// As many stages as fit beside all else, and the residual of so many tiles.
/// What stages leave of shared memory where threads load scales: with a first
/// cache of 28 KB 4096 x 4096 x 14336 took 420 us, with 60 KB 367 (an H200).
constexpr int64_t FirstCacheRoom = 32 << 10;
/// Of f32; and the columns whose scales leave registers for two sums of each.
constexpr int64_t ColumnScaleBytes = 4, MostScaledColumns = 128;

int64_t roomForStages(GemmSchedule S, const GemmShape &Shape,
                      const target::Target &T, int64_t ResidualTiles) {
  S.Stages = 0;
  int64_t Rest =
      T.Limit.SharedPerBlock - BarrierRoom -
      S.sharedBytes(Shape.ElementBytes, Shape.ResultBytes) -
      ResidualTiles * S.residualBytes(Shape.StagedBytes, Shape.Products) -
      (S.StagesResidual ? SecondRingRoom : 0);
  int64_t Scales = Shape.StagesColumnScales ? S.TileN * ColumnScaleBytes : 0;
  return Rest / (S.stageBytes(Shape.ElementBytes) + Scales);
}

bool isLegalCluster(const GemmSchedule &S, const GemmShape &Shape,
                    const target::Target &T) {
  auto IsCount = [](int64_t N) {
    return N >= 1 && N <= MostBlocks && (N & (N - 1)) == 0;
  };
  if (!IsCount(S.SplitK) || !IsCount(S.ClusterM) || !IsCount(S.ClusterN) ||
      S.blocks() > T.Can.ClusterBlocks)
    return false;
  // One reason for a cluster at a time.
  if ((S.SplitK > 1) + (S.ClusterM > 1) + (S.ClusterN > 1) > 1)
    return false;
  // No block is without a step; stores are of 16 columns or a multiple, and of
  // 32 bytes or more; the sums find room in the stages.
  return S.SplitK == 1 ||
         ((Shape.MinK + S.TileK - 1) / S.TileK >= S.SplitK &&
          S.storesWholeLines(Shape.ResultBytes) &&
          S.accumulatorBytes() <= S.Stages * S.stageBytes(Shape.ElementBytes));
}

/// Of several GEMMs each has whole parts of the tile, in one block: shares of
/// split-K are columns side by side.
bool isLegalShare(const GemmSchedule &S, const GemmShape &Shape) {
  return Shape.Products == 1 ||
         (S.SplitK == 1 && S.TileN % (Shape.Products * StagingColumns) == 0);
}

/// Columns that change places are in one tile, and with split-K, of which a
/// block has no more at once, in what one store moves.
bool keepsPairs(const GemmSchedule &S, const GemmShape &Shape) {
  int64_t Together = S.SplitK > 1 ? S.partColumns() : S.TileN;
  return !Shape.RotateHalf || (Shape.RotateHalf <= MaxRotateHalf &&
                               Together % (2 * Shape.RotateHalf) == 0);
}

/// Each warpgroup has a whole tile, and finishes it alone.
bool isLegalTurn(const GemmSchedule &S) {
  return !S.PingPong ||
         (S.SplitK == 1 && S.TileM <= MostRowsInTurn &&
          S.TileN >= FewestColumnsInTurn && S.sumsOfThread() <= MostSumsInTurn);
}

bool isLegal(const GemmSchedule &S, const GemmShape &Shape,
             const target::Target &T) {
  auto Steps = [](int64_t Size, int64_t Most) {
    return Size >= 64 && Size <= Most && Size % 64 == 0;
  };
  return T.Can.Wgmma && Steps(S.TileM, MaxM) &&
         Steps(S.TileN, S.TileM == MaxM ? MaxNOfThree : MaxN) &&
         isLegalShare(S, Shape) && keepsPairs(S, Shape) && isLegalTurn(S) &&
         (!Shape.Promotes || S.hasRoomToPromote()) &&
         (!Shape.StagesColumnScales || S.TileN <= MostScaledColumns) &&
         (!S.StagesResidual || Shape.StagedBytes) &&
         S.TileK == LineBytes / Shape.ElementBytes && S.Stages >= MinStages &&
         S.Stages <= MaxStages && isLegalCluster(S, Shape, T) &&
         S.Stages <= roomForStages(S, Shape, T, S.leastResidualTiles()) &&
         S.GroupM >= 1 && S.GroupM <= INT32_MAX;
}

/// Whether ptxas runs out of registers: legal, but never the best.
bool spills(const GemmSchedule &S, const GemmShape &Shape) {
  // Whole heads and their angles beside 128 or 192 accumulators of a thread.
  if (S.PingPong)
    return Shape.RotateHalf && S.sumsOfThread() > MostSumsOfHeadsInTurn;
  // Angles are the same for all heads of a tile; only where three warpgroups
  // multiply, there are no registers for them beside its accumulators.
  // Each interleaved pair has angles of its own: 32 to 228 bytes.
  if (Shape.RotateHalf == 1 && S.sumsOfThread() > MostSumsOfHeadsInTurn)
    return true;
  bool KeepsReads = S.epilogueReads(Shape.EpilogueBytes) > 0 ||
                    (Shape.RotateHalf && S.consumers() > 2);
  return KeepsReads && S.TileN > MaxNWithEpilogueReads;
}

} // namespace

std::optional<GemmCost> schedule::readGemmSchedule(const std::string &Text,
                                                   const GemmShape &Shape,
                                                   const target::Target &T) {
  GemmSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "gemm ", S.TileM) || !takeNumber(Rest, "x", S.TileN) ||
      !takeNumber(Rest, "x", S.TileK) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " group_m ", S.GroupM))
    return std::nullopt;
  S.takeTile(Rest);
  if (takeNumber(Rest, " cluster ", S.ClusterM))
    takeNumber(Rest, "x", S.ClusterN);
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
  auto Add = [&](GemmSchedule S) {
    S.Stages =
        S.stagesBeside(roomForStages(S, Shape, T, MostResidualTiles),
                       roomForStages(S, Shape, T, S.leastResidualTiles()));
    int64_t Most = T.Limit.SharedPerBlock - FirstCacheRoom;
    while (Shape.LoadsScales && S.Stages > MinStages &&
           S.sharedBytes(Shape.ElementBytes, Shape.ResultBytes) > Most)
      --S.Stages;
    if (isLegal(S, Shape, T) && !spills(S, Shape))
      Ranked.push_back(costOf(S, Shape, T));
  };
  for (int64_t M : {int64_t(128), MaxM, int64_t(64)})
    for (int64_t N = 64; N <= MaxN; N += 64)
      for (auto [C, PingPong] : forms()) {
        GemmSchedule S;
        S.PingPong = PingPong;
        S.TileM = M;
        S.TileN = N;
        S.TileK = LineBytes / Shape.ElementBytes;
        S.SplitK = C.SplitK;
        S.ClusterM = C.M;
        S.ClusterN = C.N;
        S.GroupM = groupM(S, T);
        for (bool Stages : {true, false}) {
          S.StagesResidual = Stages;
          Add(S);
        }
      }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const GemmCost &A, const GemmCost &B) { return A.Total < B.Total; });
  return Ranked;
}
