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
#include <bit>
#include <cmath>
#include <numeric>

using namespace kpc;
using namespace kpc::schedule;
using namespace kpc::schedule::hopper;

std::string ConvSchedule::str() const {
  std::string Text = "conv" + tileText();
  if (SplitK == 1 && ClusterM > 1)
    Text += " cluster " + std::to_string(ClusterM);
  return Text;
}

namespace {

/// Cycles that a step along K takes beside its products: stages of half the
/// bytes took 8 % longer on an H200 (tiles of 128×256, 8192³).
constexpr double StepCycles = 40;
/// Instructions of an epilogue that `EpilogueCycles` has room for: a bias and
/// an activation.
constexpr double UsualOperations = 2;

/// Taps of a tile: the mean, and in the last wave the most.
double tapsOf(const ConvSchedule &S, const ConvShape &Shape, double Waves) {
  // Blocks that share a sum have parts of all taps.
  std::vector<uint32_t> Tiles;
  if (S.SplitK == 1)
    Tiles = liveTapsOfTiles(Shape.Live, Shape.Taps, Shape.Outputs, S.TileN,
                            leastLiveTaps(Shape.Channels, S.TileK));
  if (Tiles.empty())
    return double(Shape.Taps);
  double Sum = 0, Most = 0;
  for (uint32_t Mask : Tiles) {
    double Own = std::popcount(Mask);
    Sum += Own;
    Most = std::max(Most, Own);
  }
  double Mean = Sum / double(Tiles.size());
  return Mean + (Most - Mean) / std::max(Waves, 1.0);
}

/// Lines of the second cache that what a tile takes of a pixel lies in: two,
/// if it may cross from one into the next. On an H200 one each would explain
/// half of what these took in us: 3 × 3 taps of 24 channels 51, 3 × 3 of 48 67,
/// 5 × 5 of 48 21, 3 × 3 of 200 18.
double linesOfPixel(const ConvSchedule &S, const ConvShape &Shape) {
  int64_t Pixel = Shape.Channels * Shape.ElementBytes,
          Taken = std::min(S.TileK * Shape.ElementBytes, Pixel);
  return std::gcd(Pixel, LineBytes) < Taken ? 2 : 1;
}

ConvCost costOf(const ConvSchedule &S, const ConvShape &Shape,
                const target::Target &T) {
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double Clusters = Ceil(double(Shape.Places), S.TileM * S.ClusterM) *
                    Ceil(double(Shape.Outputs), S.TileN);
  double PerMicrosecond = cyclesPerMicrosecond(T);
  double Products = double(S.TileM * S.TileN * S.TileK) * 2;
  ConvCost Cost;
  Cost.Schedule = S;
  Cost.Waves = Ceil(Clusters, clustersAtOnce(S.blocks(), T));
  double Steps =
      std::ceil(tapsOf(S, Shape, Cost.Waves) *
                Ceil(double(Shape.Channels), S.TileK) / double(S.SplitK));
  double OfStep =
      Products / (OperationsPerCycle * 2 / double(Shape.ElementBytes));
  Cost.Mma = Steps *
             std::max(OfStep + StepCycles,
                      Shape.Promotes ? S.promotedCycles(OfStep) : 0) /
             PerMicrosecond;
  // Those of pixels, and one for each channel's outputs, of which blocks that
  // share them look up a part each.
  double Lines = double(S.TileM) * linesOfPixel(S, Shape) +
                 double(S.TileK * S.TileN * Shape.ElementBytes) /
                     double(LineBytes * S.ClusterM);
  double Bytes = double(S.stageBytes(Shape.ElementBytes));
  Cost.Load = Steps *
              (std::max(Bytes / CacheBytesPerCycle, Lines / LinesPerCycle) +
               StepCycles) /
              PerMicrosecond;
  Cost.Load += double(S.residualBytes(Shape.StagedBytes)) / CacheBytesPerCycle /
               PerMicrosecond;
  double Stores = EpilogueCycles * double(S.TileM) / 128 *
                  double(S.storedColumns()) / StagingColumns *
                  double(Shape.ResultBytes) / 2,
         Arithmetic =
             double(S.TileM * S.storedColumns()) *
             std::max(Shape.EpilogueOperations - UsualOperations, 0.0) /
             LanesPerCycle;
  double Reads = 0;
  if (Shape.ReadsAtResult && !S.StagesResidual)
    Reads = double(S.TileM * S.storedColumns() * Shape.ResultBytes) /
            CacheBytesPerCycle;
  Cost.Epilogue = (Stores + Reads + Arithmetic) / PerMicrosecond;
  if (S.SplitK > 1)
    Cost.Reduce =
        (double(S.accumulatorBytes()) / PeerBytesPerCycle + MeetCycles) /
        PerMicrosecond;
  Cost.Launch =
      (LaunchCycles + (S.multicast() > 1 ? MeetCycles : 0)) / PerMicrosecond;
  Cost.Total = Cost.Waves * (std::max(Cost.Mma, Cost.Load) + Cost.Epilogue +
                             Cost.Reduce) +
               Cost.Launch;
  return Cost;
}

int64_t roomForStages(ConvSchedule S, const ConvShape &Shape,
                      const target::Target &T, int64_t ResidualTiles) {
  S.Stages = 0;
  int64_t Rest = T.Limit.SharedPerBlock - BarrierRoom -
                 S.sharedBytes(Shape.ElementBytes, Shape.ResultBytes) -
                 ResidualTiles * S.residualBytes(Shape.StagedBytes) -
                 (S.StagesResidual ? SecondRingRoom : 0);
  return Rest / S.stageBytes(Shape.ElementBytes);
}

/// One reason for a cluster at a time: parts of the sum, none of them without a
/// step and all of them with room in the stages; or the same outputs.
bool isLegalCluster(const ConvSchedule &S, const ConvShape &Shape,
                    const target::Target &T) {
  auto IsCount = [](int64_t N) { return N == 1 || N == 2 || N == 4 || N == 8; };
  if (!IsCount(S.SplitK) || !IsCount(S.ClusterM) || S.ClusterN != 1 ||
      S.blocks() > T.Can.ClusterBlocks || (S.SplitK > 1 && S.ClusterM > 1))
    return false;
  int64_t FilterRows = Shape.KMajor ? S.TileN : S.TileK;
  if (FilterRows / S.ClusterM % 8)
    return false;
  return S.SplitK == 1 ||
         (double(Shape.Taps) *
                  std::ceil(double(Shape.LeastChannels) / double(S.TileK)) >=
              double(S.SplitK) &&
          S.storesWholeLines(Shape.ResultBytes) &&
          S.accumulatorBytes() <= S.Stages * S.stageBytes(Shape.ElementBytes));
}

bool isLegal(const ConvSchedule &S, const ConvShape &Shape,
             const target::Target &T) {
  auto Steps = [](int64_t Size, int64_t Most) {
    return Size >= 64 && Size <= Most && Size % 64 == 0;
  };
  int64_t Line = S.TileK * Shape.ElementBytes;
  return T.Can.Wgmma && Steps(S.TileM, MaxM) &&
         Steps(S.TileN, S.TileM == MaxM ? MaxNOfThree : MaxN) &&
         (Line == LineBytes || Line == 64 || Line == ShortLineBytes) &&
         (!Shape.Promotes || S.hasRoomToPromote()) && S.Stages >= MinStages &&
         S.Stages <= MaxStages && isLegalCluster(S, Shape, T) &&
         (!S.StagesResidual || Shape.StagedBytes) &&
         S.Stages <= roomForStages(S, Shape, T, S.leastResidualTiles()) &&
         S.GroupM >= 1 && S.GroupM <= INT32_MAX;
}

/// Splits and clusters that are ranked; of equals the first is taken.
struct Cluster {
  int64_t SplitK, M;
};
constexpr Cluster Clusters[] = {{1, 1}, {1, 2}, {2, 1}, {4, 1}};

} // namespace

