//===- AttentionScheduleTest.cpp - Tests of schedules of attention --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const target::Target &hopper() { return *target::findTarget("sm_90a"); }

AttentionShape shapeOf(int64_t Heads, int64_t Length, int64_t Depth,
                       bool Causal = false) {
  AttentionShape S;
  S.Heads = Heads;
  S.Queries = S.Keys = Length;
  S.Depth = S.Width = Depth;
  S.Causal = Causal;
  return S;
}

TEST(AttentionSchedule, Sizes) {
  AttentionSchedule S; // 128×128, two stages
  S.QueryStages = 2;
  AttentionShape Shape = shapeOf(64, 4096, 128);
  EXPECT_EQ(S.consumers(), 2);
  EXPECT_EQ(S.threads(), 384);
  // Two tiles of queries, one of results, two of keys and of values.
  EXPECT_EQ(S.sharedBytes(Shape), 7 * 128 * 128 * 2);
  EXPECT_EQ(S.neededRegisters(Shape), 64 + 32 + 64 + 32);
  EXPECT_EQ(S.str(), "attention 128x128 stages 2 ahead 16");
}

TEST(AttentionSchedule, AllAreLegal) {
  for (int64_t Depth : {8, 32, 64, 72, 96, 128, 192, 256})
    for (int64_t Length : {1, 17, 1000, 4096, 1 << 20})
      for (int Masks = 0; Masks < 4; ++Masks) {
        bool Causal = Masks & 1;
        AttentionShape Shape = shapeOf(3, Length, Depth, Causal);
        Shape.Scored = Masks & 2;
        std::vector<AttentionCost> Ranked =
            rankAttentionSchedules(Shape, hopper());
        ASSERT_FALSE(Ranked.empty()) << Depth;
        double Before = 0;
        for (const AttentionCost &One : Ranked) {
          const AttentionSchedule &S = One.Schedule;
          EXPECT_LE(S.sharedBytes(Shape), hopper().Limit.SharedPerBlock);
          EXPECT_LE(S.neededRegisters(Shape), S.consumerRegisters());
          // What a block is launched with: even shares, a multiple of 8.
          EXPECT_LE(128 * S.producerRegisters() +
                        128 * S.consumers() * S.consumerRegisters(),
                    S.threads() *
                        (std::min<int64_t>(65536 / S.threads(), 255) / 8 * 8));
          EXPECT_EQ(S.Pairs, Causal);
          EXPECT_LT(S.Ahead, S.TileKeys);
          EXPECT_GE(One.Total, Before);
          Before = One.Total;
        }
      }
}

/// A bias takes registers, and more of them on the diagonal.
TEST(AttentionSchedule, BiasesHaveRoom) {
  AttentionSchedule S;
  S.TileKeys = 96;
  AttentionShape Shape = shapeOf(64, 4096, 192, /*Causal=*/true);
  EXPECT_EQ(S.neededRegisters(Shape), 48 + 24 + 96 + 32 + 8);
  Shape.Scored = true;
  EXPECT_EQ(S.neededRegisters(Shape), 48 + 24 + 96 + 32 + 8 + 36);
  Shape.Causal = false;
  EXPECT_EQ(S.neededRegisters(Shape), 48 + 24 + 96 + 32 + 28);
}

/// Numbers of keys lie twice in shared memory, in f32, and take no registers.
TEST(AttentionSchedule, MasksOfKeys) {
  AttentionSchedule S; // 128×128, two stages
  AttentionShape Plain = shapeOf(64, 384, 64), Masked = Plain;
  Masked.Scored = Masked.ScoredByKey = true;
  EXPECT_EQ(S.neededRegisters(Masked), S.neededRegisters(Plain));
  EXPECT_EQ(S.sharedBytes(Masked), S.sharedBytes(Plain) + 2 * (128 * 8 + 16));
  EXPECT_EQ(rankAttentionSchedules(Masked, hopper()).front().Schedule.str(),
            rankAttentionSchedules(Plain, hopper()).front().Schedule.str());
}

/// With heads of 64 one block may have up to 208 keys, but not under a causal
/// mask, where tiles see other numbers of keys.
TEST(AttentionSchedule, OneBlockOfAllKeys) {
  auto Best = [](int64_t Keys, int64_t Depth, bool Causal) {
    AttentionShape Shape = shapeOf(512, Keys, Depth, Causal);
    return rankAttentionSchedules(Shape, hopper()).front().Schedule.TileKeys;
  };
  EXPECT_EQ(Best(197, 64, false), 208);
  EXPECT_LE(Best(197, 64, true), 128);
  EXPECT_LE(Best(197, 128, false), 128);
  EXPECT_LE(Best(209, 64, false), 128);
}

TEST(AttentionSchedule, PartsPrint) {
  AttentionCost Best =
      rankAttentionSchedules(shapeOf(64, 4096, 128), hopper()).front();
  EXPECT_THAT(Best.str(), StartsWith("attention 128x128 stages 2 ahead 16: "));
  EXPECT_THAT(Best.str(), HasSubstr("16 waves x ("));
  EXPECT_NEAR(
      Best.Total,
      Best.Waves * (Best.Mma + Best.Softmax + Best.Score + Best.Epilogue), 3);
}

TEST(AttentionSchedule, ScoresThatAreReadCost) {
  AttentionShape Shape = shapeOf(64, 2048, 64);
  double Plain = rankAttentionSchedules(Shape, hopper()).front().Total;
  Shape.Scored = true;
  EXPECT_GT(rankAttentionSchedules(Shape, hopper()).front().Total, Plain);
}

