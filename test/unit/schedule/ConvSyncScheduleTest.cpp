//===- ConvSyncScheduleTest.cpp - How convolutions on mma.sync are cut ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvSyncSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace kpc;
using namespace kpc::schedule;

namespace {

ConvSyncShape shapeOf(int64_t Groups, int64_t Channels, int64_t Outputs) {
  ConvSyncShape S;
  S.Places = 32 * 28 * 28;
  S.Taps = 9;
  S.Channels = Channels;
  S.Outputs = Outputs;
  S.Groups = Groups;
  return S;
}

const target::Target &targetOf(const char *Name) {
  return *target::findTarget(Name);
}

} // namespace

TEST(ConvSyncSchedule, ReadsWhatItPrints) {
  ConvSyncShape Shape = shapeOf(32, 8, 8);
  for (const char *Name : {"sm_80", "sm_90a", "sm_120a"}) {
    double Before = 0;
    auto Ranked = rankConvSyncSchedules(Shape, targetOf(Name));
    ASSERT_FALSE(Ranked.empty());
    for (const ConvSyncCost &One : Ranked) {
      auto Read =
          readConvSyncSchedule(One.Schedule.str(), Shape, targetOf(Name));
      ASSERT_TRUE(Read) << One.Schedule.str();
      EXPECT_EQ(Read->str(), One.str());
      EXPECT_GE(One.Total, Before);
      Before = One.Total;
    }
  }
}

TEST(ConvSyncSchedule, RefusesGroupsThatDoNotCoverAll) {
  ConvSyncShape Shape = shapeOf(6, 8, 8);
  auto Read = [&](const char *Groups) {
    std::string Text = "conv_mmasync 64x64x64 warpgroup 64x64 stages 3 group_m "
                       "2";
    return readConvSyncSchedule(Text + Groups, Shape, targetOf("sm_80"))
        .has_value();
  };
  EXPECT_TRUE(Read(""));
  EXPECT_TRUE(Read(" groups 3"));
  EXPECT_FALSE(Read(" groups 4"));
  EXPECT_FALSE(Read(" groups 0"));
  EXPECT_FALSE(Read(" groups 3 "));
  EXPECT_FALSE(Read(" groups"));
}

TEST(ConvSyncSchedule, JoinsSmallGroups) {
  EXPECT_GT(rankConvSyncSchedules(shapeOf(32, 4, 4), targetOf("sm_90a"))[0]
                .Schedule.Groups,
            4);
  EXPECT_EQ(rankConvSyncSchedules(shapeOf(4, 64, 64), targetOf("sm_90a"))[0]
                .Schedule.Groups,
            1);
}

TEST(ConvSyncSchedule, PiecesEndWithGroups) {
  ConvSyncShape Shape = shapeOf(8, 12, 6);
  ConvSyncSchedule S;
  EXPECT_EQ(S.pixelPiece(Shape), 8);
  EXPECT_EQ(S.filterPiece(Shape), 4);
  EXPECT_EQ(S.channelsOfTap(Shape), 12);
  S.Groups = 2;
  EXPECT_EQ(S.pixelPiece(Shape), 16);
  // All of a pixel: its last piece may be a part.
  Shape = shapeOf(1, 12, 6);
  S.Groups = 1;
  EXPECT_EQ(S.pixelPiece(Shape), 16);
  EXPECT_EQ(S.channelsOfTap(Shape), 16);
  Shape.KMajorFilter = true;
  EXPECT_EQ(S.filterPiece(Shape), 16);
}
