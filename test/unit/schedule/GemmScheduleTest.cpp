//===- GemmScheduleTest.cpp - Tests of schedules of matrix products -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/GemmSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace kpc;
using namespace kpc::schedule;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const target::Target &hopper() { return *target::findTarget("sm_90a"); }

GemmShape shapeOf(int64_t M, int64_t N, int64_t K, int64_t Batch = 1) {
  GemmShape S;
  S.Batch = Batch;
  S.M = M;
  S.N = N;
  S.K = K;
  return S;
}

std::vector<std::string> printed(const std::vector<GemmCost> &Ranked) {
  std::vector<std::string> Lines;
  for (const GemmCost &One : Ranked)
    Lines.push_back(One.str());
  return Lines;
}

/// Shapes of models, ragged ones, and the smallest.
const GemmShape Shapes[] = {
    shapeOf(8192, 8192, 8192),
    shapeOf(4096, 3072, 768),
    shapeOf(4096, 768, 3072),
    shapeOf(4096, 14336, 4096),
    shapeOf(128, 4096, 4096),
    shapeOf(3000, 3000, 3000),
    shapeOf(1, 64, 64),
    shapeOf(17, 72, 40),
    shapeOf(1, 1, 1),
    shapeOf(384, 384, 64, 192),
    shapeOf(1 << 20, 1 << 20, 1),
};

} // namespace

TEST(GemmSchedule, Sizes) {
  GemmSchedule S; // 128×256×64, four stages
  EXPECT_EQ(S.consumers(), 2);
  EXPECT_EQ(S.threads(), 384);
  EXPECT_EQ(S.stageBytes(2), 49152);
  // Two buffers of 64 columns for each of 128 rows.
  EXPECT_EQ(S.sharedBytes(2), 4 * 49152 + 2 * 128 * 64 * 2);
  EXPECT_EQ(S.str(), "gemm 128x256x64 stages 4 group_m 8");
}

TEST(GemmSchedule, AllAreLegal) {
  for (const GemmShape &Shape : Shapes) {
    auto Ranked = rankGemmSchedules(Shape, hopper());
    ASSERT_FALSE(Ranked.empty());
    for (const GemmCost &One : Ranked) {
      const GemmSchedule &S = One.Schedule;
      SCOPED_TRACE(S.str());
      // Barriers: two of 8 bytes for each stage.
      EXPECT_LE(S.sharedBytes(Shape.ElementBytes) + 16 * S.Stages,
                hopper().Limit.SharedPerBlock);
      EXPECT_GE(S.Stages, 2);
      EXPECT_LE(S.Stages, 14);
      EXPECT_GE(S.GroupM, 1);
      EXPECT_EQ(S.TileM % 64, 0);
      EXPECT_EQ(S.TileN % StagingColumns, 0);
      // wgmma has at most 256 columns; a stage's line fills one swizzle.
      EXPECT_LE(S.TileN, 256);
      EXPECT_EQ(S.TileK * Shape.ElementBytes, 128);
      EXPECT_LE(S.threads(), 512);
      // A thread's sums, and 32 registers for what goes on around them.
      EXPECT_LE(S.sumsOfThread() + 32, S.consumers() == 3 ? 160 : 232);
    }
  }
}

TEST(GemmSchedule, NoneWithoutWgmma) {
  for (const target::Target &T : target::allTargets())
    EXPECT_EQ(rankGemmSchedules(shapeOf(4096, 4096, 4096), T).empty(),
              !T.Can.Wgmma)
        << T.Name;
}

TEST(GemmSchedule, NoneWithoutMemory) {
  target::Target Small = hopper();
  Small.Limit.SharedPerBlock = 16 * 1024;
  EXPECT_TRUE(rankGemmSchedules(shapeOf(4096, 4096, 4096), Small).empty());
}

GemmShape knownSum(GemmShape S) {
  S.MinK = S.K;
  return S;
}

