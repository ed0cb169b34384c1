//===- BlackwellSchedule.cpp - Products on tcgen05 ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

int64_t BlackwellSchedule::tensorMemoryColumns() const {
  return int64_t(
      std::bit_ceil(uint64_t(firstScaleColumn() + Stages * ScaleColumns)));
}

int64_t BlackwellSchedule::stageBytes(int64_t ElementBytes) const {
  constexpr int64_t BytesOfColumn = 128; // a word of 128 rows has four
  return (TileM + ownColumns()) * TileK * ElementBytes +
         ScaleColumns * BytesOfColumn;
}

std::string BlackwellSchedule::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text, "gemm %ldx%ldx%ld stages %ld group_m %ld%s",
                long(TileM * ClusterM), long(TileN), long(TileK), long(Stages),
                long(GroupM), isPair() ? " pair" : "");
  return Text;
}

std::string BlackwellCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                Schedule.accumulators() == 1
                    ? ": %.1f us = %.0f waves x (max(%.2f mma, %.2f load) + "
                      "%.2f epilogue) + %.2f epilogue + %.2f launch"
                    : ": %.1f us = %.0f waves x max(%.2f mma, %.2f load, %.2f "
                      "epilogue) + %.2f epilogue + %.2f launch",
                Total, Waves, Mma, Load, Epilogue, Epilogue, Launch);
  return Schedule.str() + Text;
}

