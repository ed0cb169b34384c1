//===- GemvSchedule.cpp - How a product of few rows streams its weights ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/GemvSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

std::string GemvSchedule::str() const {
  char Text[96];
  std::snprintf(
      Text, sizeof Text, "gemv %s%ldx%ld warps %ld stages %ld tiles %ld",
      !hasCodes()       ? ""
      : HasFloatCodes   ? "fp8 "
      : WeightBits == 4 ? "int4 "
                        : "int8 ",
      long(columns()), long(Depth), long(Warps), long(Stages), long(Tiles));
  return Text;
}

std::string GemvCost::str() const {
  char Text[192];
  std::snprintf(Text, sizeof Text,
                "%s: %.2f us = %.2f stream x %.2f fullest + %.2f overhead",
                Schedule.str().c_str(), Total, Stream, Fullest, Overhead);
  return Text;
}

namespace {

/// Share of the peak rate that a copy reaches (H200: 4.1 of 4.8 TB/s).
constexpr double CopyShare = 0.86;
// Constants below without another source: what a search over 350 timings of 24
// shapes on an H200 gave, by prototypes in CUDA C++, each with up to 30
// schedules; those that it chooses took 2 % longer than the best on average.

/// Bytes that a multiprocessor must have on the way to keep memory busy.
constexpr double BytesAhead = 51e3;
/// How much more than its share of memory's rate a multiprocessor can draw,
/// where K is contiguous and where columns are; beyond the first it must
/// have more bytes on the way.
constexpr double MostDrawn = 1.24, MostDrawnAlongColumns = 2;
/// Cycles of a warp's turn with a stage beside its products, and of the
/// products of 8 columns and 32 elements of K; those that ldmatrix transposes
/// take longer.
constexpr double TurnCycles = 500, ProductCycles = 84, TransposedProducts = 2.3,
                 Clock = 1.7e3;
/// What lines of 64 bytes and of less cost: requests of memory have 64. Those
/// of 16, half of what the second cache gives at a time, only halves of tiles
/// have: 15.8 us for 12.6 MB where lines of 32 took 11.8, and of 64 10.5.
constexpr double HalfLines = 1.2, ShortLines = 1.8, HalfSectors = 3;
// Those of contiguous columns alone: 99 timings of this kernel, 12 shapes on an
// H200, 7 to 10 schedules each; what they choose took 1 % longer than the best
// on average, 3 % at most.
/// How bounds join: 6 is nearly their maximum.
constexpr double Sharpness = 6;
/// Microseconds of a kernel's start, of a block behind another, and of joining
/// a tile's sums, for which copies run on.
constexpr double StartMicroseconds = 2, BlockMicroseconds = 1.25,
                 ReduceMicroseconds = 0.22;
/// The share of the rows' way through the second cache that is not hidden.
constexpr double RowsNotHidden = 0.2;
/// Rate of the second cache over that of memory, for the rows that every tile
/// reads.
constexpr double CacheOverMemory = 1.3;
constexpr double AnySmCount = 100, AnyGBps = 2000;
constexpr int64_t ElementBytes = 2;
/// Elements of the sum that a block takes at once: more are wasted at its end.
constexpr int64_t MostStep = 512;
/// The same of codes, of which a stage has more.
constexpr int64_t MostStepOfCodes = 2048;
/// Of codes: bytes of a tile of 8 columns.
constexpr int64_t TileBytes = 512;
// Of codes: 600 timings of 22 shapes of 1 to 16 rows on an H200, up to 50
// schedules each. What they choose took 1.5 % longer than the best on average,
// 5.5 % at most.
/// Cycles in which a scheduler does nothing else: of a stage, and of one
/// instruction's columns, 8 or 16, over 32 elements of K.
constexpr double IssuedOfStage = 35, IssuedOfColumns = 32;
/// Cycles of a warp's turn with a stage, by the same parts.
constexpr double CodesTurnCycles = 245, CodesColumnCycles = 37;
/// Bytes that a multiprocessor must have on the way. With 30 KB and more the
/// timings show no difference; this is a guess for less.
constexpr double CodesBytesAhead = 20e3;
/// Of a start. With it, both kinds of weights differ by what was measured:
/// 5.9 and 21 us for 4096 x 4096 and 4096 x 14336 with 4 bits.
constexpr double CodesStartMicroseconds = 1.3;
/// Turns for which a block waits before its first bytes and after its last.
constexpr double TurnsAlone = 1.75;
/// The share of memory's rate that one multiprocessor draws at most; how bounds
/// join; a further turn of blocks; joining a tile's sums; the rows' part that
/// is not hidden.
constexpr double CodesMostDrawn = 1.42, CodesSharpness = 3.5,
                 CodesBlockMicroseconds = 0.72, CodesReduceMicroseconds = 0.55,
                 CodesRowsNotHidden = 0.15;
/// Registers of a thread: with up to 8 rows, and with more, of 4 and 8 bits; by
/// slices. What ptxas 13.0 took, or took where it had no more.
constexpr int64_t FewRowsRegisters = 50, FewRowsOfSlice = 7,
                  ManyRowsRegisters4 = 64, ManyRowsRegisters8 = 45,
                  ManyRowsOfSlice4 = 13, ManyRowsOfSlice8 = 14;
constexpr int64_t SchedulersOfSm = 4;
/// Shared memory of a block that is not its own.
constexpr int64_t BlockShared = 1024;

double smCountOf(const target::Target &T) {
  return T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
}

/// Bytes of memory in a microsecond.
double rateOf(const target::Target &T) {
  return (T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps) * CopyShare * 1e3;
}

double bytesOf(const GemvShape &Shape) {
  double Codes = double(Shape.N) * double(Shape.K);
  double Scales = Shape.hasCodes()
                      ? Codes / double(Shape.Block) *
                            double(Shape.ScaleBytes + Shape.ZeroBytes)
                      : 0;
  return Codes * double(Shape.WeightBits) / 8 + Scales;
}

double narrowLines(const GemvSchedule &S, const GemvShape &Shape) {
  int64_t Run = Shape.hasHalves() ? S.columns() / 2 : S.columns();
  int64_t Line = (Shape.KContiguous ? S.Depth : Run) * ElementBytes;
  if (Line >= 128)
    return 1;
  if (Line >= 64)
    return HalfLines;
  return Line >= 32 ? ShortLines : HalfSectors;
}

int64_t registersOf(const GemvSchedule &S) {
  bool HasNibbles = S.WeightBits == 4;
  int64_t Own = HasNibbles ? ManyRowsRegisters4 : ManyRowsRegisters8,
          OfSlice = HasNibbles ? ManyRowsOfSlice4 : ManyRowsOfSlice8;
  int64_t Count = S.StageRows > 8
                      ? Own + OfSlice * S.Slices
                      : FewRowsRegisters + FewRowsOfSlice * S.Slices;
  return (Count + 7) / 8 * 8;
}

bool fitsRegisters(const GemvSchedule &S, const target::Target &T) {
  return registersOf(S) <=
         std::min<int64_t>(T.Limit.RegistersPerThread + 1,
                           T.Limit.RegistersPerSm / S.threads());
}

/// Of codes, which keep schedulers busier than memory where a schedule is bad.
GemvCost costOfCodes(const GemvSchedule &S, const GemvShape &Shape,
                     const target::Target &T) {
  double SmCount = smCountOf(T), Rate = rateOf(T);
  GemvCost Cost{S};
  double Tiles = std::ceil(double(Shape.N) / double(S.columns()));
  double Blocks = std::ceil(Tiles / double(S.Tiles));
  double Resident = double(std::max<int64_t>(
      std::min({T.Limit.SharedPerSm / (S.sharedBytes() + BlockShared),
                T.Limit.ThreadsPerSm / S.threads(),
                T.Limit.RegistersPerSm / (S.threads() * registersOf(S))}),
      1));
  double OfSm = std::ceil(Blocks / SmCount), Each = std::min(Resident, OfSm);
  double Turns = std::ceil(Blocks / (SmCount * Resident));
  double Steps = std::ceil(double(Shape.K) / double(S.Depth * S.Warps));
  double Waste = Steps * double(S.Depth * S.Warps) / double(Shape.K);
  double Share = OfSm * double(S.Tiles) / (Tiles / SmCount);
  Cost.Fullest = std::max(1.0, Share / CodesMostDrawn);
  // Up to 8 rows, one instruction multiplies two slices.
  double Columns =
      S.StageRows > 8 ? double(S.Slices) : double(S.Slices + 1) / 2;
  Columns = std::floor(Columns) * double(S.Depth) / 32;
  double Stages = OfSm * double(S.Tiles) * double(Shape.K) / double(S.Depth) *
                  std::sqrt(Waste) / Cost.Fullest;
  double Issued = Stages / double(SchedulersOfSm) *
                  (IssuedOfStage + IssuedOfColumns * Columns) / Clock;
  double Turn = CodesTurnCycles + CodesColumnCycles * Columns;
  double Turned = Stages / (Each * double(S.Warps)) * Turn / Clock;
  double Memory = bytesOf(Shape) / Rate;
  double Ahead =
      std::min(double(S.Stages - 1), std::max(Steps * double(S.Tiles), 1.0));
  double Supplied = Memory * CodesBytesAhead /
                    (Each * Ahead * double(S.Warps * S.weightBytes()));
  Cost.Stream = 0;
  for (double Bound : {Memory, Supplied, Issued, Turned})
    Cost.Stream += std::pow(Bound, CodesSharpness);
  Cost.Stream = std::pow(Cost.Stream, 1 / CodesSharpness);
  double Again = Tiles * double(std::min<int64_t>(Shape.M, 16)) *
                 double(Shape.K) * ElementBytes / (Rate * CacheOverMemory);
  Cost.Overhead = CodesStartMicroseconds + Turn * TurnsAlone / Clock +
                  (Turns - 1) * CodesBlockMicroseconds +
                  double(S.Tiles) * CodesReduceMicroseconds +
                  Again * CodesRowsNotHidden;
  // More than 16 rows read the weights again.
  double Passes = std::ceil(double(Shape.M) / 16);
  Cost.Stream *= Passes;
  Cost.Overhead += (Passes - 1) * (Cost.Overhead - CodesStartMicroseconds);
  Cost.Total = Cost.Stream * Cost.Fullest + Cost.Overhead;
  return Cost;
}

GemvCost costOf(const GemvSchedule &S, const GemvShape &Shape,
                const target::Target &T) {
  if (S.hasCodes())
    return costOfCodes(S, Shape, T);
  double SmCount = smCountOf(T), Rate = rateOf(T);
  GemvCost Cost{S};
  double Tiles = std::ceil(double(Shape.N) / double(S.columns()));
  double Blocks = std::ceil(Tiles / double(S.Tiles));
  double Resident = double(std::max<int64_t>(
      std::min(T.Limit.SharedPerSm / (S.sharedBytes() + BlockShared),
               T.Limit.ThreadsPerSm / S.threads()),
      1));
  double Each = std::min(Resident, std::ceil(Blocks / SmCount));
  double Turns = std::ceil(Blocks / (SmCount * Resident));
  double Deep = double(S.Depth * S.Warps);
  double Steps = std::ceil(double(Shape.K) / Deep);
  double Waste = Steps * Deep / std::max(double(Shape.K), 1.0);
  // What is on the way, and what the warps get through, beside what is needed.
  double Ahead =
      std::min(double(S.Stages - 1), std::max(Steps * double(S.Tiles), 1.0));
  double Supplied = Each * Ahead * double(S.Warps * S.weightBytes());
  double Products = ProductCycles * double(S.Slices * S.Depth) / 32 *
                    (Shape.KContiguous ? 1 : TransposedProducts);
  double Drawn = Each * double(S.Warps * S.weightBytes()) /
                 (TurnCycles + Products) * Clock * SmCount / Rate;
  // Multiprocessors that have more than others.
  double Most = std::ceil(Blocks / SmCount) * double(S.Tiles);
  double Share = Most / (Tiles / SmCount);
  double Draws = Shape.KContiguous ? MostDrawn : MostDrawnAlongColumns;
  Cost.Fullest = std::max(1.0, Share / Draws);
  double Needed = BytesAhead * std::max(1.0, Share / MostDrawn) / Cost.Fullest;
  double Bound = std::pow(1 + std::pow(Needed / Supplied, Sharpness) +
                              std::pow(1 / Drawn, Sharpness),
                          1 / Sharpness);
  Cost.Stream =
      bytesOf(Shape) / Rate * narrowLines(S, Shape) * Bound * std::sqrt(Waste);
  double Again = Tiles * double(std::min<int64_t>(Shape.M, 16)) *
                 double(Shape.K) * ElementBytes / (Rate * CacheOverMemory);
  Cost.Overhead = StartMicroseconds + (Turns - 1) * BlockMicroseconds +
                  double(S.Tiles) * ReduceMicroseconds + Again * RowsNotHidden;
  Cost.Total = Cost.Stream * Cost.Fullest + Cost.Overhead;
  return Cost;
}

/// One block for each multiprocessor, two (of codes up to four), or one for
/// each tile.
std::vector<int64_t> tilesOfBlock(const GemvSchedule &S, const GemvShape &Shape,
                                  int64_t SmCount) {
  int64_t Tiles = (Shape.N + S.columns() - 1) / S.columns();
  std::vector<int64_t> Each = {1};
  std::vector<int64_t> OfSm = {1, 2};
  if (S.hasCodes())
    OfSm.insert(OfSm.end(), {3, 4});
  for (int64_t Blocks : OfSm)
    Each.push_back(std::max<int64_t>(
        (Tiles + Blocks * SmCount - 1) / (Blocks * SmCount), 1));
  std::sort(Each.begin(), Each.end());
  Each.erase(std::unique(Each.begin(), Each.end()), Each.end());
  return Each;
}

} // namespace

