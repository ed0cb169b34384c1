//===- AttentionSyncSchedule.cpp - Attention on mma.sync, cut -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionSyncSchedule.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t
AttentionSyncSchedule::neededRegisters(const AttentionShape &Shape) const {
  // Sums and scores in f32, queries in 16 bits; powers take the place of
  // scores. The rest is room for fragments on their way, addresses, greatest
  // scores and totals, for what is read ahead of a mask or a bias, and for the
  // parts and sums of split factors, with less of which ptxas 13.0 spills.
  constexpr int64_t Room = 48, ScoreRoom = 24, SplitRoom = 100;
  // Reads of a mask go further ahead with more scores, and more words of f32
  // are on their way: heads of 32 in blocks of 128 keys spilled 112 bytes with
  // both, heads of 96 in blocks of 64 keys 4. With a softcap of f32 it was 208
  // and 28.
  constexpr int64_t FewScores = 64;
  int64_t Rows = WarpgroupQueries / 64, Scores = Rows * TileKeys / 2;
  int64_t Needed =
      Rows * (paddedColumns(Shape.Width) / 2 +
              (HoldsQueries ? paddedColumns(Shape.Depth) / 4 : 0)) +
      Scores + Room;
  bool IsF32 = Shape.ElementBytes == 4;
  if (Shape.Scored || (Shape.Capped && IsF32))
    Needed += ScoreRoom + std::max<int64_t>(Scores - FewScores, 0) / 4;
  if (IsF32)
    Needed += Scores / 8;
  return Needed + (Shape.Split ? SplitRoom : 0);
}

int64_t AttentionSyncSchedule::sharedBytes(const AttentionShape &Shape) const {
  int64_t Depth = paddedColumns(Shape.Depth),
          Width = paddedColumns(Shape.Width);
  return (TileQueries * std::max(Depth, Width) +
          Stages * TileKeys * (Depth + Width)) *
         Shape.ElementBytes;
}

std::string AttentionSyncSchedule::str() const {
  char Text[128];
  std::snprintf(Text, sizeof Text,
                "attention_mmasync %ldx%ld warpgroup %ld stages %ld queries %s",
                long(TileQueries), long(TileKeys), long(WarpgroupQueries),
                long(Stages), HoldsQueries ? "registers" : "shared");
  return Text;
}

std::string AttentionSyncCost::str() const {
  char Text[320];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f tiles x (%.2f mma + %.2f softmax + %.2f "
                "score) + %.0f turns x %.2f ends + %.2f launch",
                Schedule.str().c_str(), Total, Tiles, Mma, Softmax, Score,
                Turns, Ends, Launch);
  return Text;
}

