//===- MmaSyncScheduleTest.cpp - Schedules of products on mma.sync --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/MmaSyncSchedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace kpc;
using namespace kpc::schedule;

namespace {

MmaSyncShape shapeOf(int64_t M, int64_t N, int64_t K) {
  MmaSyncShape S;
  S.M = M;
  S.N = N;
  S.K = K;
  return S;
}

const target::Target &targetOf(const char *Name) {
  return *target::findTarget(Name);
}

} // namespace

TEST(MmaSyncSchedule, Legal) {
  for (const target::Target &T : target::allTargets()) {
    if (!T.isGpu())
      continue;
    for (int64_t Bytes : {2, 4})
      for (int64_t M : {8, 129, 4096}) {
        MmaSyncShape Shape = shapeOf(M, 1000, 72);
        Shape.ElementBytes = Bytes;
        auto Ranked = rankMmaSyncSchedules(Shape, T);
        ASSERT_FALSE(Ranked.empty()) << T.Name;
        double Before = 0;
        for (const MmaSyncCost &One : Ranked) {
          const MmaSyncSchedule &S = One.Schedule;
          EXPECT_LE(S.sharedBytes(Bytes), T.Limit.SharedPerBlock);
          EXPECT_LE(S.threads(), T.Limit.ThreadsPerBlock);
          EXPECT_LE(S.threads() * S.accumulators(), T.Limit.RegistersPerSm);
          EXPECT_GE(S.Stages, 2);
          EXPECT_GE(One.Total, Before);
          Before = One.Total;
        }
      }
  }
}

/// Words of 4 bytes beside split factors: the places of a thread's copies would
/// spill.
TEST(MmaSyncSchedule, SplitFactorsHaveFewCopies) {
  MmaSyncShape Shape = shapeOf(333, 128, 277);
  Shape.ElementBytes = 4;
  Shape.Split = true;
  auto Has = [&](const char *Cut) {
    auto Ranked = rankMmaSyncSchedules(Shape, targetOf("sm_80"));
    return std::any_of(Ranked.begin(), Ranked.end(), [&](const auto &One) {
      return One.Schedule.str().find(Cut) != std::string::npos;
    });
  };
  const char *Deep = "128x64x32 warpgroup 128x64",
             *Small = "64x64x32 warpgroup 64x64";
  EXPECT_TRUE(Has(Deep));
  EXPECT_TRUE(Has(Small));
  Shape.PieceOfA = 8;
  EXPECT_TRUE(Has(Deep));
  Shape.PieceOfA = 4;
  EXPECT_FALSE(Has(Deep));
  EXPECT_FALSE(Has(Small));
  EXPECT_TRUE(Has("128x64x16 warpgroup 128x64"));
  EXPECT_TRUE(Has("64x64x16 warpgroup 64x64"));
  // Two warpgroups share the copies.
  EXPECT_TRUE(Has("64x128x32 warpgroup 64x64"));
  Shape.Split = false;
  EXPECT_TRUE(Has(Deep));
}

TEST(MmaSyncSchedule, NoneWithoutTensorCores) {
  EXPECT_THAT(
      rankMmaSyncSchedules(shapeOf(64, 64, 64), targetOf("host:x86-64-v3")),
      testing::IsEmpty());
}

TEST(MmaSyncSchedule, Fp8WhereTheInstructionIs) {
  MmaSyncShape Shape = shapeOf(4096, 4096, 4096);
  Shape.ElementBytes = 1;
  Shape.IsFp8 = true;
  // PTX that later chips read, too, is older than FP8.
  for (const char *Name : {"sm_80", "sm_86", "compute_80", "compute_90"})
    EXPECT_THAT(rankMmaSyncSchedules(Shape, targetOf(Name)), testing::IsEmpty())
        << Name;
  for (const char *Name : {"sm_89", "sm_90a", "sm_100a", "sm_120a", "sm_121a"})
    EXPECT_FALSE(rankMmaSyncSchedules(Shape, targetOf(Name)).empty()) << Name;
  // Hopper multiplies it as f16.
  MmaSyncShape Half = shapeOf(4096, 4096, 4096);
  auto MmaTime = [](const MmaSyncShape &Of, const char *Name) {
    return rankMmaSyncSchedules(Of, targetOf(Name))[0].Mma;
  };
  EXPECT_LT(MmaTime(Shape, "sm_89"), 0.6 * MmaTime(Half, "sm_89"));
  EXPECT_GT(MmaTime(Shape, "sm_90a"), 0.9 * MmaTime(Half, "sm_90a"));
}

