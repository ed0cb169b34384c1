//===- RecurrentSchedule.cpp - Who has which weights of a layer -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/RecurrentSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

using namespace kpc;
using namespace kpc::schedule;

std::string RecurrentSchedule::str() const {
  return "recurrent " + std::to_string(Units) + " units x " +
         std::to_string(Columns) + " rows keep " + std::to_string(Kept);
}

std::string RecurrentCost::str() const {
  char Text[256];
  std::snprintf(Text, sizeof(Text),
                "%s: %.1f us = %lld x (%.2f wait + %.2f load + %.2f multiply + "
                "%.2f update), %lld of %lld parts of weights kept",
                Schedule.str().c_str(), Total,
                static_cast<long long>(std::max<int64_t>(Steps, 1)), Wait, Load,
                Product, Update, static_cast<long long>(Schedule.Kept),
                static_cast<long long>(Parts));
  return Text;
}

namespace {

/// Microseconds from the last arrival to when all blocks go on: a store, an
/// atomic and a load of the second cache.
constexpr double WaitMicroseconds = 1.5;
/// A load of the second cache, and bytes a microsecond of all blocks.
constexpr double LoadMicroseconds = 0.7, LoadRate = 4e6;
/// Bytes a microsecond of a multiprocessor's shared memory.
constexpr double SharedRate = 128 * 1.6e3;
constexpr double UpdateMicroseconds = 0.3, StartMicroseconds = 6;
constexpr double AnyTf32 = 60, AnySmCount = 100;
/// Where less of the weights is kept, steps are kernels that read all of them.
constexpr double LeastKept = 0.5;

/// Multiprocessors that every chip of the target has: a grid that waits for
/// itself must be on the chip as a whole. Of GeForce, RTX and small data center
/// cards it is the least of the series, by NVIDIA's data sheets. An H100 PCIe
/// has 114 and an H20 has 78 of sm_90a's 132; the runtime says so there.
int64_t multiprocessorsOf(const target::Target &T) {
  struct Least {
    std::string_view Target;
    int64_t Multiprocessors;
  };
  constexpr Least Series[] = {
      {"sm_80", 56},   // A30
      {"sm_86", 10},   // A2
      {"sm_89", 20},   // GeForce RTX 4050
      {"sm_110a", 12}, // Jetson T4000
      {"sm_120a", 20}, // GeForce RTX 5050
  };
  if (T.TheKind == target::Kind::Portable)
    return 10;
  for (const Least &One : Series)
    if (One.Target == T.Name)
      return One.Multiprocessors;
  return T.Cost.SmCount;
}

RecurrentCost costOf(const RecurrentSchedule &S, const RecurrentShape &Shape,
                     const target::Target &T) {
  RecurrentCost Cost{S};
  Cost.Steps = Shape.Steps;
  Cost.Parts = Shape.parts();
  double Blocks = double(S.blocks(Shape));
  double Passes = std::ceil(double(Shape.Batch) / double(S.Columns));
  double Whole = double(Shape.parts() * S.partBytes(Shape));
  double State =
      double(Shape.parts()) * RecurrentShape::PartBytes * double(Shape.Batch);
  double Missing =
      double((Shape.parts() - S.Kept) * S.partBytes(Shape)) * Passes;
  Cost.Wait = WaitMicroseconds;
  Cost.Load = LoadMicroseconds + Blocks * (State + Missing) / LoadRate;
  double SmCount = T.Cost.SmCount ? T.Cost.SmCount : AnySmCount;
  double Rate = Shape.ElementBytes == 2 ? T.Cost.Fp16 : T.Cost.Tf32;
  // mma.sync has half of what wgmma has.
  Rate = (Rate > 0 ? Rate : AnyTf32) * 1e6 / SmCount / 2;
  int64_t K = Shape.parts() * RecurrentShape::PartBytes / Shape.ElementBytes;
  double Work = 2.0 * double(S.rows(Shape) * S.Columns) * Passes * double(K) *
                (Shape.Split ? 3 : 1);
  Cost.Product = std::max(Whole * Passes / SharedRate, Work / Rate);
  Cost.Update =
      UpdateMicroseconds + 2 * double(S.sumBytes(Shape)) * Passes / SharedRate;
  Cost.Total = StartMicroseconds +
               double(std::max<int64_t>(Shape.Steps, 1)) *
                   (Cost.Wait + Cost.Load + Cost.Product + Cost.Update);
  return Cost;
}

} // namespace

std::vector<RecurrentCost>
schedule::rankRecurrentSchedules(const RecurrentShape &Shape,
                                 const target::Target &T, std::string *Why) {
  std::vector<RecurrentCost> Ranked;
  auto Refuse = [&](std::string Reason) {
    if (Why)
      *Why = std::move(Reason);
    return Ranked;
  };
  constexpr uint32_t All = target::MmaF16 | target::MmaBf16 | target::MmaTf32;
  uint32_t Needed = Shape.ElementBytes == 2 ? All & ~uint32_t(target::MmaTf32)
                                            : uint32_t(target::MmaTf32);
  if (!T.isGpu() || (T.Can.MmaSync & Needed) != Needed)
    return Refuse(std::string(T.Name) +
                  " has no mma.sync of the weights' type");
  bool Fits = false;
  // Rows of weights that do not begin at multiples of 16 bytes are read element
  // by element, which is for the start alone.
  bool Streams = Shape.Hidden * Shape.ElementBytes % 16 == 0;
  for (int64_t Units : {4, 8, 16, 32}) {
    for (int64_t Columns : {8, 16, 32, 64}) {
      RecurrentSchedule S{Units, Columns};
      int64_t Tiles = S.rows(Shape) / 16 * (Columns / 8);
      // Sums are four registers a tile.
      constexpr int64_t MostTiles = 16;
      if (Tiles > MostTiles || (Columns > 8 && Columns / 2 >= Shape.Batch))
        continue;
      if (S.blocks(Shape) > multiprocessorsOf(T))
        continue;
      Fits = true;
      int64_t Room = T.Limit.SharedPerBlock - S.sumBytes(Shape);
      if (Room < 0)
        continue;
      S.Kept = std::min(Shape.parts(), Room / S.partBytes(Shape));
      if (S.Kept < Shape.parts())
        S.Kept = S.Kept / S.Warps * S.Warps;
      if (S.Kept < Shape.parts() &&
          (!Streams || double(S.Kept) < LeastKept * double(Shape.parts())))
        continue;
      Ranked.push_back(costOf(S, Shape, T));
    }
  }
  if (Ranked.empty())
    return Refuse(Fits ? "its weights do not fit into the shared memory of " +
                             std::string(T.Name)
                       : "chips of " + std::string(T.Name) +
                             " may have fewer multiprocessors than it has "
                             "blocks");
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const RecurrentCost &A, const RecurrentCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}