namespace {

// Fitted to an H100: heads of 64 and 128, 1024 and 4096 keys, schedules by
// force, within a tenth.

/// Of the peak rate, where that is another instruction's (wgmma, tcgen05), and
/// what products get of the rate that there is.
constexpr double SyncShare = 0.62, Efficiency = 0.78;
/// Of the lesser of products and shared memory, what the other does not hide.
constexpr double LesserShown = 0.2;
/// Cycles of a microsecond, and what a multiprocessor does in one of them:
/// bytes of shared memory, instructions' lanes, powers of two.
constexpr double CyclesPerMicrosecond = 1700, SharedBytesPerCycle = 128,
                 LanesPerCycle = 128, PowersPerCycle = 16;
/// Bytes of four matrices.
constexpr double LoadBytes = 512;
/// Instructions of a score: its scale, greatest, sum, half a conversion; of a
/// mask or a bias, with its address.
constexpr double SlotsPerScore = 5, SlotsPerBias = 12;
/// Of a score that a tanh bends: powers and reciprocals, which are as fast, and
/// other instructions. Counted, not measured.
constexpr double PowersOfCapped = 3, SlotsPerCap = 3;
/// Of each word of f32 that a warp loads: to make tf32 of it, or two of them;
/// products of what is split.
constexpr double SlotsPerWord = 2, SlotsPerSplitWord = 4, SplitProducts = 3;
/// Of the softmax, what products of other warps do not hide: with fewer threads
/// on a multiprocessor than that, and with more.
constexpr int64_t BusyThreads = 256;
constexpr double ShownFew = 0.9, ShownBusy = 0.35;
/// Microseconds of a block's first copies, of a launch, and of a step's barrier
/// with one block on a multiprocessor.
constexpr double EndTime = 1.5, LaunchTime = 2.0, BarrierTime = 0.03;
/// A multiprocessor's share of the second cache, bytes in a microsecond.
constexpr double CacheBytes = 76800;
constexpr double AnySmCount = 100, AnyTflops = 100;
/// What the system keeps of shared memory for each block, and what ptxas takes
/// beyond the registers that are needed.
constexpr int64_t SystemShared = 1024, MoreRegisters = 24;
/// Registers that are to spare in what is ranked: with fewer ptxas 13.0 spills
/// 4 to 40 bytes (heads of 128, 64 keys, 128 queries of a warpgroup).
constexpr int64_t SpareRegisters = 16;
/// More of them where a mask is read and no ptxas is asked: PTX for every chip
/// cannot fall back on the next schedule. Heads of 128 with 277 keys spilled 8
/// to 32 bytes.
constexpr int64_t SpareOfPortable = 8;
constexpr int64_t MostStages = 4, MostThreads = 256;

double rateOf(const AttentionShape &Shape, const target::Target &T,
              double SmCount) {
  double Peak = Shape.ElementBytes == 4 ? T.Cost.Tf32 : T.Cost.Fp16;
  if (Peak <= 0)
    Peak = AnyTflops;
  if (Shape.Split)
    Peak /= SplitProducts;
  // A multiprocessor with tcgen05 has twice wgmma's rate, by tcgen05 alone.
  double Share = T.Can.Tcgen05                        ? SyncShare / 2
                 : T.Compute >= 90 && T.Compute < 100 ? SyncShare
                                                      : 1.0;
  return Peak * 1e6 / SmCount * Share * Efficiency;
}

int64_t residentBlocks(const AttentionSyncSchedule &S,
                       const AttentionShape &Shape, const target::Target &T) {
  int64_t Shared = T.Limit.SharedPerSm / (S.sharedBytes(Shape) + SystemShared);
  int64_t Each = std::min<int64_t>(S.neededRegisters(Shape) + MoreRegisters,
                                   T.Limit.RegistersPerThread + 1);
  int64_t Registers = T.Limit.RegistersPerSm / (S.threads() * Each);
  int64_t Threads = T.Limit.ThreadsPerSm / S.threads();
  return std::max<int64_t>(1, std::min({Shared, Registers, Threads}));
}

AttentionSyncCost costOf(const AttentionSyncSchedule &S,
                         const AttentionShape &Shape, const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double Heads = double(Shape.Batch) * double(Shape.Heads);
  double Blocks =
      std::ceil(double(Shape.Queries) / double(S.TileQueries)) * Heads;
  auto Resident = double(residentBlocks(S, Shape, T));
  auto Depth = double(paddedColumns(Shape.Depth)),
       Width = double(paddedColumns(Shape.Width));
  double Steps = blocksOfKeys(Shape, S.TileQueries, S.TileKeys);
  AttentionSyncCost Cost{S};
  Cost.Tiles = std::max(1.0, std::ceil(Blocks / SmCount));
  double Beside = std::min(Resident, Cost.Tiles);
  bool IsBusy = Beside * double(S.threads()) >= double(BusyThreads);
  Cost.Turns = std::ceil(Cost.Tiles / Resident);
  // A step: its products on the tensor cores, and the groups of four matrices
  // that its warps load for them, beside what copies write.
  double Scores = double(S.TileQueries * S.TileKeys);
  double Operations = 2 * Scores * (Depth + Width);
  double Rows = double(S.WarpgroupQueries) / 64,
         Warps = double(S.threads()) / 32;
  double Loads =
      Warps / 16 *
      (Depth * (double(S.TileKeys) / 16 + (S.HoldsQueries ? 0 : Rows)) +
       Width * double(S.TileKeys) / 16);
  double Copied =
      double(S.TileKeys) * (Depth + Width) * double(Shape.ElementBytes);
  double Loaded = Loads * LoadBytes * double(Shape.ElementBytes) / 2;
  double Tensor = Operations / rateOf(Shape, T, SmCount);
  double Shared =
      (Loaded + Copied) / SharedBytesPerCycle / CyclesPerMicrosecond;
  double Words = 0;
  if (Shape.ElementBytes == 4)
    Words = Loaded / 4 * (Shape.Split ? SlotsPerSplitWord : SlotsPerWord) /
            LanesPerCycle / CyclesPerMicrosecond;
  Cost.Mma = Steps * (std::max({Tensor, Shared, Words, Copied / CacheBytes}) +
                      LesserShown * (std::min(Tensor, Shared) + Words) +
                      (Beside < 2 ? BarrierTime : 0));
  double Powers = Scores / PowersPerCycle / CyclesPerMicrosecond;
  double Slots = Scores * SlotsPerScore / LanesPerCycle / CyclesPerMicrosecond;
  if (Shape.Capped) {
    Powers *= PowersOfCapped;
    Slots *= (SlotsPerScore + SlotsPerCap) / SlotsPerScore;
  }
  Cost.Softmax = Steps * (Powers + Slots) * (IsBusy ? ShownBusy : ShownFew);
  if (Shape.Scored)
    Cost.Score =
        Steps * Scores * SlotsPerBias / LanesPerCycle / CyclesPerMicrosecond;
  Cost.Ends = EndTime + double(S.TileQueries) * (Depth + Width) *
                            double(Shape.ElementBytes) / CacheBytes;
  Cost.Launch = LaunchTime;
  Cost.Total = Cost.Tiles * (Cost.Mma + Cost.Softmax + Cost.Score) +
               Cost.Turns * Cost.Ends + Cost.Launch;
  return Cost;
}

bool isLegal(const AttentionSyncSchedule &S, const AttentionShape &Shape,
             const target::Target &T) {
  bool IsF32 = Shape.ElementBytes == 4;
  uint32_t Kinds = IsF32 ? target::MmaTf32 : target::MmaF16 | target::MmaBf16;
  auto IsHead = [](int64_t Size) {
    return Size >= 8 && Size <= 256 && Size % 8 == 0;
  };
  auto IsOf = [](int64_t Size, std::initializer_list<int64_t> All) {
    return std::find(All.begin(), All.end(), Size) != All.end();
  };
  // Only queries of 16 bits are kept in registers (tile.load_packed).
  return (T.Can.MmaSync & Kinds) == Kinds && T.Can.CpAsync &&
         (Shape.ElementBytes == 2 || (IsF32 && !S.HoldsQueries)) &&
         IsHead(Shape.Depth) && IsHead(Shape.Width) &&
         IsOf(S.WarpgroupQueries, {64, 128}) &&
         IsOf(S.TileQueries, {64, 128, 256}) &&
         S.TileQueries >= S.WarpgroupQueries && S.threads() <= MostThreads &&
         IsOf(S.TileKeys, {32, 64, 128}) && S.Stages >= 1 &&
         S.Stages <= MostStages &&
         S.neededRegisters(Shape) <=
             std::min<int64_t>(T.Limit.RegistersPerThread, 255) &&
         S.threads() * S.neededRegisters(Shape) <= T.Limit.RegistersPerSm &&
         S.sharedBytes(Shape) <= T.Limit.SharedPerBlock;
}

} // namespace