TEST(AttentionSchedule, SoftcapsCostPowersBeyondProducts) {
  AttentionShape Shape = shapeOf(64, 2048, 256);
  auto Shown = [&](bool Capped) {
    Shape.Capped = Capped;
    AttentionCost Best = rankAttentionSchedules(Shape, hopper()).front();
    return std::pair(Best.Softmax, Best.Total);
  };
  // Heads of 256 hide most of them, heads of 32 do not.
  auto [Plain, PlainTotal] = Shown(false);
  auto [Bent, BentTotal] = Shown(true);
  EXPECT_GT(Bent, Plain);
  EXPECT_LT(BentTotal, 1.5 * PlainTotal);
  Shape = shapeOf(64, 2048, 32);
  EXPECT_GT(Shown(true).second, 1.5 * Shown(false).second);
}

/// Codes and powers of FP8 take half of the bytes and registers, and products
/// half of the cycles; powers of two take what they took.
TEST(AttentionSchedule, OfFp8) {
  AttentionSchedule S;
  S.QueryStages = 2;
  AttentionShape Shape = shapeOf(64, 4096, 128);
  double Mma = rankAttentionSchedules(Shape, hopper()).front().Mma,
         Total = rankAttentionSchedules(Shape, hopper()).front().Total;
  Shape.ElementBytes = 1;
  EXPECT_EQ(S.sharedBytes(Shape), 6 * 128 * 128 + 128 * 128 * 4);
  EXPECT_EQ(S.neededRegisters(Shape), 64 + 16 + 64 + 32 + 4);
  AttentionCost Best = rankAttentionSchedules(Shape, hopper()).front();
  EXPECT_EQ(Best.Schedule.TileKeys, 128);
  EXPECT_DOUBLE_EQ(Best.Mma, Mma / 2);
  // Measured: 634 us instead of 760.
  EXPECT_NEAR(Total / Best.Total, 1.2, 0.1);
  for (int64_t Depth : {32, 64, 96, 128, 192, 256})
    for (bool Causal : {false, true}) {
      Shape = shapeOf(3, 1000, Depth, Causal);
      Shape.ElementBytes = 1;
      std::vector<AttentionCost> Ranked =
          rankAttentionSchedules(Shape, hopper());
      ASSERT_FALSE(Ranked.empty()) << Depth;
      for (const AttentionCost &One : Ranked) {
        EXPECT_EQ(One.Schedule.TileKeys % 64, 0);
        EXPECT_LE(One.Schedule.neededRegisters(Shape),
                  One.Schedule.consumerRegisters());
      }
    }
  // A step of the product has 32 elements of a row.
  Shape.Depth = 72;
  EXPECT_TRUE(rankAttentionSchedules(Shape, hopper()).empty());
}

TEST(AttentionSchedule, NoneFits) {
  EXPECT_TRUE(
      rankAttentionSchedules(shapeOf(8, 64, 64), *target::findTarget("sm_80"))
          .empty());
  for (int64_t Depth : {4, 12, 264})
    EXPECT_FALSE(fitsAttention(shapeOf(8, 64, Depth), hopper())) << Depth;
  EXPECT_TRUE(fitsAttention(shapeOf(8, 64, 64), hopper()));
}

TEST(AttentionSchedule, StagedColumnsDivideTheWidth) {
  EXPECT_EQ(stagedColumns(64), 64);
  EXPECT_EQ(stagedColumns(72), 80);
  EXPECT_EQ(stagedColumns(144), 48);
  EXPECT_EQ(stagedColumns(192), 96);
  EXPECT_EQ(stagedColumns(256), 128);
}

/// A causal window of 1024 keys.
AttentionShape inWindow(AttentionShape S) {
  S.Causal = S.Limited = true;
  S.FirstKey = -1023;
  S.EndKey = 1;
  return S;
}

TEST(AttentionSchedule, BlocksOfKeys) {
  AttentionShape Shape = shapeOf(1, 8192, 128);
  EXPECT_EQ(blocksOfKeys(Shape, 128, 128), 64);
  Shape.Causal = true;
  EXPECT_EQ(blocksOfKeys(Shape, 128, 128), 32.5);
  // 1 to 8 blocks of the first tiles, then 9.
  Shape = inWindow(Shape);
  EXPECT_EQ(blocksOfKeys(Shape, 128, 128), (36 + 56 * 9) / 64.0);
  // Keys around a query.
  Shape.Causal = false;
  Shape.FirstKey = -31;
  Shape.EndKey = 32;
  EXPECT_EQ(blocksOfKeys(Shape, 64, 64), (2 + 126 * 3 + 2) / 128.0);
}

TEST(AttentionSchedule, WindowsTakeLinearTime) {
  auto Best = [](const AttentionShape &Shape) {
    return rankAttentionSchedules(Shape, hopper()).front();
  };
  double Short = Best(inWindow(shapeOf(32, 8192, 128))).Total,
         Long = Best(inWindow(shapeOf(32, 65536, 128))).Total;
  EXPECT_NEAR(Long / Short, 8, 1);
  EXPECT_LT(Short, Best(shapeOf(32, 8192, 128, true)).Total / 2.5);
  // All tiles have the same work, but where the window is most of the keys.
  EXPECT_FALSE(Best(inWindow(shapeOf(32, 8192, 128))).Schedule.Pairs);
  EXPECT_TRUE(Best(inWindow(shapeOf(32, 1024, 128))).Schedule.Pairs);
}

} // namespace
