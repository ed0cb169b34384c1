//===- LoopSchedule.cpp - Who runs which part of a loop -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/LoopSchedule.h"

#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/SyncCosts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

std::string LoopSchedule::str() const {
  std::string Text = "loop";
  if (Axis >= 0)
    Text += " axis " + std::to_string(Axis) + " x " + std::to_string(Tile);
  return Text + " " + std::to_string(Threads) + " threads";
}

std::string LoopCost::str() const {
  char Text[256];
  std::snprintf(Text, sizeof(Text),
                "%s: %.1f us = %lld x (%.2f load + %.2f compute + %.2f wait) x "
                "%lld waves",
                Schedule.str().c_str(), Total, static_cast<long long>(Steps),
                Load, Compute, Wait, static_cast<long long>(Waves));
  return Text;
}

int64_t LoopSchedule::lanes(const LoopStage &Stage) const {
  /// Terms of a thread that are worth the barriers of a whole block's sum.
  constexpr int64_t LeastOfBlock = 2;
  if (!Stage.Splits)
    return 1;
  int64_t Elements = Stage.Extent.elements(Axis, Tile), Lanes = 1;
  while (Lanes < WarpLanes && Elements * Lanes * 2 <= Threads &&
         Lanes * 2 <= Stage.Terms)
    Lanes *= 2;
  if (Elements <= Threads / (2 * WarpLanes) &&
      Stage.Terms >= LeastOfBlock * Threads)
    return Threads;
  return Lanes;
}

int64_t LoopSchedule::sharedBytes(const LoopShape &Shape) const {
  int64_t Bytes = PartialBytes;
  for (const LoopExtent &One : Shape.Kept)
    Bytes += (One.elements(Axis, Tile) * One.ElementBytes + 15) / 16 * 16;
  return Bytes;
}

int64_t LoopSchedule::blocks(const LoopShape &Shape) const {
  int64_t Blocks = 1;
  for (size_t I = 0; I < Shape.Axes.size(); ++I)
    Blocks *=
        int64_t(I) == Axis ? (Shape.Axes[I] + Tile - 1) / Tile : Shape.Axes[I];
  return std::max<int64_t>(Blocks, 1);
}

namespace {

/// Cycles of a microsecond, of a load that the second cache answers, of a
/// barrier with the loads of shared memory after it, and of one exchange of
/// lanes. All are of Hopper, rounded.
constexpr double Clock = 1.6e3, LoadCycles = 600, WaitCycles = 60,
                 ExchangeCycles = 30;
/// Cycles from one term of a sum to the next one, with a load of shared memory
/// for it; loops are unrolled, so that loads overlap.
constexpr double TermCycles = 12;
/// Instructions that a multiprocessor starts in a cycle, of threads. An
/// operation takes its index arithmetic as well.
constexpr double ThreadsOfCycle = 128, InstructionsOfOperation = 2;
/// Bytes of a cycle that one multiprocessor reads from the second cache.
constexpr double BytesOfCycle = 64;
/// f32 of a sector, which is read as a whole.
constexpr double SectorElements = 8;
constexpr double StartMicroseconds = 5;
constexpr int64_t AnySmCount = 100;

LoopCost costOf(const LoopSchedule &S, const LoopShape &Shape,
                const target::Target &T) {
  LoopCost Cost{S};
  Cost.Steps = Shape.Steps;
  int64_t SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  int64_t Bytes = std::max<int64_t>(S.sharedBytes(Shape), 1);
  int64_t Resident = std::clamp<int64_t>(
      std::min(int64_t(T.Limit.SharedPerSm) / (Bytes + 1024),
               int64_t(T.Limit.ThreadsPerSm) / S.Threads),
      1, std::max<int64_t>(T.Limit.BlocksPerSm, 1));
  int64_t Blocks = S.blocks(Shape);
  Cost.Waves = (Blocks + SmCount * Resident - 1) / (SmCount * Resident);
  double BlocksOfSm = double(
      std::clamp<int64_t>((Blocks + SmCount - 1) / SmCount, 1, Resident));
  double Instructions = 0, Read = 0, Latency = 0;
  unsigned Levels = 0, Loading = 0, Ahead = 0;
  for (const LoopStage &Stage : Shape.Stages) {
    double Elements = double(Stage.Extent.elements(S.Axis, S.Tile)),
           Terms = double(Stage.Terms), Lanes = double(S.lanes(Stage));
    // Blocks that have few neighbouring elements read sectors for each.
    double Together = Stage.Extent.Innermost < 0         ? SectorElements
                      : Stage.Extent.Innermost == S.Axis ? double(S.Tile)
                                                         : 1;
    Read += Elements * Terms * double(Stage.Loads) * 4 *
            std::max(1.0, SectorElements / Together);
    double Rounds = std::ceil(Elements * Lanes / double(S.Threads));
    // Threads without an element wait in their warps.
    Instructions += Rounds * double(S.Threads) * std::ceil(Terms / Lanes) *
                    double(Stage.Operations) * InstructionsOfOperation;
    Latency +=
        Rounds * (std::ceil(Terms / Lanes) * TermCycles +
                  std::log2(std::min<double>(Lanes, LoopSchedule::WarpLanes)) *
                      ExchangeCycles +
                  (Lanes > LoopSchedule::WarpLanes
                       ? 2 * WaitCycles + Lanes / 32 * TermCycles
                       : 0));
    Levels = std::max(Levels, Stage.Level);
    bool IsAhead = !Shape.EndsByData && Rounds <= LoopSchedule::MostRounds &&
                   Terms / Lanes <= LoopSchedule::MostTermsWritten;
    if (Stage.Loads)
      (IsAhead ? Ahead : Loading) |= 1u << std::min(Stage.Level, 31u);
  }
  Cost.Compute =
      std::max(Latency, Instructions * BlocksOfSm / ThreadsOfCycle) / Clock;
  Cost.Wait =
      double(Levels) * (WaitCycles + double(S.Threads) / 32 * 2) / Clock;
  double Busy = (Cost.Compute + Cost.Wait) * Clock;
  Cost.Load = (double(__builtin_popcount(Loading)) * LoadCycles +
               std::max(Ahead ? LoadCycles - Busy : 0,
                        Read * BlocksOfSm / BytesOfCycle)) /
              Clock;
  Cost.Total = StartMicroseconds + double(Cost.Steps) * double(Cost.Waves) *
                                       (Cost.Load + Cost.Compute + Cost.Wait);
  return Cost;
}

} // namespace

