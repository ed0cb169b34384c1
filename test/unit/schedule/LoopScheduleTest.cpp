//===- LoopScheduleTest.cpp - Who runs which part of a loop ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/LoopSchedule.h"

#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

const target::Target &named(const char *Name) {
  return *target::findTarget(Name);
}

/// The state of a selective scan: batches and channels are axes, 16 numbers of
/// a channel are not.
LoopShape scan(int64_t Batch, int64_t Channels, int64_t Steps) {
  LoopShape Shape;
  Shape.Steps = Steps;
  Shape.Axes = {Batch, Channels};
  LoopExtent State{16, {true, true}};
  LoopStage Next{State, 1, 1, false, 5, 3};
  LoopStage Sum{{1, {true, true}}, 2, 16, true, 2, 1};
  Sum.Extent.Innermost = 1;
  Shape.Stages = {Next, Sum};
  Shape.Carried = Shape.Kept = {State};
  return Shape;
}

TEST(LoopSchedule, NeighboursAndAllMultiprocessorsWork) {
  LoopShape Shape = scan(1, 1536, 1024);
  auto Ranked = rankLoopSchedules(Shape, named("sm_90a"));
  ASSERT_FALSE(Ranked.empty());
  const LoopSchedule &Best = Ranked.front().Schedule;
  EXPECT_EQ(Best.Axis, 1);
  EXPECT_GE(Best.Tile, 8);
  EXPECT_GE(Best.blocks(Shape), 96);
  EXPECT_EQ(Ranked.front().Waves, 1);
}

TEST(LoopSchedule, CostsAreInOrderAndPrintTheirParts) {
  auto Ranked = rankLoopSchedules(scan(2, 64, 100), named("sm_80"));
  for (size_t I = 1; I < Ranked.size(); ++I)
    EXPECT_LE(Ranked[I - 1].Total, Ranked[I].Total);
  std::string Text = Ranked.front().str();
  EXPECT_EQ(Text.rfind(Ranked.front().Schedule.str() + ": ", 0), 0u) << Text;
  EXPECT_NE(Text.find("us = 100 x ("), std::string::npos) << Text;
}

TEST(LoopSchedule, LanesShareSumsAndBlocksLongOnes) {
  LoopSchedule S{-1, 1, 256};
  LoopStage Stage;
  Stage.Extent.Whole = 4;
  Stage.Terms = 16;
  Stage.Splits = true;
  EXPECT_EQ(S.lanes(Stage), 16); // as many as there are terms
  Stage.Extent.Whole = 100;
  EXPECT_EQ(S.lanes(Stage), 2); // as there are threads
  Stage.Extent.Whole = 2;
  Stage.Terms = 500;
  EXPECT_EQ(S.lanes(Stage), 32); // of a warp
  Stage.Terms = 1000;
  EXPECT_EQ(S.lanes(Stage), 256); // of the block
  Stage.Splits = false;
  EXPECT_EQ(S.lanes(Stage), 1);
}

TEST(LoopSchedule, AStateThatIsTooLargeIsRefused) {
  LoopShape Shape = scan(1, 8, 10);
  Shape.Kept[0].Whole = 1 << 20;
  std::string Why;
  EXPECT_TRUE(rankLoopSchedules(Shape, named("sm_90a"), &Why).empty());
  EXPECT_EQ(Why, "what it carries takes 4097 KiB in each block, and sm_90a has "
                 "227 KiB of shared memory");
}

TEST(LoopSchedule, StepsPayForLaunchesAndForMemory) {
  const target::Target &T = named("sm_90a");
  double Small = costOfSteps(scan(1, 64, 100), 3, T),
         Large = costOfSteps(scan(512, 65536, 100), 3, T);
  EXPECT_NEAR(Small, 100 * 3 * 2.0, 5);
  EXPECT_GT(Large, 100 * Small);
}

} // namespace
