//===- CodesSchedule.cpp - Tiles of a GEMM whose weights are codes --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CodesSchedule.h"
#include "passes/schedule/HopperCosts.h"
#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cmath>

using namespace kpc;
using namespace kpc::schedule;
using namespace kpc::schedule::hopper;

/// Tiles of a stage begin at multiples of so many bytes.
static int64_t tileBytes(int64_t Bytes) { return (Bytes + 127) / 128 * 128; }

int64_t CodesSchedule::codeStageBytes(const CodesShape &Shape) const {
  int64_t Columns = TileN / Products,
          Blocks = std::max<int64_t>(DepthOfCodes / Shape.Block, 1);
  return Products * (tileBytes(Columns * DepthOfCodes * Shape.Bits / 8) +
                     tileBytes(Columns * Blocks * Shape.ScaleBytes) +
                     tileBytes(Columns * Blocks * Shape.ZeroBytes));
}

int64_t CodesSchedule::sharedBytes(const CodesShape &Shape) const {
  return Stages * rowStageBytes() + CodeStages * codeStageBytes(Shape) +
         groups() * partRows() * StagingColumns * StagingBuffers *
             Shape.ResultBytes +
         (Shape.HasFactors ? tileBytes(TileM * 4) : 0);
}

std::string CodesSchedule::str() const {
  return std::string("codes ") + (HasFloatCodes ? "fp" : "int") +
         std::to_string(Bits) + tileText();
}

namespace {

/// Cycles of a step of 128 elements of K where products take no time: a
/// warpgroup waits for codes, makes numbers of them and begins products, twice.
/// Those of further warpgroups come in between (an H200, 27 shapes).
constexpr double StepCycles = 740, MoreGroupCycles = 200;
/// What the second weight of a gate adds to both.
constexpr double SecondWeightCycles = 520, SecondOfMoreCycles = 190;
/// Codes of 8 bits, of each 64 columns, which products do not hide.
constexpr double ByteCycles = 110;
/// The share of products' cycles that adds to these, and how much longer a step
/// of products alone takes; of one warpgroup, whose products have gaps.
constexpr double SharedCycles = 0.5, ProductFactor = 1.1,
                 ProductFactorOfOne = 1.38;
/// Stages of x beyond which nothing is hidden.
constexpr int64_t MostStages = 12;
/// Until the first codes are there.
constexpr double FirstCodesCycles = 2400;

/// Cycles of a step.
double stepCycles(const CodesSchedule &S) {
  double Groups = double(S.groups()),
         Products =
             double(S.TileM * S.TileN * S.TileK) * 2 / OperationsPerCycle,
         More = Groups - 1, Base = StepCycles + MoreGroupCycles * More;
  if (S.Products > 1)
    Base += SecondWeightCycles + SecondOfMoreCycles * More;
  double Alone =
             Products * (S.groups() == 1 ? ProductFactorOfOne : ProductFactor),
         OfBytes = S.Bits == 8 ? ByteCycles * double(S.TileN) / 64 : 0;
  return std::max(Alone, Base + SharedCycles * Products) + OfBytes;
}

int64_t groupM(const CodesSchedule &S, const target::Target &T) {
  double Square = std::sqrt(double(T.Cost.SmCount) / double(S.SplitK) *
                            double(S.TileN) / double(S.TileM));
  return std::max<int64_t>(std::lround(Square), 1);
}

CodesCost costOf(const CodesSchedule &S, const CodesShape &Shape,
                 const target::Target &T) {
  auto Ceil = [](double A, int64_t B) { return std::ceil(A / double(B)); };
  double PerMicrosecond = cyclesPerMicrosecond(T);
  int64_t Columns = S.TileN / S.Products;
  double Tiles =
      Ceil(double(Shape.M), S.TileM) * Ceil(double(Shape.N), Columns);
  double Steps = Ceil(Ceil(double(Shape.K), S.TileK), S.SplitK);
  CodesCost Cost;
  Cost.Schedule = S;
  Cost.Waves = Ceil(Tiles, clustersAtOnce(S.SplitK, T));
  Cost.Mma = Steps * stepCycles(S) / PerMicrosecond;
  double Bytes = double(S.rowStageBytes() * 2 + S.codeStageBytes(Shape));
  double Weights = double(Shape.N * Shape.K * Shape.Products) *
                   double(Shape.Bits) / 8 / bytesOfMicrosecond(T);
  Cost.Load = std::max(Steps * Bytes / CacheBytesPerCycle / PerMicrosecond,
                       Weights / Cost.Waves);
  double Results = double(S.storedRows() * Columns);
  Cost.Epilogue =
      (EpilogueCycles * Results / double(128 * StagingColumns) *
           double(Shape.ResultBytes) / 2 +
       Results * Shape.EpilogueOperations / LanesPerCycle +
       Results * double(Shape.EpilogueBytes) * 4 / CacheBytesPerCycle) /
      PerMicrosecond;
  if (S.SplitK > 1)
    Cost.Reduce =
        (double(S.accumulatorBytes()) / PeerBytesPerCycle + MeetCycles) /
        PerMicrosecond;
  Cost.Launch = (LaunchCycles + FirstCodesCycles) / PerMicrosecond;
  Cost.Total = Cost.Waves * (std::max(Cost.Mma, Cost.Load) + Cost.Epilogue +
                             Cost.Reduce) +
               Cost.Launch;
  return Cost;
}

/// Stages of codes for those of x: one more than they need.
int64_t codeStagesFor(int64_t Stages) { return Stages / 2 + 2; }

bool fits(const CodesSchedule &S, const CodesShape &Shape,
          const target::Target &T) {
  return S.sharedBytes(Shape) + BarrierRoom <= T.Limit.SharedPerBlock;
}

bool isLegal(const CodesSchedule &S, const CodesShape &Shape,
             const target::Target &T) {
  // Sums of a thread, and the registers that warpgroups share.
  int64_t Sums = S.TileM / 2 * S.Products, Groups = S.groups();
  int64_t Most = Groups > 3 ? 16 : Groups > 2 ? 64 : 128;
  bool HasTile = S.TileM >= 16 && S.TileM <= 256 && S.TileM % 16 == 0 &&
                 S.TileN % (64 * S.Products) == 0 && Groups >= 1 &&
                 Groups <= 4 && Sums <= Most &&
                 S.TileK == CodesSchedule::DepthOfCodes;
  // Warps have pairs of slices, and tiles whole heads.
  int64_t Half = Shape.RotateHalf;
  bool HasHeads = Half <= 1 || (Half % 8 == 0 && Half <= MaxRotateHalf &&
                                S.TileN % (2 * Half) == 0);
  if (!T.Can.Wgmma || !HasTile || !HasHeads || S.Stages < MinStages ||
      S.Stages > MaxStages || S.GroupM < 1 || S.GroupM > INT32_MAX ||
      S.multicast() > 1 || S.PingPong || !fits(S, Shape, T))
    return false;
  if (S.SplitK == 1)
    return true;
  bool IsCount = S.SplitK == 2 || S.SplitK == 4 || S.SplitK == 8;
  return IsCount && S.SplitK <= T.Can.ClusterBlocks && S.Products == 1 &&
         S.TileM % (16 * S.SplitK) == 0 &&
         (Shape.K + S.TileK - 1) / S.TileK >= S.SplitK &&
         S.accumulatorBytes() <= S.Stages * S.rowStageBytes();
}

/// Whether ptxas runs out of registers: two weights have two sums and words of
/// each. 20 bytes for 128 rows of 128 columns (ptxas 13.0).
bool spills(const CodesSchedule &S) {
  return S.Products > 1 && (S.TileM > 112 || S.groups() > 2);
}

CodesSchedule scheduleFor(const CodesShape &Shape) {
  CodesSchedule S;
  S.TileK = CodesSchedule::DepthOfCodes;
  S.Products = Shape.Products;
  S.Bits = Shape.Bits;
  S.HasFloatCodes = Shape.HasFloatCodes;
  return S;
}

} // namespace

