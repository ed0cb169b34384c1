//===- LaunchControlTest.cpp - Blocks that take over others ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/emulator/Harness.h"

#include <gmock/gmock.h>

using namespace kpc::emulator;
using namespace kpc::emulator::test;
using testing::HasSubstr;

namespace {

constexpr unsigned Blocks = 24;

/// Every thread counts its block's number, then the block takes over another
/// one until a request is refused. The response is at tile, the mbarrier 128
/// bytes behind; %r10 the phase, %r12 the block whose work is done.
std::string stealing(const std::string &Broken = {},
                     const std::string &By = {}) {
  std::string Text =
      "setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, tile; mov.u32 %r12, %ctaid.x;"
      "@%p1 mbarrier.init.shared::cta.b64 [%r2+128], 1;"
      "@%p1 fence.mbarrier_init.release.cluster;"
      "bar.sync 0; mov.b32 %r10, 0;"
      "WORK: mul.wide.u32 %rd4, %r12, 4; add.u64 %rd4, %rd4, %rd1;"
      "atom.global.add.u32 %r4, [%rd4], 1; bar.sync 0;"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+128], 16;"
      "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::"
      "complete_tx::bytes.b128 [%r2], [%r2+128];"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+128], %r10;"
      "@!%p3 bra W; ld.shared.b128 %rq, [%r2];"
      "xor.b32 %r10, %r10, 1; bar.sync 0;"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq;"
      "@!%p4 bra END;"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 "
      "{%r12, %r5, %r6, _}, %rq; bra WORK; END:";
  if (!Broken.empty())
    Text.replace(Text.find(Broken), Broken.size(), By);
  return ".reg .b128 %rq;" + Text;
}

Outcome steal(const std::string &Body, uint64_t Seed = 1) {
  return run(Body, {.OutputWords = Blocks,
                    .Threads = 64,
                    .Blocks = Blocks,
                    .Seed = Seed,
                    .Zeroed = true,
                    .Target = "sm_100a"});
}

TEST(LaunchControl, EachBlockIsWorkedOnOnce) {
  for (uint64_t Seed = 1; Seed < 9; ++Seed) {
    Outcome R = steal(stealing(), Seed);
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_THAT(R.Output, testing::Each(64u));
  }
}

TEST(LaunchControl, DimsByName) {
  Outcome R =
      steal(stealing("get_first_ctaid.v4.b32.b128 {%r12, %r5, %r6, _}, %rq;",
                     "get_first_ctaid::x.b32.b128 %r12, %rq;"));
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_THAT(R.Output, testing::Each(64u));
}

TEST(LaunchControl, OnlyAfterTheWait) {
  EXPECT_EQ(steal(stealing("W: mbarrier.try_wait.parity.shared::cta.b64 %p3, "
                           "[%r2+128], %r10;@!%p3 bra W;",
                           ""))
                .finding(),
            "read-before-wait");
  Outcome R = steal(stealing("[%r2+128], 16;", "[%r2+128], 32;"));
  EXPECT_EQ(R.finding(), "deadlock");
  EXPECT_THAT(R.Trouble->text(), HasSubstr("16 bytes"));
  // The next response is written while another warp reads the last one.
  EXPECT_EQ(steal(stealing("atom.global.add.u32 %r4, [%rd4], 1; bar.sync 0;",
                           "atom.global.add.u32 %r4, [%rd4], 1;"))
                .finding(),
            "");
  std::string Unordered =
      stealing("xor.b32 %r10, %r10, 1; bar.sync 0;", "xor.b32 %r10, %r10, 1;");
  std::string Twice = "atom.global.add.u32 %r4, [%rd4], 1; bar.sync 0;";
  Unordered.replace(Unordered.find(Twice), Twice.size(),
                    "atom.global.add.u32 %r4, [%rd4], 1;");
  EXPECT_THAT(steal(Unordered).finding(),
              testing::AnyOf("slot-reused", "read-before-wait"));
}

TEST(LaunchControl, Misuse) {
  // Asked again although a request was refused.
  Outcome R = steal(stealing("@!%p4 bra END;", "@!%p4 bra WORK;"));
  EXPECT_EQ(R.finding(), "bad-operand");
  EXPECT_THAT(R.Trouble->text(), HasSubstr("was refused"));
  // The block of a request that was refused.
  R = steal(stealing("@!%p4 bra END;", ""));
  EXPECT_EQ(R.finding(), "bad-operand");
  EXPECT_THAT(R.Trouble->text(), HasSubstr("there is no first block"));
  // Not a response.
  R = steal(stealing("ld.shared.b128 %rq, [%r2];",
                     "mov.b64 %rd5, 7; mov.b128 %rq, {%rd5, %rd5};"));
  EXPECT_EQ(R.finding(), "bad-operand");
}

/// Pairs of blocks: one asks, both get the response.
TEST(LaunchControl, Multicast) {
  std::string Body = stealing("bar.sync 0; mov.b32 %r10, 0;",
                              "barrier.cluster.arrive; barrier.cluster.wait;"
                              "mov.u32 %r7, %cluster_ctarank;"
                              "setp.eq.and.u32 %p5, %r7, 0, %p1;"
                              "mov.b32 %r10, 0;");
  auto Replace = [&](const std::string &What, const std::string &By) {
    Body.replace(Body.find(What), What.size(), By);
  };
  std::string Ask = "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta."
                    "mbarrier::complete_tx::bytes.b128";
  Replace(Ask, "barrier.cluster.arrive; barrier.cluster.wait;"
               "@%p5 clusterlaunchcontrol.try_cancel.async.shared::cta."
               "mbarrier::complete_tx::bytes.multicast::cluster::all.b128");
  Replace("{%r12, %r5, %r6, _}, %rq;",
          "{%r12, %r5, %r6, _}, %rq; add.u32 %r12, %r12, %r7;");
  Replace("END:", "END: barrier.cluster.arrive; barrier.cluster.wait;");
  for (uint64_t Seed = 1; Seed < 6; ++Seed) {
    Outcome R = run(Body, {.OutputWords = Blocks,
                           .Threads = 64,
                           .Blocks = Blocks,
                           .Attributes = ".reqnctapercluster 2",
                           .Seed = Seed,
                           .Zeroed = true,
                           .Target = "sm_100a"});
    EXPECT_EQ(R.Errors, "");
    ASSERT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_THAT(R.Output, testing::Each(64u));
  }
}

} // namespace