namespace {

/// Operations (a multiply-add is two) of 16-bit numbers per cycle and
/// multiprocessor: the peak of a B200 at its 1.86 GHz.
constexpr double OperationsPerCycle = 8192;

/// The same of what is multiplied, as the chip's rates are: of FP8 twice as
/// many. Two elements of FP4 in a byte count as one. Of tf32 half as many: an
/// instruction has 32 bytes of K in either type, and a B200's rates say so,
/// too.
double operationsPerCycle(const GemmShape &Shape, const target::Target &T) {
  double OfFp8 = OperationsPerCycle * T.Cost.Fp8 / T.Cost.Fp16;
  if (Shape.IsFp4)
    return OfFp8 * T.Cost.Fp4 / (2 * T.Cost.Fp8);
  return Shape.ElementBytes == 1   ? OfFp8
         : Shape.ElementBytes == 4 ? OperationsPerCycle / 2
                                   : OperationsPerCycle;
}
// Nothing here was measured on a chip with tcgen05: the rest is what an H200
// showed, until somebody does.
using hopper::BarrierRoom, hopper::CacheBytesPerCycle, hopper::MinStages,
    hopper::EpilogueCycles, hopper::LanesPerCycle, hopper::LinesPerCycle,
    hopper::MeetCycles, hopper::MaxStages, hopper::LaunchCycles;
/// Instructions of an epilogue that `EpilogueCycles` has room for: a bias and
/// an activation.
constexpr double UsualOperations = 2;
/// Bytes of a residual, or of RoPE's angles, that a cycle brings beside all
/// else: each thread reads its own row, so that a piece of 16 bytes is a line
/// of the first cache (an estimate: two of them in a cycle).
constexpr double RowBytesPerCycle = 32;
/// Columns of one store where a thread has each element's counterpart as well,
/// of a gate or of RoPE: with 64 of both, biases or angles beside them spill 24
/// to 508 bytes (ptxas 13.0).
constexpr int64_t PairedColumns = 32;
/// Tables of RoPE: cosines and sines.
constexpr double AngleTables = 2;

/// Rows of a block's tensor memory.
constexpr int64_t BlockRows = 128;
/// Columns of one instruction; those of B that a block of a pair copies are
/// whole lines of 64.
constexpr int64_t MaxN = 256, ColumnStep = 64, PairColumnStep = 128;
/// Rows whose block scales are copied together: a tile's columns begin at them.
constexpr int64_t PanelRows = 128, WordBytes = 4;

int64_t columnStep(const BlackwellSchedule &S, const BlackwellShape &Shape) {
  return Shape.BytesOfScale ? PanelRows
         : S.isPair()       ? PairColumnStep
                            : ColumnStep;
}

/// Columns of tensor memory for the scales of a stage: a word of 128 rows
/// has 4.
int64_t scaleColumns(const BlackwellSchedule &S, const BlackwellShape &Shape) {
  if (!Shape.BytesOfScale)
    return 0;
  int64_t Words = S.TileK / (Shape.BytesOfScale * WordBytes);
  return Words * 4 * (1 + S.TileN / PanelRows);
}

int64_t roomForStages(const BlackwellSchedule &S, const BlackwellShape &Shape,
                      const target::Target &T) {
  int64_t Staging =
      S.TileM * S.partColumns() * StagingBuffers * Shape.ResultBytes;
  // Stages begin at whole patterns of the swizzle, the first one too, which an
  // address in front of it costs.
  constexpr int64_t PatternBytes = 1024;
  int64_t Lost = S.ScaleColumns ? PatternBytes : 0;
  int64_t Stage = (S.stageBytes(Shape.ElementBytes) + PatternBytes - 1) /
                  PatternBytes * PatternBytes;
  return (T.Limit.SharedPerBlock - BarrierRoom - Staging - Lost) / Stage;
}

int64_t mostPartColumns(const BlackwellShape &Shape) {
  return Shape.Products > 1 || Shape.RotateHalf ? PairedColumns
                                                : StagingColumns;
}

/// Of several GEMMs each has whole lines of a block's columns of B, which are
/// whole parts of the epilogue.
bool isLegalShare(const BlackwellSchedule &S, const BlackwellShape &Shape) {
  return Shape.Products == 1 ||
         S.ownColumns() % (Shape.Products * ColumnStep) == 0;
}

/// Columns that change places are in one tile, and in one part of the epilogue
/// or in two.
bool keepsPairs(const BlackwellSchedule &S, const BlackwellShape &Shape) {
  int64_t Head = 2 * Shape.RotateHalf;
  return !Head || (Shape.RotateHalf <= MaxRotateHalf && S.TileN % Head == 0 &&
                   (S.partColumns() % Head == 0 ||
                    Shape.RotateHalf % S.partColumns() == 0));
}

bool isLegal(const BlackwellSchedule &S, const BlackwellShape &Shape,
             const target::Target &T) {
  bool Blocks =
      S.ClusterM == 1 || (S.ClusterM == 2 && T.Can.ClusterBlocks >= 2);
  // Whose shared memory tcgen05.cp of a pair reads is not confirmed.
  if (Shape.BytesOfScale && S.isPair())
    return false;
  if (!isLegalShare(S, Shape) || !keepsPairs(S, Shape))
    return false;
  int64_t Step = columnStep(S, Shape);
  return T.Can.Tcgen05 && Blocks && S.TileM == BlockRows && S.TileN >= Step &&
         S.TileN <= MaxN && S.TileN % Step == 0 &&
         S.tensorMemoryColumns() <= T.Limit.TensorMemoryColumns &&
         S.TileK == Shape.StageLine / Shape.ElementBytes &&
         S.Stages >= MinStages && S.Stages <= MaxStages &&
         S.Stages <= roomForStages(S, Shape, T) && S.GroupM >= 1 &&
         S.GroupM <= INT32_MAX;
}

/// Cycles of a tile's way out of tensor memory. What is computed counts for
/// gates and RoPE alone, as in the costs of mma.sync, which these compete with.
double epilogueCycles(const BlackwellSchedule &S, const BlackwellShape &Shape) {
  double Columns = double(S.TileN) / double(Shape.Products),
         Results = double(S.TileM) * Columns,
         Read = double(Shape.EpilogueBytes), Operations = 0;
  if (Shape.RotateHalf)
    Read += AngleTables * double(Shape.ResultBytes);
  if (Shape.RotateHalf || Shape.Products > 1)
    Operations = std::max(Shape.EpilogueOperations - UsualOperations, 0.0);
  // Of bytes there are fewer stores, but as many sums to read.
  double Stores = double(std::max<int64_t>(Shape.ResultBytes, 2)) / 2;
  return EpilogueCycles * Columns / StagingColumns * Stores +
         Results * Operations / LanesPerCycle +
         Results * Read / RowBytesPerCycle;
}

BlackwellCost costOf(const BlackwellSchedule &S, const BlackwellShape &Shape,
                     const target::Target &T) {
  // In floating point: sizes of which nothing is known may be huge.
  auto Ceil = [](double A, double B) { return std::ceil(A / B); };
  double Tiles = Ceil(double(Shape.M), double(S.TileM * S.ClusterM)) *
                 Ceil(double(Shape.N), double(S.TileN)) * double(Shape.Batch);
  double Steps = Ceil(double(Shape.K), double(S.TileK));
  double PerMicrosecond =
      T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
  BlackwellCost Cost{S};
  int64_t AtOnce = T.Cost.SmCount / S.blocks();
  Cost.Waves = Ceil(Tiles, double(AtOnce));
  Cost.Mma = Steps * double(S.TileM * S.TileN * S.TileK) * 2 /
             operationsPerCycle(Shape, T) / PerMicrosecond;
  double Lines = (double(S.TileM * Shape.LinesOfA) +
                  double(S.ownColumns() * Shape.LinesOfB)) *
                 double(S.TileK * Shape.ElementBytes) / CacheLineBytes;
  Cost.Load =
      Steps *
      std::max(double(S.stageBytes(Shape.ElementBytes)) / CacheBytesPerCycle,
               Lines / LinesPerCycle) /
      PerMicrosecond;
  Cost.Epilogue = epilogueCycles(S, Shape) / PerMicrosecond;
  Cost.Launch = (LaunchCycles + (S.isPair() ? MeetCycles : 0)) / PerMicrosecond;
  // One accumulator is stored before the next tile's is begun.
  double Tile = S.accumulators() == 1
                    ? std::max(Cost.Mma, Cost.Load) + Cost.Epilogue
                    : std::max({Cost.Mma, Cost.Load, Cost.Epilogue});
  Cost.Total = Cost.Waves * Tile + Cost.Epilogue + Cost.Launch;
  return Cost;
}

} // namespace

