//===- ClusterTest.cpp - Blocks that reach each other's memory ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/TensorMap.h"
#include "test/unit/emulator/Harness.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace kpc::emulator;
using namespace kpc::emulator::test;
using testing::HasSubstr;

namespace {

using CaseSetup = kpc::emulator::test::Setup;

const std::string Sync =
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

/// %r2 the rank, %r3 the other's, %r4 the thread's word in "tile", %r5 the same
/// of the other block, %rd3 the thread's word of the output.
const std::string Begin =
    "mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1; mov.u32 %r4, tile;"
    "mad.lo.u32 %r4, %r1, 4, %r4; mapa.shared::cluster.u32 %r5, %r4, %r3;"
    "mov.u32 %r6, %ctaid.x; mul.wide.u32 %rd4, %r6, 128;"
    "add.u64 %rd3, %rd3, %rd4; mad.lo.u32 %r7, %r2, 100, %r1;";

CaseSetup two(uint64_t Seed = 1) {
  return {.OutputWords = 128,
          .Blocks = 4,
          .Attributes = ".explicitcluster .reqnctapercluster 2, 1, 1",
          .Seed = Seed};
}

TEST(Cluster, ReadsAnotherBlocksMemory) {
  std::string Write = "st.shared.u32 [%r4], %r7;",
              Read = "ld.shared::cluster.u32 %r8, [%r5];"
                     "st.global.u32 [%rd3], %r8;";
  for (uint64_t Seed = 1; Seed < 6; ++Seed) {
    Outcome R = run(Begin + Write + Sync + Read + Sync, two(Seed));
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    for (uint32_t Block = 0; Block < 4; ++Block)
      for (uint32_t T = 0; T < 32; ++T)
        EXPECT_EQ(R.Output[Block * 32 + T], (1 - Block % 2) * 100 + T);
    // The block that is read may be gone.
    EXPECT_EQ(run(Begin + Write + Sync + Read, two(Seed)).finding(),
              "ended-block");
    EXPECT_THAT(run(Begin + Write + Read + Sync, two(Seed)).finding(),
                testing::AnyOf("shared-race", "uninitialised-shared"));
    // An arrival that does not release.
    std::string Relaxed = "barrier.cluster.arrive.relaxed.aligned;"
                          "barrier.cluster.wait.aligned;";
    EXPECT_EQ(run(Begin + Write + Relaxed + Read + Sync, two(Seed)).finding(),
              "shared-race");
  }
}

TEST(Cluster, GenericAddressesAndRanks) {
  Outcome R = run(Begin + "st.shared.u32 [%r4], %r7;" + Sync +
                      "cvt.u64.u32 %rd5, %r4; cvta.shared.u64 %rd5, %rd5;"
                      "mapa.u64 %rd6, %rd5, %r3; ld.u32 %r8, [%rd6];"
                      "getctarank.u64 %r9, %rd6; mad.lo.u32 %r8, %r9, 1000, "
                      "%r8; st.global.u32 [%rd3], %r8;" +
                      Sync,
                  two());
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output[5], 1105u);
  EXPECT_EQ(R.Output[32 + 5], 5u);
}

/// %r11 the other block's "tile" and the mbarrier 128 bytes behind.
const std::string OtherTile =
    "setp.eq.u32 %p1, %r1, 0; mov.u32 %r10, tile;"
    "@%p1 mbarrier.init.shared::cta.b64 [tile+128], 1;"
    "@%p1 fence.mbarrier_init.release.cluster;"
    "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [tile+128], 128;"
    "mapa.shared::cluster.u32 %r11, %r10, %r3;";
const std::string WaitForBytes =
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [tile+128], 0;"
    "@!%p3 bra W;";
const std::string Show = "ld.shared.u32 %r8, [%r4]; st.global.u32 [%rd3], %r8;";