bool schedule::fitsAttentionSync(const AttentionShape &Shape,
                                 const target::Target &T) {
  return !rankAttentionSyncSchedules(Shape, T).empty();
}

std::optional<AttentionSyncCost>
schedule::readAttentionSyncSchedule(const std::string &Text,
                                    const AttentionShape &Shape,
                                    const target::Target &T) {
  AttentionSyncSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "attention_mmasync ", S.TileQueries) ||
      !takeNumber(Rest, "x", S.TileKeys) ||
      !takeNumber(Rest, " warpgroup ", S.WarpgroupQueries) ||
      !takeNumber(Rest, " stages ", S.Stages))
    return std::nullopt;
  S.HoldsQueries = Rest == " queries registers";
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<AttentionSyncCost>
schedule::rankAttentionSyncSchedules(const AttentionShape &Shape,
                                     const target::Target &T) {
  std::vector<AttentionSyncCost> Ranked;
  int64_t Spare = SpareRegisters;
  if (Shape.Scored && T.TheKind == target::Kind::Portable)
    Spare += SpareOfPortable;
  for (int64_t Warpgroup : {128, 64})
    for (int64_t Groups : {1, 2})
      for (int64_t Keys : {64, 128, 32})
        for (int64_t Stages : {2, 1})
          for (bool Holds : {true, false}) {
            AttentionSyncSchedule S{Warpgroup * Groups, Keys, Warpgroup, Stages,
                                    Holds};
            if (isLegal(S, Shape, T) &&
                S.neededRegisters(Shape) + Spare <= T.Limit.RegistersPerThread)
              Ranked.push_back(costOf(S, Shape, T));
          }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const AttentionSyncCost &A, const AttentionSyncCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
