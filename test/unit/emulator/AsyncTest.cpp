//===- AsyncTest.cpp - mbarriers, tensor copies, matrix instructions ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/TensorMap.h"
#include "emulator/numbers/Formats.h"
#include "test/unit/emulator/Harness.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

using namespace kpc::emulator;
using namespace kpc::emulator::test;
using testing::HasSubstr;

namespace {

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

const std::string Init =
    "setp.eq.u32 %p1, %r1, 0;"
    "@%p1 mbarrier.init.shared::cta.b64 [tile], 32; bar.sync 0;"
    "setp.lt.u32 %p2, %r1, 32; mov.u32 %r3, tile; mul.lo.u32 %r2, %r1, 4;"
    "add.u32 %r3, %r3, %r2;";
const std::string Wait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [tile], 0;"
    "@!%p3 bra WAIT;";

TEST(AsyncBarriers, OrdersProducerAndConsumer) {
  std::string Write = "@%p2 st.shared.u32 [%r3+64], %r1;";
  std::string Arrive =
      "@%p2 mbarrier.arrive.release.cta.shared::cta.b64 _, [tile];";
  std::string Read = "@!%p2 ld.shared.u32 %r4, [%r3+-64];"
                     "@!%p2 st.global.u32 [%rd3], %r4;";
  kpc::emulator::test::Setup S{.OutputWords = 64, .Threads = 64};
  Outcome R = run(Init + Write + Arrive + Wait + Read, S);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  for (uint32_t T = 32; T < 64; ++T)
    EXPECT_EQ(R.Output[T], T - 32);
  // Written after the arrival: a race. Not waited for: the consumer is first.
  EXPECT_EQ(run(Init + Arrive + Write + Wait + Read, S).finding(),
            "shared-race");
  EXPECT_EQ(run(Init + Write + Arrive + Read, S).finding(),
            "uninitialised-shared");
}

TEST(AsyncBarriers, Misuse) {
  kpc::emulator::test::Setup S{.OutputWords = 64, .Threads = 64};
  Outcome R = run(Init + Wait, S);
  EXPECT_EQ(R.finding(), "deadlock");
  EXPECT_THAT(R.Trouble->text(), HasSubstr("misses 32 of 32 arrivals"));
  EXPECT_EQ(run("mbarrier.arrive.shared.b64 _, [tile];").finding(),
            "barrier-misuse");
  EXPECT_EQ(run("mbarrier.init.shared.b64 [tile], 0;").finding(),
            "barrier-misuse");
  EXPECT_EQ(run("mbarrier.init.shared.b64 [tile], 1;"
                "mbarrier.arrive.shared.b64 _, [tile], 2;",
                {.Threads = 1})
                .finding(),
            "barrier-misuse");
}

TEST(AsyncBarriers, PhasesAndStates) {
  Outcome R = run("mbarrier.init.shared.b64 [tile], 2;"
                  "mbarrier.test_wait.parity.shared.b64 %p1, [tile], 1;"
                  "mbarrier.test_wait.parity.shared.b64 %p2, [tile], 0;"
                  "mbarrier.arrive.shared.b64 %rd4, [tile];"
                  "mbarrier.test_wait.shared.b64 %p3, [tile], %rd4;"
                  "mbarrier.complete_tx.shared.b64 [tile], 16;"
                  "mbarrier.arrive.expect_tx.shared.b64 _, [tile], 16;"
                  "mbarrier.test_wait.shared.b64 %p4, [tile], %rd4;"
                  "selp.u32 %r2, 1, 0, %p1; @%p2 add.u32 %r2, %r2, 2;"
                  "@%p3 add.u32 %r2, %r2, 4; @%p4 add.u32 %r2, %r2, 8;"
                  "st.global.u32 [%rd3], %r2;",
                  {.OutputWords = 1, .Threads = 1});
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.finding(), "");
  EXPECT_EQ(R.Output[0], 1u + 8);
}

//===----------------------------------------------------------------------===//
// A product of tiles: TMA, mbarrier, wgmma
//===----------------------------------------------------------------------===//

constexpr unsigned M = 64, N = 64, K = 64;

float sample(unsigned Seed) {
  return float(int(Seed * 2654435761u >> 20) % 64 - 32) / 16;
}

