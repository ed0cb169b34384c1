//===- ConvHaloSchedule.cpp - Convolutions of tiles of images -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvHaloSchedule.h"
#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/SyncCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>

using namespace kpc;
using namespace kpc::schedule;

namespace {

/// Places of a line that one matrix of mma.sync has, and those of one warpgroup
/// for each line of a warp.
constexpr int64_t GroupPlaces = 16, LeastPlaces = 64;
constexpr int64_t MostPlaces = 256, MostOutputs = 128;
constexpr int64_t MostSums = 128, MostSumsBesideMore = 64;
/// Bytes and columns of the narrowest line of results, and bytes at whose
/// multiples stages begin: where the pattern of the widest line repeats.
constexpr int64_t LeastLine = 32, LeastColumns = 16, StageUnit = 1024;
/// Registers of a thread without its sums: the pixels of a step, places of
/// copies and results. With 64 sums 128 are enough on sm_80 and sm_90a
/// (ptxas 13.0).
constexpr int64_t OtherRegisters = 64;
/// Instructions of a thread for a piece of 16 bytes: the pixel's place in the
/// tile and in the image, two comparisons, the address, the copy. Of a result,
/// the place, a comparison, a load and a store. Counted in PTX.
constexpr double SlotsToCopy = 22, SlotsToStore = 24;
/// From the launch to the first products without the bytes: two misses.
constexpr double FillTime = 1.5;
/// A tile's barriers and waits, and what waiting for pixels adds with one
/// stage: nine convolutions on an H200 took 0.1 to 0.6 us for each tile beyond
/// its products, copies and stores, whose sum is a better estimate than the
/// longest.
constexpr double WaitTime = 0.3, OneStageTime = 0.08;

double smCount(const target::Target &T) {
  return T.Cost.SmCount ? T.Cost.SmCount : sync::AnySmCount;
}

/// Steps of 16 elements of the sum; what is left of a piece is half of one, and
/// takes as long.
double stepsOf(const ConvHaloShape &Shape) {
  auto Steps = [](int64_t Elements) { return (Elements + 15) / 16; };
  bool IsDense =
      Shape.pixelPitch() == Shape.Channels && Shape.Dilations[1] == 1;
  return double(Shape.Taps[0] * (IsDense
                                     ? Steps(Shape.Taps[1] * Shape.Channels)
                                     : Shape.Taps[1] * Steps(Shape.Channels)));
}

/// ldmatrix.x4 of a warp for each of its products. A line of pixels is loaded
/// once for all taps that see it in a column of the filter. Pixels a stride
/// apart are in the same banks.
double loadsPerProduct(const ConvHaloSchedule &S, const ConvHaloShape &Shape) {
  int64_t Down = S.tileM() / LeastPlaces, Taps = Shape.Taps[0];
  double Lines = double(Down * Taps);
  if (Shape.Strides[0] == 1)
    Lines =
        std::min(Lines, double(Down - 1 + (Taps - 1) * Shape.Dilations[0] + 1));
  auto Conflicts =
      double(std::gcd(Shape.pixelPitch() / 8 * Shape.Strides[1], int64_t(8)));
  double OfFilter = double(Taps * S.TileN) / 16,
         Products = double(Down * Taps * S.TileN) / 8;
  return (Lines * Conflicts + OfFilter) / Products;
}

/// Where not every multiprocessor has a tile, nothing was measured: there other
/// kernels are taken, unless they are twice as slow.
constexpr double UnfilledFactor = 2;

ConvHaloCost costOf(const ConvHaloSchedule &S, const ConvHaloShape &Shape,
                    const target::Target &T) {
  auto Ceil = [](int64_t A, int64_t B) {
    return std::ceil(double(A) / double(B));
  };
  double Sms = smCount(T), Resident = double(S.residentBlocks(Shape, T));
  double Across = Ceil(Shape.Outputs, S.TileN);
  double Tiles = double(Shape.Images) * Ceil(Shape.Places[0], S.Lines) *
                 Ceil(Shape.Places[1], S.Columns) * Across;
  ConvHaloCost Cost{S};
  // Of a multiprocessor, each of which has one tile after the other.
  double Streams = Resident * double(S.Warpgroups);
  Cost.Tiles = std::ceil(Tiles / Sms / Streams) * Streams;
  double Peak = T.Cost.Fp16 > 0 ? T.Cost.Fp16 : sync::AnyTflops;
  double Rate = Peak * 1e6 / Sms * sync::shareOf(T);
  double Share =
      std::min(1.0, sync::LoadsPerProduct / loadsPerProduct(S, Shape));
  if (double(S.threads()) * Resident < sync::BusyThreads)
    Share *= sync::FewThreadsShare;
  Cost.Mma =
      stepsOf(Shape) * double(S.tileM() * S.TileN * 16) * 2 / Rate / Share;
  double PixelBytes = double(S.pixels(Shape) * Shape.pixelElements() * 2),
         ResultBytes = double(S.tileM() * S.TileN * Shape.ResultBytes) *
                       (Shape.HasResidual ? 2 : 1);
  Cost.Move = (PixelBytes + ResultBytes) / sync::CacheBytes;
  Cost.Issue =
      (PixelBytes / 16 * SlotsToCopy + ResultBytes / 16 * SlotsToStore) /
      sync::IssueSlots;
  double Image = double(Shape.Images * Shape.Pixels[0] * Shape.Pixels[1] *
                        Shape.pixelElements() * 2),
         Results = double(Shape.Images * Shape.Places[0] * Shape.Places[1] *
                          Shape.Outputs * Shape.ResultBytes) *
                   (Shape.HasResidual ? 2 : 1);
  Cost.Memory = (Image + Results) / bytesOfMicrosecond(T);
  Cost.Fill = FillTime + (double(S.filterBytes(Shape)) + PixelBytes) *
                             Resident / sync::CacheBytes;
  Cost.Launch = sync::LaunchTime;
  Cost.Wait = WaitTime + (S.Stages == 1 ? OneStageTime : 0);
  double OfTiles = Cost.Tiles * (Cost.Mma + Cost.Move + Cost.Issue + Cost.Wait);
  Cost.Total = Cost.Launch + Cost.Fill + std::max(OfTiles, Cost.Memory);
  if (Tiles < Sms)
    Cost.Total *= UnfilledFactor;
  return Cost;
}

bool isLegal(const ConvHaloSchedule &S, const ConvHaloShape &Shape,
             const target::Target &T) {
  auto IsPower = [](int64_t N) { return N >= 1 && (N & (N - 1)) == 0; };
  constexpr uint32_t Kinds = target::MmaF16 | target::MmaBf16;
  int64_t MostOfThread = Shape.HasResidual ? MostSumsBesideMore : MostSums;
  return T.Can.CpAsync && (T.Can.MmaSync & Kinds) == Kinds &&
         IsPower(S.Lines) && IsPower(S.Columns) && S.Columns >= GroupPlaces &&
         S.tileM() >= LeastPlaces && S.tileM() <= MostPlaces &&
         S.Lines % (S.tileM() / LeastPlaces) == 0 && IsPower(S.TileN) &&
         S.TileN >= 16 && S.TileN <= MostOutputs &&
         S.TileN * std::min<int64_t>(2, Shape.ResultBytes) >= LeastLine &&
         S.Warpgroups >= 1 && S.Warpgroups <= 4 &&
         S.accumulators() <= MostOfThread && S.Stages >= 1 && S.Stages <= 2 &&
         S.sharedBytes(Shape) <= T.Limit.SharedPerBlock &&
         S.residentBlocks(Shape, T) >= 1;
}

} // namespace