// Columns that change places are in one tile, of a split sum in one store.
TEST(GemmSchedule, PairsOfRunsStayTogether) {
  for (int64_t Half : {8, 32, 48, 64}) {
    GemmShape Shape = knownSum(shapeOf(512, 3072, 2048));
    Shape.RotateHalf = Half;
    std::vector<GemmCost> Ranked = rankGemmSchedules(Shape, hopper());
    ASSERT_FALSE(Ranked.empty());
    bool AnySplit = false;
    for (const GemmCost &One : Ranked) {
      SCOPED_TRACE(One.Schedule.str());
      EXPECT_EQ(One.Schedule.TileN % (2 * Half), 0);
      AnySplit |= One.Schedule.SplitK > 1;
    }
    EXPECT_EQ(AnySplit, Half <= 32);
  }
  GemmShape Shape = shapeOf(512, 3072, 2048);
  Shape.RotateHalf = 64;
  EXPECT_FALSE(
      readGemmSchedule("gemm 128x64x64 stages 4 group_m 2", Shape, hopper()));
  EXPECT_TRUE(
      readGemmSchedule("gemm 128x128x64 stages 4 group_m 2", Shape, hopper()));
  // No tile has whole heads; both halves take too many registers.
  for (int64_t Half : {40, 128}) {
    Shape.RotateHalf = Half;
    EXPECT_TRUE(rankGemmSchedules(Shape, hopper()).empty());
  }
}

// Lines of shared memory that copies swizzle have 32 bytes and more: of parts
// of a sum whose results are codes, 32 columns.
TEST(GemmSchedule, PartsOfCodesAreWholeLines) {
  for (GemmShape Shape : Shapes) {
    Shape = knownSum(Shape);
    Shape.ElementBytes = Shape.ResultBytes = 1;
    for (const GemmCost &One : rankGemmSchedules(Shape, hopper())) {
      SCOPED_TRACE(One.Schedule.str());
      EXPECT_GE(One.Schedule.partColumns(), 32);
    }
  }
}

// Few tiles of a long sum are shared by blocks, each of which has a step.
TEST(GemmSchedule, LongSumsAreSplit) {
  for (GemmShape Shape : Shapes) {
    Shape = knownSum(Shape);
    for (const GemmCost &One : rankGemmSchedules(Shape, hopper())) {
      const GemmSchedule &S = One.Schedule;
      SCOPED_TRACE(S.str());
      EXPECT_LE(S.blocks(), hopper().Can.ClusterBlocks);
      EXPECT_TRUE(S.SplitK == 1 || S.multicast() == 1);
      EXPECT_GT(S.SplitK == 1 ? 1 : One.Reduce, 0);
      if (S.SplitK == 1)
        continue;
      EXPECT_LE(S.SplitK, (Shape.K + S.TileK - 1) / S.TileK);
      EXPECT_EQ(S.storedColumns() % S.partColumns(), 0);
      EXPECT_EQ(S.partColumns() % 16, 0);
      EXPECT_LE(S.accumulatorBytes(),
                S.Stages * S.stageBytes(Shape.ElementBytes));
    }
  }
  // Nobody promises that the sum is long enough.
  for (const GemmCost &One :
       rankGemmSchedules(shapeOf(64, 4096, 4096), hopper()))
    EXPECT_EQ(One.Schedule.SplitK, 1);
  EXPECT_THAT(rankGemmSchedules(knownSum(shapeOf(64, 4096, 4096)), hopper())
                  .front()
                  .str(),
              HasSubstr(" reduce)"));
}

// Rows that do not begin at lines of the cache are looked up twice; blocks that
// share copies look up half of one operand.
TEST(GemmSchedule, LinesOfTheCache) {
  GemmShape Shape = shapeOf(3000, 3000, 3000);
  Shape.LinesOfA = Shape.LinesOfB = 2;
  auto Load = [&](const char *Text) {
    auto Cost = readGemmSchedule(Text, Shape, hopper());
    return Cost ? Cost->Load : 0;
  };
  double Alone = Load("gemm 128x192x64 stages 4 group_m 8"),
         Two = Load("gemm 128x192x64 stages 4 group_m 8 cluster 2x1");
  EXPECT_NEAR(Two / Alone, (128 + 192 / 2) / 320., 1e-9);
  // The fastest of those measured.
  EXPECT_THAT(rankGemmSchedules(Shape, hopper()).front().Schedule.str(),
              StartsWith("gemm 192x192x64 stages 3 "));
  EXPECT_EQ(rankGemmSchedules(Shape, hopper()).front().Schedule.multicast(), 2);
}