struct Product {
  DeviceMemory Memory{1 << 24};
  uint64_t A = Memory.allocate(M * K * 2), B = Memory.allocate(N * K * 2),
           D = Memory.allocate(M * N * 4);
  std::optional<Finding> Trouble;
  std::string Errors;

  Product() {
    auto Fill = [](uint64_t At, unsigned Count, unsigned Seed) {
      for (unsigned I = 0; I < Count; ++I)
        reinterpret_cast<uint16_t *>(At)[I] = floatToBrain(sample(I + Seed));
    };
    Fill(A, M * K, 1);
    Fill(B, N * K, 5000);
  }
  void run(const std::string &Text, int Swizzle);
  double worst() const;
};

void Product::run(const std::string &Text, int Swizzle) {
  std::vector<LoadError> All;
  auto Loaded = LoadedModule::load(Text, Memory, All);
  Errors = describe(All);
  if (!Loaded)
    return;
  std::vector<uint8_t> Parameters(2 * sizeof(TensorMap) + 8);
  for (unsigned Which = 0; Which < 2; ++Which) {
    TensorMap Map;
    uint64_t Dims[] = {K, Which ? N : M}, Strides[] = {K * 2};
    uint32_t Box[] = {K, Which ? N : M}, Ones[] = {1, 1};
    Errors += encodeTiled(Map, 9, 2, Which ? B : A, Dims, Strides, Box, Ones, 0,
                          Swizzle, 0);
    std::memcpy(&Parameters[Which * sizeof Map], &Map, sizeof Map);
  }
  std::memcpy(&Parameters[2 * sizeof(TensorMap)], &D, 8);
  LaunchShape Shape;
  Shape.Block[0] = 128;
  Shape.DynamicShared = 16384 + 64;
  Trouble = launch(*Loaded->find("k"), Shape, Parameters, Memory, {}).Trouble;
}

double Product::worst() const {
  double Worst = 0;
  for (unsigned Row = 0; Row < M; ++Row)
    for (unsigned Column = 0; Column < N; ++Column) {
      double Want = 0;
      for (unsigned I = 0; I < K; ++I)
        Want += double{sample(Row * K + I + 1)} * sample(Column * K + I + 5000);
      float Got = reinterpret_cast<const float *>(D)[Row * N + Column];
      Worst =
          std::isnan(Got) ? HUGE_VAL : std::max(Worst, std::fabs(Got - Want));
    }
  return Worst;
}

/// Tiles at 0 and 8192, the mbarrier at 16384. Descriptors: SBO 1024 bytes, LBO
/// 16, swizzle 128B.
std::string productText(const std::string &Bytes = "16384",
                        const std::string &Waiting = "bra.uni W;") {
  std::string Text =
      ".version 8.8 .target sm_90a .address_size 64\n"
      ".extern .shared .align 1024 .b8 s[];\n"
      ".visible .entry k(.param .align 64 .b8 ma[128],\n"
      " .param .align 64 .b8 mb[128], .param .u64 out) {\n"
      ".reg .pred %p<8>; .reg .b32 %r<20>; .reg .f32 %f<32>;\n"
      ".reg .b64 %rd<20>;\n"
      "mov.u32 %r1, %tid.x; mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 0;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [%r2+16384], 1;\n"
      "@%p1 fence.mbarrier_init.release.cluster; bar.sync 0;\n"
      "mov.u64 %rd1, ma; cvta.param.u64 %rd1, %rd1;\n"
      "mov.u64 %rd2, mb; cvta.param.u64 %rd2, %rd2; @!%p1 bra W;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+16384], " +
      Bytes +
      ";\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_"
      "tx::bytes [%r2], [%rd1, {0, 0}], [%r2+16384];\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_"
      "tx::bytes [%r2+8192], [%rd2, {0, 0}], [%r2+16384];\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+16384], 0;\n"
      "@!%p2 " +
      Waiting +
      "\n"
      "wgmma.fence.sync.aligned;\n";
  std::string Registers;
  for (unsigned R = 0; R < N / 2; ++R)
    Registers += (R ? ", %f" : "%f") + std::to_string(R);
  for (unsigned Step = 0; Step < K / 16; ++Step) {
    uint64_t Base = 0x4000004000010000;
    Text += "mov.u64 %rd3, " + std::to_string(Base + 2 * Step) +
            "; mov.u64 %rd4, " + std::to_string(Base + 512 + 2 * Step) +
            "; setp.ne.b32 %p3, " + std::to_string(Step) + ", 0;\n" +
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" +
            Registers + "}, %rd3, %rd4, %p3, 1, 1, 0, 0;\n";
  }
  Text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
          "ld.param.u64 %rd5, [out]; shr.u32 %r3, %r1, 5; shl.b32 %r3, %r3, 4;"
          "and.b32 %r4, %r1, 31; shr.u32 %r5, %r4, 2; add.u32 %r3, %r3, %r5;"
          "and.b32 %r4, %r4, 3; shl.b32 %r4, %r4, 1; mad.lo.u32 %r3, %r3, 64, "
          "%r4; mul.wide.u32 %rd6, %r3, 4; add.u64 %rd5, %rd5, %rd6;\n";
  for (unsigned R = 0; R < N / 2; ++R) {
    unsigned Words = R / 4 * 8 + R % 2 + (R / 2 % 2 ? 8 * N : 0);
    Text += "st.global.f32 [%rd5+" + std::to_string(4 * Words) + "], %f" +
            std::to_string(R) + ";\n";
  }
  return Text + "ret; }\n";
}

