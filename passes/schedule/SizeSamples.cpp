//===- SizeSamples.cpp - Sizes to compare schedules at --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/SizeSamples.h"

#include <algorithm>

using namespace kpc;
using namespace kpc::schedule;
using shape::Expr;
using shape::Interval;

namespace {

/// Where a range has no end, sizes above this are not looked at: schedules that
/// are good there are as good further on, for multiprocessors are full.
constexpr int64_t FarEnough = 4096;
/// What a kernel's schedules are ranked for; a ranking takes 0.1 to 1 ms.
constexpr size_t MostSamples = 128;

/// What is taken between a dim's bounds.
enum class Ladder { TwosAndThrees, Twos, Fours, Bounds, Optimum };
constexpr Ladder Ladders[] = {Ladder::TwosAndThrees, Ladder::Twos,
                              Ladder::Fours, Ladder::Bounds, Ladder::Optimum};

/// The optimum first, the others in order.
std::vector<int64_t> valuesOf(const shape::Facts &Facts, std::string_view Dim,
                              Ladder Steps) {
  Expr E = Expr::symbol(Dim);
  Interval Range = Facts.range(E);
  int64_t Divisor = std::max<int64_t>(Facts.divisor(E), 1);
  int64_t Optimum = Facts.optimum(E).value_or(1);
  if (Range.Max == Interval::Unbounded)
    Range.Max = std::max({Range.Min, Optimum, FarEnough});
  std::set<int64_t> Values;
  auto Add = [&](int64_t Value) {
    int64_t Multiple = Value / Divisor * Divisor;
    if (Multiple >= std::max<int64_t>(Range.Min, 1) && Multiple <= Range.Max &&
        Multiple != Optimum)
      Values.insert(Multiple);
  };
  if (Steps != Ladder::Optimum)
    for (int64_t Bound : {std::max(Range.Min, Divisor), Range.Max})
      Add(Bound);
  int64_t Factor = Steps == Ladder::Fours ? 4 : 2;
  if (Steps < Ladder::Bounds)
    for (int64_t Power = 1; Power <= Range.Max / Factor; Power *= Factor) {
      Add(Power);
      Add(Power * Factor);
      if (Steps == Ladder::TwosAndThrees)
        Add(Power + Power / 2);
    }
  std::vector<int64_t> Out = {Optimum};
  Out.insert(Out.end(), Values.begin(), Values.end());
  return Out;
}

std::vector<shape::Bindings>
product(const std::map<std::string, std::vector<int64_t>> &Values) {
  std::vector<shape::Bindings> All = {{}};
  for (const auto &[Dim, List] : Values) {
    std::vector<shape::Bindings> Longer;
    for (const shape::Bindings &Shorter : All)
      for (int64_t Value : List) {
        Longer.push_back(Shorter);
        Longer.back().emplace(Dim, Value);
      }
    All = std::move(Longer);
  }
  return All;
}

} // namespace

std::vector<shape::Bindings>
schedule::sampleSizes(const shape::Facts &Facts,
                      const std::set<std::string, std::less<>> &Dims) {
  for (Ladder Steps : Ladders) {
    std::map<std::string, std::vector<int64_t>> Values;
    size_t Samples = 1;
    for (const std::string &Dim : Dims) {
      auto &List = Values[Dim] = valuesOf(Facts, Dim, Steps);
      Samples = std::min(Samples * List.size(), MostSamples + 1);
    }
    if (Samples <= MostSamples)
      return product(Values);
  }
  return {}; // not reached: the last ladder has one sample
}
