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
  std::snprintf(Text, sizeof Text, "gemv %ld columns x %ld warps x %ld",
                long(columns()), long(Warps), long(Steps));
  return Text;
}

std::string GemvCost::str() const {
  char Text[160];
  std::snprintf(Text, sizeof Text,
                "%s: %.2f us = %.2f rounds x %.2f stream + %.2f finish",
                Schedule.str().c_str(), Total, Rounds, Stream, Finish);
  return Text;
}

namespace {

/// Share of the peak rate that a copy reaches (H200: 4.1 of 4.8 TB/s).
constexpr double CopyShare = 0.86;
/// Bytes that a multiprocessor must have on the way to keep memory busy: its
/// share of 4.8 TB/s for about 1 us.
constexpr double BytesAhead = 40e3;
/// Microseconds of a block's start and of joining its warps' sums; rate of the
/// second cache over that of memory, for the rows that every block reads.
constexpr double StartMicroseconds = 2, CacheOverMemory = 1.3;
constexpr double AnySmCount = 100, AnyGBps = 2000;
/// Static shared memory.
constexpr int64_t MostShared = int64_t(48) * 1024;
constexpr int64_t ElementBytes = 2;

GemvCost costOf(const GemvSchedule &S, const GemvShape &Shape,
                const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double Rate =
      (T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps) * CopyShare * 1e3;
  GemvCost Cost{S};
  double Blocks = std::ceil(double(Shape.Columns) / double(S.columns()));
  double Mean = Blocks / SmCount;
  // Blocks take turns: what is left over at the end is a part of one.
  Cost.Rounds = std::max(std::ceil(Mean) / Mean, 1.0);
  if (Mean > 2)
    Cost.Rounds = 1 + (Cost.Rounds - 1) / 2;
  double Resident = std::min(std::ceil(Mean), 2048.0 / double(S.threads()));
  double Ahead = Resident * double(S.threads() * S.Steps * S.Slices) * 16;
  double Steps = double(S.sumStep());
  double Waste = std::ceil(double(Shape.Sum) / Steps) * Steps /
                 std::max(double(Shape.Sum), 1.0);
  Cost.Stream = double(Shape.Columns) * double(Shape.Sum) * ElementBytes /
                Rate / std::min(1.0, Ahead / BytesAhead) * std::sqrt(Waste);
  double Again = Blocks * double(std::min<int64_t>(Shape.Rows, 16)) *
                 double(Shape.Sum) * ElementBytes / (Rate * CacheOverMemory);
  Cost.Finish = StartMicroseconds + Again / 2;
  Cost.Total = Cost.Rounds * Cost.Stream + Cost.Finish;
  return Cost;
}

} // namespace

std::vector<GemvCost> schedule::rankGemvSchedules(const GemvShape &Shape,
                                                  const target::Target &T) {
  std::vector<GemvCost> Ranked;
  if (!(T.Can.MmaSync & target::MmaF16) || !(T.Can.MmaSync & target::MmaBf16))
    return Ranked;
  for (int64_t Slices : {8, 4, 2, 1})
    for (int64_t Warps : {16, 8, 4})
      for (int64_t Steps : {4, 2, 1}) {
        GemvSchedule S{Slices, Warps, Steps};
        // Loaded ahead: 4 registers a slice and step.
        if (Slices > Shape.MostSlices || S.sharedBytes() > MostShared ||
            Slices * Steps > 16 || (!Shape.SumContiguous && Slices < 2))
          continue;
        Ranked.push_back(costOf(S, Shape, T));
      }
  std::stable_sort(
      Ranked.begin(), Ranked.end(),
      [](const GemvCost &A, const GemvCost &B) { return A.Total < B.Total; });
  return Ranked;
}