TEST(Product, OfTiles) {
  Product P;
  P.run(productText(), 3);
  EXPECT_EQ(P.Errors, "");
  EXPECT_EQ(P.Trouble ? P.Trouble->text() : "", "");
  EXPECT_LE(P.worst(), 1e-5);
}

TEST(Product, Mistakes) {
  Product Swizzle;
  Swizzle.run(productText(), 0);
  EXPECT_FALSE(Swizzle.Trouble);
  EXPECT_GT(Swizzle.worst(), 1);
  Product Count;
  Count.run(productText("16385"), 3);
  ASSERT_TRUE(Count.Trouble);
  EXPECT_THAT(Count.Trouble->text(), HasSubstr("1 bytes"));
  // Nobody waits: some warps come before the copies were issued.
  Product NoWait;
  std::string Text = productText();
  size_t At = Text.find("W: mbarrier"), End = Text.find("wgmma.fence");
  Text.replace(At, End - At, "W: ");
  NoWait.run(Text, 3);
  ASSERT_TRUE(NoWait.Trouble);
  EXPECT_STREQ(nameOf(NoWait.Trouble->Kind), "uninitialised-shared");
  // Warp 0 alone does not wait: it reads what it has copied itself.
  Product Issuer;
  Text = productText();
  Text.replace(Text.find("W: mbarrier"), 2,
               "W: setp.lt.u32 %p4, %r1, 32; @%p4 bra PAST;");
  Text.insert(Text.find("wgmma.fence"), "PAST: ");
  Issuer.run(Text, 3);
  ASSERT_TRUE(Issuer.Trouble);
  EXPECT_STREQ(nameOf(Issuer.Trouble->Kind), "read-before-wait");
}

TEST(Product, AccumulatorsAreWaitedFor) {
  for (const char *Missing : {"wgmma.wait_group.sync.aligned 0;",
                              "wgmma.commit_group.sync.aligned;"}) {
    Product P;
    std::string Text = productText();
    Text.erase(Text.find(Missing), strlen(Missing));
    P.run(Text, 3);
    ASSERT_TRUE(P.Trouble);
    EXPECT_STREQ(nameOf(P.Trouble->Kind), "pending-register");
    EXPECT_EQ(P.Trouble->Instruction, "st.global.f32");
  }
}

TEST(Product, GenericWritesNeedAFence) {
  std::string Body =
      "st.shared.u32 [tile], 1; %s mov.u32 %r2, tile; cvta.to.global.u64 %rd4, "
      "%rd1; cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r2], 16;"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
  auto With = [&](const char *Fence) {
    std::string Text = Body;
    Text.replace(Text.find("%s"), 2, Fence);
    Text = "st.shared.v4.b32 [tile], {%r1, %r1, %r1, %r1};" + Text;
    return run(Text, {.Threads = 1}).finding();
  };
  EXPECT_EQ(With("fence.proxy.async.shared::cta;"), "");
  EXPECT_EQ(With(""), "missing-proxy-fence");
}

