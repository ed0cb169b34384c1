//===- DecodeSchedule.cpp - How few queries stream their keys -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/DecodeSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t DecodeSchedule::sharedBytes(const DecodeShape &Shape) const {
  // The warps' parts, and one more: the block's, which its cluster reads.
  int64_t Parts = (Warps + 1) * partBytes(Shape);
  return std::max(Warps * Stages * stepBytes(Shape), Parts);
}

int64_t DecodeSchedule::neededRegisters(const DecodeShape &Shape) const {
  // Queries in 16 bits, sums in f32, scores; room for what is loaded of a
  // step, addresses, and the rows' totals.
  constexpr int64_t Room = 64;
  int64_t Halves = Rows / 8, Chunk = 4 * Shape.pieceElements();
  return Halves * ((Shape.Depth + Chunk - 1) / Chunk * Chunk / 8 +
                   paddedWidth(Shape) / 4) +
         Keys / 2 + Room;
}

int64_t DecodeSchedule::resident(const DecodeShape &Shape,
                                 const target::Target &T) const {
  constexpr int64_t SystemBytes = 1024; // of shared memory, for each block
  int64_t Count = T.Limit.BlocksPerSm;
  Count = std::min<int64_t>(Count, T.Limit.ThreadsPerSm / threads());
  Count = std::min<int64_t>(Count, T.Limit.SharedPerSm /
                                       (sharedBytes(Shape) + SystemBytes));
  return std::min(Count, T.Limit.RegistersPerSm /
                             (neededRegisters(Shape) * threads()));
}

std::string DecodeSchedule::str() const {
  char Text[128];
  int End = std::snprintf(
      Text, sizeof Text,
      "decode %ld rows x %ld keys x %ld warps stages %ld cluster %ld",
      long(Rows), long(Keys), long(Warps), long(Stages), long(Blocks));
  if (Splits > 1)
    std::snprintf(Text + End, sizeof Text - size_t(End), " split %ld",
                  long(Splits));
  return Text;
}

std::string DecodeCost::str() const {
  char Text[224];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.2f rounds x %.1f stream + %.1f overhead",
                Schedule.str().c_str(), Total, Rounds, Stream, Overhead);
  return Text;
}

