//===- SplitGemm.cpp - GEMMs of few tiles and a long K --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %a, %b : <[64, 131072]>, <[131072, 64]>
///     →  %p = graph.matmul %a by parts, %b by parts
///              : <[128, 64, 1024]>, <[128, 1024, 64]>
///        %y = graph.reduce sum, %p axes [0]
///
/// The parts of A are turned in front of those of a row: a view to the copies
/// of a GEMM, which take a stride for each dim. What follows the GEMM becomes
/// part of the reduction's kernel.
///
//===----------------------------------------------------------------------===//
#include "passes/graph/SplitGemm.h"

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/GemmSchedule.h"
#include "passes/schedule/GemvSchedule.h"
#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/MmaSyncSchedule.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::schedule::bytesOfMicrosecond;
using kpc::shape::Expr;

namespace {

/// Rows or columns of tensor cores' results; families of few rows have others.
constexpr int64_t FewestForMma = 8;
/// Of K: a shorter part is over before its first stages are filled.
constexpr int64_t LeastPart = 256;
constexpr int64_t MostParts = 512;
/// Parts begin where rows of 16 bytes do, if there is such a divisor.
constexpr int64_t Alignment = 32;
/// The gain that makes two kernels worth it: models are off by a third.
constexpr double LeastGain = 1.5;
/// Of the second kernel: its launch and its start.
constexpr double SecondKernel = 4;
/// Of the parts' results for the greatest sizes that may come.
constexpr int64_t MostBytes = int64_t(256) << 20;

/// The sizes of a GEMM and how its factors are stored and multiplied.
struct Shape {
  int64_t Batch = 1, M = 0, N = 0, K = 0;
  int64_t ElementBytes = 2, PartBytes = 2;
  bool IsExact = false;  ///< of f32 that is not rounded
  bool KIsInner = false; ///< both factors are contiguous along K
};

/// Few rows of 16 bits have a family that is asked before others, without
/// batches.
std::optional<double> costOfFewRows(const Shape &S, const target::Target &T) {
  schedule::GemvShape Few;
  if (S.Batch > 1 || S.ElementBytes != 2 || S.M > Few.MaxM)
    return std::nullopt;
  Few.M = S.M;
  Few.N = S.N;
  Few.K = S.K;
  Few.KContiguous = S.KIsInner;
  std::vector<schedule::GemvCost> Ranked = schedule::rankGemvSchedules(Few, T);
  return Ranked.empty() ? std::nullopt : std::optional(Ranked.front().Total);
}

/// Loops of multiply-adds, which are all that f32 has that is not rounded where
/// two numbers of tf32 do not pay: tiles of 32 rows and columns, each of which
/// takes 32 of K in a time that no other tile shortens (test/cliffs: 670 cycles
/// on an RTX 5090), or all at half of the peak.
double costOfLoops(const Shape &S, const target::Target &T) {
  constexpr double Tile = 32, StepMicroseconds = 0.28, TilesOfSm = 8,
                   PeakShare = 0.5;
  auto Count = [](int64_t Size) { return std::ceil(double(Size) / Tile); };
  double Waves = std::ceil(double(S.Batch) * Count(S.M) * Count(S.N) /
                           (TilesOfSm * double(T.Cost.SmCount)));
  double Operations = 2.0 * double(S.Batch * S.M * S.N) * double(S.K);
  return std::max(Waves * Count(S.K) * StepMicroseconds,
                  Operations / (T.Cost.Fp32 * PeakShare * 1e6));
}

/// Microseconds of the best kernel; none where no model knows one. Those of
/// GEMMs count what the second cache gives, not memory.
std::optional<double> costOf(const Shape &S, const target::Target &T) {
  if (std::optional<double> Few = costOfFewRows(S, T))
    return Few;
  double Moved = double(S.Batch * (S.M + S.N) * S.K * S.ElementBytes) /
                 bytesOfMicrosecond(T);
  std::optional<double> Best;
  auto Take = [&](const auto &Ranked) {
    if (!Ranked.empty() && (!Best || Ranked.front().Total < *Best))
      Best = std::max(double(Ranked.front().Total), Moved);
  };
  schedule::MmaSyncShape Sync;
  Sync.Batch = S.Batch;
  Sync.M = S.M;
  Sync.N = S.N;
  Sync.K = S.K;
  Sync.ElementBytes = S.ElementBytes;
  Sync.ResultBytes = S.PartBytes;
  Sync.Split = S.IsExact;
  if (!S.IsExact || schedule::paysToSplit(T))
    Take(schedule::rankMmaSyncSchedules(Sync, T));
  else if (T.Cost.SmCount > 0 && T.Cost.Fp32 > 0)
    Best = std::max(costOfLoops(S, T), Moved);
  schedule::GemmShape Gemm;
  Gemm.Batch = S.Batch;
  Gemm.M = S.M;
  Gemm.N = S.N;
  Gemm.K = Gemm.MinK = S.K;
  Gemm.ElementBytes = S.ElementBytes;
  Gemm.ResultBytes = S.PartBytes;
  if (!S.IsExact && (S.ElementBytes == 2 || S.KIsInner)) {
    if (T.Can.Wgmma)
      Take(schedule::rankGemmSchedules(Gemm, T));
    if (T.Can.Tcgen05)
      Take(schedule::rankBlackwellSchedules(Gemm, T));
  }
  return Best;
}

/// The same in `Parts` of K.
std::optional<double> costInParts(Shape S, int64_t Parts,
                                  const target::Target &T) {
  S.Batch = Parts;
  S.K /= Parts;
  std::optional<double> Cost = costOf(S, T);
  if (!Cost)
    return std::nullopt;
  double Bytes = double(Parts * S.M * S.N * S.PartBytes);
  return *Cost + SecondKernel + Bytes / bytesOfMicrosecond(T);
}

/// Numbers of parts that K has: of each magnitude the one whose parts are
/// aligned best.
SmallVector<int64_t> partCounts(int64_t K) {
  SmallVector<int64_t> Counts;
  auto AlignmentOf = [&](int64_t Parts) {
    int64_t Part = K / Parts, By = 1;
    while (By < Alignment && Part % (2 * By) == 0)
      By *= 2;
    return By;
  };
  for (int64_t Least = 2; Least <= MostParts; Least *= 2) {
    int64_t Best = 0;
    for (int64_t Parts = Least; Parts < 2 * Least; ++Parts)
      if (K % Parts == 0 && K / Parts >= LeastPart &&
          (!Best || AlignmentOf(Parts) > AlignmentOf(Best)))
        Best = Parts;
    if (Best)
      Counts.push_back(Best);
  }
  return Counts;
}

/// The number of parts that is fastest by the sum over all targets, where each
/// of them gains; 1: none is.
int64_t bestParts(const Shape &S, const GemmTargets &For) {
  int64_t Best = 1;
  double Least = 0;
  for (const target::Target *T : For.Targets) {
    std::optional<double> Cost = costOf(S, *T);
    if (!Cost)
      return 1;
    Least += *Cost;
  }
  for (int64_t Parts : partCounts(S.K)) {
    double Sum = 0;
    bool Gains = true;
    for (const target::Target *T : For.Targets) {
      std::optional<double> Whole = costOf(S, *T),
                            Cost = costInParts(S, Parts, *T);
      Gains &= Cost && *Cost * LeastGain < *Whole;
      Sum += Cost.value_or(0);
    }
    if (Gains && Sum < Least) {
      Best = Parts;
      Least = Sum;
    }
  }
  return Best;
}

/// A factor through the transpose of its two dims, which other dims go through
/// in its place.
struct Factor {
  Value Memory;
  bool IsTurned = false;