/// `Text` with the first `What` replaced.
std::string with(std::string Text, const std::string &What,
                 const std::string &By) {
  size_t At = Text.find(What);
  EXPECT_NE(At, std::string::npos) << What;
  return Text.replace(At, What.size(), By);
}

std::string findingOf(const std::string &Text) {
  Product P;
  P.run(Text, 3);
  EXPECT_EQ(P.Errors, "");
  return P.Trouble ? nameOf(P.Trouble->Kind) : P.worst() > 1e-5 ? "wrong" : "";
}

TEST(Product, MatrixFences) {
  std::string Text = productText();
  EXPECT_EQ(findingOf(with(Text, "wgmma.fence.sync.aligned;", "")),
            "missing-matrix-fence");
  // An accumulator that was read between.
  std::string Again = "wgmma.wait_group.sync.aligned 0;";
  size_t Last = Text.rfind("wgmma.mma_async"), End = Text.find(';', Last) + 1;
  std::string Once = Text.substr(Last, End - Last);
  std::string More = Once + "wgmma.commit_group.sync.aligned;" + Again;
  EXPECT_EQ(findingOf(with(Text, Again, Again + More)), "wrong");
  EXPECT_EQ(findingOf(with(Text, Again, Again + "mov.b32 %f31, %f30;" + More)),
            "missing-matrix-fence");
}

TEST(Product, SlotsAreReused) {
  // A tile is written before what reads it was waited for, and after.
  std::string Text = productText(), Wait = "wgmma.wait_group.sync.aligned 0;";
  std::string Write = "bar.sync 0; st.shared.b32 [%r2+8192], %r1; bar.sync 0;";
  Product P;
  P.run(with(Text, Wait, Write + Wait), 3);
  ASSERT_TRUE(P.Trouble);
  EXPECT_STREQ(nameOf(P.Trouble->Kind), "slot-reused");
  EXPECT_THAT(P.Trouble->text(), HasSubstr("wgmma.mma_async"));
  EXPECT_THAT(P.Trouble->text(), HasSubstr("st.shared.b32"));
  std::string One = "setp.eq.u32 %p5, %r1, 0; @%p5 st.shared.b32 [%r2+8192], "
                    "%r1; bar.sync 0;";
  EXPECT_EQ(findingOf(with(Text, Wait, Wait + "bar.sync 0;" + One)), "");
  EXPECT_EQ(findingOf(with(Text, Wait, "bar.sync 0;" + Wait + One)),
            "slot-reused");
}

TEST(Product, WarpsOfAGroupAgree) {
  std::string Text = productText();
  EXPECT_EQ(findingOf(with(Text, "mov.u64 %rd4,",
                           "shr.u32 %r9, %r1, 6; cvt.u64.u32 %rd10, %r9; "
                           "mov.u64 %rd4,")),
            "");
  size_t At = Text.find("wgmma.mma_async");
  Text.insert(At, "shr.u32 %r9, %r1, 6; cvt.u64.u32 %rd10, %r9; add.u64 %rd4, "
                  "%rd4, %rd10;");
  EXPECT_EQ(findingOf(Text), "warpgroup-mismatch");
}

TEST(Product, BarriersArePublished) {
  EXPECT_EQ(findingOf(with(productText(),
                           "@%p1 fence.mbarrier_init.release.cluster;", "")),
            "missing-proxy-fence");
  EXPECT_EQ(findingOf(with(productText(), "bar.sync 0;", "")),
            "barrier-misuse");
}

//===----------------------------------------------------------------------===//
// Late copies
//===----------------------------------------------------------------------===//

/// A staging buffer: stored, written again, stored again.
std::string stagingText(const std::string &Wait) {
  std::string Store =
      "st.shared.v4.b32 [tile], {%r1, %r1, %r1, %r1};"
      "fence.proxy.async.shared::cta;"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r2], 16;"
      "cp.async.bulk.commit_group;";
  return "mov.u32 %r2, tile; cvta.to.global.u64 %rd4, %rd1;" + Store + Wait +
         "add.u64 %rd4, %rd4, 16; add.u32 %r1, %r1, 7;" + Store;
}