std::optional<BlackwellCost>
schedule::readBlackwellSchedule(const std::string &Text,
                                const BlackwellShape &Shape,
                                const target::Target &T) {
  BlackwellSchedule S;
  std::string_view Rest = Text;
  int64_t M = 0;
  if (!takeNumber(Rest, "gemm ", M) || !takeNumber(Rest, "x", S.TileN) ||
      !takeNumber(Rest, "x", S.TileK) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " group_m ", S.GroupM))
    return std::nullopt;
  S.ClusterM = Rest == " pair" ? 2 : 1;
  S.TileM = M / S.ClusterM;
  S.ScaleColumns = scaleColumns(S, Shape);
  S.MostPartColumns = mostPartColumns(Shape);
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<BlackwellCost>
schedule::rankBlackwellSchedules(const BlackwellShape &Shape,
                                 const target::Target &T) {
  std::vector<BlackwellCost> Ranked;
  // Of equals the first is taken: one block before two.
  for (int64_t Blocks : {1, 2})
    for (int64_t N = ColumnStep; N <= MaxN; N += ColumnStep) {
      BlackwellSchedule S;
      S.TileM = BlockRows;
      S.TileN = N;
      S.TileK = Shape.StageLine / Shape.ElementBytes;
      S.ClusterM = Blocks;
      S.ScaleColumns = scaleColumns(S, Shape);
      S.MostPartColumns = mostPartColumns(Shape);
      // Blocks that run together cover about a square.
      double Square = std::sqrt(double(T.Cost.SmCount) / double(Blocks) *
                                double(N) / double(BlockRows * Blocks));
      S.GroupM = std::max<int64_t>(std::lround(Square), 1);
      S.Stages = std::min(roomForStages(S, Shape, T), MaxStages);
      if (isLegal(S, Shape, T))
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const BlackwellCost &A, const BlackwellCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