TEST(MmaSyncSchedule, PartsAddUp) {
  MmaSyncShape Shape = shapeOf(4096, 4096, 4096);
  Shape.EpilogueOperations = 5;
  for (const MmaSyncCost &One : rankMmaSyncSchedules(Shape, targetOf("sm_80")))
    EXPECT_NEAR(
        One.Total,
        One.Tiles * (std::max(One.Mma, One.Load) + One.Copy + One.Epilogue) +
            One.Turns * One.Ends + One.Launch,
        1e-6);
}

// Blocks of a multiprocessor share its issue slots: each tile's instructions
// count.
TEST(MmaSyncSchedule, EpiloguesAreOfTiles) {
  MmaSyncShape Shape = shapeOf(25088, 512, 128), Busy = Shape;
  Busy.EpilogueOperations = 8;
  for (const MmaSyncCost &Plain :
       rankMmaSyncSchedules(Shape, targetOf("sm_80"))) {
    auto More =
        readMmaSyncSchedule(Plain.Schedule.str(), Busy, targetOf("sm_80"));
    ASSERT_TRUE(More) << Plain.str();
    double Results = double(Plain.Schedule.TileM * Plain.Schedule.TileN);
    EXPECT_NEAR(More->Total - Plain.Total,
                More->Tiles * Results * 8 / (1600.0 * 128), 1e-6);
  }
}

TEST(MmaSyncSchedule, LargeTilesForLargeProducts) {
  auto Large =
           rankMmaSyncSchedules(shapeOf(8192, 8192, 8192), targetOf("sm_80")),
       Small = rankMmaSyncSchedules(shapeOf(256, 256, 256), targetOf("sm_80"));
  EXPECT_GE(Large[0].Schedule.TileM * Large[0].Schedule.TileN, 128 * 256);
  EXPECT_LE(Small[0].Schedule.TileM * Small[0].Schedule.TileN, 64 * 64);
}

TEST(MmaSyncSchedule, TwoStagesWaitForCopies) {
  // As measured on an H200: 293 us with four stages, and 328 with two.
  MmaSyncShape Shape = shapeOf(4096, 4096, 4096);
  const target::Target &T = targetOf("compute_90");
  auto Cost = [&](const char *Text) {
    return readMmaSyncSchedule(Text, Shape, T).value();
  };
  MmaSyncCost Four = Cost(
                  "mmasync 256x128x32 warpgroup 256x64 stages 4 group_m 8"),
              Two = Cost(
                  "mmasync 256x128x64 warpgroup 256x64 stages 2 group_m 8");
  EXPECT_LT(Four.Load, Four.Mma);
  EXPECT_GT(Two.Load, Two.Mma);
  EXPECT_NEAR(Four.Total, 293, 10);
  EXPECT_NEAR(Two.Total, 328, 10);
  EXPECT_EQ(rankMmaSyncSchedules(Shape, T)[0].Schedule.str(),
            Four.Schedule.str());
}

TEST(MmaSyncSchedule, PortableHasHoppersShareOfThePeak) {
  // wgmma has the peak rate, of which PTX without it has 0.62.
  MmaSyncShape Shape = shapeOf(4096, 4096, 4096);
  const char *Text = "mmasync 128x128x64 warpgroup 128x128 stages 3 group_m 8";
  auto Time = [&](const char *Name) {
    return readMmaSyncSchedule(Text, Shape, targetOf(Name)).value().Mma;
  };
  EXPECT_NEAR(Time("compute_90"), Time("sm_90a"), 0.12 * Time("sm_90a"));
}

TEST(MmaSyncSchedule, UnalignedCopiesCost) {
  MmaSyncShape Aligned = shapeOf(4096, 4096, 4096), Odd = Aligned;
  Odd.PieceOfA = Odd.PieceOfB = 2;
  EXPECT_GT(rankMmaSyncSchedules(Odd, targetOf("sm_80"))[0].Total,
            rankMmaSyncSchedules(Aligned, targetOf("sm_80"))[0].Total);
}

