//===- RowSchedule.cpp - Which threads hold which part of a row -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/RowSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

std::string RowSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "rows %ld x %ld threads x %ld x %ld",
                long(Rows), long(Threads), long(Accesses), long(Lanes));
  if (Blocks > 1)
    return std::string(Text) + " cluster " + std::to_string(Blocks);
  return Text;
}

std::string RowCost::str() const {
  char Text[192];
  std::snprintf(Text, sizeof Text,
                "%s: %.2f us = max(%.2f move, %.2f issue, %.0f turns x %.2f)",
                Schedule.str().c_str(), Total, Move, Issue, Turns, Turn);
  return Text;
}

namespace {

/// Share of the peak rate that a copy reaches (H200: 4.1 of 4.8 TB/s).
constexpr double CopyShare = 0.86;
/// Cycles of a load that misses the caches, of a barrier with its way through
/// shared memory, and of one exchange between lanes with what is done to it.
constexpr double MemoryCycles = 900, BarrierCycles = 120, ShuffleCycles = 32;
/// What a cluster's blocks take to meet and to read each other's results, and
/// to start and to end together; an estimate from what such GEMMs take.
constexpr double MeetCycles = 500, ClusterCycles = 600;
/// Of what is not the greatest part, the share that is not hidden behind it.
constexpr double NotHidden = 0.1;
/// Instructions per cycle and multiprocessor, in threads.
constexpr double ThreadsPerCycle = 128;
/// Registers of a thread beside its elements. Each element has one, and half a
/// one for each buffer: what ptxas gave on sm_90a to softmax (2 buffers, 16
/// elements: 55), and to norms with a residual (4 buffers, 16 elements: 93).
constexpr int64_t OtherRegisters = 32;
/// Elements of a thread: more is code that does not end.
constexpr int64_t MostElements = 64;
constexpr int64_t WarpThreads = 32;
/// Threads of a block that holds several rows.
constexpr int64_t SharedBlock = 128;
/// Elements that each block of a cluster walks, at least.
constexpr int64_t LeastOfBlock = 2048;
/// Where a target has no figures of its own.
constexpr double AnySmCount = 100, AnyGBps = 2000, Clock = 1.7e3;

double log2Of(int64_t V) { return std::log2(double(V)); }

int64_t registersOf(const RowSchedule &S, const RowShape &Shape) {
  return OtherRegisters + Shape.ElementRegisters * S.Lanes * S.Accesses *
                              (2 + Shape.Buffers) / 2;
}

RowCost costOf(const RowSchedule &S, const RowShape &Shape,
               const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double GBps = T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps;
  RowCost Cost{S};
  double Elements = double(Shape.Rows) * double(Shape.Length);
  Cost.Move = Elements * double(Shape.BytesRead + Shape.BytesWritten) /
              (GBps * CopyShare * 1e3);
  Cost.Issue = double(Shape.Rows) * double(S.capacity()) *
               double(Shape.Operations) / (SmCount * ThreadsPerCycle * Clock);
  int64_t Threads = S.blockThreads();
  int64_t Resident = std::min<int64_t>(
      {T.Limit.RegistersPerSm / (registersOf(S, Shape) * Threads),
       T.Limit.ThreadsPerSm / Threads, T.Limit.BlocksPerSm});
  double Blocks =
      std::ceil(double(Shape.Rows) / double(S.Rows)) * double(S.Blocks);
  Cost.Turns =
      std::ceil(Blocks / (SmCount * double(std::max<int64_t>(Resident, 1))));
  double Warps = std::max(1.0, double(S.Threads) / WarpThreads);
  double Join = ShuffleCycles * (log2Of(std::min(S.Threads, WarpThreads)) +
                                 std::log2(Warps)) +
                (Warps > 1 ? BarrierCycles : 0);
  double Start = 0;
  if (S.Blocks > 1) {
    Join += MeetCycles + ShuffleCycles * log2Of(S.Blocks);
    Start = ClusterCycles;
  }
  double Compute = double(S.Lanes * S.Accesses * Shape.Operations) * 2;
  // A block that is alone has no other to load while it computes.
  double Bytes = double(S.Rows * Shape.Length) / double(S.Blocks) *
                 double(Shape.BytesRead + Shape.BytesWritten);
  double Transfer = Bytes * SmCount / (GBps * CopyShare * 1e3);
  Cost.Turn =
      (MemoryCycles + Start + Join * double(Shape.Reductions) + Compute) /
          Clock +
      Transfer / 2;
  double Parts[] = {Cost.Move, Cost.Issue, Cost.Turns * Cost.Turn};
  double Greatest = *std::max_element(std::begin(Parts), std::end(Parts));
  Cost.Total =
      Greatest + NotHidden * (Parts[0] + Parts[1] + Parts[2] - Greatest);
  return Cost;
}

} // namespace

std::vector<RowCost> schedule::rankRowSchedules(const RowShape &Shape,
                                                const target::Target &T) {
  std::vector<RowCost> Ranked;
  int64_t Length = std::max<int64_t>(Shape.Length, 1);
  auto Offer = [&](int64_t Threads, int64_t Blocks) {
    RowSchedule S;
    S.Lanes = Shape.Lanes;
    S.Threads = Threads;
    S.Rows = std::max<int64_t>(SharedBlock / Threads, 1);
    S.Blocks = Blocks;
    int64_t OfAll = S.Lanes * S.rowThreads();
    // Threads beyond one access each only idle.
    if ((S.rowThreads() > 1 && OfAll / 2 >= Length) ||
        (Blocks > 1 && S.Rows > 1))
      return;
    S.Accesses = (Length + OfAll - 1) / OfAll;
    int64_t Registers = registersOf(S, Shape);
    if (S.Lanes * S.Accesses <= MostElements &&
        Registers <= T.Limit.RegistersPerThread &&
        Registers * S.blockThreads() <= T.Limit.RegistersPerSm)
      Ranked.push_back(costOf(S, Shape, T));
  };
  for (int64_t Blocks = 1; Blocks <= std::max(T.Can.ClusterBlocks, 1);
       Blocks *= 2)
    for (int64_t Threads = 1; Threads <= T.Limit.ThreadsPerBlock; Threads *= 2)
      Offer(Threads, Blocks);
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const RowCost &A, const RowCost &B) { return A.Total < B.Total; });
  return Ranked;
}

int64_t schedule::blocksOfLongRow(const RowShape &Shape,
                                  const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  int64_t Blocks = 1;
  while (2 * Blocks <= T.Can.ClusterBlocks &&
         double(Shape.Rows * Blocks) < SmCount &&
         Shape.Length >= 2 * Blocks * LeastOfBlock)
    Blocks *= 2;
  return Blocks;
}
