//===- BlackwellScheduleTest.cpp - Tests of schedules on tcgen05 ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/BlackwellConvSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::schedule;
using testing::EndsWith;
using testing::StartsWith;

namespace {

const target::Target &blackwell() { return *target::findTarget("sm_100a"); }

GemmShape shapeOf(int64_t M, int64_t N, int64_t K) {
  GemmShape S;
  S.M = M;
  S.N = N;
  S.K = K;
  return S;
}

/// Shapes of models, ragged ones, and the smallest.
const GemmShape Shapes[] = {shapeOf(8192, 8192, 8192), shapeOf(4096, 3072, 768),
                            shapeOf(128, 4096, 4096),  shapeOf(17, 72, 40),
                            shapeOf(1, 1, 1),          shapeOf(1 << 20, 64, 1)};

} // namespace

TEST(BlackwellSchedule, Sizes) {
  BlackwellSchedule S; // 128×256×64, four stages
  EXPECT_FALSE(S.isPair());
  EXPECT_EQ(S.stageBytes(2), 49152);
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  EXPECT_EQ(S.str(), "gemm 128x256x64 stages 4 group_m 8");
  // Each block of a pair has half of the columns in its stages, but sums of
  // all.
  S.ClusterM = 2;
  EXPECT_TRUE(S.isPair());
  EXPECT_EQ(S.stageBytes(2), 32768);
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  EXPECT_EQ(S.str(), "gemm 256x256x64 stages 4 group_m 8 pair");
  S.TileN = 192; // what is taken is a power of two
  EXPECT_EQ(S.tensorMemoryColumns(), 512);
  S.TileN = 64;
  EXPECT_EQ(S.tensorMemoryColumns(), 128);
}

