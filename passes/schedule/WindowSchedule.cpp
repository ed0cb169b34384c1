//===- WindowSchedule.cpp - Which thread computes which windows -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/WindowSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kpc;
using namespace kpc::schedule;

std::string WindowSchedule::str() const {
  char Text[96];
  std::snprintf(Text, sizeof Text, "window %ld x %ld x %ld", long(Rows),
                long(Columns), long(Lanes));
  return Text;
}

std::string WindowCost::str() const {
  char Text[192];
  std::snprintf(Text, sizeof Text,
                "%s: %.1f us = max(%.1f move, %.1f issue, %.2f turns x %.2f)",
                Schedule.str().c_str(), Total, Move, Issue, Turns, Turn);
  return Text;
}

int64_t schedule::windowElements(int64_t Places, int64_t Taps, int64_t Stride,
                                 int64_t Dilation) {
  std::vector<int64_t> At;
  for (int64_t Place = 0; Place < Places; ++Place)
    for (int64_t Tap = 0; Tap < Taps; ++Tap)
      At.push_back(Place * Stride + Tap * Dilation);
  std::sort(At.begin(), At.end());
  return std::unique(At.begin(), At.end()) - At.begin();
}

namespace {

/// Share of the peak rate that a copy reaches (H200: 4.1 of 4.8 TB/s).
constexpr double CopyShare = 0.86;
/// Cycles of a load that misses the caches.
constexpr double MemoryCycles = 900;
/// Of what is not the greatest part, the share that is not hidden behind it.
constexpr double NotHidden = 0.25;
/// Instructions per cycle and multiprocessor, in threads, that are reached.
constexpr double ThreadsPerCycle = 128 * 0.7;
/// Instructions of a thread beside those of its elements, of each row and
/// column that it reads (where it is, whether inside), of each access and each
/// element of it, and of each output.
constexpr double ThreadInstructions = 60, LineInstructions = 8,
                 AccessInstructions = 5, ElementInstructions = 1.5,
                 OutputInstructions = 4;
constexpr int64_t OtherRegisters = 40, MostRegisters = 200;
/// Of tiles that reach beyond the image, registers for each pixel and lane. By
/// what ptxas 13.0 says for sm_90a of 95 kernels (3 × 3 and 5 × 5 taps, strides
/// 1 and 2, f16 and f32, sizes known and not), one of those below the limit
/// spills: 4 × 8 places of one lane, 44 bytes.
constexpr double PixelRegisters = 0.5, MostHeldRegisters = 245;
/// Multiplications of a thread: more is code that does not end.
constexpr int64_t MostMultiplied = 3200;
/// Where a target has no figures of its own.
constexpr double AnySmCount = 100, AnyGBps = 2000, Clock = 1.7e3;

struct Extent {
  int64_t Rows, Columns;
};

Extent readBy(const WindowSchedule &S, const WindowShape &Shape) {
  return {
      windowElements(S.Rows, Shape.Taps[0], Shape.Stride[0], Shape.Dilation[0]),
      windowElements(S.Columns, Shape.Taps[1], Shape.Stride[1],
                     Shape.Dilation[1])};
}

/// A row of the input, as it was loaded and as it is multiplied; the sums; the
/// filter as it was loaded: ptxas loads all of it first (5 × 5 taps of 8 lanes
/// spilled, and took 30 times as long). For chips before Hopper ptxas 13.0 puts
/// the loads of all rows first, too (5 × 5 taps over 2 × 2 places of 4 lanes:
/// 255 registers, and spills).
int64_t registersOf(const WindowSchedule &S, const WindowShape &Shape,
                    const target::Target &T) {
  Extent Read = readBy(S, Shape);
  int64_t Packed = (Shape.ElementBytes + 1) / 2;
  int64_t Filter = Shape.HasFilter ? Shape.Taps[0] * Shape.Taps[1] : 0;
  int64_t Loaded = Read.Columns * Packed / 4 + Filter / 2;
  if (T.Compute < 90)
    Loaded = (Read.Rows * Read.Columns + Filter) * Shape.ElementBytes / 4;
  return OtherRegisters +
         S.Lanes * (S.Rows * S.Columns + Read.Columns + Loaded);
}

/// Whether some of a tile's places may not be there, so that what they give is
/// stored under a condition.
bool reachesBeyond(const WindowSchedule &S, const WindowShape &Shape) {
  auto IsRagged = [&](unsigned D, int64_t Places) {
    return Places > 1 && (!Shape.Known[D] || Shape.Out[D] % Places != 0);
  };
  return IsRagged(0, S.Rows) || IsRagged(1, S.Columns);
}

/// LLVM moves what one condition alone asks for behind it: the sums of all
/// places but the first. Until then a thread holds all that they are made of,
/// the filter as it is multiplied (5 × 5 taps over 4 × 4 places of 4 lanes: 168
/// registers where they fit the image, else 255, and 616 bytes spill).
double heldRegisters(const WindowSchedule &S, const WindowShape &Shape) {
  Extent Read = readBy(S, Shape);
  double Pixels = double(Read.Rows * Read.Columns) * PixelRegisters,
         Filter = Shape.HasFilter ? double(Shape.Taps[0] * Shape.Taps[1]) : 0.0;
  return double(OtherRegisters) +
         double(S.Lanes) * (double(S.Rows * S.Columns) + Pixels + Filter);
}

bool fitsRegisters(const WindowSchedule &S, const WindowShape &Shape,
                   const target::Target &T) {
  return registersOf(S, Shape, T) <= MostRegisters &&
         (!reachesBeyond(S, Shape) ||
          heldRegisters(S, Shape) <= MostHeldRegisters);
}

WindowCost costOf(const WindowSchedule &S, const WindowShape &Shape,
                  const target::Target &T) {
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double Rate =
      (T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps) * CopyShare * 1e3;
  WindowCost Cost{S};
  Cost.Move = double(Shape.Bytes) / Rate;
  auto Parts = [](int64_t Size, int64_t By) {
    return std::ceil(double(Size) / double(By));
  };
  double Threads = double(Shape.Images) * Parts(Shape.Out[0], S.Rows) *
                   Parts(Shape.Out[1], S.Columns) *
                   Parts(Shape.Channels, S.Lanes);
  Extent Read = readBy(S, Shape);
  double Lanes = double(S.Lanes), Taps = double(Shape.Taps[0] * Shape.Taps[1]),
         Outputs = double(S.Rows * S.Columns);
  double Access = AccessInstructions + Lanes * ElementInstructions;
  double Line = LineInstructions * double(Read.Rows + Read.Columns) +
                double(Read.Rows * Read.Columns) * Access +
                (Shape.HasFilter ? Taps * Access : 0) + Outputs * Lanes * Taps;
  double Instructions = ThreadInstructions + double(Shape.Lines) * Line +
                        Outputs * Lanes * OutputInstructions;
  Cost.Issue = Threads * Instructions / (SmCount * ThreadsPerCycle * Clock);
  int64_t Resident = std::min<int64_t>(
      {T.Limit.RegistersPerSm / (registersOf(S, Shape, T) * WindowThreads),
       T.Limit.ThreadsPerSm / WindowThreads, T.Limit.BlocksPerSm});
  Resident = std::max<int64_t>(Resident, 1);
  double Blocks = std::ceil(Threads / double(WindowThreads));
  Cost.Turns = Blocks / (SmCount * double(Resident));
  // A block that begins while others compute is waited for in part.
  Cost.Turns = Cost.Turns <= 1 ? 1 : (Cost.Turns + std::ceil(Cost.Turns)) / 2;
  double Alone = std::min(double(Resident), std::ceil(Blocks / SmCount));
  Cost.Turn = (2 * MemoryCycles +
               Instructions * std::max(1.0, Alone * WindowThreads / 128)) /
              Clock;
  double All[] = {Cost.Move, Cost.Issue, Cost.Turns * Cost.Turn};
  double Greatest = *std::max_element(std::begin(All), std::end(All));
  Cost.Total = Greatest + NotHidden * (All[0] + All[1] + All[2] - Greatest);
  return Cost;
}

} // namespace

std::vector<WindowCost> schedule::rankWindowSchedules(const WindowShape &Shape,
                                                      const target::Target &T) {
  std::vector<WindowCost> Ranked;
  for (int64_t Lanes = Shape.MostLanes; Lanes >= 1; Lanes /= 2)
    for (int64_t Rows : {1, 2, 4})
      for (int64_t Columns = 1; Columns <= 8; ++Columns) {
        WindowSchedule S{Rows, Columns, Lanes};
        bool Beyond =
            (Rows > 1 && Rows >= 2 * Shape.Out[0]) || Columns > Shape.Out[1];
        bool IsLeast = Rows == 1 && Columns == 1;
        if (Beyond || (!IsLeast &&
                       (!fitsRegisters(S, Shape, T) ||
                        Rows * Columns * Lanes * Shape.Taps[0] * Shape.Taps[1] >
                            MostMultiplied)))
          continue;
        Ranked.push_back(costOf(S, Shape, T));
      }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const WindowCost &A, const WindowCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