TEST(Cluster, StoresThatReportToABarrier) {
  std::string Store = "st.async.weak.shared::cluster.mbarrier::complete_tx::"
                      "bytes.u32 [%r5], %r7, [%r11+128];";
  for (uint64_t Seed = 1; Seed < 4; ++Seed) {
    Outcome R =
        run(Begin + OtherTile + Sync + Store + WaitForBytes + Show + Sync,
            two(Seed));
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_EQ(R.Output[3], 103u);
    EXPECT_EQ(R.Output[32 + 3], 3u);
  }
  EXPECT_THAT(
      run(Begin + OtherTile + Sync + Store + Show + Sync, two()).finding(),
      testing::AnyOf("read-before-wait", "uninitialised-shared"));
  // All lanes add to one word.
  std::string Zero = "@%p1 st.shared.u32 [tile], 1000;";
  std::string Add = "red.async.relaxed.cluster.shared::cluster.mbarrier::"
                    "complete_tx::bytes.add.u32 [%r11], %r1, [%r11+128];";
  Outcome R =
      run(Begin + OtherTile + Zero + Sync + Add + WaitForBytes +
              "ld.shared.u32 %r8, [tile]; st.global.u32 [%rd3], %r8;" + Sync,
          two());
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output[0], 1496u);
}

TEST(Cluster, CopiesIntoAnotherBlock) {
  std::string Write = "st.shared.u32 [%r4], %r7; fence.proxy.async.shared::cta;"
                      "bar.sync 0;";
  std::string Copy = "mov.u32 %r12, tile; @%p1 cp.async.bulk.shared::cluster."
                     "shared::cta.mbarrier::complete_tx::bytes [%r13], [%r12], "
                     "64, [%r11+128];";
  std::string Halves =
      "add.u32 %r13, %r11, 64;" // the upper half, from the lower
      "@%p1 mbarrier.complete_tx.shared::cta.b64 [tile+128], "
      "64;";
  std::string Low = "setp.lt.u32 %p4, %r1, 16; @%p4 st.shared.u32 [%r4], %r7;"
                    "fence.proxy.async.shared::cta; bar.sync 0;";
  std::string High = "setp.ge.u32 %p4, %r1, 16; @%p4 ld.shared.u32 %r8, [%r4];"
                     "@%p4 st.global.u32 [%rd3], %r8;";
  for (uint64_t Seed = 1; Seed < 4; ++Seed) {
    Outcome R = run(Begin + OtherTile + Halves + Low + Sync + Copy +
                        WaitForBytes + High + Sync,
                    two(Seed));
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_EQ(R.Output[16], 100u);
    EXPECT_EQ(R.Output[32 + 31], 15u);
  }
  EXPECT_EQ(
      run(Begin + OtherTile + Halves + Low + Sync + Copy + High + Sync, two())
          .finding(),
      "uninitialised-shared");
}

TEST(Cluster, BulkReductions) {
  std::string Body =
      "mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], "
      "%r1; fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p1, %r1, "
      "0; cvta.to.global.u64 %rd4, %rd1;"
      "st.global.u32 [%rd3], 7; fence.proxy.async; bar.sync 0;"
      "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd4], "
      "[%r2], 128;"
      "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";
  Outcome R = run(Body);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output[5], 12u);
}

TEST(Cluster, Misuse) {
  EXPECT_EQ(run(Begin + "barrier.cluster.wait;", two()).finding(),
            "barrier-misuse");
  EXPECT_EQ(
      run(Begin + "barrier.cluster.arrive; barrier.cluster.arrive;", two())
          .finding(),
      "barrier-misuse");
  // A rank that the cluster has not.
  EXPECT_EQ(run(Begin + "mapa.shared::cluster.u32 %r5, %r4, 2;"
                        "ld.shared::cluster.u32 %r8, [%r5];",
                two())
                .finding(),
            "out-of-bounds");
  CaseSetup Odd = two();
  Odd.Blocks = 3;
  EXPECT_EQ(run(Begin, Odd).finding(), "bad-launch");
  // Threads that have ended are not waited for; one block's wait alone is.
  EXPECT_EQ(run(Begin + "setp.eq.u32 %p1, %r2, 1; @%p1 exit;" + Sync, two())
                .finding(),
            "");
}

