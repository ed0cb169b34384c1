//===- DecodeScheduleTest.cpp - Tests of schedules of few queries ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/DecodeSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;

namespace {

DecodeShape shapeOf(int64_t Streams, int64_t Keys, int64_t Depth,
                    int64_t Rows = 4) {
  DecodeShape S;
  S.Streams = Streams;
  S.Rows = Rows;
  S.Keys = Keys;
  S.Depth = S.Width = Depth;
  return S;
}

std::vector<DecodeCost> rank(const char *Target, const DecodeShape &Shape) {
  return rankDecodeSchedules(Shape, *target::findTarget(Target));
}

} // namespace

TEST(DecodeSchedule, LegalOnEveryGpu) {
  for (const target::Target &T : target::allTargets()) {
    if (!T.isGpu())
      continue;
    for (int64_t Streams : {1, 8, 128, 4096})
      for (int64_t Keys : {1, 100, 4096, 100000})
        for (int64_t Depth : {8, 64, 72, 128, 256})
          for (int64_t Rows : {1, 4, 64}) {
            DecodeShape Shape = shapeOf(Streams, Keys, Depth, Rows);
            std::vector<DecodeCost> Ranked = rankDecodeSchedules(Shape, T);
            ASSERT_FALSE(Ranked.empty()) << T.Name;
            double Before = 0;
            for (const DecodeCost &One : Ranked) {
              const DecodeSchedule &S = One.Schedule;
              EXPECT_LE(S.sharedBytes(Shape), T.Limit.SharedPerBlock);
              EXPECT_LE(S.neededRegisters(Shape), T.Limit.RegistersPerThread);
              EXPECT_LE(S.Blocks, T.Can.ClusterBlocks);
              // Part by part, the warps' results fit where the steps were.
              EXPECT_GE(S.sharedBytes(Shape),
                        (S.Warps + 1) * S.partBytes(Shape));
              EXPECT_GE(S.resident(Shape, T), 1);
              EXPECT_GE(One.Total, Before);
              EXPECT_NEAR(One.Total, One.Rounds * One.Stream + One.Overhead,
                          1e-6 * One.Total);
              Before = One.Total;
            }
          }
  }
}

TEST(DecodeSchedule, HeadsThatDoNotFit) {
  EXPECT_THAT(rank("sm_90a", shapeOf(8, 100, 60)), testing::IsEmpty());
  EXPECT_THAT(rank("sm_90a", shapeOf(8, 100, 264)), testing::IsEmpty());
  EXPECT_THAT(rank("host:x86-64-v3", shapeOf(8, 100, 64)), testing::IsEmpty());
}

/// Few heads with many keys are dealt out; many heads need not be.
TEST(DecodeSchedule, FillsTheChip) {
  EXPECT_EQ(rank("sm_90a", shapeOf(8, 32768, 128)).front().Schedule.Blocks, 8);
  EXPECT_LE(rank("sm_90a", shapeOf(512, 4096, 128)).front().Schedule.Blocks, 2);
  for (const DecodeCost &One : rank("sm_80", shapeOf(8, 32768, 128)))
    EXPECT_EQ(One.Schedule.Blocks, 1) << "there are no clusters";
}

/// Rows that one block can have are not read for twice.
TEST(DecodeSchedule, TakesRowsTogether) {
  EXPECT_EQ(rank("sm_90a", shapeOf(64, 4096, 128, 16)).front().Schedule.Rows,
            16);
  EXPECT_EQ(rank("sm_90a", shapeOf(64, 4096, 128, 4)).front().Schedule.Rows, 8);
}

/// Codes are half of the bytes, and about half of the time.
TEST(DecodeSchedule, Codes) {
  for (int64_t Streams : {128, 512}) {
    DecodeShape Half = shapeOf(Streams, 4096, 128), Codes = Half;
    Codes.ElementBytes = 1;
    EXPECT_LT(rank("sm_90a", Codes).front().Total,
              rank("sm_90a", Half).front().Total / 1.7);
    EXPECT_THAT(rank("sm_80", Codes), testing::IsEmpty())
        << "no instruction widens codes";
  }
  DecodeShape Ragged = shapeOf(8, 100, 72);
  Ragged.ElementBytes = 1;
  EXPECT_THAT(rank("sm_90a", Ragged), testing::IsEmpty());
  Ragged.Depth = Ragged.Width = 80;
  for (const DecodeCost &One : rank("sm_90a", Ragged)) {
    EXPECT_EQ(One.Schedule.keyLanes(Ragged), 8);
    EXPECT_EQ(One.Schedule.paddedWidth(Ragged), 128);
  }
}

/// Where there is memory for parts, blocks of the grid share keys of few heads.
TEST(DecodeSchedule, SplitsKeysOfFewHeads) {
  DecodeShape One = shapeOf(1, 32768, 128, 4),
              Eight = shapeOf(8, 32768, 128, 4);
  for (const DecodeCost &Each : rank("sm_90a", One))
    EXPECT_EQ(Each.Schedule.Splits, 1);
  double Whole = rank("sm_90a", One).front().Total;
  for (DecodeShape *Shape : {&One, &Eight}) {
    Shape->MaySplit = true;
    Shape->MostStreams = Shape->Streams;
    Shape->MostRows = Shape->Rows;
  }
  DecodeCost Split = rank("sm_90a", One).front();
  // Measured: 16.6 us, and 26.1 in one cluster; with 64 parts 18.1.
  EXPECT_EQ(Split.Schedule.Splits, 32);
  EXPECT_EQ(Split.Schedule.Blocks, 1);
  EXPECT_EQ(Split.Schedule.stride(),
            32 * Split.Schedule.Warps * Split.Schedule.Keys);
  EXPECT_LT(Split.Total, Whole / 1.4);
  EXPECT_THAT(Split.Schedule.str(), testing::EndsWith("cluster 1 split 32"));
  // Clusters fill the chip: 45.2 us, and 46.0 in 16 parts.
  EXPECT_EQ(rank("sm_90a", Eight).front().Schedule.Splits, 1);
  EXPECT_GT(rank("sm_80", Eight).front().Schedule.Splits, 1);
  // There is room for 256 blocks.
  Eight.MostStreams = 200;
  for (const DecodeCost &Each : rank("sm_90a", Eight))
    EXPECT_EQ(Each.Schedule.Splits, 1);
}

TEST(DecodeSchedule, Prints) {
  EXPECT_THAT(rank("sm_90a", shapeOf(128, 4096, 128)).front().str(),
              testing::MatchesRegex(
                  "decode [0-9]+ rows x [0-9]+ keys x [0-9]+ warps stages "
                  "[0-9]+ cluster [0-9]+: [0-9.]+ us = [0-9.]+ rounds x "
                  "[0-9.]+ stream . [0-9.]+ overhead"));
}

// What is read of the cache is stored again: memory has twice the bytes.
TEST(DecodeSchedule, RowsThatAreStoredCost) {
  DecodeShape Shape = shapeOf(128, 4096, 64);
  DecodeCost Reads = rank("sm_90a", Shape).front();
  Shape.Appends = true;
  DecodeCost Stores = rank("sm_90a", Shape).front();
  EXPECT_GT(Stores.Total, 1.7 * Reads.Total);
  EXPECT_LT(Stores.Total, 2 * Reads.Total);
}