  explicit Factor(Value V) : Memory(V) {
    auto Turn = V.getDefiningOp<TransposeOp>();
    if (!Turn || Turn.getPerm() != ArrayRef<int64_t>{1, 0})
      return;
    Memory = Turn.getX();
    IsTurned = true;
  }
};

class Writer {
public:
  Writer(MatmulOp Op, int64_t Parts)
      : B(Op), Loc(Op.getLoc()), Op(Op), Parts(Parts) {}

  Value write() {
    // Only the model's type is narrow: sums are f32.
    Type Element = typeOf(Op.getY()).getElementType();
    Value Y = MatmulOp::create(B, Loc, inParts(Op.getA(), /*KIsLast=*/true),
                               inParts(Op.getB(), /*KIsLast=*/false));
    if (Element.getIntOrFloatBitWidth() < 32)
      Y = CastOp::create(B, Loc, Y, B.getF32Type());
    Y = ReduceOp::create(B, Loc, ReduceKind::sum, Y, ArrayRef<int64_t>{0});
    if (typeOf(Y).getElementType() != Element)
      Y = CastOp::create(B, Loc, Y, Element);
    return Y;
  }

private:
  /// [M, K] as [parts, M, K / parts], [K, N] as [parts, K / parts, N].
  Value inParts(Value V, bool KIsLast) {
    Factor F(V);
    // Of what is in memory.
    bool IsLast = KIsLast != F.IsTurned;
    SmallVector<Expr> Dims(typeOf(F.Memory).getDims());
    Expr &K = Dims[IsLast ? 1 : 0];
    K = K.floorDiv(Parts);
    Dims.insert(Dims.begin() + (IsLast ? 1 : 0), Expr(Parts));
    Value Cut =
        ReshapeOp::create(B, Loc, typeOf(F.Memory).withDims(Dims), F.Memory);
    if (IsLast)
      return turned(Cut, KIsLast ? ArrayRef<int64_t>{1, 0, 2}
                                 : ArrayRef<int64_t>{1, 2, 0});
    return F.IsTurned ? turned(Cut, {0, 2, 1}) : Cut;
  }
  Value turned(Value V, ArrayRef<int64_t> Perm) {
    return TransposeOp::create(B, Loc, V, Perm);
  }

