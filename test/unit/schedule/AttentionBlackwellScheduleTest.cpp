//===- AttentionBlackwellScheduleTest.cpp - Tests of attention on tcgen05 -===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AttentionBlackwellSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::HasSubstr;

namespace {

const target::Target &blackwell() { return *target::findTarget("sm_100a"); }

AttentionShape shapeOf(int64_t Heads, int64_t Length, int64_t Depth,
                       bool Causal = false) {
  AttentionShape S;
  S.Heads = Heads;
  S.Queries = S.Keys = Length;
  S.Depth = S.Width = Depth;
  S.Causal = Causal;
  return S;
}

TEST(AttentionBlackwellSchedule, Sizes) {
  AttentionBlackwellSchedule S; // two tiles, 128 keys, two stages
  AttentionShape Shape = shapeOf(64, 4096, 128);
  EXPECT_EQ(S.threads(), 384);
  // Queries and some columns of results, keys and values.
  EXPECT_EQ(S.sharedBytes(Shape),
            (256 * (128 + 32) + 2 * 128 * (128 + 128)) * 2);
  // Scores and sums of two tiles are all that there is.
  EXPECT_EQ(S.tensorMemoryColumns(Shape), 512);
  EXPECT_EQ(S.str(), "attention_tcgen05 256x128 stages 2 fma 2");
  // Registers are those of the launch: more would be waited for for ever.
  for (int64_t Tiles : {1, 2}) {
    S.Tiles = Tiles;
    EXPECT_LE(128 * (S.otherRegisters() + Tiles * S.softmaxRegisters()), 65536);
  }
  EXPECT_EQ(S.threads(), 384);
}

TEST(AttentionBlackwellSchedule, AllAreLegal) {
  for (const target::Target &T : target::allTargets())
    for (int64_t Depth : {8, 32, 64, 72, 96, 128, 192, 256, 264, 320})
      for (int64_t Length : {1, 17, 1000, 4096, 1 << 20})
        for (int Masks = 0; Masks < 4; ++Masks) {
          AttentionShape Shape = shapeOf(3, Length, Depth, Masks & 1);
          Shape.Scored = Masks & 2;
          std::vector<AttentionBlackwellCost> Ranked =
              rankAttentionBlackwellSchedules(Shape, T);
          bool Fits = T.Can.Tcgen05 && Depth <= (Shape.Causal ? 192 : 256);
          ASSERT_EQ(Ranked.empty(), !Fits) << T.Name << " " << Depth;
          EXPECT_EQ(whyNoAttentionBlackwell(Shape, T).empty(), Fits);
          double Before = 0;
          for (const AttentionBlackwellCost &One : Ranked) {
            EXPECT_LE(One.Schedule.sharedBytes(Shape), T.Limit.SharedPerBlock);
            EXPECT_LE(One.Schedule.tensorMemoryColumns(Shape),
                      T.Limit.TensorMemoryColumns);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
}

/// Tiles have whole lines of 64 elements, filled up with zeros.
TEST(AttentionBlackwellSchedule, HeadsAreFilledUp) {
  for (auto [Size, InTiles] :
       {std::pair(8, 64), {40, 64}, {80, 128}, {112, 128}, {160, 192}}) {
    auto Best = [](int64_t Depth) {
      AttentionShape Shape = shapeOf(16, 2048, Depth);
      return rankAttentionBlackwellSchedules(Shape, blackwell()).front();
    };
    EXPECT_EQ(Best(Size).str(), Best(InTiles).str());
  }
  // Keys of 192 elements and values of 128, as multi-head latent attention has:
  // 64 keys at a time leave room for two tiles of queries.
  AttentionShape Shape = shapeOf(16, 2048, 192);
  Shape.Width = 128;
  EXPECT_TRUE(readAttentionBlackwellSchedule(
      "attention_tcgen05 256x64 stages 2 fma 0", Shape, blackwell()));
  EXPECT_FALSE(readAttentionBlackwellSchedule(
      "attention_tcgen05 256x128 stages 2 fma 0", Shape, blackwell()));
  // Sums of two tiles of 256 columns and their scores are more than there is.
  Shape.Depth = Shape.Width = 256;
  EXPECT_FALSE(readAttentionBlackwellSchedule(
      "attention_tcgen05 256x64 stages 2 fma 0", Shape, blackwell()));
  EXPECT_TRUE(readAttentionBlackwellSchedule(
      "attention_tcgen05 128x64 stages 2 fma 0", Shape, blackwell()));
}

TEST(AttentionBlackwellSchedule, WhatIsPrintedIsRead) {
  AttentionShape Shape = shapeOf(16, 2048, 64, /*Causal=*/true);
  for (const AttentionBlackwellCost &One :
       rankAttentionBlackwellSchedules(Shape, blackwell())) {
    std::optional<AttentionBlackwellCost> Read =
        readAttentionBlackwellSchedule(One.Schedule.str(), Shape, blackwell());
    ASSERT_TRUE(Read) << One.Schedule.str();
    EXPECT_EQ(Read->Schedule.str(), One.Schedule.str());
    EXPECT_EQ(Read->Total, One.Total);
  }
}

TEST(AttentionBlackwellSchedule, OthersAreNotRead) {
  AttentionShape Shape = shapeOf(16, 2048, 128);
  auto IsRead = [&](const char *Rest) {
    return readAttentionBlackwellSchedule(
               std::string("attention_tcgen05 ") + Rest, Shape, blackwell())
        .has_value();
  };
  EXPECT_TRUE(IsRead("256x64 stages 3 fma 4"));
  for (const char *Rest :
       {"256x96 stages 2 fma 2", "384x128 stages 2 fma 2",
        "200x128 stages 2 fma 2", "256x128 stages 1 fma 2",
        "256x128 stages 3 fma 2", "256x128 stages 2 fma 5", "256x128 stages 2",
        "256x128 stages 2 fma 2 and more"})
    EXPECT_FALSE(IsRead(Rest)) << Rest;
  EXPECT_FALSE(
      readAttentionBlackwellSchedule("attention_tcgen05 256x128 stages 2 fma 2",
                                     Shape, *target::findTarget("sm_90a")));
}

/// 4 × 16 heads of 128 elements with 4096 queries and keys: at least 80 % of
/// the chip's peak, as modelled, and what limits it is said.
TEST(AttentionBlackwellSchedule, TheTensorCoresAreTheLimit) {
  AttentionShape Shape = shapeOf(16, 4096, 128);
  Shape.Batch = 4;
  AttentionBlackwellCost Best =
      rankAttentionBlackwellSchedules(Shape, blackwell()).front();
  double Operations = 4.0 * 16 * 4096 * 4096 * (128 + 128) * 2;
  EXPECT_GE(Operations / (Best.Total * 1e-6) / (blackwell().Cost.Fp16 * 1e12),
            0.8)
      << Best.str();
  EXPECT_STREQ(Best.limiter(), "mma");
  EXPECT_THAT(Best.str(), HasSubstr("limited by mma"));
  EXPECT_NEAR(Best.Total,
              Best.Waves * (Best.Steps * Best.step() + Best.Ends) + Best.Launch,
              1e-6);
  // With heads of 64 powers take as long as before, and products half of it.
  Shape.Depth = Shape.Width = 64;
  Best = rankAttentionBlackwellSchedules(Shape, blackwell()).front();
  EXPECT_STRNE(Best.limiter(), "mma") << Best.str();
}

/// A share of powers by multiply-adds is worth it where the special function
/// units are the limit.
TEST(AttentionBlackwellSchedule, MultiplyAddsHelp) {
  AttentionShape Shape = shapeOf(64, 4096, 64);
  auto TimeOf = [&](const char *Text) {
    return readAttentionBlackwellSchedule(Text, Shape, blackwell())->Total;
  };
  EXPECT_LT(TimeOf("attention_tcgen05 256x128 stages 2 fma 2"),
            TimeOf("attention_tcgen05 256x128 stages 2 fma 0"));
  EXPECT_LT(TimeOf("attention_tcgen05 256x128 stages 2 fma 2"),
            TimeOf("attention_tcgen05 128x128 stages 2 fma 2"));
}

} // namespace
