//===- ConvScheduleTest.cpp - Tests of schedules of convolutions ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

namespace {

const target::Target &hopper() { return *target::findTarget("sm_90a"); }

ConvShape shapeOf(int64_t Places, int64_t Outputs, int64_t Channels,
                  int64_t Taps) {
  ConvShape S;
  S.Places = Places;
  S.Outputs = Outputs;
  S.Channels = S.LeastChannels = Channels;
  S.Taps = Taps;
  return S;
}

/// Layers of models, ragged ones, and the smallest.
const ConvShape Shapes[] = {
    shapeOf(100352, 64, 64, 9), shapeOf(25088, 128, 128, 9),
    shapeOf(1568, 512, 512, 9), shapeOf(401408, 64, 28, 7),
    shapeOf(19600, 160, 96, 9), shapeOf(196, 512, 512, 9),
    shapeOf(8, 8, 8, 9),        shapeOf(1 << 30, 1 << 20, 1 << 20, 125),
};

} // namespace

TEST(ConvSchedule, LegalOnesAreRanked) {
  for (const ConvShape &Shape : Shapes) {
    std::vector<ConvCost> Ranked = rankConvSchedules(Shape, hopper());
    ASSERT_FALSE(Ranked.empty());
    for (size_t I = 0; I < Ranked.size(); ++I) {
      const ConvSchedule &S = Ranked[I].Schedule;
      SCOPED_TRACE(Ranked[I].str());
      EXPECT_LE(S.sharedBytes(2), hopper().Limit.SharedPerBlock);
      EXPECT_GE(S.Stages, 2);
      EXPECT_LE(S.TileM * S.TileN, 192 * 192);
      if (I)
        EXPECT_GE(Ranked[I].Total, Ranked[I - 1].Total);
      EXPECT_THAT(Ranked[I].str(), StartsWith(S.str() + ": "));
    }
  }
}

TEST(ConvSchedule, PrintedOnesAreRead) {
  for (const ConvShape &Shape : Shapes)
    for (const ConvCost &One : rankConvSchedules(Shape, hopper())) {
      auto Read = readConvSchedule(One.Schedule.str(), Shape, hopper());
      ASSERT_TRUE(Read);
      EXPECT_EQ(Read->str(), One.str());
    }
}

TEST(ConvSchedule, IllegalOnesAreNotRead) {
  for (const char *Text :
       {"", "gemm 128x64x64 stages 4 group_m 8",
        "conv 128x64x64 stages 4 group_m 8 ",
        "conv 128x64x48 stages 4 group_m 8", "conv 96x64x64 stages 4 group_m 8",
        "conv 192x256x64 stages 2 group_m 8",
        "conv 64x64x64 stages 4 group_m 8 split_k 3",
        "conv 64x64x64 stages 4 group_m 8 cluster 4x1",
        "conv 64x64x16 stages 4 group_m 8 cluster 4",
        "conv 128x64x64 stages 1 group_m 8",
        "conv 128x256x64 stages 8 group_m 8",
        "conv 128x64x64 stages 4 group_m 0"})
    EXPECT_FALSE(readConvSchedule(Text, Shapes[0], hopper())) << Text;
}

TEST(ConvSchedule, SlicesAreAsWideAsChannelsFill) {
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 64, 9)), 64);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 96, 9)), 64);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 33, 9)), 64);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 32, 9)), 32);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 28, 7)), 32);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 12, 3)), 16);
  EXPECT_EQ(sliceOf(shapeOf(1, 1, 1, 1)), 16);
  // Of 96 channels, two slices of 64 would be a quarter of zeros.
  EXPECT_EQ(rankConvSchedules(Shapes[4], hopper())[0].Schedule.TileK, 32);
}

// A pixel that may cross from a line of 128 bytes into the next is two lines.
TEST(ConvSchedule, PixelsThatCrossLinesAreLoadedLonger) {
  auto LoadOf = [](int64_t Channels) {
    return readConvSchedule("conv 128x64x64 stages 4 group_m 8",
                            shapeOf(100352, 64, Channels, 9), hopper())
        ->Load;
  };
  EXPECT_EQ(LoadOf(48), LoadOf(40));
  EXPECT_GT(LoadOf(48), 1.4 * LoadOf(64));
  EXPECT_EQ(2 * LoadOf(64), LoadOf(128));
  EXPECT_GT(LoadOf(200), 1.4 * LoadOf(256));
}

TEST(ConvSchedule, LongSumsOfFewTilesAreSplit) {
  EXPECT_GT(rankConvSchedules(Shapes[5], hopper())[0].Schedule.SplitK, 1);
  EXPECT_EQ(rankConvSchedules(Shapes[0], hopper())[0].Schedule.SplitK, 1);
  // Of channels of which nothing is said there may be one.
  ConvShape Unsaid = shapeOf(196, 512, 4608, 1);
  Unsaid.LeastChannels = 1;
  for (const ConvCost &One : rankConvSchedules(Unsaid, hopper()))
    EXPECT_EQ(One.Schedule.SplitK, 1);
}

