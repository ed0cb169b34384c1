//===- AttentionBlackwellSchedule.cpp - Attention on tcgen05, cut ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionBlackwellSchedule.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace kpc;
using namespace kpc::schedule;

namespace {

// Nothing here was measured. Rates are the published ones of a B200; waits are
// estimates, each with its reason.

/// Operations (a multiply-add is two) of 16-bit numbers, powers of two,
/// instructions' lanes and bytes of shared memory, per cycle and
/// multiprocessor. sm_103a has twice the powers (NVIDIA, Blackwell Ultra).
constexpr double OperationsPerCycle = 8192, PowersPerCycle = 16,
                 PowersPerCycleOfUltra = 32, LanesPerCycle = 128,
                 SharedBytesPerCycle = 128;
/// Instructions of a score: its scale, greatest, sum, half a conversion, and
/// its power. A power by multiply-adds has 9 in place of that one. A mask or a
/// bias that is read has 12 more with its address; a softcap has 3, and 2
/// powers.
constexpr double SlotsPerScore = 4.5, SlotsPerFma = 9, SlotsPerBias = 12,
                 SlotsPerCap = 3, PowersOfCapped = 3;
/// A column of 32 lanes per cycle, of each quarter of a multiprocessor, in and
/// out of tensor memory.
constexpr double ColumnsPerCycle = 1;
/// From the end of a product to the first cycle of one that waits for it: a
/// commit, a barrier, a new instruction. An estimate.
constexpr double PlaceCycles = 150;
/// What barriers and latencies add to a tile's way from scores to powers: two
/// barriers and a read of tensor memory. An estimate.
constexpr double HandOverCycles = 300;
/// A tile's start (barriers, tensor memory, first copies) and end. An estimate
/// from Hopper's 1500 of both, with nothing beside them.
constexpr double TileCycles = 3500, LaunchCycles = 3000;
/// A multiprocessor's share of the second cache: as Hopper's.
constexpr double CacheBytesPerCycle = 61;
/// Bytes for barriers, and the rounding of places: three pipes and the staging
/// begin at whole patterns of the swizzle.
constexpr int64_t BarrierRoom = 4096;
constexpr int64_t MostStages = 4, PowersOfPart = 8;

double ceilOf(double A, int64_t B) { return std::ceil(A / double(B)); }

AttentionBlackwellCost costOf(const AttentionBlackwellSchedule &S,
                              const AttentionShape &Shape,
                              const target::Target &T) {
  double Sm = T.Cost.SmCount;
  double PerMicrosecond = T.Cost.Fp16 * 1e6 / (Sm * OperationsPerCycle);
  auto Rows = double(AttentionBlackwellSchedule::TileRows),
       Keys = double(S.TileKeys), Depth = double(S.headInTiles(Shape.Depth)),
       Width = double(S.headInTiles(Shape.Width)), Tiles = double(S.Tiles);
  double Scores = Rows * Keys;
  // Queries and keys come from shared memory for each 16 elements of a head;
  // powers come from tensor memory.
  constexpr double StepElements = 16, StepBytes = 32;
  double Scoring = std::max(Scores * Depth * 2 / OperationsPerCycle,
                            Depth / StepElements * (Rows + Keys) * StepBytes /
                                SharedBytesPerCycle);
  double Adding =
      std::max(Scores * Width * 2 / OperationsPerCycle,
               Keys / StepElements * Width * StepBytes / SharedBytesPerCycle);
  double Share = double(S.FmaShare) / double(PowersOfPart);
  double Special = Scores *
                   (1 - Share + (Shape.Capped ? PowersOfCapped - 1 : 0)) /
                   (T.Compute == 103 ? PowersPerCycleOfUltra : PowersPerCycle);
  double Slots = Scores *
                 (SlotsPerScore + Share * (SlotsPerFma - 1) +
                  (Shape.Scored ? SlotsPerBias : 0) +
                  (Shape.Capped ? SlotsPerCap + PowersOfCapped - 1 : 0)) /
                 LanesPerCycle;
  AttentionBlackwellCost Cost{S};
  Cost.Steps = blocksOfKeys(Shape, S.tileQueries(), S.TileKeys);
  Cost.Mma = Tiles * (Scoring + Adding + PlaceCycles) / PerMicrosecond;
  Cost.Powers = Tiles * Special / PerMicrosecond;
  Cost.Issue = Tiles * Slots / PerMicrosecond;
  // Scores, their softmax by one warpgroup, and the last part of the product.
  double Moved = Keys * 1.5 / ColumnsPerCycle;
  Cost.Chain = (Scoring + Moved + std::max(Special, Slots) + HandOverCycles +
                Adding / AttentionBlackwellSchedule::Parts + PlaceCycles) /
               PerMicrosecond;
  Cost.Load = Keys * (Depth + Width) * double(Shape.ElementBytes) /
              CacheBytesPerCycle / PerMicrosecond;
  Cost.Ends = TileCycles / PerMicrosecond;
  Cost.Launch = LaunchCycles / PerMicrosecond;
  double Blocks = ceilOf(double(Shape.Queries), S.tileQueries()) *
                  double(Shape.Batch) * double(Shape.Heads);
  // Under a causal mask long tiles come first, and short ones fill up.
  Cost.Waves = Shape.Causal ? std::max(1.0, Blocks / Sm + 0.5)
                            : ceilOf(Blocks, int64_t(Sm));
  Cost.Total =
      Cost.Waves * (Cost.Steps * Cost.step() + Cost.Ends) + Cost.Launch;
  return Cost;
}

bool isLegal(const AttentionBlackwellSchedule &S, const AttentionShape &Shape,
             const target::Target &T) {
  return T.Can.Tcgen05 && (S.Tiles == 1 || S.Tiles == 2) &&
         (S.TileKeys == 64 || S.TileKeys == 128) && S.Stages >= 2 &&
         S.Stages <= MostStages && S.FmaShare >= 0 && S.FmaShare <= 4 &&
         whyNoAttentionBlackwell(Shape, T).empty() &&
         S.tensorMemoryColumns(Shape) <= T.Limit.TensorMemoryColumns &&
         S.sharedBytes(Shape) + BarrierRoom <= T.Limit.SharedPerBlock;
}

std::array<std::pair<double, const char *>, 5>
limitsOf(const AttentionBlackwellCost &C) {
  return {{{C.Mma, "mma"},
           {C.Chain, "chain"},
           {C.Powers, "powers"},
           {C.Issue, "issue"},
           {C.Load, "load"}}};
}

} // namespace