  OpBuilder B;
  Location Loc;
  MatmulOp Op;
  int64_t Parts;
};

} // namespace

Value graph::splitGemm(MatmulOp Op, const shape::Facts &Facts,
                       const GemmTargets &For) {
  SymbolicTensorType A = typeOf(Op.getA()), BTy = typeOf(Op.getB());
  Type Element = A.getElementType();
  std::optional<int64_t> K = A.getStaticDim(A.getRank() - 1);
  if (For.Targets.empty() || A.getRank() != 2 || !K ||
      Element != BTy.getElementType() ||
      !(Element.isF16() || Element.isBF16() || Element.isF32()))
    return {};
  // In parts, codes would have to become numbers first.
  for (Value Factor : {Op.getA(), Op.getB()})
    if (isa_and_present<DequantiseBlocksOp, DequantiseTilesOp>(
            Factor.getDefiningOp()))
      return {};
  const Expr &Rows = A.getDims()[0], &Columns = BTy.getDims()[1];
  Shape S;
  S.M = Facts.optimum(Rows).value_or(0);
  S.N = Facts.optimum(Columns).value_or(0);
  S.K = *K;
  S.PartBytes = Element.isF32() && !For.Narrow ? 4 : 2;
  S.ElementBytes = S.PartBytes;
  S.IsExact = S.ElementBytes == 4 && !For.Tf32;
  S.KIsInner =
      !Factor(Op.getA()).IsTurned &&
      (Factor(Op.getB()).IsTurned || Op.getB().getDefiningOp<WeightOp>());
  if (S.M < FewestForMma || S.N < FewestForMma || S.K < 2 * LeastPart)
    return {};
  int64_t Parts = bestParts(S, For);
  int64_t Most = 0;
  if (Parts == 1 ||
      __builtin_mul_overflow(Facts.range(Rows).Max, Facts.range(Columns).Max,
                             &Most) ||
      Most > MostBytes / (Parts * S.PartBytes))
    return {};
  return Writer(Op, Parts).write();
}