namespace {

/// Share of the peak rate that keys and values come at (H200: 4.4 of 4.8 TB/s
/// with 512 streams of 4096 keys).
constexpr double StreamShare = 0.92;
/// Microseconds until a copy is there, while memory is busy: clusters of 8 and
/// 4 blocks with 64 KB of each on the way take 1.3 and 1.0.
constexpr double Latency = 1.1;
/// What a warp does with a step: microseconds, and bytes a microsecond. Two
/// warps a multiprocessor, 8 KB steps: 36 KB a microsecond.
constexpr double StepMicroseconds = 0.25, StepRate = 36e3;
/// Microseconds of a launch; of a block's start and end, which others of its
/// multiprocessor hide in part; of the joining in a cluster, for each doubling.
constexpr double StartMicroseconds = 2.5, BlockMicroseconds = 1.5,
                 ClusterMicroseconds = 0.8;
/// Counters that are cleared and counted, and what the last block takes for a
/// part, four columns of a row a thread (H200: one stream of 32768 keys in 32,
/// 64 and 128 parts, by 128 and by 256 threads).
constexpr double SplitMicroseconds = 4.4, PartMicroseconds = 0.083;
constexpr double AnySmCount = 100, AnyGBps = 2000;

/// The rate of two that bound each other: near the lesser, below it where they
/// are alike.
double joined(double A, double B) {
  return std::pow(std::pow(A, -4) + std::pow(B, -4), -0.25);
}

DecodeCost costOf(const DecodeSchedule &S, const DecodeShape &Shape,
                  const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double Rate =
      (T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps) * StreamShare * 1e3;
  DecodeCost Cost{S};
  double Tiles = std::ceil(double(Shape.Rows) / double(S.Rows));
  double Blocks = double(Shape.Streams) * Tiles * double(S.Blocks * S.Splits);
  double Resident = double(S.resident(Shape, T));
  // Blocks that run together share what there is; the last ones have more.
  double Mean = Blocks / SmCount;
  Cost.Rounds = Mean < 1 ? 1 : std::ceil(Mean) / Mean;
  if (Mean > Resident)
    Cost.Rounds = 1 + (Cost.Rounds - 1) / 2;
  double Here = std::max(std::min(std::ceil(Mean), Resident), 1.0);
  // A warp waits for memory, or memory for its arithmetic.
  double Step = double(S.stepBytes(Shape));
  double Turn = std::max(Latency / double(S.Stages - 1),
                         StepMicroseconds + Step / StepRate);
  double Asked =
      Step / Turn * Here * double(S.Warps) * SmCount * std::min(Mean, 1.0);
  Rate = joined(Rate, Asked);
  double Steps = double(Shape.Keys) / double(S.stride());
  double Waste = std::max(std::ceil(Steps) / std::max(Steps, 1e-6), 1.0);
  Cost.Stream = double(Shape.Streams) * double(Shape.Keys) *
                double((Shape.Depth + Shape.Width) * Shape.ElementBytes) /
                Rate * std::sqrt(Waste);
  // What is stored goes through memory, too. Tiles of rows read again what the
  // first has brought to the second cache.
  Cost.Stream *= 1 + (Shape.Appends ? 1 : 0) + (Tiles - 1) / 2;
  double Waves = std::ceil(Blocks / (SmCount * Resident));
  Cost.Overhead = StartMicroseconds + BlockMicroseconds * Waves / Resident +
                  ClusterMicroseconds * std::log2(double(S.Blocks));
  if (S.Splits > 1) {
    int64_t Pieces = S.Rows * Shape.Width / 4; // of 16 bytes
    Cost.Overhead +=
        SplitMicroseconds + PartMicroseconds * double(S.Splits) *
                                std::ceil(double(Pieces) / double(S.threads()));
  }
  Cost.Total = Cost.Rounds * Cost.Stream + Cost.Overhead;
  return Cost;
}

bool isLegal(const DecodeSchedule &S, const DecodeShape &Shape,
             const target::Target &T) {
  return S.sharedBytes(Shape) <= T.Limit.SharedPerBlock &&
         S.neededRegisters(Shape) <= T.Limit.RegistersPerThread &&
         S.Blocks <= T.Can.ClusterBlocks && S.resident(Shape, T) >= 1 &&
         (S.Splits == 1 ||
          (Shape.MaySplit && Shape.MostStreams *
                                     ((Shape.MostRows + S.Rows - 1) / S.Rows) *
                                     S.Splits <=
                                 MostSplitBlocks));
}

} // namespace

std::vector<DecodeCost> schedule::rankDecodeSchedules(const DecodeShape &Shape,
                                                      const target::Target &T) {
  std::vector<DecodeCost> Ranked;
  constexpr uint32_t Both = target::MmaF16 | target::MmaBf16;
  int64_t Piece = Shape.pieceElements();
  auto IsHead = [&](int64_t Size) {
    return Size >= 8 && Size <= 256 && Size % Piece == 0;
  };
  // Codes are widened by an instruction of their own.
  bool IsWidened = Shape.ElementBytes > 1 || (T.Can.MmaSync & target::MmaFp8);
  if ((T.Can.MmaSync & Both) != Both || !T.Can.CpAsync || !IsWidened ||
      !IsHead(Shape.Depth) || !IsHead(Shape.Width))
    return Ranked;
  auto AddWithWarps = [&](int64_t Warps) {
    for (int64_t Rows : {8, 16})
      for (int64_t Keys : {16, 32})
        for (int64_t Stages : {3, 2, 4})
          for (auto [Blocks, Splits] :
               {std::pair(1, 1), std::pair(2, 1), std::pair(4, 1),
                std::pair(8, 1), std::pair(1, 8), std::pair(1, 16),
                std::pair(1, 32), std::pair(1, 64)}) {
            DecodeSchedule S{Rows, Keys, Warps, Stages, Blocks, Splits};
            if (isLegal(S, Shape, T))
              Ranked.push_back(costOf(S, Shape, T));
          }
  };
  AddWithWarps(4);
  AddWithWarps(8);
  // Two leave half of a multiprocessor's schedulers idle: 1.04 to 1.40 times as
  // long where it was measured. Wide heads on little shared memory need them.
  if (Ranked.empty())
    AddWithWarps(2);
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const DecodeCost &A, const DecodeCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
