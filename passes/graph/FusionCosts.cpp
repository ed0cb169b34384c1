//===- FusionCosts.cpp - Gates and RoPE in GEMMs, by cost -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/FusionCosts.h"

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/CodesSchedule.h"
#include "passes/schedule/GemvSchedule.h"
#include "passes/schedule/MemoryRate.h"

#include <cmath>

using namespace kpc;
using namespace kpc::graph;

namespace {

/// Of operands and results.
constexpr int64_t ElementBytes = 2;
/// A size of which nothing is said.
constexpr int64_t UnknownExtent = 512;
/// The rows that few-row GEMMs are typically for.
constexpr int64_t TypicalFewRows = 16;
/// A launch of the embedding's own kernel.
constexpr double LaunchTime = 2;
/// Microseconds of each result that RoPE adds to an epilogue of GEMMs of codes
/// of many rows, whose threads read angles of 16 rows each: 1024 × 3072 took 10
/// longer on an H200, 128 × 3072 1.2.
constexpr double CodesRopeTime = 3.2e-6;

/// Microseconds of the best kernel by mma.sync or tcgen05; infinite where
/// neither has a schedule. What the epilogue computes is left out on both
/// sides.
double bestOfGemms(const schedule::MmaSyncShape &Shape,
                   const target::Target &T) {
  double Best = INFINITY;
  if (auto Sync = schedule::rankMmaSyncSchedules(Shape, T); !Sync.empty())
    Best = Sync.front().Total;
  schedule::GemmShape Gemm;
  Gemm.M = Shape.M;
  Gemm.N = Shape.N;
  Gemm.K = Gemm.MinK = Shape.K;
  Gemm.Products = Shape.Products;
  Gemm.RotateHalf = Shape.RotateHalf;
  Gemm.EpilogueBytes = Shape.HasResidual ? Shape.ResultBytes : 0;
  if (auto Memory = schedule::rankBlackwellSchedules(Gemm, T); !Memory.empty())
    Best = std::min(Best, Memory.front().Total);
  return Best;
}

} // namespace

std::string FusionCosts::Slower::str() const {
  char Text[96];
  if (std::isinf(One))
    std::snprintf(Text, sizeof Text, ", on %s it has no schedule",
                  Name.str().c_str());
  else
    std::snprintf(Text, sizeof Text,
                  ", by the cost model of %s: %.1f us as one, %.1f as two",
                  Name.str().c_str(), One, Two);
  return Text;
}

int64_t FusionCosts::rowsOf(const FusedGemmSize &Size) const {
  return Facts.optimum(Size.Rows).value_or(UnknownExtent);
}

schedule::MmaSyncShape FusionCosts::shapeOf(const FusedGemmSize &Size,
                                            const Kernel &Of) const {
  schedule::MmaSyncShape Shape;
  Shape.M = rowsOf(Size);
  Shape.N = Size.Columns * Of.Products;
  Shape.K = Size.K;
  Shape.Products = Of.Products;
  Shape.RotateHalf = Of.RotateHalf;
  Shape.HasResidual = Of.HasResidual;
  return Shape;
}

/// The same of weights of codes, by the family of any number of rows.
double FusionCosts::costOfCodes(const FusedGemmSize &Size, const Kernel &Of,
                                const target::Target &T) const {
  schedule::CodesShape Shape;
  Shape.M = rowsOf(Size);
  Shape.N = Size.Columns;
  Shape.K = Size.K;
  Shape.Products = Of.Products;
  Shape.RotateHalf = Of.RotateHalf;
  Shape.Bits = Size.CodeBits;
  Shape.Block = Size.Block;
  Shape.ScaleBytes = Size.K > Size.Block ? Size.ScaleBytes : 0;
  Shape.ZeroBytes = Size.ZeroBytes;
  Shape.EpilogueBytes = Of.HasResidual ? ElementBytes : 0;
  auto Ranked = schedule::rankCodesSchedules(Shape, T);
  return Ranked.empty() ? INFINITY : Ranked.front().Total;
}