TEST(MmaSyncSchedule, GatesHaveHalfOfEachWarpgroup) {
  // N is that of both GEMMs.
  MmaSyncShape Gate = shapeOf(4096, 2 * 8192, 2048);
  Gate.Products = 2;
  for (const char *Name : {"sm_80", "sm_86", "sm_120a", "compute_80"}) {
    auto Ranked = rankMmaSyncSchedules(Gate, targetOf(Name));
    ASSERT_FALSE(Ranked.empty()) << Name;
    for (const MmaSyncCost &One : Ranked)
      EXPECT_GE(One.Schedule.WarpgroupN, 32) << One.str();
    // One A is copied for both, and no gate is read.
    MmaSyncShape Alone = shapeOf(4096, 8192, 2048), Residual = Alone;
    Residual.HasResidual = true;
    EXPECT_LT(Ranked[0].Total,
              rankMmaSyncSchedules(Alone, targetOf(Name))[0].Total +
                  rankMmaSyncSchedules(Residual, targetOf(Name))[0].Total)
        << Name;
  }
  EXPECT_FALSE(
      readMmaSyncSchedule("mmasync 64x16x32 warpgroup 64x16 stages 2 group_m 1",
                          Gate, targetOf("sm_80")));
}

TEST(MmaSyncSchedule, WarpgroupsHaveWholeHeads) {
  const target::Target &T = targetOf("sm_80");
  for (int64_t Half : {8, 16, 32, 64}) {
    MmaSyncShape Shape = shapeOf(4096, 4096, 2048);
    Shape.RotateHalf = Half;
    auto Ranked = rankMmaSyncSchedules(Shape, T);
    ASSERT_FALSE(Ranked.empty()) << Half;
    for (const MmaSyncCost &One : Ranked)
      EXPECT_EQ(One.Schedule.WarpgroupN % (2 * Half), 0) << One.str();
  }
  // Tiles are powers of two.
  for (int64_t Half : {24, 48, 128}) {
    MmaSyncShape Shape = shapeOf(4096, 3 * 2 * 2048, 2048);
    Shape.RotateHalf = Half;
    auto Ranked = rankMmaSyncSchedules(Shape, T);
    EXPECT_TRUE(Ranked.empty()) << Half;
  }
}

TEST(MmaSyncSchedule, ReadsWhatItPrints) {
  MmaSyncShape Shape = shapeOf(4096, 4096, 4096);
  const target::Target &T = targetOf("sm_80");
  for (const MmaSyncCost &One : rankMmaSyncSchedules(Shape, T)) {
    auto Read = readMmaSyncSchedule(One.Schedule.str(), Shape, T);
    ASSERT_TRUE(Read);
    EXPECT_EQ(Read->str(), One.str());
  }
  const char *Good = "mmasync 128x64x32 warpgroup 64x32 stages 2 group_m 3";
  EXPECT_TRUE(readMmaSyncSchedule(Good, Shape, T));
  for (const char *Bad :
       {"mmasync 128x64x32 warpgroup 64x32 stages 2 group_m 3 ",
        "mmasync 128x64",
        "mmasync 192x64x32 warpgroup 64x32 stages 2 group_m 3",
        "mmasync 128x64x16 warpgroup 64x32 stages 2 group_m 3",
        "mmasync 128x64x32 warpgroup 64x128 stages 2 group_m 3",
        "mmasync 256x256x32 warpgroup 128x256 stages 2 group_m 3",
        "mmasync 128x64x32 warpgroup 64x32 stages 1 group_m 3",
        "mmasync 128x64x32 warpgroup 64x32 stages 9999999 group_m 3",
        "mmasync 0x64x32 warpgroup 64x32 stages 2 group_m 3",
        "mmasync 128x64x32 warpgroup 0x0 stages 2 group_m 3",
        "mmasync 128x64x32 warpgroup 64x32 stages 2 group_m 0"})
    EXPECT_FALSE(readMmaSyncSchedule(Bad, Shape, T)) << Bad;
}