TEST(BlackwellSchedule, AllAreLegal) {
  for (const GemmShape &Shape : Shapes) {
    auto Ranked = rankBlackwellSchedules(Shape, blackwell());
    ASSERT_FALSE(Ranked.empty());
    for (const BlackwellCost &One : Ranked) {
      const BlackwellSchedule &S = One.Schedule;
      SCOPED_TRACE(S.str());
      EXPECT_EQ(S.TileM, 128);
      EXPECT_LE(S.TileN, 256);
      EXPECT_EQ(S.ownColumns() % 64, 0);
      EXPECT_LE(S.tensorMemoryColumns(), blackwell().Limit.TensorMemoryColumns);
      EXPECT_EQ(S.TileK * Shape.ElementBytes, 128);
      EXPECT_GE(S.Stages, 2);
      // Two buffers of 64 columns of 128 rows; barriers of 16 bytes a stage,
      // and the address of tensor memory.
      EXPECT_LE(S.Stages * (S.stageBytes(2) + 16) + 2 * 128 * 64 * 2 + 64,
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
      StartsWith("gemm 128x64x64 stages "));
}

/// Stages of 128 bytes of K hold twice as many elements, which are multiplied
/// in the same time.
TEST(BlackwellSchedule, Fp8) {
  GemmShape Shape = Shapes[0];
  Shape.ElementBytes = 1;
  std::vector<BlackwellCost> Ranked =
      rankBlackwellSchedules(Shape, blackwell());
  ASSERT_FALSE(Ranked.empty());
  const BlackwellCost &Best = Ranked.front();
  EXPECT_THAT(Best.Schedule.str(), StartsWith("gemm 256x256x128 stages 6 "));
  EXPECT_THAT(Best.Schedule.str(), EndsWith(" pair"));
  // The staging of the result has 16 bits still.
  for (const BlackwellCost &One : Ranked)
    EXPECT_LE(One.Schedule.Stages * (One.Schedule.stageBytes(1) + 16) +
                  2 * 128 * 64 * 2 + 64,
              blackwell().Limit.SharedPerBlock);
  double Operations = 2.0 * 8192 * 8192 * 8192;
  EXPECT_GT(Operations / Best.Total / 1e6, 0.8 * blackwell().Cost.Fp8);
  EXPECT_LT(Best.Total,
            0.6 * rankBlackwellSchedules(Shapes[0], blackwell()).front().Total);
  EXPECT_TRUE(readBlackwellSchedule("gemm 128x256x128 stages 4 group_m 8",
                                    Shape, blackwell()));
  EXPECT_FALSE(readBlackwellSchedule("gemm 128x256x64 stages 4 group_m 8",
                                     Shape, blackwell()));
}

/// Stages of 128 bytes of K hold half as many elements, which are multiplied in
/// the same time: on chips whose rate of tf32 nobody says, too.
TEST(BlackwellSchedule, Tf32) {
  GemmShape Shape = Shapes[0];
  Shape.ElementBytes = Shape.ResultBytes = 4;
  for (const char *Name : {"sm_100a", "sm_103a", "sm_110a"}) {
    const target::Target &T = *target::findTarget(Name);
    std::vector<BlackwellCost> Ranked = rankBlackwellSchedules(Shape, T);
    ASSERT_FALSE(Ranked.empty());
    const BlackwellCost &Best = Ranked.front();
    EXPECT_THAT(Best.Schedule.str(), StartsWith("gemm 256x256x32 stages 5 "));
    for (const BlackwellCost &One : Ranked)
      EXPECT_LE(One.Schedule.Stages * (One.Schedule.stageBytes(4) + 16) +
                    2 * 128 * 64 * 4 + 64,
                T.Limit.SharedPerBlock);
    double Operations = 2.0 * 8192 * 8192 * 8192;
    EXPECT_GT(Operations / Best.Total / 1e6, 0.8 * T.Cost.Fp16 / 2);
    EXPECT_LT(Operations / Best.Total / 1e6, T.Cost.Fp16 / 2);
  }
  EXPECT_FALSE(readBlackwellSchedule("gemm 128x256x64 stages 2 group_m 8",
                                     Shape, blackwell()));
}

/// Words of scales have columns of tensor memory behind the accumulators, those
/// of each stage its own.
TEST(BlackwellSchedule, BlockScales) {
  GemmShape Shape = Shapes[0];
  Shape.ElementBytes = 1;
  for (int64_t Bytes : {32, 16, 8}) { // MXFP8, MXFP4, NVFP4
    Shape.BytesOfScale = Bytes;
    Shape.IsFp4 = Bytes != 32;
    int64_t Words = 128 / (4 * Bytes);
    std::vector<BlackwellCost> Ranked =
        rankBlackwellSchedules(Shape, blackwell());
    ASSERT_FALSE(Ranked.empty());
    for (const BlackwellCost &One : Ranked) {
      const BlackwellSchedule &S = One.Schedule;
      SCOPED_TRACE(S.str());
      EXPECT_FALSE(S.isPair());
      // Columns begin at a panel of 128 rows of scales.
      EXPECT_EQ(S.TileN % 128, 0);
      EXPECT_EQ(S.ScaleColumns, Words * 4 * (1 + S.TileN / 128));
      EXPECT_EQ(S.accumulators(), S.TileN == 256 ? 1 : 2);
      EXPECT_LE(S.firstScaleColumn() + S.Stages * S.ScaleColumns, 512);
      EXPECT_EQ(S.stageBytes(1), (128 + S.ownColumns()) * 128 +
                                     512 * Words * (1 + S.TileN / 128));
      auto Read = readBlackwellSchedule(S.str(), Shape, blackwell());
      ASSERT_TRUE(Read);
      EXPECT_EQ(Read->str(), One.str());
    }
    EXPECT_FALSE(readBlackwellSchedule("gemm 128x64x128 stages 2 group_m 8",
                                       Shape, blackwell()));
  }
  // Codes of 4 bits are multiplied twice as fast, and are half of the bytes.
  Shape.K /= 2;
  GemmShape Fp8 = Shapes[0];
  Fp8.ElementBytes = 1;
  Fp8.BytesOfScale = 32;
  EXPECT_LT(rankBlackwellSchedules(Shape, blackwell()).front().Total,
            0.7 * rankBlackwellSchedules(Fp8, blackwell()).front().Total);
}

/// Two GEMMs of one A: each has whole parts of a block's columns.
TEST(BlackwellSchedule, Gates) {
  GemmShape Shape = shapeOf(8192, 28672, 8192);
  Shape.Products = 2;
  std::vector<BlackwellCost> Ranked =
      rankBlackwellSchedules(Shape, blackwell());
  ASSERT_FALSE(Ranked.empty());
  for (const BlackwellCost &One : Ranked)
    EXPECT_EQ(One.Schedule.ownColumns() % 128, 0) << One.str();
  EXPECT_THAT(Ranked.front().str(), StartsWith("gemm 256x256x64 stages "));
  EXPECT_TRUE(readBlackwellSchedule("gemm 128x128x64 stages 4 group_m 8", Shape,
                                    blackwell()));
  EXPECT_FALSE(readBlackwellSchedule("gemm 128x64x64 stages 4 group_m 8", Shape,
                                     blackwell()));
  EXPECT_FALSE(readBlackwellSchedule("gemm 256x128x64 stages 4 group_m 8 pair",
                                     Shape, blackwell()));
  EXPECT_EQ(Ranked.front().Schedule.partColumns(), 32);
  // As many operations in one kernel take no longer than in two.
  GemmShape Single = shapeOf(8192, 14336, 8192);
  EXPECT_LT(Ranked.front().Total,
            2 * rankBlackwellSchedules(Single, blackwell()).front().Total);
}

/// Heads are whole in a tile, and in one part of its end or in two.
TEST(BlackwellSchedule, Heads) {
  GemmShape Shape = shapeOf(4096, 6144, 4096);
  double Plain = rankBlackwellSchedules(Shape, blackwell()).front().Total;
  for (int64_t Half : {1, 8, 16, 32, 64}) {
    Shape.RotateHalf = Half;
    std::vector<BlackwellCost> Ranked =
        rankBlackwellSchedules(Shape, blackwell());
    ASSERT_FALSE(Ranked.empty());
    for (const BlackwellCost &One : Ranked)
      EXPECT_EQ(One.Schedule.TileN % (2 * Half), 0) << One.str();
    EXPECT_GE(Ranked.front().Total, Plain);
  }
  for (int64_t Half : {20, 48, 128}) {
    Shape.RotateHalf = Half;
    EXPECT_TRUE(rankBlackwellSchedules(Shape, blackwell()).empty()) << Half;
  }
}

/// What is read at each result, and what is computed, is part of the end.
TEST(BlackwellSchedule, Epilogues) {
  GemmShape Shape = shapeOf(4096, 1024, 64);
  double Plain = rankBlackwellSchedules(Shape, blackwell()).front().Epilogue;
  GemmShape Residual = Shape, Long = Shape, Single = Shape;
  Residual.EpilogueBytes = 2;
  Long.RotateHalf = 32;
  Single.ResultBytes = 4;
  for (const GemmShape &One : {Residual, Long, Single}) {
    auto Ranked = rankBlackwellSchedules(One, blackwell());
    ASSERT_FALSE(Ranked.empty());
    EXPECT_GT(Ranked.front().Epilogue * 256 /
                  double(Ranked.front().Schedule.TileN),
              Plain);
  }
}

namespace {

ConvShape convolution(int64_t Places, int64_t Outputs, int64_t Channels,
                      int64_t Taps, int64_t ElementBytes = 2) {
  ConvShape S;
  S.Places = Places;
  S.Outputs = Outputs;
  S.Channels = Channels;
  S.Taps = Taps;
  S.ElementBytes = ElementBytes;
  return S;
}

} // namespace

/// A convolution is the GEMM whose K has whole slices of each tap's channels.
TEST(BlackwellSchedule, Convolutions) {
  for (ConvShape Shape :
       {convolution(32 * 56 * 56, 64, 64, 9), convolution(49, 2048, 512, 9),
        convolution(100, 40, 24, 25), convolution(1000, 96, 16, 3),
        convolution(32 * 28 * 28, 128, 128, 9, 1), convolution(8, 8, 8, 1)}) {
    auto Ranked = rankBlackwellConvSchedules(Shape, blackwell());
    ASSERT_FALSE(Ranked.empty());
    for (const BlackwellConvCost &One : Ranked) {
      SCOPED_TRACE(One.str());
      EXPECT_THAT(One.name(), StartsWith("conv "));
      EXPECT_THAT(One.str(), StartsWith(One.name() + ": "));
      int64_t Line = One.Schedule.TileK * Shape.ElementBytes;
      EXPECT_TRUE(Line == 128 || Line == 64 || Line == 32);
      EXPECT_LE(One.Schedule.TileK, std::max<int64_t>(sliceOf(Shape), 1));
      auto Read = readBlackwellConvSchedule(One.name(), Shape, blackwell());
      ASSERT_TRUE(Read);
      EXPECT_EQ(Read->str(), One.str());
    }
    EXPECT_FALSE(readBlackwellConvSchedule("gemm 128x64x64 stages 4 group_m 8",
                                           Shape, blackwell()));
    EXPECT_FALSE(readBlackwellConvSchedule("conv 64x64x64 stages 4 group_m 8",
                                           Shape, blackwell()));
    EXPECT_TRUE(rankBlackwellConvSchedules(Shape, *target::findTarget("sm_90a"))
                    .empty());
  }
  // ResNet-50's 3×3 of 512 channels at batch 256: the products are the limit.
  ConvShape Deep = convolution(256 * 7 * 7, 512, 512, 9);
  BlackwellConvCost Best =
      rankBlackwellConvSchedules(Deep, blackwell()).front();
  EXPECT_GT(Best.Mma, Best.Epilogue);
  // In FP8 it takes less, but more than half.
  ConvShape Codes = Deep;
  Codes.ElementBytes = 1;
  double OfCodes = rankBlackwellConvSchedules(Codes, blackwell()).front().Total;
  EXPECT_LT(OfCodes, 0.7 * Best.Total);
  EXPECT_GT(OfCodes, 0.5 * Best.Total);
}

TEST(BlackwellSchedule, WhatIsNone) {
  auto Read = [](const char *Text) {
    return bool(readBlackwellSchedule(Text, Shapes[0], blackwell()));
  };
  EXPECT_TRUE(Read("gemm 128x256x64 stages 4 group_m 8"));
  EXPECT_TRUE(Read("gemm 256x128x64 stages 3 group_m 1 pair"));
  EXPECT_FALSE(Read("gemm 256x256x64 stages 4 group_m 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 stages 4 group_m 8 pair"));
  EXPECT_FALSE(Read("gemm 256x192x64 stages 4 group_m 8 pair"));
  EXPECT_FALSE(Read("gemm 128x320x64 stages 2 group_m 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 stages 5 group_m 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 stages 1 group_m 8"));
  EXPECT_FALSE(Read("gemm 128x256x32 stages 4 group_m 8"));
  EXPECT_FALSE(Read("gemm 128x256x64 stages 4 group_m 0"));
  EXPECT_FALSE(Read("gemm 128x256x64 stages 4 group_m 8 split_k 2"));
  EXPECT_FALSE(Read("conv 128x256x64 stages 4 group_m 8"));
}
