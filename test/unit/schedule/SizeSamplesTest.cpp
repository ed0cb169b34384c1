//===- SizeSamplesTest.cpp - Tests of the sizes schedules are compared at -===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/SizeSamples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::ElementsAre;

namespace {

std::vector<int64_t> samplesOf(const shape::SymbolFacts &Known) {
  shape::Facts Facts;
  Facts.declare("n", Known);
  std::vector<int64_t> Out;
  for (const shape::Bindings &At : sampleSizes(Facts, {"n"}))
    Out.push_back(At.at("n"));
  return Out;
}

TEST(SizeSamples, BoundsOptimumAndWhatLiesBetween) {
  EXPECT_THAT(samplesOf({.Min = 1, .Max = 8, .Optimum = 3}),
              ElementsAre(3, 1, 2, 4, 6, 8));
  EXPECT_THAT(samplesOf({.Min = 5, .Max = 20, .Optimum = 20}),
              ElementsAre(20, 5, 6, 8, 12, 16));
  EXPECT_THAT(samplesOf({.Min = 7, .Max = 7}), ElementsAre(7));
}

TEST(SizeSamples, AreMultiplesOfTheDivisor) {
  EXPECT_THAT(samplesOf({.Min = 0, .Max = 64, .Optimum = 32, .Divisor = 8}),
              ElementsAre(32, 8, 16, 24, 48, 64));
}

TEST(SizeSamples, ARangeWithoutEndIsLookedAtUpTo4096) {
  std::vector<int64_t> Samples = samplesOf({.Min = 1, .Optimum = 100});
  EXPECT_EQ(Samples.front(), 100);
  EXPECT_EQ(*std::max_element(Samples.begin(), Samples.end()), 4096);
  EXPECT_EQ(samplesOf({.Min = 9000}).size(), 1u);
}

TEST(SizeSamples, ManyDimsHaveFewEach) {
  shape::Facts Facts;
  std::set<std::string, std::less<>> Dims;
  for (const char *Name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    Facts.declare(Name, {.Min = 1, .Max = int64_t(1) << 62, .Optimum = 5});
    Dims.insert(Name);
    std::vector<shape::Bindings> Samples = sampleSizes(Facts, Dims);
    ASSERT_FALSE(Samples.empty());
    EXPECT_LE(Samples.size(), 128u);
    for (const auto &[Dim, Value] : Samples.front())
      EXPECT_EQ(Value, 5) << Dim;
  }
  EXPECT_EQ(sampleSizes(Facts, {}).size(), 1u);
}

} // namespace
