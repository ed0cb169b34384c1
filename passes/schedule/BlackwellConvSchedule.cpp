//===- BlackwellConvSchedule.cpp - Convolutions on tcgen05 ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/BlackwellConvSchedule.h"

#include <algorithm>
#include <string_view>

using namespace kpc;
using namespace kpc::schedule;

namespace {

/// What the texts of both begin with.
constexpr std::string_view Name = "conv ", GemmName = "gemm ";

std::string nameOf(const std::string &Gemm) {
  return std::string(Name) + Gemm.substr(GemmName.size());
}

/// The GEMM whose K has slices of `Slice` channels, the last of each tap filled
/// up with zeros. Of each place a copy looks up a line, however short.
BlackwellShape gemmOf(const ConvShape &Shape, int64_t Slice) {
  BlackwellShape Gemm = GemmShape();
  Gemm.StageLine = Slice * Shape.ElementBytes;
  Gemm.M = Shape.Places;
  Gemm.N = Shape.Outputs;
  Gemm.K = Shape.Taps * ((Shape.Channels + Slice - 1) / Slice) * Slice;
  Gemm.ElementBytes = Shape.ElementBytes;
  Gemm.ResultBytes = Shape.ResultBytes;
  Gemm.LinesOfA = CacheLineBytes / Gemm.StageLine;
  Gemm.EpilogueOperations = Shape.EpilogueOperations;
  Gemm.EpilogueBytes = Shape.ReadsAtResult ? Shape.ResultBytes : 0;
  return Gemm;
}

/// Slices, the widest first: of equals it is taken, since fewer steps wait less
/// often.
std::vector<int64_t> slicesOf(const ConvShape &Shape) {
  std::vector<int64_t> Slices;
  for (int64_t Slice = sliceOf(Shape);
       Slice * Shape.ElementBytes >= ShortLineBytes; Slice /= 2)
    Slices.push_back(Slice);
  return Slices;
}

} // namespace

std::string BlackwellConvCost::name() const { return nameOf(Schedule.str()); }

std::string BlackwellConvCost::str() const {
  return nameOf(BlackwellCost::str());
}

std::vector<BlackwellConvCost>
schedule::rankBlackwellConvSchedules(const ConvShape &Shape,
                                     const target::Target &T) {
  std::vector<BlackwellConvCost> Ranked;
  for (int64_t Slice : slicesOf(Shape))
    for (const BlackwellCost &One :
         rankBlackwellSchedules(gemmOf(Shape, Slice), T))
      Ranked.push_back({One});
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const BlackwellConvCost &A, const BlackwellConvCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}

std::optional<BlackwellConvCost> schedule::readBlackwellConvSchedule(
    const std::string &Text, const ConvShape &Shape, const target::Target &T) {
  if (!std::string_view(Text).starts_with(Name))
    return std::nullopt;
  std::string Gemm = std::string(GemmName) + Text.substr(Name.size());
  // The text says which slice it has; each is legal for one line alone.
  for (int64_t Slice : slicesOf(Shape))
    if (std::optional<BlackwellCost> Cost =
            readBlackwellSchedule(Gemm, gemmOf(Shape, Slice), T))
      return BlackwellConvCost{*Cost};
  return std::nullopt;
}