TEST(Cluster, ArrivesAtAnotherBlocksBarrier) {
  std::string Init = "setp.eq.u32 %p1, %r1, 0;"
                     "@%p1 mbarrier.init.shared::cta.b64 [tile+128], 1;"
                     "@%p1 fence.mbarrier_init.release.cluster;";
  std::string Go =
      "mov.u32 %r10, tile; mapa.shared::cluster.u32 %r11, %r10, %r3;"
      "st.shared::cluster.u32 [%r5], %r7; bar.sync 0;"
      "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11+128];"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [tile+128], 0;"
      "@!%p3 bra W; ld.shared.u32 %r8, [%r4]; st.global.u32 [%rd3], %r8;";
  for (uint64_t Seed = 1; Seed < 6; ++Seed) {
    Outcome R = run(Begin + Init + Sync + Go + Sync, two(Seed));
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_EQ(R.Output[3], 103u);
    EXPECT_EQ(R.Output[32 + 3], 3u);
    EXPECT_EQ(run(Begin + Init + Go + Sync, two(Seed)).finding(),
              "barrier-misuse");
  }
}

/// One block's copy lands in both, and counts for both barriers.
TEST(Cluster, Multicast) {
  DeviceMemory Memory(1 << 20);
  uint64_t In = Memory.allocate(512), Out = Memory.allocate(1024);
  for (unsigned I = 0; I < 128; ++I)
    reinterpret_cast<uint32_t *>(In)[I] = I * 7 + 1;
  TensorMap Map;
  uint64_t Dims[] = {32, 4}, Strides[] = {128};
  uint32_t Box[] = {32, 4}, Ones[] = {1, 1};
  ASSERT_EQ(encodeTiled(Map, 2, 2, In, Dims, Strides, Box, Ones, 0, 0, 0), "");
  auto Text = [](const std::string &Mask, const std::string &Bytes) {
    return ".version 8.8 .target sm_90a .address_size 64\n"
           ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n"
           ".reqnctapercluster 2 {\n"
           ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
           ".reg .b16 %rs<4>; .shared .align 128 .b8 s[640];\n"
           "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, %ctaid.x;\n"
           "setp.eq.u32 %p1, %r1, 0; mov.b64 %rd1, map;\n"
           "cvta.param.u64 %rd1, %rd1; mov.b16 %rs1, " +
           Mask +
           ";\n@%p1 mbarrier.init.shared::cta.b64 [%r2+512], 1;\n"
           "@%p1 fence.mbarrier_init.release.cluster;\n" +
           Sync +
           "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+512], " +
           Bytes +
           ";\nsetp.eq.and.u32 %p2, %r3, 0, %p1;\n"
           "@%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
           "complete_tx::bytes.multicast::cluster [%r2], [%rd1, {0, 0}], "
           "[%r2+512], %rs1;\n"
           "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+512], 0;\n"
           "@!%p3 bra W; shl.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4;\n"
           "ld.shared.v4.b32 {%r6, %r7, %r8, %r9}, [%r5];\n"
           "ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r3, 512;\n"
           "add.u64 %rd2, %rd2, %rd3; cvt.u64.u32 %rd3, %r4;\n"
           "add.u64 %rd2, %rd2, %rd3;\n"
           "st.global.v4.b32 [%rd2], {%r6, %r7, %r8, %r9};\n" +
           Sync + "ret; }\n";
  };
  auto Run = [&](const std::string &Mask, const std::string &Bytes) {
    std::vector<LoadError> Errors;
    auto M = LoadedModule::load(Text(Mask, Bytes), Memory, Errors);
    EXPECT_EQ(describe(Errors), "");
    if (!M)
      return std::string("load");
    std::vector<uint8_t> Parameters(sizeof Map + 8);
    std::memcpy(Parameters.data(), &Map, sizeof Map);
    std::memcpy(&Parameters[sizeof Map], &Out, 8);
    LaunchShape Shape;
    Shape.Grid[0] = 2;
    Shape.Block[0] = 32;
    auto R = launch(*M->find("k"), Shape, Parameters, Memory, {});
    return R.Trouble ? R.Trouble->text() : std::string();
  };
  EXPECT_EQ(Run("3", "512"), "");
  for (unsigned I = 0; I < 256; ++I)
    EXPECT_EQ(reinterpret_cast<uint32_t *>(Out)[I], I % 128 * 7 + 1);
  EXPECT_THAT(Run("1", "512"), HasSubstr("cluster rank 1: warp 0 waits"));
  EXPECT_THAT(Run("3", "528"), HasSubstr("16 bytes"));
  EXPECT_THAT(Run("7", "512"), HasSubstr("not in one block"));
}

} // namespace
