//===- BlackwellScheduleTest.cpp - Tests of schedules on tcgen05 ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/BlackwellSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::EndsWith;
using testing::StartsWith;

namespace {

const target::Target &blackwell() { return *target::findTarget("sm_100a"); }

GemmShape shapeOf(int64_t Rows, int64_t Columns, int64_t Sum) {
  GemmShape S;
  S.Rows = Rows;
  S.Columns = Columns;
  S.Sum = Sum;
  return S;
}

/// Shapes of models, ragged ones, and the smallest.
const GemmShape Shapes[] = {shapeOf(8192, 8192, 8192), shapeOf(4096, 3072, 768),
                            shapeOf(128, 4096, 4096),  shapeOf(17, 72, 40),
                            shapeOf(1, 1, 1),          shapeOf(1 << 20, 64, 1)};

} // namespace

TEST(BlackwellSchedule, Sizes) {
  BlackwellSchedule S; // 128×256×64, four slots
  EXPECT_FALSE(S.isPair());
  EXPECT_EQ(S.slotBytes(2), 49152);
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  EXPECT_EQ(S.str(), "gemm 128x256x64 slots 4 group 8");
  // Each block of a pair has half of the columns in its slots, but sums of all.
  S.ClusterRows = 2;
  EXPECT_TRUE(S.isPair());
  EXPECT_EQ(S.slotBytes(2), 32768);
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  EXPECT_EQ(S.str(), "gemm 256x256x64 slots 4 group 8 pair");
  S.TileColumns = 192; // what is taken is a power of two
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  S.TileColumns = 64;
  EXPECT_EQ(S.tensorMemoryColumns(), 128);
}

TEST(BlackwellSchedule, AllAreLegal) {
  for (const GemmShape &Shape : Shapes) {
    auto Ranked = rankBlackwellSchedules(Shape, blackwell());
    ASSERT_FALSE(Ranked.empty());
    for (const BlackwellCost &One : Ranked) {
      const BlackwellSchedule &S = One.Schedule;
      SCOPED_TRACE(S.str());
      EXPECT_EQ(S.TileRows, 128);
      EXPECT_LE(S.TileColumns, 256);
      EXPECT_EQ(S.ownColumns() % 64, 0);
      EXPECT_LE(S.tensorMemoryColumns(), blackwell().Limit.TensorMemoryColumns);
      EXPECT_EQ(S.TileSum * Shape.ElementBytes, 128);
      EXPECT_GE(S.Slots, 2);
      // Two buffers of 64 columns of 128 rows; barriers of 16 bytes a slot, and
      // the address of tensor memory.
      EXPECT_LE(S.Slots * (S.slotBytes(2) + 16) + 2 * 128 * 64 * 2 + 64,
                blackwell().Limit.SharedPerBlock);
      // What is printed is read again.
      auto Read = readBlackwellSchedule(S.str(), Shape, blackwell());
      ASSERT_TRUE(Read);
      EXPECT_EQ(Read->str(), One.str());
    }
  }
}

TEST(BlackwellSchedule, NoneWithoutTensorMemory) {
  for (const target::Target &T : target::allTargets())
    EXPECT_EQ(rankBlackwellSchedules(Shapes[0], T).empty(), !T.Can.Tcgen05)
        << T.Name;
  target::Target Small = blackwell();
  Small.Limit.SharedPerBlock = 16 * 1024;
  EXPECT_TRUE(rankBlackwellSchedules(Shapes[0], Small).empty());
  Small = blackwell();
  Small.Can.ClusterBlocks = 1;
  for (const BlackwellCost &One : rankBlackwellSchedules(Shapes[0], Small))
    EXPECT_FALSE(One.Schedule.isPair());
}

TEST(BlackwellSchedule, LargeProductsArePairs) {
  EXPECT_THAT(
      rankBlackwellSchedules(Shapes[0], blackwell()).front().Schedule.str(),
      EndsWith(" pair"));
  EXPECT_THAT(
      rankBlackwellSchedules(shapeOf(64, 64, 64), blackwell()).front().str(),
      StartsWith("gemm 128x64x64 slots "));
}

TEST(BlackwellSchedule, WhatIsNone) {
  auto Read = [](const char *Text) {
    return bool(readBlackwellSchedule(Text, Shapes[0], blackwell()));
  };
  EXPECT_TRUE(Read("gemm 128x256x64 slots 4 group 8"));
  EXPECT_TRUE(Read("gemm 256x128x64 slots 3 group 1 pair"));
  EXPECT_FALSE(Read("gemm 256x256x64 slots 4 group 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 slots 4 group 8 pair"));
  EXPECT_FALSE(Read("gemm 256x192x64 slots 4 group 8 pair"));
  EXPECT_FALSE(Read("gemm 128x320x64 slots 2 group 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 slots 5 group 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 slots 1 group 8"));
  EXPECT_FALSE(Read("gemm 128x256x32 slots 4 group 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 slots 4 group 0"));
  EXPECT_FALSE(Read("gemm 128x256x64 slots 4 group 8 split 2"));
  EXPECT_FALSE(Read("conv 128x256x64 slots 4 group 8"));
}
