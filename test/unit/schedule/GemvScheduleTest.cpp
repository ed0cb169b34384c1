//===- GemvScheduleTest.cpp - Tests of schedules of products of few rows --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/GemvSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

GemvShape shapeOf(int64_t M, int64_t N, int64_t K, bool KContiguous = true) {
  GemvShape S;
  S.M = M;
  S.N = N;
  S.K = K;
  S.KContiguous = KContiguous;
  return S;
}

} // namespace

TEST(GemvSchedule, Legal) {
  for (const char *Name : {"sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120a"}) {
    const target::Target &T = *target::findTarget(Name);
    for (bool KContiguous : {true, false})
      for (int64_t N : {1, 40, 4096, 14336, 50264})
        for (int64_t K : {8, 264, 4096, 14336}) {
          auto Ranked = rankGemvSchedules(shapeOf(1, N, K, KContiguous), T);
          ASSERT_FALSE(Ranked.empty());
          double Before = 0;
          for (const GemvCost &One : Ranked) {
            const GemvSchedule &S = One.Schedule;
            EXPECT_LE(S.sharedBytes(), T.Limit.SharedPerBlock);
            EXPECT_LE(S.threads(), T.Limit.ThreadsPerBlock);
            EXPECT_GE(S.Slices, KContiguous ? 1 : 2);
            EXPECT_GE(S.Tiles, 1);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
  }
}

TEST(GemvSchedule, ColumnsThatLieSideBySideAreExchangedByPowersOfTwo) {
  for (const GemvCost &One : rankGemvSchedules(shapeOf(1, 4100, 4096, false),
                                               *target::findTarget("sm_90a")))
    EXPECT_THAT(One.Schedule.Slices, testing::AnyOf(2, 4, 8));
}

TEST(GemvSchedule, HalvesAreWholeSlicesAndDivideHalfAHead) {
  const target::Target &T = *target::findTarget("sm_90a");
  GemvShape Pair = shapeOf(1, 8192, 4096, /*KContiguous=*/false);
  Pair.Products = 2;
  for (const GemvCost &One : rankGemvSchedules(Pair, T))
    EXPECT_EQ(One.Schedule.Slices % 2, 0);
  for (int64_t RotateHalf : {8, 16, 24, 48, 64}) {
    GemvShape Heads = shapeOf(1, 4096, 4096, /*KContiguous=*/false);
    Heads.RotateHalf = RotateHalf;
    auto Ranked = rankGemvSchedules(Heads, T);
    EXPECT_FALSE(Ranked.empty());
    for (const GemvCost &One : Ranked) {
      EXPECT_EQ(One.Schedule.Slices % 2, 0);
      EXPECT_EQ(RotateHalf % (One.Schedule.columns() / 2), 0);
    }
  }
}

TEST(GemvSchedule, ManyColumnsAreSharedOutEvenly) {
  const target::Target &T = *target::findTarget("sm_90a");
  for (int64_t N : {4096, 5120, 11008, 13824, 14336, 50264}) {
    GemvSchedule S = rankGemvSchedules(shapeOf(1, N, 4096), T).front().Schedule;
    int64_t Tiles = (N + S.columns() - 1) / S.columns();
    int64_t Blocks = (Tiles + S.Tiles - 1) / S.Tiles;
    EXPECT_GE(Blocks, T.Cost.SmCount * 3 / 4) << S.str();
  }
}

TEST(GemvSchedule, LargeWeightsLeaveTheCache) {
  const target::Target &T = *target::findTarget("sm_90a");
  EXPECT_TRUE(fitsCache(shapeOf(1, 768, 768), T));
  EXPECT_FALSE(fitsCache(shapeOf(1, 8192, 8192), T));
}

TEST(GemvSchedule, Prints) {
  auto Ranked =
      rankGemvSchedules(shapeOf(1, 4096, 4096), *target::findTarget("sm_90a"));
  ASSERT_FALSE(Ranked.empty());
  EXPECT_THAT(
      Ranked.front().str(),
      testing::MatchesRegex("gemv [0-9]+x64 warps [0-9]+ stages [0-9] tiles "
                            "[0-9]+: [0-9.]+ us = [0-9.]+ stream x [0-9.]+ "
                            "fullest . [0-9.]+ overhead"));
}

TEST(GemvSchedule, CodesAreSharedOutEvenly) {
  const target::Target &T = *target::findTarget("sm_90a");
  for (int64_t Bits : {4, 8})
    for (int64_t M : {1, 8})
      for (int64_t N : {4096, 14336}) {
        GemvShape Shape = shapeOf(M, N, 4096);
        Shape.MaxM = M;
        Shape.WeightBits = Bits;
        Shape.Block = 128;
        Shape.ScaleBytes = 2;
        GemvSchedule S = rankGemvSchedules(Shape, T).front().Schedule;
        int64_t Tiles = (N + S.columns() - 1) / S.columns();
        int64_t Blocks = (Tiles + S.Tiles - 1) / S.Tiles;
        EXPECT_GE(Blocks, T.Cost.SmCount * 3 / 4) << S.str();
      }
}

TEST(GemvSchedule, CodesAreWholeTilesAndFitSharedMemory) {
  for (const char *Name : {"sm_80", "sm_86", "sm_90a", "sm_120a"})
    for (int64_t Bits : {4, 8})
      for (int64_t M : {1, 5, 16}) {
        const target::Target &T = *target::findTarget(Name);
        GemvShape Shape = shapeOf(M, 4096, 14336);
        Shape.MaxM = M;
        Shape.WeightBits = Bits;
        Shape.Block = 32;
        Shape.ScaleBytes = 2;
        Shape.ZeroBytes = 2;
        auto Ranked = rankGemvSchedules(Shape, T);
        ASSERT_FALSE(Ranked.empty());
        Shape.HasFloatCodes = Bits == 8;
        EXPECT_TRUE(rankGemvSchedules(Shape, T).front().str().starts_with(
            Bits == 4 ? "gemv int4 " : "gemv fp8 "));
        for (const GemvCost &One : Ranked) {
          const GemvSchedule &S = One.Schedule;
          EXPECT_EQ(S.Depth, 512 / Bits);
          EXPECT_EQ(S.weightBytes(), S.Slices * 512);
          EXPECT_EQ(S.stageBytes() % 16, 0);
          EXPECT_LE(S.sharedBytes(), T.Limit.SharedPerBlock);
          EXPECT_TRUE(
              One.str().starts_with(Bits == 4 ? "gemv int4 " : "gemv int8 "));
        }
      }
}

TEST(GemvSchedule, CodesAreReadAgainForEach16Rows) {
  GemvShape Shape = shapeOf(16, 4096, 14336);
  Shape.WeightBits = 8;
  Shape.Block = 128;
  Shape.ScaleBytes = 2;
  const target::Target &T = *target::findTarget("sm_90a");
  double Once = rankGemvSchedules(Shape, T).front().Total;
  Shape.M = 48;
  double Thrice = rankGemvSchedules(Shape, T).front().Total;
  EXPECT_GT(Thrice, 2.8 * Once);
  EXPECT_LT(Thrice, 3.2 * Once);
}

// fuse-gated-mlp does not ask for wgmma's targets.
TEST(GemvSchedule, GatesOfCodesAreFasterAsOneKernel) {
  for (const char *Name : {"sm_90a", "sm_80", "sm_89", "sm_100a", "sm_120a"})
    for (int64_t Bits : {4, 8})
      for (int64_t Rows : {1, 2, 4, 8, 16})
        for (auto [K, N] : {std::pair<int64_t, int64_t>{1024, 2816},
                            {2048, 8192},
                            {4096, 11008},
                            {4096, 14336},
                            {5120, 13824},
                            {8192, 28672}}) {
          const target::Target &T = *target::findTarget(Name);
          GemvShape Shape = shapeOf(Rows, N, K);
          Shape.MaxM = Rows;
          Shape.WeightBits = Bits;
          Shape.Block = 128;
          Shape.ScaleBytes = 2;
          double Two = 2 * rankGemvSchedules(Shape, T).front().Total;
          Shape.N = 2 * N;
          Shape.Products = 2;
          GemvCost One = rankGemvSchedules(Shape, T).front();
          EXPECT_LT(One.Total, Two) << Name << " " << Rows << " rows, " << K
                                    << " x " << N << ": " << One.str();
        }
}
