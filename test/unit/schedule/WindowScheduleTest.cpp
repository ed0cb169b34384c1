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

#include <algorithm>

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

/// Registers and spills by ptxas 13.0 -v, of 5 x 5 taps of f16.
TEST(WindowSchedule, TilesBeyondTheImageFitRegisters) {
  const target::Target &T = *target::findTarget("sm_90a");
  auto Tries = [&](const WindowShape &Shape, const std::string &Text) {
    auto Ranked = rankWindowSchedules(Shape, T);
    return std::any_of(Ranked.begin(), Ranked.end(), [&](const WindowCost &C) {
      return C.Schedule.str() == Text;
    });
  };
  WindowShape Known = shapeOf(32, 28, 128, 5, 1);
  for (const char *Fits : {"window 4 x 4 x 4", "window 4 x 2 x 4",
                           "window 2 x 4 x 4", "window 1 x 3 x 4"})
    EXPECT_TRUE(Tries(Known, Fits)) << Fits;
  for (const char *Spills :
       {"window 4 x 3 x 4", "window 2 x 6 x 4", "window 1 x 8 x 4"})
    EXPECT_FALSE(Tries(Known, Spills)) << Spills;

  WindowShape Unknown = Known;
  Unknown.Known = {false, false};
  for (const char *Fits : {"window 1 x 1 x 4", "window 1 x 4 x 4",
                           "window 2 x 2 x 4", "window 4 x 4 x 2"})
    EXPECT_TRUE(Tries(Unknown, Fits)) << Fits;
  for (const char *Spills : {"window 4 x 4 x 4", "window 4 x 2 x 4",
                             "window 2 x 4 x 4", "window 2 x 3 x 4"})
    EXPECT_FALSE(Tries(Unknown, Spills)) << Spills;
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
