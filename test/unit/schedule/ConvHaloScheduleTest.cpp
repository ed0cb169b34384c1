//===- ConvHaloScheduleTest.cpp - Convolutions of tiles of images ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvHaloSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace kpc;
using namespace kpc::schedule;

namespace {

/// 3×3 taps over images of 256×256.
ConvHaloShape shapeOf(int64_t Channels, int64_t Outputs) {
  ConvHaloShape S;
  S.Images = 8;
  S.Places = S.Pixels = {256, 256};
  S.Taps = {3, 3};
  S.Channels = Channels;
  S.Outputs = Outputs;
  return S;
}

const target::Target &targetOf(const char *Name) {
  return *target::findTarget(Name);
}

bool isLegal(const char *Text, const ConvHaloShape &Shape, const char *Name) {
  return readConvHaloSchedule(Text, Shape, targetOf(Name)).has_value();
}

} // namespace

TEST(ConvHaloSchedule, ReadsWhatItPrints) {
  ConvHaloShape Shape = shapeOf(32, 32);
  for (const char *Name : {"sm_80", "sm_86", "sm_90a", "sm_120a"}) {
    double Before = 0;
    auto Ranked = rankConvHaloSchedules(Shape, targetOf(Name));
    ASSERT_FALSE(Ranked.empty()) << Name;
    for (const ConvHaloCost &One : Ranked) {
      auto Read =
          readConvHaloSchedule(One.Schedule.str(), Shape, targetOf(Name));
      ASSERT_TRUE(Read) << One.Schedule.str();
      EXPECT_EQ(Read->str(), One.str());
      EXPECT_GE(One.Total, Before);
      Before = One.Total;
    }
  }
}

TEST(ConvHaloSchedule, RefusesWhatHasNoRoom) {
  ConvHaloShape Shape = shapeOf(32, 32);
  EXPECT_TRUE(
      isLegal("conv_halo 16x16x32 warpgroups 4 stages 2", Shape, "sm_90a"));
  EXPECT_FALSE(
      isLegal("conv_halo 16x16x32 warpgroups 4 stages 2", Shape, "sm_86"));
  // Not a power of two, parts of a matrix, too many sums, text after it.
  for (const char *Text : {"conv_halo 12x16x32 warpgroups 1 stages 1",
                           "conv_halo 16x8x32 warpgroups 1 stages 1",
                           "conv_halo 16x16x128 warpgroups 1 stages 1",
                           "conv_halo 16x16x32 warpgroups 5 stages 1",
                           "conv_halo 16x16x32 warpgroups 1 stages 3",
                           "conv_halo 2x128x32 warpgroups 1 stages 1",
                           "conv_halo 16x16x32 warpgroups 1 stages 1 "})
    EXPECT_FALSE(isLegal(Text, Shape, "sm_90a")) << Text;
  // Results of one byte need 32 outputs for a line of shared memory.
  Shape.ResultBytes = 1;
  EXPECT_FALSE(
      isLegal("conv_halo 16x16x16 warpgroups 1 stages 1", Shape, "sm_90a"));
}

TEST(ConvHaloSchedule, CountsTheBorder) {
  ConvHaloShape Shape = shapeOf(32, 32);
  ConvHaloSchedule S;
  EXPECT_EQ(S.pixels(Shape), 18 * 18);
  // Rows of 80 bytes, in whole kilobytes.
  EXPECT_EQ(Shape.pixelPitch(), 40);
  EXPECT_EQ(S.stageBytes(Shape), 26 * 1024);
  EXPECT_EQ(S.filterBytes(Shape), 9 * 32 * 32 * 2);
  Shape.Strides = {2, 2};
  Shape.Dilations = {1, 2};
  EXPECT_EQ(S.pixels(Shape), 33 * 35);
  // Of 24 channels, rows have an odd number of 16 bytes as they are.
  EXPECT_EQ(shapeOf(24, 32).pixelPitch(), 24);
}

TEST(ConvHaloSchedule, StagesHoldALineOfResults) {
  // 16 of f32 for each place are more than its pixels.
  ConvHaloShape Shape = shapeOf(8, 16);
  ConvHaloSchedule S{4, 16, 16, 1, 1};
  EXPECT_EQ(S.stageBytes(Shape), 2 * 1024);
  Shape.ResultBytes = 4;
  EXPECT_EQ(S.stageBytes(Shape), 4 * 1024);
}

TEST(ConvHaloSchedule, TapsForChannelsShareTheirPixels) {
  // 7 × 7 taps of 4 channels, stride 2: 28 channels, each pixel 8 on.
  ConvHaloShape Shape = shapeOf(28, 64);
  Shape.Taps = {7, 1};
  Shape.Strides = {2, 1};
  Shape.PixelStep = 8;
  ConvHaloSchedule S;
  S.TileN = 64;
  // 16 places and three pixels more, 16 bytes each, and 32 rows for a tap.
  EXPECT_EQ(S.pixels(Shape), 37 * 19);
  EXPECT_EQ(Shape.pixelPitch(), 8);
  EXPECT_EQ(S.stageBytes(Shape), 11 * 1024);
  EXPECT_EQ(S.filterBytes(Shape), 7 * 32 * 64 * 2);
}

TEST(ConvHaloSchedule, FewChannelsCostNoMoreThanMeasured) {
  // 37.5 and 61.4 us on an H200.
  const target::Target &T = targetOf("sm_90a");
  EXPECT_NEAR(rankConvHaloSchedules(shapeOf(32, 32), T)[0].Total, 37.5, 4);
  EXPECT_NEAR(rankConvHaloSchedules(shapeOf(64, 32), T)[0].Total, 61.4, 6);
}
