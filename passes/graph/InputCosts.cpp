//===- InputCosts.cpp - Whether 16 bits of inputs pay in a GEMM -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where 16 bits are stored, no GEMM rounds to tf32. One whose factors are both
/// the caller's, of f32, multiplies each as the sum of two numbers of tf32, at
/// a sixth of the rate of 16 bits. Kernels that narrow the factors cost
/// launches and bytes, which small GEMMs do not earn.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/InputCosts.h"

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/GemmSchedule.h"
#include "passes/schedule/MemoryRate.h"
#include "passes/schedule/MmaSyncSchedule.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// A size of which nothing is said.
constexpr int64_t UnknownExtent = 512;
/// Microseconds of a launch, and bytes that narrowing an element moves.
constexpr double LaunchTime = 2, BytesOfCast = 6;
constexpr int64_t MostPiece = 16;

/// Bytes that a copy of rows moves.
int64_t pieceOf(int64_t Row, int64_t ElementBytes) {
  return std::gcd(Row * ElementBytes, MostPiece);
}

template <typename CostT> double least(const std::vector<CostT> &Ranked) {
  return Ranked.empty() ? INFINITY : Ranked.front().Total;
}

schedule::MmaSyncShape syncShape(const schedule::GemmShape &Of,
                                 int64_t ElementBytes) {
  schedule::MmaSyncShape Shape;
  Shape.Batch = Of.Batch;
  Shape.M = Of.M;
  Shape.N = Of.N;
  Shape.K = Of.K;
  Shape.ElementBytes = ElementBytes;
  Shape.ResultBytes = Of.ResultBytes;
  Shape.PieceOfA = pieceOf(Of.K, ElementBytes);
  Shape.PieceOfB = pieceOf(Of.N, ElementBytes);
  Shape.Split = ElementBytes == 4;
  return Shape;
}

/// Where the two numbers of tf32 do not pay, loops are about as fast.
double ofWide(const schedule::GemmShape &Shape, const target::Target &T) {
  return least(schedule::rankMmaSyncSchedules(syncShape(Shape, 4), T));
}

double ofNarrow(const schedule::GemmShape &Shape, const target::Target &T) {
  double Best = least(schedule::rankMmaSyncSchedules(syncShape(Shape, 2), T));
  if (pieceOf(Shape.K, 2) == MostPiece && pieceOf(Shape.N, 2) == MostPiece)
    Best = std::min({Best, least(schedule::rankGemmSchedules(Shape, T)),
                     least(schedule::rankBlackwellSchedules(Shape, T))});
  return Best;
}

} // namespace

std::optional<InputCosts>
graph::costsOfInputs(MatmulOp Gemm, ArrayRef<Expr> Casts,
                     const shape::Facts &Facts,
                     ArrayRef<const target::Target *> Targets) {
  auto Typical = [&](const Expr &Size) {
    return Facts.optimum(Size).value_or(UnknownExtent);
  };
  ArrayRef<Expr> Y = typeOf(Gemm.getY()).getDims();
  Expr Matrices = 1;
  for (const Expr &Size : Y.drop_back(2))
    Matrices = Matrices * Size;
  schedule::GemmShape Shape;
  Shape.Batch = Typical(Matrices);
  Shape.M = Typical(Y[Y.size() - 2]);
  Shape.N = Typical(Y.back());
  Shape.K = Shape.MinK = Typical(typeOf(Gemm.getA()).getDims().back());
  Shape.ResultBytes = 4;
  std::optional<InputCosts> Found;
  for (const target::Target *T : Targets) {
    double Narrow = ofNarrow(Shape, *T);
    for (const Expr &Elements : Casts)
      Narrow += LaunchTime + double(Typical(Elements)) * BytesOfCast /
                                 schedule::bytesOfMicrosecond(*T);
    if (std::isinf(Narrow))
      return std::nullopt;
    Found = {ofWide(Shape, *T), Narrow};
    if (Found->Wide <= Found->Narrow)
      break;
  }
  return Found;
}