double schedule::costOfSteps(const LoopShape &Shape, int64_t Launches,
                             const target::Target &T) {
  double Bytes = 0;
  for (const LoopExtent &One : Shape.Carried) {
    double Elements = double(One.Whole);
    for (size_t Axis = 0; Axis < Shape.Axes.size(); ++Axis)
      if (One.HasAxis[Axis])
        Elements *= double(Shape.Axes[Axis]);
    Bytes += 2 * Elements * double(One.ElementBytes);
  }
  return double(Shape.Steps) *
         (double(Launches) * sync::LaunchTime + Bytes / bytesOfMicrosecond(T));
}

std::vector<LoopCost> schedule::rankLoopSchedules(const LoopShape &Shape,
                                                  const target::Target &T,
                                                  std::string *Why) {
  std::vector<LoopCost> Ranked;
  int64_t Least = INT64_MAX;
  auto Try = [&](LoopSchedule S) {
    int64_t Bytes = S.sharedBytes(Shape);
    Least = std::min(Least, Bytes);
    if (Bytes <= T.Limit.SharedPerBlock && S.blocks(Shape) <= T.Limit.GridX)
      Ranked.push_back(costOf(S, Shape, T));
  };
  for (int64_t Threads : {32, 64, 128, 256, 512, 1024}) {
    if (Threads > T.Limit.ThreadsPerBlock)
      continue;
    Try({-1, 1, Threads});
    for (size_t Axis = 0; Axis < Shape.Axes.size(); ++Axis)
      for (int64_t Tile = 2; Tile <= 64 && Tile < 2 * Shape.Axes[Axis];
           Tile *= 2)
        Try({int64_t(Axis), Tile, Threads});
  }
  if (Ranked.empty() && Why)
    *Why = "what it carries takes " + std::to_string((Least + 1023) / 1024) +
           " KiB in each block, and " + std::string(T.Name) + " has " +
           std::to_string(T.Limit.SharedPerBlock / 1024) +
           " KiB of shared memory";
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [&](const LoopCost &A, const LoopCost &B) {
                     if (A.Total != B.Total)
                       return A.Total < B.Total;
                     // Adjacent indices in one block are read together.
                     auto Adjacent = [](const LoopCost &Of) {
                       return std::min<int64_t>(Of.Schedule.Tile, 8);
                     };
                     if (Adjacent(A) != Adjacent(B))
                       return Adjacent(A) > Adjacent(B);
                     return A.Schedule.blocks(Shape) > B.Schedule.blocks(Shape);
                   });
  return Ranked;
}