std::optional<CodesCost> schedule::readCodesSchedule(const std::string &Text,
                                                     const CodesShape &Shape,
                                                     const target::Target &T) {
  CodesSchedule S = scheduleFor(Shape);
  std::string Name = std::string("codes ") + (S.HasFloatCodes ? "fp" : "int") +
                     std::to_string(S.Bits) + " ";
  std::string_view Rest = Text;
  if (!takeNumber(Rest, Name.c_str(), S.TileM) ||
      !takeNumber(Rest, "x", S.TileN) || !takeNumber(Rest, "x", S.TileK) ||
      !takeNumber(Rest, " stages ", S.Stages) ||
      !takeNumber(Rest, " group_m ", S.GroupM))
    return std::nullopt;
  takeNumber(Rest, " split_k ", S.SplitK);
  S.CodeStages = codeStagesFor(S.Stages);
  if (S.SplitK < 1 || S.TileM < 16 || !isLegal(S, Shape, T) || S.str() != Text)
    return std::nullopt;
  return costOf(S, Shape, T);
}

std::vector<CodesCost> schedule::rankCodesSchedules(const CodesShape &Shape,
                                                    const target::Target &T) {
  std::vector<CodesCost> Ranked;
  for (int64_t M : {256, 192, 128, 112, 96, 64, 32, 16})
    for (int64_t Groups : {2, 1, 3, 4})
      for (int64_t SplitK : {1, 2, 4}) {
        CodesSchedule S = scheduleFor(Shape);
        S.TileM = M;
        S.TileN = Groups * 64 * S.Products;
        S.SplitK = SplitK;
        if (S.storedRows() < 16)
          continue;
        S.GroupM = groupM(S, T);
        for (S.Stages = MostStages; S.Stages > MinStages; --S.Stages) {
          S.CodeStages = codeStagesFor(S.Stages);
          if (fits(S, Shape, T))
            break;
        }
        S.CodeStages = codeStagesFor(S.Stages);
        if (isLegal(S, Shape, T) && !spills(S))
          Ranked.push_back(costOf(S, Shape, T));
      }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const CodesCost &A, const CodesCost &B) { return A.Total < B.Total; });
  return Ranked;
}
