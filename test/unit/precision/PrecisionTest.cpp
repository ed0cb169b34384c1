//===- PrecisionTest.cpp - The search of --precision auto -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/kpc/Command.h"
#include "tools/kpc/PrecisionGains.h"
#include "tools/kpc/PrecisionSearch.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace kpc;
using namespace kpc::cli;

namespace {

TEST(Budget, EachMeasureHasItsLimit) {
  EXPECT_NEAR(parseBudget("sqnr=30dB").Limit, 1e-3, 1e-12);
  EXPECT_NEAR(parseBudget("cosine=0.9995").Limit, 5e-4, 1e-12);
  EXPECT_NEAR(parseBudget("rmse=0.01").Limit, 1e-4, 1e-12);
  EXPECT_NEAR(parseBudget("max=0.02").Limit, 4e-4, 1e-12);
  for (const char *Bad :
       {"sqnr=30", "sqnr=30%", "snr=30dB", "sqnr", "sqnr=", "cosine=1.2",
        "cosine=0.9dB", "rmse=-1", "max=0", "max=nan", "sqnr=infdB", ""})
    EXPECT_THROW(parseBudget(Bad), UsageError) << Bad;
}

TEST(Budget, ErrorsOfOutputs) {
  OutputError E;
  E.add(std::vector<double>{1, 2.5, 3}, std::vector<double>{1, 2, 3});
  E.add(std::vector<double>{0, 4}, std::vector<double>{0, 4});
  EXPECT_NEAR(E.cost(AccuracyBudget::Sqnr), 0.25 / 30, 1e-12);
  EXPECT_NEAR(E.cost(AccuracyBudget::Rmse), 0.25 / 5, 1e-12);
  EXPECT_NEAR(E.cost(AccuracyBudget::Max), 0.25, 1e-12);
  double Cosine = 15 / std::sqrt(16.25 * 14);
  EXPECT_NEAR(E.cost(AccuracyBudget::Cosine), (1 - Cosine) / 2, 1e-12);
  // What is not finite in the reference is no error; in the result it is.
  double Inf = std::numeric_limits<double>::infinity();
  OutputError Both, One;
  Both.add(std::vector<double>{Inf, 1}, std::vector<double>{Inf, 1});
  EXPECT_EQ(Both.cost(AccuracyBudget::Sqnr), 0);
  One.add(std::vector<double>{Inf, 1}, std::vector<double>{2, 1});
  EXPECT_EQ(One.cost(AccuracyBudget::Sqnr), Inf);
}

std::vector<Layer> layers(unsigned Seed, size_t Count) {
  std::mt19937 Draw(Seed);
  std::uniform_real_distribution<double> Any(0.1, 10);
  std::vector<Layer> All;
  for (size_t I = 0; I < Count; ++I) {
    Layer &L = All.emplace_back();
    L.Node = "n" + std::to_string(I);
    for (const char *Type : {"int8", "fp8"})
      if (Draw() % 4)
        L.Types.push_back({Type, Any(Draw), {Any(Draw) * 1e-4}});
  }
  return All;
}

/// The most that is gained within the limit, of all allocations.
double best(const std::vector<Layer> &Layers, double Limit, size_t I = 0,
            double Cost = 0) {
  if (Cost > Limit)
    return -1e9;
  if (I == Layers.size())
    return 0;
  double Most = best(Layers, Limit, I + 1, Cost);
  for (const LayerType &T : Layers[I].Types)
    Most = std::max(
        Most, T.Gain + best(Layers, Limit, I + 1, Cost + greatest(T.Alone)));
  return Most;
}

TEST(Search, WaysGoFromTheFastestToNothing) {
  for (unsigned Seed = 0; Seed < 50; ++Seed) {
    std::vector<Layer> Layers = layers(Seed, 8);
    std::vector<Allocation> Ways = waysBack(Layers);
    EXPECT_NEAR(gainOf(Layers, Ways.front()), best(Layers, 1e9), 1e-9);
    EXPECT_EQ(Ways.back(), Allocation(Layers.size()));
    for (size_t I = 1; I < Ways.size(); ++I) {
      EXPECT_LE(gainOf(Layers, Ways[I]), gainOf(Layers, Ways[I - 1]) + 1e-9);
      EXPECT_LE(greatest(predicted(Layers, Ways[I], {})),
                greatest(predicted(Layers, Ways[I - 1], {})) + 1e-12);
    }
  }
}

TEST(Search, GreedyIsNearTheBest) {
  double Got = 0, Most = 0;
  for (unsigned Seed = 0; Seed < 50; ++Seed) {
    std::vector<Layer> Layers = layers(Seed, 8);
    constexpr double Limit = 15e-4;
    Most += best(Layers, Limit);
    for (const Allocation &At : waysBack(Layers))
      if (greatest(predicted(Layers, At, {})) <= Limit) {
        Allocation More = filled(Layers, At, {}, Limit);
        EXPECT_LE(greatest(predicted(Layers, More, {})), Limit);
        EXPECT_GE(gainOf(Layers, More), gainOf(Layers, At));
        Got += gainOf(Layers, More);
        break;
      }
  }
  EXPECT_GE(Got, 0.95 * Most);
}

TEST(Search, CostsThatAreNotFinite) {
  double Inf = std::numeric_limits<double>::infinity();
  std::vector<Layer> Layers = {
      {"a", {{"int8", 1, {Inf}}, {"fp8", 0.5, {1e-3}}}},
      {"b", {{"int8", 2, {1e-3}}}}};
  std::vector<Allocation> Ways = waysBack(Layers);
  EXPECT_EQ(Ways.front(), (Allocation{1, 1}));
  EXPECT_EQ(Ways[1], (Allocation{2, 1}));
  EXPECT_EQ(Ways.back(), (Allocation{0, 0}));
}

TEST(Search, FirstThatMeets) {
  for (size_t Count = 0; Count < 12; ++Count)
    for (size_t From = 0; From <= Count; ++From)
      for (size_t Guess = 0; Guess < 12; ++Guess)
        for (size_t At = 0; At <= Count; ++At) {
          bool Failed = false;
          auto Found = firstThatMeets(
              From, Count, Guess,
              [&](size_t I) -> std::optional<bool> { return I >= At; }, Failed);
          size_t First = std::max(From, At);
          EXPECT_EQ(Found, First < Count ? std::optional(First) : std::nullopt)
              << Count << " " << From << " " << Guess << " " << At;
        }
}

TEST(Gains, OfLaunches) {
  std::vector<LaunchEstimate> Plain = {{"sm_90a", false, 0, {"cast"}, 1},
                                       {"sm_90a", false, 0, {"norm"}, 2},
                                       {"sm_90a", true, 1, {"fc1", "gelu"}, 10},
                                       {"sm_90a", true, 1, {"fc2"}, 8}};
  // The norm makes codes of fc1, fc1 those of fc2, and a kernel those of fc3,
  // in the place of a cast.
  std::vector<LaunchEstimate> Codes = {
      {"sm_90a", false, 0, {"norm", "fc1"}, 3},
      {"sm_90a", true, 1, {"fc1", "gelu", "fc2"}, 6},
      {"sm_90a", true, 1, {"fc2", "fc1"}, 5},
      {"sm_90a", false, 0, {"fc3"}, 1.5}};
  auto Gains = gainsOf(Plain, Codes, {"fc1", "fc2", "fc3"});
  EXPECT_NEAR(Gains["fc1"], 10 - 6 - 1, 1e-12);
  EXPECT_NEAR(Gains["fc2"], 3, 1e-12);
  EXPECT_NEAR(Gains["fc3"], 1 - 1.5, 1e-12);
}

// The two GEMMs of a gate are one launch, and gain together.
TEST(Gains, OfGates) {
  std::vector<LaunchEstimate> Plain = {
      {"sm_90a", true, 2, {"gate", "up", "silu", "down"}, 10}};
  std::vector<LaunchEstimate> Codes = {
      {"sm_90a", true, 2, {"gate", "up", "silu"}, 6}};
  auto Gains = gainsOf(Plain, Codes, {"gate", "up", "down"});
  EXPECT_NEAR(Gains["gate"], 2, 1e-12);
  EXPECT_NEAR(Gains["up"], 2, 1e-12);
  EXPECT_NEAR(Gains["down"], 0, 1e-12);
}

} // namespace
