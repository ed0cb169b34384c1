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
  double Blocks = std::ceil(double(Shape.Rows) / double(S.Rows));
  Cost.Turns =
      std::ceil(Blocks / (SmCount * double(std::max<int64_t>(Resident, 1))));
  double Warps = std::max(1.0, double(S.Threads) / WarpThreads);
  double Join = ShuffleCycles * (log2Of(std::min(S.Threads, WarpThreads)) +
                                 std::log2(Warps)) +
                (Warps > 1 ? BarrierCycles : 0);
  double Compute = double(S.Lanes * S.Accesses * Shape.Operations) * 2;
  // A block that is alone has no other to load while it computes.
  double Bytes = double(S.Rows * Shape.Length) *
                 double(Shape.BytesRead + Shape.BytesWritten);
  double Transfer = Bytes * SmCount / (GBps * CopyShare * 1e3);
  Cost.Turn =
      (MemoryCycles + Join * double(Shape.Reductions) + Compute) / Clock +
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
  for (int64_t Threads = 1; Threads <= T.Limit.ThreadsPerBlock; Threads *= 2) {
    RowSchedule S;
    S.Lanes = Shape.Lanes;
    S.Threads = Threads;
    S.Rows = std::max<int64_t>(SharedBlock / Threads, 1);
    S.Accesses = (Length + S.Lanes * Threads - 1) / (S.Lanes * Threads);
    // Threads beyond one access each only idle.
    if (Threads > 1 && S.Lanes * Threads / 2 >= Length)
      break;
    int64_t Registers = registersOf(S, Shape);
    if (S.Lanes * S.Accesses <= MostElements &&
        Registers <= T.Limit.RegistersPerThread &&
        Registers * S.blockThreads() <= T.Limit.RegistersPerSm)
      Ranked.push_back(costOf(S, Shape, T));
  }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const RowCost &A, const RowCost &B) { return A.Total < B.Total; });
  return Ranked;
}
