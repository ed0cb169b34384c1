//===- MmaSyncSchedule.cpp - How a product on mma.sync is cut -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/MmaSyncSchedule.h"
#include "passes/schedule/SyncCosts.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

using namespace kpc;
using namespace kpc::schedule;
using namespace kpc::schedule::sync;

std::string MmaSyncSchedule::str() const {
  char Text[128];
  std::snprintf(Text, sizeof Text,
                "mmasync %ldx%ldx%ld warpgroup %ldx%ld stages %ld group_m %ld",
                long(TileM), long(TileN), long(TileK), long(WarpgroupM),
                long(WarpgroupN), long(Stages), long(GroupM));
  return Text;
}

std::string MmaSyncCost::str() const {
  char Text[320];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = %.0f tiles x (max(%.2f mma, %.2f load) + "
                "%.2f copy + %.2f epilogue) + %.0f turns x %.2f ends + "
                "%.2f launch",
                Schedule.str().c_str(), Total, Tiles, Mma, Load, Copy, Epilogue,
                Turns, Ends, Launch);
  return Text;
}

namespace {

/// A step's barrier.
constexpr double BarrierTime = 0.03;
/// From the beginning of a step's copies to their data, without the time of
/// their bytes: 4096³ of 256x128x64 with two stages, which waits for them, took
/// 328 us on an H200.
constexpr double CopyLatency = 0.55;
/// The same of an element of 2 bytes through registers, of which 4096³ on an
/// H200 took so many, and no other warp hid them.
constexpr double SlotsPerElement = 32;
constexpr int64_t ElementPiece = 2;
/// A block's first stages, and its end beside the bytes of its results.
constexpr double FillTime = 1.0, EndTime = 0.5;
constexpr int64_t MinStages = 2, MaxStages = 8, MaxRankedStages = 4;
constexpr int64_t MaxAccumulators = 128, MostThreads = 512;
constexpr int64_t LeastWarpgroupM = 64;
/// The narrowest swizzle, in bytes.
constexpr int64_t LeastRow = 32;
/// Beside a residual: with more, such kernels spill on sm_120a. Beside both
/// parts of split factors they spill on every chip (ptxas 13.0).
constexpr int64_t MaxAccumulatorsBesideMore = 64;
/// Beside the angles of heads: with 128 sums, heads of 64 and less spill 4 to
/// 68 bytes a thread, those of 128 in tiles of 256 columns or with lines of 128
/// bytes 4 to 60 (ptxas 13.0).
constexpr int64_t MaxAccumulatorsOfHeads = 64, MaxColumnsOfWideHeads = 128,
                  MaxLineOfWideHeads = 64, WideHalf = 64;
/// The same with four stages for sm_120a: 8 bytes.
constexpr int64_t MaxStagesOfWideHeads = 3, FewerStagesFrom = 120;
/// Beside split factors and the places of pixels; where a copy is shorter than
/// 16 bytes, each thread has several times as many places.
constexpr int64_t MaxSplitOfPixels = 32, MaxSplitOfPieces = 16, WholePiece = 16;

/// Asynchronous copies (cp.async) that a thread issues for a stage where
/// factors are split. What ptxas 13.0 spills, in bytes: for 128 rows of a
/// warpgroup up to 20 with 20 copies, 232 with 24, 1228 with 36; for 64 rows in
/// a block of one warpgroup none with 12, 88 with 20, 704 with 32.
constexpr int64_t MostSplitCopies = 20, MostSplitCopiesOfFewRows = 16;

/// Products of split factors; and what of fp32's peak loops of multiply-adds
/// reach (docs/performance.md: 30 to 40 of 67 TFLOP/s on an H200).
constexpr double SplitProducts = 3, LoopShare = 0.55;

/// FP8 becomes f16 in front of mma.sync where other instructions multiply it
/// (what ptxas makes of it for sm_90).
double rateOfFp8(const target::Target &T) {
  return T.Can.Wgmma || T.Can.Tcgen05 ? T.Cost.Fp16 : T.Cost.Fp8;
}

double rateOf(const MmaSyncShape &Shape, const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  // Of FP4 each byte is two elements; FP8 with scales has half of its rate,
  // twice that without.
  double Peak = Shape.BytesOfScale        ? T.Cost.Fp4 / 2
                : Shape.IsFp8             ? rateOfFp8(T)
                : Shape.ElementBytes == 1 ? T.Cost.Int8
                : Shape.ElementBytes == 2 ? T.Cost.Fp16
                                          : T.Cost.Tf32;
  if (Peak <= 0)
    Peak = AnyTflops;
  if (Shape.Split)
    Peak /= SplitProducts;
  return Peak * 1e6 / SmCount * shareOf(T);
}

int64_t residentBlocks(const MmaSyncSchedule &S, const MmaSyncShape &Shape,
                       const target::Target &T) {
  int64_t Shared =
      T.Limit.SharedPerSm /
      (Shape.withScales(S.sharedBytes(Shape.ElementBytes)) + SystemShared);
  int64_t Registers =
      T.Limit.RegistersPerSm /
      (S.threads() * std::min<int64_t>(S.accumulators() + OtherRegisters, 255));
  int64_t Threads = T.Limit.ThreadsPerSm / S.threads();
  return std::max<int64_t>(1, std::min({Shared, Registers, Threads}));
}

MmaSyncCost costOf(const MmaSyncSchedule &S, const MmaSyncShape &Shape,
                   const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  auto Ceil = [](double A, double B) { return std::ceil(A / B); };
  double Tiles = Ceil(double(Shape.M), double(S.TileM)) *
                 Ceil(double(Shape.N), double(S.TileN)) * double(Shape.Batch);
  double Steps = Ceil(double(Shape.K), double(S.TileK));
  double Resident = double(residentBlocks(S, Shape, T));
  MmaSyncCost Cost{S};
  Cost.Tiles = std::max(1.0, Ceil(Tiles, SmCount));
  Cost.Turns = Ceil(Cost.Tiles, Resident);
  // Of one warp: matrices that it loads, and products it makes of them.
  double Down = double(S.WarpgroupM) / 64, Across = double(S.WarpgroupN) / 16;
  double Loads = (Down + Across) / (Down * Across * 2);
  double Share = std::min(1.0, LoadsPerProduct / Loads);
  if (double(S.threads()) * std::min(Resident, Cost.Tiles) < BusyThreads)
    Share *= FewThreadsShare;
  Cost.Mma = Steps * (double(S.TileM * S.TileN * S.TileK) * 2 /
                          rateOf(Shape, T) / Share +
                      BarrierTime);
  double Bytes = double(S.TileK * Shape.ElementBytes);
  // A step's copies begin as many steps ahead as there are other stages.
  double LoadOfStep = double(S.stageBytes(Shape.ElementBytes)) / CacheBytes;
  double Wait = (CopyLatency + LoadOfStep) / double(S.Stages - 1) /
                std::min(Resident, Cost.Tiles);
  Cost.Load = Steps * std::max(LoadOfStep, Wait);
  auto SlotsOf = [&](double Pieces, int64_t Piece, int64_t More) {
    return Pieces * ((Piece <= ElementPiece ? SlotsPerElement : SlotsPerPiece) +
                     double(More));
  };
  // Of several GEMMs each warpgroup's share has a copy of its own, which may
  // have fewer pieces than there are threads.
  double Copies = double(
             Shape.Products == 1 ? 1 : Shape.Products * S.TileN / S.WarpgroupN),
         PiecesOfA = Bytes * double(S.TileM) / double(Shape.PieceOfA),
         PiecesOfB = Bytes * double(S.TileN) / double(Shape.PieceOfB);
  if (Copies > 1)
    PiecesOfB = Copies * Ceil(PiecesOfB / Copies, double(S.threads())) *
                double(S.threads());
  Cost.Copy = Steps *
              (SlotsOf(PiecesOfA, Shape.PieceOfA, Shape.MoreSlotsOfA) +
               SlotsOf(PiecesOfB, Shape.PieceOfB, 0)) /
              IssueSlots;
  double Results = double(S.TileM * S.TileN) / double(Shape.Products);
  Cost.Ends =
      FillTime + EndTime + Results * double(Shape.ResultBytes) / CacheBytes;
  // Blocks of a multiprocessor hide each other's waits, and share its slots.
  Cost.Epilogue = Results * Shape.EpilogueOperations / IssueSlots;
  Cost.Launch = LaunchTime;
  Cost.Total =
      Cost.Tiles * (std::max(Cost.Mma, Cost.Load) + Cost.Copy + Cost.Epilogue) +
      Cost.Turns * Cost.Ends + Cost.Launch;
  return Cost;
}

/// Blocks that run together cover about a square.
int64_t groupM(const MmaSyncSchedule &S, const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  return std::max<int64_t>(
      1, int64_t(std::sqrt(SmCount * double(S.TileN) / double(S.TileM))));
}

/// Whether each thread of split factors has the places of many short copies of
/// pixels.
bool hasManyPlaces(const MmaSyncShape &Shape) {
  return Shape.Split && Shape.MoreSlotsOfA > 0 && Shape.PieceOfA < WholePiece;
}

/// Split factors, and a place of a pixel for each copy: of more than 64 rows
/// both parts of A and the places spill, however few columns there are.
bool findsPixels(const MmaSyncShape &Shape) {
  return Shape.Split && Shape.MoreSlotsOfA > 0;
}

/// Whether each thread of split factors has so many short copies that their
/// places spill.
bool copiesTooMany(const MmaSyncSchedule &S, const MmaSyncShape &Shape) {
  bool HasFewRows = S.WarpgroupM <= LeastWarpgroupM;
  if (!Shape.Split || (HasFewRows && S.groups() > 1))
    return false;
  int64_t Row = S.TileK * Shape.ElementBytes;
  int64_t Copies =
      S.TileM * Row / Shape.PieceOfA + S.TileN * Row / Shape.PieceOfB;
  return Copies > S.threads() *
                      (HasFewRows ? MostSplitCopiesOfFewRows : MostSplitCopies);
}

int64_t mostAccumulators(const MmaSyncShape &Shape) {
  if (Shape.RotateHalf && Shape.RotateHalf < WideHalf)
    return MaxAccumulatorsOfHeads;
  if (findsPixels(Shape))
    return hasManyPlaces(Shape) ? MaxSplitOfPieces : MaxSplitOfPixels;
  return Shape.HasResidual || Shape.Split ? MaxAccumulatorsBesideMore
                                          : MaxAccumulators;
}

int64_t mostRankedStages(const MmaSyncSchedule &S, const MmaSyncShape &Shape,
                         const target::Target &T) {
  bool IsFull = Shape.RotateHalf && S.accumulators() > MaxAccumulatorsOfHeads &&
                T.Compute >= FewerStagesFrom;
  return IsFull ? MaxStagesOfWideHeads : MaxRankedStages;
}

/// A warpgroup has whole heads, so that both halves are one thread's.
bool keepsPairs(const MmaSyncSchedule &S, const MmaSyncShape &Shape) {
  if (!Shape.RotateHalf)
    return true;
  bool Fits = S.accumulators() <= MaxAccumulatorsOfHeads ||
              (S.TileN <= MaxColumnsOfWideHeads &&
               S.TileK * Shape.ElementBytes <= MaxLineOfWideHeads);
  return Fits && S.WarpgroupN % (2 * Shape.RotateHalf) == 0;
}

bool isLegal(const MmaSyncSchedule &S, const MmaSyncShape &Shape,
             const target::Target &T) {
  // Powers of two: parts are of whole lines.
  auto Steps = [](int64_t Size, int64_t Least, int64_t Most) {
    return Size >= Least && Size <= Most && (Size & (Size - 1)) == 0;
  };
  uint32_t Kinds = Shape.BytesOfScale        ? uint32_t(target::MmaBlockScaled)
                   : Shape.IsFp8             ? uint32_t(target::MmaFp8)
                   : Shape.ElementBytes == 1 ? uint32_t(target::MmaInt8)
                   : Shape.ElementBytes == 2 ? target::MmaF16 | target::MmaBf16
                                             : uint32_t(target::MmaTf32);
  // A warpgroup's columns of each GEMM are rows of shared memory, as a factor
  // and as results.
  auto IsWide = [&](int64_t Columns) {
    return Columns * std::min(Shape.ElementBytes, Shape.ResultBytes) >=
           LeastRow;
  };
  auto IsLine = [&](int64_t Bytes) {
    return S.TileK == Bytes / Shape.ElementBytes;
  };
  // Scales of a step come in words of four.
  constexpr int64_t ScalesOfWord = 4;
  bool HasWords =
      !Shape.BytesOfScale || S.TileK % (Shape.BytesOfScale * ScalesOfWord) == 0;
  return T.Can.CpAsync && (T.Can.MmaSync & Kinds) == Kinds && HasWords &&
         Steps(S.WarpgroupM, 64, 256) && Steps(S.WarpgroupN, 16, 256) &&
         Steps(S.TileM, S.WarpgroupM, 256) &&
         Steps(S.TileN, S.WarpgroupN, 256) &&
         IsWide(S.WarpgroupN / Shape.Products) && keepsPairs(S, Shape) &&
         (IsLine(64) || (IsLine(128) && !hasManyPlaces(Shape))) &&
         S.accumulators() <= mostAccumulators(Shape) &&
         !(S.WarpgroupM > LeastWarpgroupM && findsPixels(Shape)) &&
         S.threads() <= MostThreads && S.Stages >= MinStages &&
         S.Stages <= MaxStages && S.GroupM >= 1 && S.GroupM <= INT32_MAX &&
         S.threads() * (S.accumulators() + OtherRegisters) <=
             T.Limit.RegistersPerSm &&
         Shape.withScales(S.sharedBytes(Shape.ElementBytes)) <=
             T.Limit.SharedPerBlock;
}

struct Cut {
  int64_t M, N, WarpgroupM, WarpgroupN;
};
/// Of equals the first is taken. The last four are for results of fewer than 64
/// columns alone: with wider tiles most of their products are of none.
constexpr int64_t WideColumns = 64;
constexpr Cut Cuts[] = {
    {128, 128, 128, 64},  {128, 256, 128, 128}, {256, 128, 256, 64},
    {256, 128, 128, 128}, {128, 128, 128, 128}, {128, 64, 128, 64},
    {64, 128, 64, 64},    {64, 64, 64, 64},     {64, 64, 64, 32},
    {128, 32, 128, 32},   {64, 32, 64, 32},     {128, 16, 128, 16},
    {64, 16, 64, 16}};
/// Those whose warpgroups have whole heads of 128.
constexpr Cut CutsOfWideHeads[] = {{256, 128, 128, 128},
                                   {128, 128, 128, 128},
                                   {128, 128, 64, 128},
                                   {64, 128, 64, 128}};

} // namespace

