//===- AttentionSyncScheduleTest.cpp - Tests of attention on mma.sync -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionSyncSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::HasSubstr;

namespace {

const target::Target &ampere() { return *target::findTarget("sm_80"); }

AttentionShape shapeOf(int64_t Heads, int64_t Length, int64_t Depth,
                       bool Causal = false) {
  AttentionShape S;
  S.Heads = Heads;
  S.Queries = S.Keys = Length;
  S.Depth = S.Width = Depth;
  S.Causal = Causal;
  return S;
}

TEST(AttentionSyncSchedule, Sizes) {
  AttentionSyncSchedule S; // 128×64, one warpgroup, one stage
  AttentionShape Shape = shapeOf(64, 4096, 128);
  EXPECT_EQ(S.threads(), 128);
  // Queries, keys and values.
  EXPECT_EQ(S.sharedBytes(Shape), (128 + 64 + 64) * 128 * 2);
  // Sums and scores of 32 queries in 32 threads.
  EXPECT_EQ(S.neededRegisters(Shape), 128 + 64 + 48);
  EXPECT_EQ(S.str(),
            "attention_mmasync 128x64 warpgroup 128 stages 1 queries shared");
  S.HoldsQueries = true;
  EXPECT_EQ(S.neededRegisters(Shape), 128 + 64 + 64 + 48);
  // Results take the place of queries.
  Shape.Width = 256;
  EXPECT_EQ(S.sharedBytes(Shape), (128 * 256 + 64 * (128 + 256)) * 2);
}

/// What a mask and words of f32 take: with 128 scores in a thread more than
/// with 64, so that such schedules are not ranked where ptxas would spill.
TEST(AttentionSyncSchedule, MasksAndWordsTakeRegisters) {
  AttentionSyncSchedule S; // 128×64: 64 scores of a thread
  AttentionShape Shape = shapeOf(64, 2048, 32);
  int64_t Plain = S.neededRegisters(Shape);
  EXPECT_EQ(Plain, 32 + 64 + 48);
  Shape.Scored = true;
  EXPECT_EQ(S.neededRegisters(Shape), Plain + 24);
  Shape.ElementBytes = 4;
  EXPECT_EQ(S.neededRegisters(Shape), Plain + 24 + 8);
  Shape.Capped = true;
  EXPECT_EQ(S.neededRegisters(Shape), Plain + 24 + 8);
  Shape.Scored = false;
  EXPECT_EQ(S.neededRegisters(Shape), Plain + 24 + 8);
  Shape.Capped = false;
  Shape.Scored = true;
  S.TileKeys = 128;
  EXPECT_EQ(S.neededRegisters(Shape), Plain + 64 + 40 + 16);
  for (int64_t Bytes : {2, 4})
    for (bool Scored : {false, true}) {
      Shape.ElementBytes = Bytes;
      Shape.Scored = Scored;
      bool IsRanked = false;
      for (const AttentionSyncCost &One :
           rankAttentionSyncSchedules(Shape, ampere()))
        IsRanked |= One.Schedule.WarpgroupQueries == 128 &&
                    One.Schedule.TileKeys == 128;
      EXPECT_EQ(IsRanked, !Scored) << Bytes;
    }
}

/// No ptxas looks for a schedule that does not spill.
TEST(AttentionSyncSchedule, PortableHasMoreToSpareWithMasks) {
  AttentionShape Shape = shapeOf(64, 277, 128);
  auto MostNeeded = [&](const char *Target) {
    int64_t Most = 0;
    for (const AttentionSyncCost &One :
         rankAttentionSyncSchedules(Shape, *target::findTarget(Target)))
      Most = std::max(Most, One.Schedule.neededRegisters(Shape));
    return Most;
  };
  EXPECT_EQ(MostNeeded("sm_80"), MostNeeded("compute_80"));
  Shape.Scored = true;
  EXPECT_GT(MostNeeded("sm_80"), 231);
  EXPECT_LE(MostNeeded("compute_80"), 231);
}

TEST(AttentionSyncSchedule, AllAreLegal) {
  for (const target::Target &T : target::allTargets()) {
    if (!T.isGpu())
      continue;
    for (int64_t Depth : {8, 32, 64, 72, 96, 128, 192, 256})
      for (int64_t Length : {1, 17, 1000, 4096, 1 << 20})
        for (int Masks = 0; Masks < 4; ++Masks) {
          AttentionShape Shape = shapeOf(3, Length, Depth, Masks & 1);
          Shape.Scored = Masks & 2;
          std::vector<AttentionSyncCost> Ranked =
              rankAttentionSyncSchedules(Shape, T);
          ASSERT_FALSE(Ranked.empty()) << T.Name << " " << Depth;
          double Before = 0;
          for (const AttentionSyncCost &One : Ranked) {
            const AttentionSyncSchedule &S = One.Schedule;
            EXPECT_LE(S.sharedBytes(Shape), T.Limit.SharedPerBlock);
            EXPECT_LE(S.neededRegisters(Shape), T.Limit.RegistersPerThread);
            EXPECT_LE(S.neededRegisters(Shape) * S.threads(),
                      T.Limit.RegistersPerSm);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
  }
}

TEST(AttentionSyncSchedule, WhatIsPrintedIsRead) {
  for (bool Causal : {false, true}) {
    AttentionShape Shape = shapeOf(16, 2048, 64, Causal);
    for (const AttentionSyncCost &One :
         rankAttentionSyncSchedules(Shape, ampere())) {
      std::optional<AttentionSyncCost> Read =
          readAttentionSyncSchedule(One.Schedule.str(), Shape, ampere());
      ASSERT_TRUE(Read) << One.Schedule.str();
      EXPECT_EQ(Read->Schedule.str(), One.Schedule.str());
      EXPECT_EQ(Read->Total, One.Total);
    }
  }
}

/// One that is not ranked, and what is none: numbers that no kernel has, more
/// registers or shared memory than there are, other words.
TEST(AttentionSyncSchedule, OthersAreRead) {
  AttentionShape Shape = shapeOf(16, 2048, 128);
  auto IsRead = [&](const char *Rest) {
    return readAttentionSyncSchedule(std::string("attention_mmasync ") + Rest,
                                     Shape, ampere())
        .has_value();
  };
  EXPECT_TRUE(IsRead("64x32 warpgroup 64 stages 4 queries registers"));
  for (const char *Rest :
       {"64x48 warpgroup 64 stages 2 queries shared",
        "64x64 warpgroup 128 stages 2 queries shared",
        "128x64 warpgroup 128 stages 5 queries shared",
        "128x64 warpgroup 128 stages 0 queries shared",
        "128x64 warpgroup 128 stages 1 queries registers",
        "128x128 warpgroup 64 stages 4 queries shared",
        "128x64 warpgroup 128 stages 1 queries", "128x64",
        "128x64 warpgroup 128 stages 1 queries shared and more"})
    EXPECT_FALSE(IsRead(Rest)) << Rest;
}

TEST(AttentionSyncSchedule, PartsPrint) {
  AttentionSyncCost Best =
      rankAttentionSyncSchedules(shapeOf(64, 4096, 128), ampere()).front();
  EXPECT_THAT(Best.str(), HasSubstr(Best.Schedule.str() + ": "));
  EXPECT_NEAR(Best.Total,
              Best.Tiles * (Best.Mma + Best.Softmax + Best.Score) +
                  Best.Turns * Best.Ends + Best.Launch,
              1e-6);
}

TEST(AttentionSyncSchedule, CostsGrow) {
  auto Total = [](const AttentionShape &Shape) {
    return rankAttentionSyncSchedules(Shape, ampere()).front().Total;
  };
  AttentionShape Shape = shapeOf(64, 2048, 64);
  double Plain = Total(Shape);
  EXPECT_LT(Total(shapeOf(64, 2048, 64, /*Causal=*/true)), Plain);
  EXPECT_GT(Total(shapeOf(64, 2048, 128)), Plain);
  Shape.Scored = true;
  EXPECT_GT(Total(Shape), Plain);
}

TEST(AttentionSyncSchedule, NoneFits) {
  for (int64_t Depth : {4, 12, 264})
    EXPECT_FALSE(fitsAttentionSync(shapeOf(8, 64, Depth), ampere())) << Depth;
  EXPECT_FALSE(fitsAttentionSync(shapeOf(8, 64, 64),
                                 *target::findTarget("host:x86-64-v3")));
}

} // namespace