/// The GEMM of few rows.
schedule::GemvShape FusionCosts::fewRowsOf(const FusedGemmSize &Size,
                                           const Kernel &Of) const {
  schedule::GemvShape Few;
  Few.M = rowsOf(Size);
  Few.N = Size.Columns * Of.Products;
  Few.K = Size.K;
  Few.KContiguous = false;
  Few.Products = Of.Products;
  Few.RotateHalf = Of.RotateHalf;
  if (Size.CodeBits) {
    Few.MaxM = std::min(Facts.range(Size.Rows).Max, TypicalFewRows);
    Few.KContiguous = true;
    Few.WeightBits = Size.CodeBits;
    Few.Block = Size.Block;
    Few.ScaleBytes = Size.ScaleBytes;
    Few.ZeroBytes = Size.ZeroBytes;
  }
  return Few;
}

/// Models of GEMMs count what the second cache gives, not memory.
double FusionCosts::costOf(const FusedGemmSize &Size, const Kernel &Of,
                           const target::Target &T) const {
  int64_t Rows = rowsOf(Size), Columns = Size.Columns * Of.Products;
  schedule::GemvShape Few = fewRowsOf(Size, Of);
  bool IsPlain = Of.Products == 1 && !Of.RotateHalf;
  double FewCost = INFINITY;
  // Sizes of codes that are not typical have variants of their own.
  if (Size.CodeBits
          ? Rows <= TypicalFewRows
          : schedule::isForFewRows(Rows, Facts.range(Size.Rows).Max, IsPlain))
    if (auto Ranked = schedule::rankGemvSchedules(Few, T); !Ranked.empty())
      FewCost = Ranked.front().Total;
  if (!Size.CodeBits && !std::isinf(FewCost))
    return FewCost;
  if (Size.CodeBits)
    return std::min(FewCost, costOfCodes(Size, Of, T));
  int64_t Moved = Rows * Size.K + Columns * Size.K +
                  Rows * Size.Columns * (Of.HasResidual ? 2 : 1);
  return std::max(bestOfGemms(shapeOf(Size, Of), T),
                  double(Moved * ElementBytes) /
                      schedule::bytesOfMicrosecond(T));
}

std::optional<FusionCosts::Slower>
FusionCosts::whereGateIsSlower(const FusedGemmSize &Size) const {
  for (const target::Target *T : Targets) {
    double One = costOf(Size, {.Products = 2}, *T),
           Two = costOf(Size, {}, *T) + costOf(Size, {.HasResidual = true}, *T);
    if (One >= Two)
      return Slower{T->Name, One, Two};
  }
  return std::nullopt;
}

/// What was measured and is in no model of kernels alone.
static double addedByRope(int64_t Rows, const FusedGemmSize &Size) {
  return Size.CodeBits && Rows > TypicalFewRows
             ? CodesRopeTime * double(Rows * Size.Columns)
             : 0;
}

std::optional<FusionCosts::Slower>
FusionCosts::whereRopeIsSlower(const FusedGemmSize &Size, int64_t Half) const {
  for (const target::Target *T : Targets) {
    double Heads = 2.0 * double(rowsOf(Size) * Size.Columns * ElementBytes),
           One = costOf(Size, {.RotateHalf = Half}, *T) +
                 addedByRope(rowsOf(Size), Size),
           Two = costOf(Size, {}, *T) + LaunchTime +
                 Heads / schedule::bytesOfMicrosecond(*T);
    if (One >= Two)
      return Slower{T->Name, One, Two};
  }
  return std::nullopt;
}

bool FusionCosts::holdHeads(const FusedGemmSize &Size, int64_t Half) const {
  // Also where few rows are typical: more may come.
  Kernel Of = {.RotateHalf = Half};
  if (Size.CodeBits)
    return llvm::all_of(Targets, [&](const target::Target *T) {
      return !std::isinf(costOfCodes(Size, Of, *T)) ||
             (Facts.range(Size.Rows).Max <= schedule::MostFewRows &&
              !rankGemvSchedules(fewRowsOf(Size, Of), *T).empty());
    });
  schedule::MmaSyncShape Shape = shapeOf(Size, Of);
  return llvm::all_of(Targets, [&](const target::Target *T) {
    return !std::isinf(bestOfGemms(Shape, *T));
  });
}
