//===- TargetTest.cpp - Tests of the target descriptors -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/target/Tables.h"
#include "compiler/target/TargetClass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace kpc::target;
using testing::ElementsAre;
using testing::HasSubstr;

static Machine machine(std::optional<int32_t> Gpu, std::optional<int32_t> Cpu) {
  return {[=] { return Gpu; }, [=] { return Cpu; }};
}

static std::vector<std::string_view> names(const Lookup &L) {
  std::vector<std::string_view> Names;
  for (const Target *T : L.Targets)
    Names.push_back(T->Name);
  return Names;
}

// One golden list: a target appears or goes only by an edit here.
TEST(Target, TheList) {
  std::vector<std::string_view> Names;
  for (const Target &T : allTargets())
    Names.push_back(T.Name);
  EXPECT_THAT(Names, ElementsAre("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a",
                                 "sm_103a", "sm_110a", "sm_120a", "sm_121a",
                                 "compute_80", "compute_90", "host:x86-64-v2",
                                 "host:x86-64-v3", "host:x86-64-v4"));
}

TEST(Target, EveryRowIsComplete) {
  std::set<std::string_view> Seen;
  for (const Target &T : allTargets()) {
    SCOPED_TRACE(T.Name);
    EXPECT_TRUE(Seen.insert(T.Name).second);
    EXPECT_FALSE(T.Summary.empty());
    EXPECT_FALSE(T.LlvmChip.empty());
    if (T.isHost()) {
      EXPECT_GE(T.Can.VectorBits, 128);
      continue;
    }
    EXPECT_EQ(T.LlvmFeatures, "+ptx" + std::to_string(T.PtxVersion));
    EXPECT_GT(T.Cost.SmCount, 0);
    EXPECT_GT(T.Cost.DramGBps, 0);
    EXPECT_GT(T.Cost.Fp32, 0);
    EXPECT_GT(T.Cost.L2Bytes, 0);
    EXPECT_FALSE(T.Cost.Reference.empty());
    EXPECT_LT(T.Limit.SharedPerBlock, T.Limit.SharedPerSm);
    EXPECT_GE(T.Limit.ThreadsPerSm, T.Limit.ThreadsPerBlock);
    EXPECT_FALSE(driverBranch(T.LeastDriver).empty());
    // Only `a` forms name features that other chips lack.
    EXPECT_EQ(T.ArchSpecific, T.Name.back() == 'a');
    EXPECT_TRUE(T.ArchSpecific || (!T.Can.Wgmma && !T.Can.Tcgen05));
    // 32-byte accesses begin with 10.0.
    EXPECT_EQ(T.Can.WidestAccess, T.Compute >= 100 ? 32 : 16);
  }
}