int64_t ConvHaloSchedule::registers() const {
  return std::min<int64_t>(accumulators() + OtherRegisters, 255);
}

int64_t ConvHaloSchedule::stageBytes(const ConvHaloShape &Shape) const {
  int64_t Line = std::max(LeastLine, LeastColumns * Shape.ResultBytes);
  int64_t Bytes =
      std::max(pixels(Shape) * Shape.pixelPitch() * 2, tileM() * Line);
  return (Bytes + StageUnit - 1) / StageUnit * StageUnit;
}

int64_t ConvHaloSchedule::residentBlocks(const ConvHaloShape &Shape,
                                         const target::Target &T) const {
  int64_t Shared =
      T.Limit.SharedPerSm / (sharedBytes(Shape) + sync::SystemShared);
  int64_t Registers = T.Limit.RegistersPerSm / (threads() * registers());
  int64_t Threads = T.Limit.ThreadsPerSm / threads();
  return std::min({Shared, Registers, Threads});
}

MmaSyncSchedule ConvHaloSchedule::gemm() const {
  MmaSyncSchedule S;
  S.TileM = tileM();
  S.TileN = S.WarpgroupN = TileN;
  S.WarpgroupM = tileM();
  S.Stages = Stages;
  return S;
}

std::string ConvHaloSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text,
                "conv_halo %ldx%ldx%ld warpgroups %ld stages %ld", long(Lines),
                long(Columns), long(TileN), long(Warpgroups), long(Stages));
  return Text;
}

std::string ConvHaloCost::str() const {
  char Text[320];
  std::snprintf(
      Text, sizeof Text,
      "%s: %.1f us = max(%.0f tiles x (%.2f mma + %.2f move + "
      "%.2f issue + %.2f wait), %.1f memory) + %.2f fill + %.2f launch",
      Schedule.str().c_str(), Total, Tiles, Mma, Move, Issue, Wait, Memory,
      Fill, Launch);
  return Text;
}

std::optional<ConvHaloCost>
schedule::readConvHaloSchedule(const std::string &Text,
                               const ConvHaloShape &Shape,
                               const target::Target &T) {
  ConvHaloSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "conv_halo ", S.Lines) ||
      !takeNumber(Rest, "x", S.Columns) || !takeNumber(Rest, "x", S.TileN) ||
      !takeNumber(Rest, " warpgroups ", S.Warpgroups) ||
      !takeNumber(Rest, " stages ", S.Stages))
    return std::nullopt;
  // What is printed must be what was read: nothing follows it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<ConvHaloCost>
schedule::rankConvHaloSchedules(const ConvHaloShape &Shape,
                                const target::Target &T) {
  std::vector<ConvHaloCost> Ranked;
  constexpr std::array<int64_t, 2> Rectangles[] = {
      {16, 16}, {8, 32}, {8, 16}, {4, 16}};
  for (auto [Lines, Columns] : Rectangles)
    for (int64_t N = 16; N <= MostOutputs; N *= 2)
      for (int64_t Warpgroups : {4, 3, 2, 1})
        for (int64_t Stages : {1, 2}) {
          ConvHaloSchedule S{Lines, Columns, N, Warpgroups, Stages};
          // Not more columns of none than half.
          if ((N == 16 || N / 2 < Shape.Outputs) && isLegal(S, Shape, T))
            Ranked.push_back(costOf(S, Shape, T));
        }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const ConvHaloCost &A, const ConvHaloCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
