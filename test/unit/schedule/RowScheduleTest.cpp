//===- RowScheduleTest.cpp - Tests of schedules of rows -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/RowSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

RowShape shapeOf(int64_t Rows, int64_t Length, int64_t Lanes = 8) {
  RowShape S;
  S.Rows = Rows;
  S.Length = Length;
  S.Lanes = Lanes;
  return S;
}

bool isPowerOfTwo(int64_t V) { return V > 0 && (V & (V - 1)) == 0; }

} // namespace

TEST(RowSchedule, HoldsTheRowAndIsLegal) {
  for (const char *Name : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    const target::Target &T = *target::findTarget(Name);
    for (int64_t Length : {1, 7, 33, 64, 1000, 1024, 4099, 8192, 12288})
      for (int64_t Lanes : {1, 4, 8})
        for (int64_t Rows : {1, 100, 1 << 20}) {
          std::vector<RowCost> Ranked =
              rankRowSchedules(shapeOf(Rows, Length, Lanes), T);
          ASSERT_FALSE(Ranked.empty()) << Name << " " << Length;
          double Before = 0;
          for (const RowCost &One : Ranked) {
            const RowSchedule &S = One.Schedule;
            EXPECT_GE(S.capacity(), Length) << S.str();
            EXPECT_LE(S.blockThreads(), T.Limit.ThreadsPerBlock);
            EXPECT_TRUE(isPowerOfTwo(S.Threads) && isPowerOfTwo(S.Rows));
            EXPECT_GE(S.blockThreads(), 128);
            EXPECT_EQ(S.Lanes, Lanes);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
  }
}

TEST(RowSchedule, LongRowsFitNoRegisters) {
  EXPECT_TRUE(
      rankRowSchedules(shapeOf(100, 200000), *target::findTarget("sm_90a"))
          .empty());
}

TEST(RowSchedule, Prints) {
  std::vector<RowCost> Ranked =
      rankRowSchedules(shapeOf(32768, 1024), *target::findTarget("sm_90a"));
  ASSERT_FALSE(Ranked.empty());
  EXPECT_THAT(Ranked.front().str(),
              testing::MatchesRegex("rows [0-9]+ x [0-9]+ threads x [0-9]+ x "
                                    "8: [0-9.]+ us = max.[0-9.]+ move, "
                                    "[0-9.]+ issue, [0-9]+ turns x [0-9.]+."));
  // 134 MB there and back take 32 us of an H200's 4.8 TB/s at a copy's share.
  EXPECT_NEAR(Ranked.front().Move, 32.5, 0.5);
}

TEST(RowSchedule, FewLongRowsAreSharedByClusters) {
  const target::Target &Hopper = *target::findTarget("sm_90a");
  const RowSchedule S =
      rankRowSchedules(shapeOf(2, 65536), Hopper).front().Schedule;
  EXPECT_EQ(S.Blocks, 8);
  EXPECT_EQ(S.Rows, 1);
  EXPECT_THAT(S.str(), ::testing::EndsWith(" cluster 8"));
  // Many rows fill the chip, and short ones are over before a cluster meets.
  EXPECT_EQ(
      rankRowSchedules(shapeOf(4096, 8192), Hopper).front().Schedule.Blocks, 1);
  EXPECT_EQ(rankRowSchedules(shapeOf(1, 1024), Hopper).front().Schedule.Blocks,
            1);
  for (const char *Name : {"sm_80", "sm_89"})
    for (const RowCost &One :
         rankRowSchedules(shapeOf(2, 16384), *target::findTarget(Name)))
      EXPECT_EQ(One.Schedule.Blocks, 1) << Name;
}

TEST(RowSchedule, BlocksOfLongRowsKeepTheChipBusy) {
  const target::Target &Hopper = *target::findTarget("sm_90a");
  EXPECT_EQ(blocksOfLongRow(shapeOf(1, 400000), Hopper), 8);
  EXPECT_EQ(blocksOfLongRow(shapeOf(100, 400000), Hopper), 2);
  EXPECT_EQ(blocksOfLongRow(shapeOf(1000, 400000), Hopper), 1);
  EXPECT_EQ(blocksOfLongRow(shapeOf(1, 3000), Hopper), 1);
  EXPECT_EQ(blocksOfLongRow(shapeOf(1, 400000), *target::findTarget("sm_80")),
            1);
}