TEST(Target, PlainNamesMeanTheAForm) {
  for (const char *Name :
       {"sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}) {
    Lookup L = lookup(Name, machine({}, {}));
    ASSERT_TRUE(L) << L.Error;
    EXPECT_THAT(names(L), ElementsAre(std::string(Name) + "a"));
    EXPECT_THAT(L.Note, HasSubstr(std::string(Name) + "a"));
  }
  EXPECT_EQ(lookup("sm_80", machine({}, {})).Note, "");
}

TEST(Target, PortableIsTwoPtxTargets) {
  EXPECT_THAT(names(lookup("portable", machine({}, {}))),
              ElementsAre("compute_80", "compute_90"));
}

TEST(Target, Native) {
  EXPECT_THAT(names(lookup("native", machine(90, 3))), ElementsAre("sm_90a"));
  EXPECT_THAT(names(lookup("native", machine(87, 3))), ElementsAre("sm_86"));
  EXPECT_THAT(names(lookup("native", machine(130, 3))),
              ElementsAre("compute_90"));
  EXPECT_THAT(names(lookup("native", machine({}, 3))),
              ElementsAre("host:x86-64-v3"));
  EXPECT_EQ(lookup("native", machine({}, 3)).Note,
            "native means host:x86-64-v3, the level of this CPU (no NVIDIA GPU "
            "was found)");
  EXPECT_EQ(lookup("native", machine(75, 3)).Error,
            "'native': this machine's GPU (sm_75) is older than sm_80, the "
            "oldest that kpc supports");
  EXPECT_FALSE(lookup("native", machine({}, {})));
}

TEST(Target, Host) {
  EXPECT_THAT(names(lookup("host", machine({}, 4))),
              ElementsAre("host:x86-64-v4"));
  EXPECT_THAT(names(lookup("host:native", machine({}, 2))),
              ElementsAre("host:x86-64-v2"));
  EXPECT_THAT(names(lookup("host:x86-64-v4", machine({}, 2))),
              ElementsAre("host:x86-64-v4"));
  EXPECT_EQ(lookup("host", machine({}, {})).Error,
            "'host': the CPU of this machine is not x86-64 or older than "
            "x86-64-v2; name a level, such as host:x86-64-v3");
}

TEST(Target, UnknownNames) {
  EXPECT_EQ(lookup("sm_9a", machine({}, {})).Error,
            "unknown target 'sm_9a'; did you mean sm_90, sm_90a or sm_80?");
  EXPECT_EQ(lookup("portabel", machine({}, {})).Error,
            "unknown target 'portabel'; did you mean portable?");
  EXPECT_EQ(lookup("SM_90A").Error,
            "unknown target 'SM_90A'; did you mean sm_90a?");
  EXPECT_EQ(lookup("quantum", machine({}, {})).Error,
            "unknown target 'quantum'; `kpc targets` lists them all");
  EXPECT_FALSE(lookup("", machine({}, {})));
}

TEST(Target, EditDistance) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", "abc"), 0u);
  EXPECT_EQ(editDistance("abcd", "acbd"), 1u); // neighbours swapped
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(Target, RunsOn) {
  EXPECT_TRUE(runsOn(*findTarget("sm_80"), 86));
  EXPECT_FALSE(runsOn(*findTarget("sm_86"), 80));
  EXPECT_FALSE(runsOn(*findTarget("sm_80"), 90));
  EXPECT_TRUE(runsOn(*findTarget("sm_90a"), 90));
  EXPECT_FALSE(runsOn(*findTarget("sm_100a"), 103));
  EXPECT_TRUE(runsOn(*findTarget("compute_80"), 121));
  EXPECT_FALSE(runsOn(*findTarget("compute_90"), 89));
  EXPECT_FALSE(runsOn(*findTarget("host:x86-64-v3"), 90));
}

TEST(Target, Drivers) {
  EXPECT_EQ(leastDriver(*findTarget("sm_80"), 13000), 13000);
  EXPECT_EQ(leastDriver(*findTarget("sm_80"), 12090), 12000);
  EXPECT_EQ(leastDriver(*findTarget("sm_100a"), 12090), 12080);
  EXPECT_EQ(driverBranch(12080), "570");
  EXPECT_EQ(driverBranch(13000), "580");
}

TEST(Target, ThisMachineAnswers) {
  Machine Here = thisMachine();
  std::optional<int32_t> Level = Here.HostLevel();
#if defined(__x86_64__)
  ASSERT_TRUE(Level);
  EXPECT_GE(*Level, 2);
#endif
  (void)Here.GpuCompute(); // must not crash without a driver
}

TEST(TargetClass, TargetsThatCanTheSameShareAPlan) {
  std::vector<const Target *> All;
  for (std::string_view Name :
       {"host:x86-64-v3", "sm_100a", "sm_90a", "sm_103a", "host:x86-64-v4"})
    All.push_back(findTarget(Name));
  std::vector<TargetClass> Classes = classesOf(All);
  ASSERT_EQ(Classes.size(), 3u);
  EXPECT_EQ(Classes[0].name(), "host-x86-64-v3+host-x86-64-v4");
  EXPECT_EQ(Classes[1].name(), "sm_100a+sm_103a");
  EXPECT_EQ(Classes[2].name(), "sm_90a");
  EXPECT_FALSE(Classes[0].isGpu());
  EXPECT_TRUE(Classes[1].contains(*findTarget("sm_103a")));
  EXPECT_FALSE(Classes[1].contains(*findTarget("sm_90a")));
}

TEST(TargetClass, WhoMultipliesFp8) {
  for (const Target &T : allTargets()) {
    bool IsFrom89 = T.ArchSpecific || T.Name == "sm_89";
    EXPECT_EQ(multipliesFp8(T), T.isGpu() && IsFrom89) << T.Name;
    bool HasOwnMemory = T.Limit.TensorMemoryColumns > 0;
    EXPECT_EQ(copiesRowsOfFp8(T), HasOwnMemory || T.Name == "sm_90a") << T.Name;
  }
}

TEST(TargetClass, WhoMultipliesBlocks) {
  for (const Target &T : allTargets()) {
    bool IsBlackwell = T.ArchSpecific && T.Compute >= 100;
    EXPECT_EQ(multipliesBlocks(T), IsBlackwell) << T.Name;
  }
}

// Shared memory decides which attention a chip has a kernel for, and rates
// decide whether a gate belongs in its GEMM.
TEST(TargetClass, LimitsAndRatesTellTargetsApart) {
  EXPECT_FALSE(sharePlan(*findTarget("sm_80"), *findTarget("sm_86")));
  EXPECT_FALSE(sharePlan(*findTarget("sm_120a"), *findTarget("sm_121a")));
  EXPECT_TRUE(sharePlan(*findTarget("sm_100a"), *findTarget("sm_103a")));
  EXPECT_FALSE(sharePlan(*findTarget("sm_80"), *findTarget("host:x86-64-v3")));
}

TEST(TargetClass, EveryTargetIsInOneClass) {
  std::vector<const Target *> All;
  for (const Target &T : allTargets())
    All.push_back(&T);
  size_t Members = 0;
  for (const TargetClass &C : classesOf(All))
    Members += C.Targets.size();
  EXPECT_EQ(Members, All.size());
}
