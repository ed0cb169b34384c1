//===- WindowScheduleTest.cpp - Tests of schedules of windows -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/WindowSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

WindowShape shapeOf(int64_t Images, int64_t Size, int64_t Channels,
                    int64_t Taps, int64_t Stride) {
  WindowShape S;
  S.Images = Images;
  S.Channels = Channels;
  S.Out = {Size, Size};
  S.Taps = {Taps, Taps};
  S.Stride = {Stride, Stride};
  S.Bytes = 2 * Images * Channels * Size * Size * (1 + Stride * Stride);
  return S;
}

} // namespace

TEST(WindowSchedule, ElementsThatNeighboursRead) {
  EXPECT_EQ(windowElements(1, 3, 1, 1), 3);
  EXPECT_EQ(windowElements(4, 3, 1, 1), 6);
  EXPECT_EQ(windowElements(4, 3, 2, 1), 9);
  EXPECT_EQ(windowElements(2, 3, 1, 2), 6); // 0 2 4 and 1 3 5
  EXPECT_EQ(windowElements(3, 1, 2, 1), 3); // with gaps
}

TEST(WindowSchedule, Legal) {
  for (const char *Name : {"sm_80", "sm_90a", "sm_120a"}) {
    const target::Target &T = *target::findTarget(Name);
    for (int64_t Size : {1, 7, 14, 112})
      for (int64_t Taps : {2, 3, 5, 7})
        for (int64_t Lanes : {1, 4, 8}) {
          WindowShape Shape = shapeOf(1, Size, 8 * Lanes, Taps, 2);
          Shape.MostLanes = Lanes;
          auto Ranked = rankWindowSchedules(Shape, T);
          ASSERT_FALSE(Ranked.empty());
          double Before = 0;
          for (const WindowCost &One : Ranked) {
            EXPECT_LE(One.Schedule.Lanes, Lanes);
            EXPECT_LE(One.Schedule.Columns, Size);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
  }
}

TEST(WindowSchedule, FewPlacesAreSharedByMoreThreads) {
  const target::Target &T = *target::findTarget("sm_90a");
  auto Work = [&](int64_t Images) {
    WindowSchedule S =
        rankWindowSchedules(shapeOf(Images, 14, 480, 3, 1), T).front().Schedule;
    return S.Rows * S.Columns * S.Lanes;
  };
  EXPECT_LT(Work(1), Work(64));
}

TEST(WindowSchedule, Prints) {
  auto Ranked = rankWindowSchedules(shapeOf(32, 56, 72, 3, 1),
                                    *target::findTarget("sm_90a"));
  ASSERT_FALSE(Ranked.empty());
  EXPECT_THAT(Ranked.front().str(),
              testing::MatchesRegex(
                  "window [0-9] x [0-9] x [0-9]: [0-9.]+ us = max.[0-9.]+ "
                  "move, [0-9.]+ issue, [0-9.]+ turns x [0-9.]+."));
}