// Two warpgroups with a tile each: both hold all of a tile's rows.
TEST(GemmSchedule, WarpgroupsInTurn) {
  GemmShape Shape = knownSum(shapeOf(4096, 3072, 768));
  auto Read = [&](const char *Text) {
    return readGemmSchedule(Text, Shape, hopper());
  };
  auto Turn = Read("gemm 128x192x64 stages 4 group_m 8 pingpong");
  ASSERT_TRUE(Turn);
  const GemmSchedule &S = Turn->Schedule;
  EXPECT_TRUE(S.PingPong);
  EXPECT_EQ(S.consumers(), 2);
  EXPECT_EQ(S.consumerRows(), 128);
  EXPECT_EQ(S.sumsOfThread(), 192);
  EXPECT_EQ(S.sharedBytes(2), 4 * 40960 + 2 * 2 * 128 * 64 * 2);
  EXPECT_EQ(S.str(), "gemm 128x192x64 stages 4 group_m 8 pingpong");
  EXPECT_TRUE(Read("gemm 64x256x64 stages 4 group_m 8 cluster 2x1 pingpong"));
  // A thread has at most 192 sums, tiles have 128 rows at most and 128 columns
  // at least; the
  // parts of a sum have no turn; words stand in their order.
  for (const char *Text :
       {"gemm 128x256x64 stages 2 group_m 8 pingpong",
        "gemm 192x128x64 stages 3 group_m 8 pingpong",
        "gemm 64x64x64 stages 4 group_m 8 pingpong",
        "gemm 128x64x64 stages 4 group_m 8 pingpong",
        "gemm 64x128x64 stages 4 group_m 8 split_k 2 pingpong",
        "gemm 64x128x64 stages 4 group_m 8 pingpong cluster 2x1",
        "gemm 64x128x64 stages 4 group_m 8 pingpong pingpong",
        "gemm 128x128x64 stages 6 group_m 8 pingpong"}) // no room
    EXPECT_FALSE(Read(Text)) << Text;
}

// The more an epilogue has to do, the more it gains to be overlapped.
TEST(GemmSchedule, LongEpiloguesTakeTurns) {
  GemmShape Shape = knownSum(shapeOf(4096, 3072, 768));
  auto Best = [&](double Operations) {
    Shape.EpilogueOperations = Operations;
    return rankGemmSchedules(Shape, hopper()).front();
  };
  EXPECT_TRUE(Best(20).Schedule.PingPong) << Best(20).str();
  EXPECT_LT(Best(0).Total, Best(20).Total);
  // Reads of another matrix count as well.
  double Without = Best(2).Total;
  Shape.EpilogueBytes = 2;
  EXPECT_LT(Without, Best(2).Total);
  // A tile alone on a multiprocessor has nothing to overlap, and long sums with
  // a short epilogue gain nothing.
  for (const GemmShape &Other : {shapeOf(128, 128, 768), Shapes[0]})
    EXPECT_FALSE(
        rankGemmSchedules(knownSum(Other), hopper()).front().Schedule.PingPong);
}

// A residual that is copied takes room of stages, and of its tile alone where
// two would leave fewer than four.
TEST(GemmSchedule, ResidualsTakeRoom) {
  GemmShape Shape = knownSum(shapeOf(4096, 3072, 768)), Staged = Shape;
  Staged.StagedBytes = 2;
  auto Find = [](const GemmShape &Of,
                 const std::string &Tile) -> std::optional<GemmCost> {
    for (const GemmCost &One : rankGemmSchedules(Of, hopper()))
      if (One.Schedule.str().rfind("gemm " + Tile + " ", 0) == 0 &&
          One.Schedule.blocks() == 1 && !One.Schedule.PingPong &&
          One.Schedule.StagesResidual == (Of.StagedBytes > 0))
        return One;
    return std::nullopt;
  };
  EXPECT_EQ(Find(Shape, "64x64x64")->Schedule.Stages, 13);
  EXPECT_EQ(Find(Staged, "64x64x64")->Schedule.Stages, 12);
  EXPECT_EQ(Find(Shape, "128x128x64")->Schedule.Stages, 6);
  EXPECT_EQ(Find(Staged, "128x128x64")->Schedule.Stages, 4);
  EXPECT_TRUE(Find(Shape, "128x256x64"));
  EXPECT_FALSE(Find(Staged, "128x256x64"));
  for (const GemmCost &One : rankGemmSchedules(Staged, hopper()))
    if (One.Schedule.StagesResidual)
      EXPECT_GE(One.Schedule.Stages, 4) << One.str();
  // Its copies are part of a tile's.
  EXPECT_LT(Find(Shape, "128x128x64")->Load, Find(Staged, "128x128x64")->Load);
}