TEST(LateCopies, AStagingBufferIsReadLate) {
  kpc::emulator::test::Setup S{.OutputWords = 8, .Threads = 1};
  std::string End = "cp.async.bulk.wait_group 0;";
  Outcome R = run(stagingText("cp.async.bulk.wait_group.read 0;") + End, S);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output, (std::vector<uint32_t>{0, 0, 0, 0, 7, 7, 7, 7}));
  for (const char *Wait : {"", "cp.async.bulk.wait_group.read 1;"}) {
    Outcome Bad = run(stagingText(Wait) + End, S);
    EXPECT_EQ(Bad.finding(), "slot-reused");
    EXPECT_THAT(Bad.Trouble->text(), HasSubstr("cp.async.bulk.global"));
  }
  EXPECT_EQ(run(stagingText("cp.async.bulk.wait_group.read 0;"), S).finding(),
            "unwaited");
}

TEST(LateCopies, PrefetchesReadWhatIsThere) {
  auto Of = [](const char *Place, const char *Bytes) {
    return run(std::string("cvta.to.global.u64 %rd4, %rd1;"
                           "cp.async.bulk.prefetch.L2.global [%rd4+") +
                   Place + "], " + Bytes + ";",
               {.OutputWords = 8, .Threads = 1})
        .finding();
  };
  EXPECT_EQ(Of("0", "32"), "");
  EXPECT_EQ(Of("16", "16"), "");
  EXPECT_EQ(Of("8", "16"), "misaligned");
  EXPECT_EQ(Of("0", "24"), "misaligned");
  EXPECT_EQ(Of("16", "32"), "out-of-bounds");
}

TEST(LateCopies, AnotherLanesGroups) {
  kpc::emulator::test::Setup S{.OutputWords = 64};
  std::string Store =
      "mov.u32 %r2, tile; st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};"
      "fence.proxy.async.shared::cta; setp.eq.u32 %p1, %r1, 0;"
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;"
      "@%p1 cp.async.bulk.commit_group; setp.eq.u32 %p2, %r1, 1;";
  EXPECT_EQ(run(Store + "@%p1 cp.async.bulk.wait_group 0;", S).finding(), "");
  EXPECT_EQ(run(Store + "@%p2 cp.async.bulk.wait_group 0;", S).finding(),
            "unwaited");
}

TEST(LateCopies, CpAsyncGroups) {
  std::vector<uint32_t> Input(64);
  for (uint32_t I = 0; I < 64; ++I)
    Input[I] = I * 3;
  kpc::emulator::test::Setup S{.Input = Input};
  std::string Copy =
      "mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 4, %r2;"
      "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;"
      "cp.async.ca.shared.global [%r2+128], [%rd2+128], 4;"
      "cp.async.commit_group;";
  std::string Read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd3], %r3;";
  Outcome R =
      run(Copy + "cp.async.wait_group 1;" + Read + "cp.async.wait_all;", S);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output[31], 93u);
  EXPECT_EQ(run(Copy + "cp.async.wait_group 2;" + Read, S).finding(),
            "read-before-wait");
  EXPECT_EQ(run(Copy + "cp.async.wait_group 1;" + Read, S).finding(),
            "unwaited");
  // Another warp's wait is not this one's.
  S.Threads = 64;
  S.OutputWords = 64;
  std::string Other = "xor.b32 %r4, %r1, 32; mov.u32 %r5, tile;"
                      "mad.lo.u32 %r5, %r4, 4, %r5; ld.shared.u32 %r3, [%r5];";
  std::string First = Copy.substr(0, Copy.find("cp.async.ca.shared.global "
                                               "[%r2+128]"));
  EXPECT_EQ(run(First + "bar.sync 0; cp.async.wait_all;" + Other, S).finding(),
            "read-before-wait");
  EXPECT_EQ(run(First + "cp.async.wait_all; bar.sync 0;" + Other, S).finding(),
            "");
}

