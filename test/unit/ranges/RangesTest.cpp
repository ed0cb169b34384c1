//===- RangesTest.cpp - Ranges of values, sample by sample ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/kpc/RangeCollector.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace kpc::cli;

namespace {

std::vector<float> normalNumbers(size_t Count, unsigned Seed) {
  std::mt19937 Draw(Seed);
  std::normal_distribution<float> Normal;
  std::vector<float> Numbers(Count);
  for (float &V : Numbers)
    V = Normal(Draw);
  return Numbers;
}

TEST(Ranges, MaxIsTheGreatestMagnitude) {
  RangeCollector R;
  EXPECT_TRUE(R.add(std::vector<float>{1, -2, 0.5, 0}, 2));
  EXPECT_TRUE(R.add(std::vector<float>{-7, 3}, 2));
  EXPECT_EQ(R.least(), -7);
  EXPECT_EQ(R.greatest(), 3);
  EXPECT_EQ(R.range(RangeMethod::Max, 0), 7);
  EXPECT_EQ(R.channelLargest(), (std::vector<float>{7, 3}));
  EXPECT_FLOAT_EQ(R.channelMean()[0], (1 + 0.5F - 7) / 3);
  EXPECT_FLOAT_EQ(R.channelRms()[1], std::sqrt((4.0F + 0 + 9) / 3));
}

TEST(Ranges, ZerosHaveNone) {
  RangeCollector R;
  EXPECT_TRUE(R.add(std::vector<float>(8), 4));
  EXPECT_TRUE(R.add({}, 4));
  for (const std::string &Name : rangeMethodNames())
    EXPECT_EQ(R.range(*rangeMethodByName(Name), 99), 0) << Name;
}

TEST(Ranges, WhatIsNotFiniteIsRefused) {
  RangeCollector R;
  EXPECT_FALSE(R.add(std::vector<float>{1, NAN}, 2));
  EXPECT_FALSE(
      R.add(std::vector<float>{std::numeric_limits<float>::infinity()}, 1));
}

TEST(Ranges, OtherChannelsEndTheMoments) {
  RangeCollector R;
  EXPECT_TRUE(R.add(std::vector<float>(8, 1), 4));
  EXPECT_TRUE(R.add(std::vector<float>(8, 2), 2));
  EXPECT_TRUE(R.channelLargest().empty());
  EXPECT_EQ(R.range(RangeMethod::Max, 0), 2);
}

// The histogram doubles its width: the order of samples changes no range by
// more than a bin.
TEST(Ranges, GrowWithTheSamples) {
  RangeCollector Up, Down;
  std::vector<float> Numbers = normalNumbers(100000, 1);
  std::vector<float> Small(Numbers), Large(Numbers);
  for (float &V : Small)
    V *= 0.001F;
  for (float &V : Large)
    V *= 10;
  Up.add(Small, 100);
  Up.add(Large, 100);
  Down.add(Large, 100);
  Down.add(Small, 100);
  for (const std::string &Name : rangeMethodNames()) {
    RangeMethod Method = *rangeMethodByName(Name);
    EXPECT_NEAR(Up.range(Method, 99.9), Down.range(Method, 99.9),
                0.01 * Down.magnitude())
        << Name;
  }
}

// One outlier among many normal numbers: a percentile and entropy leave it out;
// the least squares of 127 steps do where that gains more than it loses.
TEST(Ranges, AnOutlierIsClipped) {
  RangeCollector R;
  std::vector<float> Numbers = normalNumbers(1000000, 2);
  Numbers[17] = 40;
  R.add(Numbers, 1000);
  EXPECT_EQ(R.range(RangeMethod::Max, 0), 40);
  EXPECT_NEAR(R.range(RangeMethod::Percentile, 99.9), 3.3, 0.1);
  EXPECT_LT(R.range(RangeMethod::Entropy, 0), 20);
  EXPECT_LT(R.range(RangeMethod::Mse, 0), 20);
  EXPECT_GT(R.range(RangeMethod::Mse, 0), 3);
}

// Uniform numbers have nothing to clip.
TEST(Ranges, UniformNumbersStay) {
  RangeCollector R;
  std::vector<float> Numbers(100000);
  for (size_t I = 0; I < Numbers.size(); ++I)
    Numbers[I] =
        static_cast<float>(I) / static_cast<float>(Numbers.size()) - 0.5F;
  R.add(Numbers, 10);
  EXPECT_GT(R.range(RangeMethod::Mse, 0), 0.48);
  EXPECT_GT(R.range(RangeMethod::Entropy, 0), 0.48);
}

TEST(Ranges, MethodsHaveNames) {
  for (const std::string &Name : rangeMethodNames())
    EXPECT_EQ(rangeMethodName(*rangeMethodByName(Name)), Name);
  EXPECT_FALSE(rangeMethodByName("best"));
}

} // namespace