// Without room for it a residual is read by the epilogue, which takes longer:
// both are ranked. Of warpgroups in turn each has room for one.
TEST(GemmSchedule, ResidualsAreStagedOrRead) {
  GemmShape Shape = knownSum(shapeOf(4096, 768, 3072));
  Shape.StagedBytes = Shape.EpilogueBytes = 2;
  auto Read = [&](const std::string &Text) {
    return readGemmSchedule("gemm " + Text, Shape, hopper());
  };
  EXPECT_LT(Read("128x128x64 stages 4 group_m 11 residual")->Epilogue,
            Read("128x128x64 stages 4 group_m 11")->Epilogue);
  EXPECT_FALSE(Read("128x128x64 stages 6 group_m 11 residual"));
  EXPECT_TRUE(Read("192x128x64 stages 4 group_m 9"));
  EXPECT_FALSE(Read("192x128x64 stages 4 group_m 9 residual"));
  EXPECT_TRUE(Read("64x192x64 stages 4 group_m 20 residual pingpong"));
  EXPECT_FALSE(Read("128x128x64 stages 4 group_m 11 residual pingpong"));
  Shape.StagedBytes = 0;
  EXPECT_FALSE(Read("128x128x64 stages 4 group_m 11 residual"));
}

// What is printed is read back, and nothing else.
TEST(GemmSchedule, TextIsRead) {
  for (const GemmShape &Shape : Shapes)
    for (const GemmCost &One : rankGemmSchedules(Shape, hopper())) {
      auto Read = readGemmSchedule(One.Schedule.str(), Shape, hopper());
      ASSERT_TRUE(Read) << One.str();
      EXPECT_EQ(Read->str(), One.str());
    }
  const GemmShape &Shape = Shapes[0];
  EXPECT_TRUE(
      readGemmSchedule("gemm 64x128x64 stages 3 group_m 2", Shape, hopper()));
  for (const char *Text :
       {"",
        "gemm",
        "gemm 64x128x64 stages 3",
        "gemm 64x128x64 stages 3 group_m 2 ",
        "gemm 64x128x64 stages 3 group_m 2 group 2",
        "gemm 64x128x64  stages 3 group_m 2",
        "gemm 64x128x64 stages 1 group_m 2",
        "gemm 64x128x64 stages 9 group_m 2",
        "gemm 128x256x64 stages 8 group_m 2",
        "gemm 64x96x64 stages 3 group_m 2",
        "gemm 0x128x64 stages 3 group_m 2",
        "gemm 256x64x64 stages 3 group_m 2",
        "gemm 192x256x64 stages 3 group_m 2",
        "gemm 64x128x32 stages 3 group_m 2",
        "gemm 64x128x64 stages 3 group_m 0",
        "gemm 64x128x64 stages 3 group_m -2",
        "gemm 99999999999999999999x128x64 stages 3 group_m 2",
        "gemm 64x128x64 stages 3 group_m 2 split_k 2", // the sum may be short
        "gemm 64x128x64 stages 3 group_m 2 split_k 0",
        "gemm 64x128x64 stages 3 group_m 2 cluster 3x1",
        "gemm 64x128x64 stages 3 group_m 2 cluster 2x2",
        "gemm 64x128x64 stages 3 group_m 2 cluster 16x1",
        "gemm 64x128x64 stages 3 group_m 2 cluster 1x1",
        "gemm 64x128x64 stages 3 group_m 2 cluster 2x1 split 2"})
    EXPECT_FALSE(readGemmSchedule(Text, Shape, hopper())) << Text;
  EXPECT_FALSE(readGemmSchedule("gemm 64x128x64 stages 3 group_m 2", Shape,
                                *target::findTarget("sm_80")));
  GemmShape Long = knownSum(Shape);
  for (const char *Text : {"gemm 64x128x64 stages 3 group_m 2 split_k 8",
                           "gemm 64x128x64 stages 3 group_m 2 cluster 2x1",
                           "gemm 64x128x64 stages 3 group_m 2 cluster 1x4"}) {
    auto Read = readGemmSchedule(Text, Long, hopper());
    ASSERT_TRUE(Read) << Text;
    EXPECT_EQ(Read->Schedule.str(), Text);
  }
  // 64 columns of eight blocks would be 8 columns each.
  EXPECT_FALSE(readGemmSchedule("gemm 64x64x64 stages 3 group_m 2 split_k 8",
                                Long, hopper()));
}