TEST(LateCopies, CpAsyncArrives) {
  kpc::emulator::test::Setup S{
      .Input = std::vector<uint32_t>(32, 5), .OutputWords = 64, .Threads = 64};
  std::string Text =
      "setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;"
      "@%p1 mbarrier.init.shared::cta.b64 [tile], 32; bar.sync 0;"
      "mov.u32 %r2, tile; and.b32 %r4, %r1, 31; mad.lo.u32 %r2, %r4, 4, %r2;"
      "@%p2 cp.async.ca.shared.global [%r2+64], [%rd2], 4;"
      "@%p2 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [tile];" +
      Wait + "ld.shared.u32 %r3, [%r2+64]; st.global.u32 [%rd3], %r3;";
  Outcome R = run(Text, S);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  EXPECT_EQ(R.Output[63], 5u);
  EXPECT_EQ(run(with(Text, Wait, "bar.sync 0;"), S).finding(),
            "read-before-wait");
}

//===----------------------------------------------------------------------===//
// mma.sync behind ldmatrix
//===----------------------------------------------------------------------===//

/// A is 16 x 16 with A(i, j) = i + j / 16, B is the identity: D = A.
TEST(Matrix, IdentityThroughLdmatrix) {
  std::vector<uint32_t> Input;
  for (unsigned Row = 0; Row < 16; ++Row)
    for (unsigned Column = 0; Column < 16; Column += 2) {
      auto At = [&](unsigned C) {
        return uint32_t{floatToHalf(float(Row) + float(C) / 16)};
      };
      Input.push_back(At(Column) | At(Column + 1) << 16);
    }
  // Each lane copies 16 bytes; the lower half of the 512 bytes would not fit
  // into the tile, so the matrix goes in two halves of 8 rows.
  std::string Copy =
      "mul.wide.u32 %rd4, %r1, 16; add.u64 %rd4, %rd4, %rd0;"
      "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];"
      "mov.u32 %r6, tile; and.b32 %r7, %r1, 15; mad.lo.u32 %r7, %r7, 16, %r6;"
      "setp.lt.u32 %p1, %r1, 16;";
  std::string Load =
      "@%s st.shared.v4.b32 [%r7], {%r2, %r3, %r4, %r5}; bar.warp.sync -1;"
      "and.b32 %r8, %r1, 7; shl.b32 %r8, %r8, 5; shr.u32 %r9, %r1, 3;"
      "and.b32 %r9, %r9, 1; mad.lo.u32 %r8, %r9, 16, %r8;"
      "add.u32 %r8, %r8, %r6; ldmatrix.sync.aligned.m8n8.x2.shared.b16 ";
  std::string Upper = Load, Lower = Load;
  Upper.replace(Upper.find("%s"), 2, "%p1");
  Lower.replace(Lower.find("%s"), 2, "!%p1");
  // B(k, n) = 1 where k == n: lane 4n + q holds k = 2q, 2q + 1 in register 0.
  std::string Identity =
      "mov.u32 %r20, 0; shr.u32 %r21, %r1, 2; and.b32 %r22, %r1, 3;"
      "shl.b32 %r22, %r22, 1; setp.eq.u32 %p2, %r21, %r22;"
      "@%p2 mov.u32 %r20, 0x3C00; add.u32 %r22, %r22, 1;"
      "setp.eq.u32 %p2, %r21, %r22; @%p2 mov.u32 %r20, 0x3C000000;"
      "mov.u32 %r23, 0; mov.u32 %r24, 0f40000000;";
  Outcome R = run(
      Copy + Upper + "{%r10, %r12}, [%r8]; bar.warp.sync -1;" + Lower +
          "{%r11, %r13}, [%r8];" + Identity +
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r14, %r15, "
          "%r16, %r17}, {%r10, %r11, %r12, %r13}, {%r20, %r23}, {%r24, %r24, "
          "%r24, %r24};"
          "mul.wide.u32 %rd5, %r1, 16; add.u64 %rd5, %rd5, %rd1;"
          "st.global.v4.b32 [%rd5], {%r14, %r15, %r16, %r17};",
      {.Input = Input, .OutputWords = 128});
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
  for (unsigned L = 0; L < 32; ++L)
    for (unsigned I = 0; I < 4; ++I) {
      float Row = float(L / 4 + I / 2 * 8), Column = float(L % 4 * 2 + I % 2);
      EXPECT_EQ(std::bit_cast<float>(R.Output[4 * L + I]),
                Row + Column / 16 + 2);
    }
}

} // namespace
