//===- CodesScheduleTest.cpp - Tests of schedules of GEMMs of codes -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CodesSchedule.h"
#include "passes/schedule/GemvSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

CodesShape shapeOf(int64_t M, int64_t N, int64_t K, int64_t Bits = 4) {
  CodesShape S;
  S.M = M;
  S.N = N;
  S.K = K;
  S.Bits = Bits;
  return S;
}

const target::Target &hopper() { return *target::findTarget("sm_90a"); }

} // namespace

TEST(CodesSchedule, Legal) {
  for (int64_t Bits : {4, 8})
    for (int64_t Products : {1, 2})
      for (int64_t M : {1, 17, 128, 4096})
        for (int64_t K : {8, 264, 14336}) {
          CodesShape Shape = shapeOf(M, 4096, K, Bits);
          Shape.Products = Products;
          Shape.Block = 32;
          Shape.ZeroBytes = 2;
          auto Ranked = rankCodesSchedules(Shape, hopper());
          ASSERT_FALSE(Ranked.empty());
          double Before = 0;
          for (const CodesCost &One : Ranked) {
            const CodesSchedule &S = One.Schedule;
            EXPECT_LE(S.sharedBytes(Shape), hopper().Limit.SharedPerBlock);
            EXPECT_LE(S.threads(), hopper().Limit.ThreadsPerBlock);
            EXPECT_LE(S.SplitK, (K + 127) / 128);
            EXPECT_EQ(S.partRows() % 16, 0);
            EXPECT_EQ(S.storedRows() % S.partRows(), 0);
            EXPECT_GE(One.Total, Before);
            Before = One.Total;
          }
        }
}

TEST(CodesSchedule, NoneWithoutWgmma) {
  for (const char *Name : {"sm_80", "sm_89", "sm_100a", "sm_120a"})
    EXPECT_TRUE(
        rankCodesSchedules(shapeOf(128, 4096, 4096), *target::findTarget(Name))
            .empty());
}

TEST(CodesSchedule, ReadsWhatItPrints) {
  CodesShape Shape = shapeOf(1024, 4096, 4096);
  for (const CodesCost &One : rankCodesSchedules(Shape, hopper())) {
    auto Read = readCodesSchedule(One.Schedule.str(), Shape, hopper());
    ASSERT_TRUE(Read);
    EXPECT_EQ(Read->Total, One.Total);
  }
  for (const char *Text : {"codes int4 256x128x128 stages 5",
                           "codes int8 64x64x128 stages 4 group_m 8",
                           "codes int4 64x96x128 stages 4 group_m 8",
                           "codes int4 512x64x128 stages 4 group_m 8",
                           "codes int4 256x128x128 stages 9 group_m 8",
                           "codes int4 32x64x128 stages 4 group_m 8 split_k 4",
                           "codes int4 64x64x128 stages 4 group_m 8 "})
    EXPECT_FALSE(readCodesSchedule(Text, Shape, hopper())) << Text;
}

// Measured on an H200 (docs/performance.md).
TEST(CodesSchedule, TilesFollowTheRows) {
  auto Best = [](int64_t M, int64_t N, int64_t K) {
    return rankCodesSchedules(shapeOf(M, N, K), hopper()).front();
  };
  EXPECT_THAT(Best(32, 4096, 4096).str(),
              testing::StartsWith(
                  "codes int4 32x64x128 stages 12 group_m 11 split_k 2:"));
  EXPECT_THAT(Best(128, 4096, 14336).str(),
              testing::StartsWith(
                  "codes int4 128x64x128 stages 11 group_m 6 split_k 2:"));
  EXPECT_THAT(
      Best(4096, 4096, 4096).str(),
      testing::StartsWith("codes int4 256x128x128 stages 5 group_m 8:"));
}

TEST(CodesSchedule, MeetsThatOfFewRowsWhereBothAreAsFast) {
  GemvShape Few;
  Few.N = Few.K = 4096;
  Few.WeightBits = 4;
  Few.Block = 128;
  Few.ScaleBytes = 2;
  auto FewRows = [&](int64_t M) {
    Few.M = M;
    return rankGemvSchedules(Few, hopper()).front().Total;
  };
  auto Many = [](int64_t M) {
    return rankCodesSchedules(shapeOf(M, 4096, 4096), hopper()).front().Total;
  };
  EXPECT_LT(FewRows(16), Many(16));
  EXPECT_LT(Many(48), FewRows(48));
}

// A gate in one kernel has two sums: from some hundred rows on two kernels are
// faster.
TEST(CodesSchedule, GatesOfManyRowsAreSlowerThanTwoKernels) {
  auto Cost = [](int64_t M, int64_t Products) {
    CodesShape Shape = shapeOf(M, 14336, 4096);
    Shape.Products = Products;
    return rankCodesSchedules(Shape, hopper()).front().Total;
  };
  EXPECT_LT(Cost(32, 2), 2 * Cost(32, 1));
  EXPECT_GT(Cost(1024, 2), 2 * Cost(1024, 1));
}

// Heads of RoPE are whole in a tile, whose warpgroups have 64 columns each.
TEST(CodesSchedule, TilesHoldWholeHeads) {
  auto Ranked = [](int64_t Half) {
    CodesShape Shape = shapeOf(512, 3840, 4096);
    Shape.RotateHalf = Half;
    return rankCodesSchedules(Shape, hopper());
  };
  for (int64_t Half : {8, 16, 24, 32, 48, 64}) {
    auto All = Ranked(Half);
    ASSERT_FALSE(All.empty()) << Half;
    for (const CodesCost &One : All)
      EXPECT_EQ(One.Schedule.TileN % (2 * Half), 0) << One.str();
  }
  EXPECT_TRUE(Ranked(40).empty());
  EXPECT_TRUE(Ranked(96).empty());
  // Interleaved pairs are in any tile.
  EXPECT_EQ(Ranked(1).size(), Ranked(0).size());
}