TEST(GemmSchedule, TheBestComesFirst) {
  for (const GemmShape &Shape : Shapes) {
    auto Ranked = rankGemmSchedules(Shape, hopper());
    for (size_t I = 1; I < Ranked.size(); ++I)
      EXPECT_LE(Ranked[I - 1].Total, Ranked[I].Total);
  }
}

TEST(GemmSchedule, TheSameEachTime) {
  for (const GemmShape &Shape : Shapes)
    EXPECT_EQ(printed(rankGemmSchedules(Shape, hopper())),
              printed(rankGemmSchedules(Shape, hopper())));
}

// The parts add up, and are numbers.
TEST(GemmSchedule, CostsArePrintedByParts) {
  for (const GemmShape &Shape : Shapes)
    for (const GemmCost &One : rankGemmSchedules(Shape, hopper())) {
      SCOPED_TRACE(One.str());
      for (double Part :
           {One.Waves, One.Mma, One.Load, One.Epilogue, One.Launch}) {
        EXPECT_TRUE(std::isfinite(Part));
        EXPECT_GT(Part, 0);
      }
      double Products = std::max(One.Mma, One.Load);
      if (One.Schedule.PingPong) {
        EXPECT_NEAR(One.Turn, (Products + One.Epilogue) / 2, 1e-9 * One.Turn);
        EXPECT_NEAR(One.Total,
                    One.Waves * std::max(Products, One.Turn) +
                        std::min(One.Epilogue, One.Turn) + One.Launch,
                    1e-9 * One.Total);
        EXPECT_THAT(One.str(), HasSubstr(" turn) + "));
        continue;
      }
      EXPECT_EQ(One.Turn, 0);
      EXPECT_NEAR(One.Total,
                  One.Waves * (std::max(One.Mma, One.Load) + One.Epilogue +
                               One.Reduce) +
                      One.Launch,
                  1e-9 * One.Total);
      EXPECT_THAT(One.str(), StartsWith(One.Schedule.str() + ": "));
      EXPECT_THAT(One.str(), HasSubstr(" us = "));
      EXPECT_THAT(One.str(), HasSubstr(" waves x (max("));
      EXPECT_THAT(One.str(), HasSubstr(" mma, "));
      EXPECT_THAT(One.str(), HasSubstr(" load) + "));
      EXPECT_THAT(One.str(), EndsWith(" launch"));
    }
}

// What was the fastest on an H200.
TEST(GemmSchedule, KnownShapes) {
  auto Best = [](const GemmShape &Shape) {
    return rankGemmSchedules(Shape, hopper()).front();
  };
  // The fastest of those measured (docs/kernels/gemm.md).
  GemmCost Square = Best(shapeOf(4096, 4096, 4096));
  EXPECT_THAT(Square.Schedule.str(), StartsWith("gemm 128x256x64 stages 4 "));
  // 32 × 16 tiles on 132 multiprocessors.
  EXPECT_EQ(Square.Waves, 4);
  EXPECT_THAT(Best(shapeOf(4096, 3072, 768)).Schedule.str(),
              StartsWith("gemm 128x192x64 "));
  EXPECT_THAT(Best(shapeOf(4096, 768, 3072)).Schedule.str(),
              StartsWith("gemm 128x192x64 "));
}

// A batch is so many tiles more.
TEST(GemmSchedule, Batches) {
  auto One = rankGemmSchedules(shapeOf(128, 256, 64, 132), hopper()),
       Two = rankGemmSchedules(shapeOf(128, 256, 64, 264), hopper());
  for (const GemmCost &Cost : One)
    for (const GemmCost &Other : Two)
      if (Cost.Schedule.str() == Other.Schedule.str()) {
        EXPECT_EQ(2 * Cost.Waves, Other.Waves) << Cost.str();
      }
}

/// Scales that threads load find room in the first cache.
TEST(GemmSchedule, LoadsScales) {
  GemmShape Shape = shapeOf(4096, 4096, 14336);
  Shape.ElementBytes = 1;
  Shape.Promotes = true;
  EXPECT_THAT(printed(rankGemmSchedules(Shape, hopper())).front(),
              StartsWith("gemm 128x128x128 stages 6 "));
  Shape.LoadsScales = true;
  EXPECT_THAT(printed(rankGemmSchedules(Shape, hopper())).front(),
              StartsWith("gemm 128x128x128 stages 5 "));
  // What a user asks for is legal all the same.
  EXPECT_TRUE(readGemmSchedule("gemm 128x128x128 stages 6 group_m 11", Shape,
                               hopper()));
}