// Lines of shared memory that copies swizzle have 32 bytes and more: of parts
// of a sum whose results are codes, 32 columns.
TEST(ConvSchedule, PartsOfCodesAreWholeLines) {
  for (ConvShape Shape : Shapes) {
    Shape.ElementBytes = Shape.ResultBytes = 1;
    Shape.KMajor = true;
    for (const ConvCost &One : rankConvSchedules(Shape, hopper())) {
      SCOPED_TRACE(One.Schedule.str());
      EXPECT_GE(One.Schedule.partColumns(), 32);
    }
  }
  ConvShape Shape = shapeOf(196, 512, 512, 9);
  EXPECT_TRUE(readConvSchedule("conv 128x64x64 stages 4 group_m 1 split_k 4",
                               Shape, hopper()));
  Shape.ElementBytes = Shape.ResultBytes = 1;
  Shape.KMajor = true;
  EXPECT_FALSE(readConvSchedule("conv 128x64x64 stages 4 group_m 1 split_k 4",
                                Shape, hopper()));
}

TEST(ConvSchedule, EpiloguesOfManyInstructionsCost) {
  ConvShape Shape = Shapes[0];
  double Plain = rankConvSchedules(Shape, hopper())[0].Total;
  Shape.EpilogueOperations = 2;
  EXPECT_EQ(rankConvSchedules(Shape, hopper())[0].Total, Plain);
  Shape.EpilogueOperations = 20;
  EXPECT_GT(rankConvSchedules(Shape, hopper())[0].Total, Plain);
}

// The phases of 3 × 3 taps in steps of two: 64 outputs have one of four taps,
// twice 64 have two, the last have all.
TEST(ConvSchedule, TilesHaveTheTapsOfTheirOutputs) {
  const std::vector<int64_t> Live = {1, 3, 5, 15};
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 256, 64, 1), ElementsAre(1, 3, 5, 15));
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 256, 128, 1), ElementsAre(3, 15));
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 256, 192, 1), ElementsAre(7, 15));
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 256, 256, 1), IsEmpty());
  EXPECT_THAT(liveTapsOfTiles({}, 4, 256, 64, 1), IsEmpty());
  // Tiles begin inside of parts, and the last is not whole.
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 96, 64, 1), ElementsAre(7, 15));
  EXPECT_THAT(liveTapsOfTiles({2, int64_t(1) << 31}, 32, 128, 64, 1),
              ElementsAre(2, uint32_t(1) << 31));
  // Of few channels a tile has two taps, be they zeros.
  EXPECT_THAT(liveTapsOfTiles(Live, 4, 256, 64, 2), ElementsAre(3, 3, 5, 15));
  EXPECT_EQ(leastLiveTaps(64, 64), 2);
  EXPECT_EQ(leastLiveTaps(65, 64), 1);
}

TEST(ConvSchedule, TapsThatAreLeftOutCostNothing) {
  ConvShape All = shapeOf(32768, 512, 256, 4), Some = All;
  Some.Live = {1, 3, 5, 15};
  auto Cost = [](const ConvShape &Shape, const char *Text) {
    return readConvSchedule(Text, Shape, hopper())->Mma;
  };
  const char *OfOnePart = "conv 128x128x64 stages 4 group_m 8",
             *OfTwo = "conv 128x256x64 stages 3 group_m 8",
             *Split = "conv 128x128x64 stages 4 group_m 8 split_k 2";
  EXPECT_LT(Cost(Some, OfOnePart), 0.7 * Cost(All, OfOnePart));
  EXPECT_LT(Cost(Some, OfTwo), 0.85 * Cost(All, OfTwo));
  EXPECT_GT(Cost(Some, OfTwo), 0.7 * Cost(All, OfTwo));
  // Blocks that share a sum have parts of all taps.
  EXPECT_EQ(Cost(Some, Split), Cost(All, Split));
  // Sums of one length run at a time.
  ConvSchedule Best = rankConvSchedules(Some, hopper())[0].Schedule;
  EXPECT_EQ(Best.TileN, 128);
  EXPECT_EQ(Best.GroupM * Best.blocks(), hopper().Cost.SmCount);
}

TEST(ConvSchedule, SumsOfFp8FitTwice) {
  for (ConvShape Shape : Shapes) {
    Shape.ElementBytes = 1;
    Shape.KMajor = true;
    double Exact = rankConvSchedules(Shape, hopper())[0].Total;
    Shape.Promotes = true;
    std::vector<ConvCost> Ranked = rankConvSchedules(Shape, hopper());
    ASSERT_FALSE(Ranked.empty());
    for (const ConvCost &One : Ranked)
      EXPECT_TRUE(One.Schedule.hasRoomToPromote()) << One.str();
    // Additions take time that sums of integers do not.
    EXPECT_GE(Ranked[0].Total, Exact);
    EXPECT_FALSE(readConvSchedule("conv 128x256x64 stages 2 group_m 8", Shape,
                                  hopper()));
  }
}

TEST(ConvSchedule, NoTensorCoresNoSchedules) {
  EXPECT_TRUE(
      rankConvSchedules(Shapes[0], *target::findTarget("sm_80")).empty());
}