bool schedule::paysToSplit(const target::Target &T) {
  return T.Cost.Tf32 * shareOf(T) / SplitProducts > T.Cost.Fp32 * LoopShare;
}

std::optional<MmaSyncCost>
schedule::readMmaSyncSchedule(const std::string &Text,
                              const MmaSyncShape &Shape,
                              const target::Target &T) {
  MmaSyncSchedule S;
  std::string_view Rest = Text;
  if (!takeNumber(Rest, "mmasync ", S.TileM) ||
      !takeNumber(Rest, "x", S.TileN) || !takeNumber(Rest, "x", S.TileK) ||
      !takeNumber(Rest, " warpgroup ", S.WarpgroupM) ||
      !takeNumber(Rest, "x", S.WarpgroupN) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " group_m ", S.GroupM))
    return std::nullopt;
  // What is printed must be what was read: nothing stands behind it.
  if (!isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<MmaSyncCost>
schedule::rankMmaSyncSchedules(const MmaSyncShape &Shape,
                               const target::Target &T) {
  std::vector<MmaSyncCost> Ranked;
  bool HasWideHeads = Shape.RotateHalf == WideHalf;
  for (const Cut &C : HasWideHeads ? std::span<const Cut>(CutsOfWideHeads)
                                   : std::span<const Cut>(Cuts))
    for (int64_t Line : {64, 128}) {
      MmaSyncSchedule S;
      S.TileM = C.M;
      S.TileN = C.N;
      S.WarpgroupM = C.WarpgroupM;
      S.WarpgroupN = C.WarpgroupN;
      S.TileK = Line / Shape.ElementBytes;
      S.GroupM = groupM(S, T);
      S.Stages =
          std::min(mostRankedStages(S, Shape, T),
                   T.Limit.SharedPerBlock /
                       Shape.withScales(S.stageBytes(Shape.ElementBytes)));
      if (isLegal(S, Shape, T) && !copiesTooMany(S, Shape) &&
          (S.TileN >= WideColumns || Shape.N < WideColumns))
        Ranked.push_back(costOf(S, Shape, T));
    }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const MmaSyncCost &A, const MmaSyncCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