std::vector<uint32_t>
schedule::liveTapsOfTiles(const std::vector<int64_t> &Live, int64_t Taps,
                          int64_t Outputs, int64_t TileN, int64_t Least) {
  if (Live.empty())
    return {};
  auto All = uint32_t((uint64_t(1) << Taps) - 1);
  int64_t Part = Outputs / int64_t(Live.size());
  bool Saves = false;
  std::vector<uint32_t> Tiles;
  for (int64_t First = 0; First < Outputs; First += TileN) {
    uint32_t Mask = 0;
    int64_t Last = std::min(First + TileN, Outputs) - 1;
    for (int64_t P = First / Part; P <= Last / Part; ++P)
      Mask |= uint32_t(Live[size_t(P)]);
    for (int64_t Tap = 0; Tap < Taps && std::popcount(Mask) < Least; ++Tap)
      Mask |= uint32_t(1) << Tap;
    Saves |= Mask != All;
    Tiles.push_back(Mask);
  }
  return Saves ? Tiles : std::vector<uint32_t>();
}

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
  if (!takeNumber(Rest, "conv ", S.TileM) || !takeNumber(Rest, "x", S.TileN) ||
      !takeNumber(Rest, "x", S.TileK) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " group_m ", S.GroupM))
    return std::nullopt;
  S.takeTile(Rest);
  takeNumber(Rest, " cluster ", S.ClusterM);
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<ConvCost> schedule::rankConvSchedules(const ConvShape &Shape,
                                                  const target::Target &T) {
  std::vector<ConvCost> Ranked;
  auto Add = [&](int64_t M, int64_t N, int64_t Slice, Cluster C, bool Stages) {
    ConvSchedule S;
    S.StagesResidual = Stages;
    S.TileM = M;
    S.TileN = N;
    S.TileK = Slice;
    S.SplitK = C.SplitK;
    S.ClusterM = C.M;
    // Blocks that run together cover about a square.
    double Square = std::sqrt(double(T.Cost.SmCount) / double(S.blocks()) *
                              double(N) / double(M * S.ClusterM));
    S.GroupM = std::max<int64_t>(std::lround(Square), 1);
    // Sums of different lengths: all blocks have those of one length at a time,
    // or some would have the long ones alone.
    if (S.SplitK == 1 &&
        !liveTapsOfTiles(Shape.Live, Shape.Taps, Shape.Outputs, N,
                         leastLiveTaps(Shape.Channels, S.TileK))
             .empty())
      S.GroupM = int64_t(clustersAtOnce(S.blocks(), T));
    S.Stages =
        S.stagesBeside(roomForStages(S, Shape, T, MostResidualTiles),
                       roomForStages(S, Shape, T, S.leastResidualTiles()));
    // A wider tile spills what the epilogue reads; beside sums of FP8, which
    // are kept twice, 128 columns spill 20 bytes.
    int64_t Widest =
        Shape.Promotes ? MaxNWithEpilogueReads / 2 : MaxNWithEpilogueReads;
    bool Spills = Shape.ReadsAtResult && !S.StagesResidual && N > Widest;
    if (!Spills && isLegal(S, Shape, T))
      Ranked.push_back(costOf(S, Shape, T));
  };
  // Of equals the tallest.
  for (int64_t M = MaxM; M >= 64; M -= 64)
    for (int64_t N = 64; N <= MaxN; N += 64)
      for (int64_t Slice = sliceOf(Shape);
           Slice * Shape.ElementBytes >= ShortLineBytes; Slice /= 2)
        for (Cluster C : Clusters)
          for (bool Stages : {true, false})
            Add(M, N, Slice, C, Stages);
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const ConvCost &A, const ConvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