int64_t AttentionBlackwellSchedule::tensorMemoryColumns(
    const AttentionShape &Shape) const {
  return int64_t(std::bit_ceil(
      uint64_t(scoreColumns() + Tiles * headInTiles(Shape.Width))));
}

int64_t
AttentionBlackwellSchedule::sharedBytes(const AttentionShape &Shape) const {
  int64_t Depth = headInTiles(Shape.Depth), Width = headInTiles(Shape.Width);
  return (tileQueries() * (Depth + StagedColumns) +
          Stages * TileKeys * (Depth + Width)) *
         Shape.ElementBytes;
}

std::string AttentionBlackwellSchedule::str() const {
  char Text[96];
  std::snprintf(
      Text, sizeof Text, "attention_tcgen05 %ldx%ld stages %ld fma %ld",
      long(tileQueries()), long(TileKeys), long(Stages), long(FmaShare));
  return Text;
}

double AttentionBlackwellCost::step() const {
  double Most = 0;
  for (auto [Time, Name] : limitsOf(*this))
    Most = std::max(Most, Time);
  return Most;
}

const char *AttentionBlackwellCost::limiter() const {
  for (auto [Time, Name] : limitsOf(*this))
    if (Time == step())
      return Name;
  return "";
}

std::string AttentionBlackwellCost::str() const {
  char Text[320];
  std::snprintf(
      Text, sizeof Text,
      "%s: %.1f us = %.1f waves x (%.1f steps x max(%.2f mma, %.2f "
      "chain, %.2f powers, %.2f issue, %.2f load) + %.2f ends) + %.2f "
      "launch, limited by %s",
      Schedule.str().c_str(), Total, Waves, Steps, Mma, Chain, Powers, Issue,
      Load, Ends, Launch, limiter());
  return Text;
}

std::string schedule::whyNoAttentionBlackwell(const AttentionShape &Shape,
                                              const target::Target &T) {
  if (!T.Can.Tcgen05)
    return "the target has no tcgen05";
  // Columns of one instruction. With a causal mask ptxas 13.0 spills 4 bytes of
  // what walks 256 columns.
  const int64_t Most = Shape.Causal ? 192 : 256;
  if (Shape.ElementBytes != 2 || std::max(Shape.Depth, Shape.Width) > Most)
    return "its heads are not of at most 256 elements of 16 bits, or 192 with "
           "a causal mask";
  return {};
}

std::optional<AttentionBlackwellCost>
schedule::readAttentionBlackwellSchedule(const std::string &Text,
                                         const AttentionShape &Shape,
                                         const target::Target &T) {
  AttentionBlackwellSchedule S;
  std::string_view Rest = Text;
  int64_t Queries = 0;
  if (!takeNumber(Rest, "attention_tcgen05 ", Queries) ||
      !takeNumber(Rest, "x", S.TileKeys) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " fma ", S.FmaShare))
    return std::nullopt;
  S.Tiles = Queries / AttentionBlackwellSchedule::TileRows;
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<AttentionBlackwellCost>
schedule::rankAttentionBlackwellSchedules(const AttentionShape &Shape,
                                          const target::Target &T) {
  std::vector<AttentionBlackwellCost> Ranked;
  for (int64_t Tiles : {2, 1})
    for (int64_t Keys : {128, 64})
      for (int64_t Share : {0, 1, 2, 3}) {
        AttentionBlackwellSchedule S{Tiles, Keys, /*Stages=*/2, Share};
        while (S.Stages < MostStages &&
               isLegal({Tiles, Keys, S.Stages + 1, Share}, Shape, T))
          ++S.Stages;
        if (isLegal(S, Shape, T))
          Ranked.push_back(costOf(S, Shape, T));
      }
  // Of equals the one with fewer powers by multiply-adds: ex2 is more exact.
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const AttentionBlackwellCost &A, const AttentionBlackwellCost &B) {
        return std::tie(A.Total, A.Schedule.FmaShare) <
               std::tie(B.Total, B.Schedule.FmaShare);
      });
  return Ranked;
}