bool schedule::fitsCache(const GemvShape &Shape, const target::Target &T) {
  return bytesOf(Shape) * 4 < double(T.Cost.L2Bytes);
}

std::vector<GemvCost> schedule::rankGemvSchedules(const GemvShape &Shape,
                                                  const target::Target &T) {
  std::vector<GemvCost> Ranked;
  if (!T.Can.CpAsync || !(T.Can.MmaSync & target::MmaF16) ||
      !(T.Can.MmaSync & target::MmaBf16))
    return Ranked;
  int64_t SmCount = T.Cost.SmCount ? T.Cost.SmCount : int64_t(AnySmCount);
  GemvSchedule S;
  S.StageRows = Shape.MaxM > 8 ? 16 : 8;
  S.RingRows = Shape.hasCodes() ? Shape.MaxM : S.StageRows;
  S.WeightBits = Shape.WeightBits;
  S.HasFloatCodes = Shape.HasFloatCodes;
  S.HasSquares = Shape.HasSquares;
  const int64_t Longest = Shape.hasCodes() ? MostStepOfCodes : MostStep;
  const int64_t MostSlices = Shape.hasCodes() ? 16 : 8;
  for (S.Slices = 1; S.Slices <= MostSlices; ++S.Slices) {
    // Pieces of lines along the columns are exchanged by powers of two.
    if (!Shape.KContiguous && (S.Slices == 1 || (S.Slices & (S.Slices - 1))))
      continue;
    // Halves are whole slices, and a head's are whole tiles' halves.
    if (Shape.hasHalves() &&
        (S.Slices % 2 || Shape.RotateHalf % (S.columns() / 2)))
      continue;
    S.Depth = Shape.KContiguous || S.Slices < 8 ? 64 : 32;
    if (Shape.hasCodes()) {
      S.Depth = TileBytes / Shape.WeightBits;
      int64_t Blocks = std::max<int64_t>(S.Depth / Shape.Block, 1);
      S.ScaleBytes = Blocks * Shape.ScaleBytes;
      S.ZeroBytes = Blocks * Shape.ZeroBytes;
    }
    for (int64_t Warps : {4, 8, 16})
      for (int64_t Stages : {2, 3, 4, 5, 6, 8}) {
        S.Warps = Warps;
        S.Stages = Stages;
        // Few warps are for chips with no room for more.
        GemvSchedule More = S;
        More.Warps = 8;
        if (Warps * S.Depth > Longest ||
            S.sharedBytes() > T.Limit.SharedPerBlock ||
            (Warps < 8 && More.sharedBytes() <= T.Limit.SharedPerBlock))
          continue;
        if (S.hasCodes() && !fitsRegisters(S, T))
          continue;
        // Two stages leave a warp of other weights with nothing on its way
        // where it meets a stage's end; twice the warps hide that.
        if (!S.hasCodes() && ((Stages == 2 && Warps < 16) || Stages > 5))
          continue;
        for (int64_t Tiles : tilesOfBlock(S, Shape, SmCount)) {
          S.Tiles = Tiles;
          Ranked.push_back(costOf(S, Shape, T));
        }
      }
  }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const GemvCost &A, const GemvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
