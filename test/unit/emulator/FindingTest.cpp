//===- FindingTest.cpp - Each finding, and what is none -------------------===//
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

TEST(Finding, OutOfBounds) {
  Outcome R = run("st.global.u32 [%rd3+4], %r1;");
  EXPECT_EQ(R.finding(), "out-of-bounds");
  EXPECT_EQ(R.Trouble->Thread[0], 31u);
  EXPECT_THAT(R.Trouble->text(), HasSubstr("st.global.u32 (line 12"));
  EXPECT_EQ(run("ld.shared.u32 %r2, [tile+256];").finding(), "out-of-bounds");
  EXPECT_EQ(run("ld.global.u32 %r2, [0];").finding(), "out-of-bounds");
  EXPECT_EQ(run("ld.param.u32 %r2, [in+16];").finding(), "out-of-bounds");
  EXPECT_EQ(run("mov.u64 %rd4, -16; ld.u32 %r2, [%rd4];").finding(),
            "out-of-bounds");
}

/// cp.async reads src-size bytes and no others, from a multiple of all.
TEST(Finding, SourceBytesOfACopy) {
  auto Copy = [](const std::string &At, const std::string &Bytes) {
    return "mov.u32 %r2, tile; cp.async.cg.shared.global [%r2], [%rd0" + At +
           "], 16, " + Bytes +
           "; cp.async.wait_all; ld.shared.u32 %r3, [tile+8];"
           "ld.shared.u32 %r4, [tile+12]; st.global.u32 [%rd1], %r3;"
           "st.global.u32 [%rd1+4], %r4;";
  };
  test::Setup S{.Input = {5, 6, 7}, .OutputWords = 2, .Threads = 1};
  Outcome R = run(Copy("", "12"), S);
  EXPECT_EQ(R.text(), "");
  EXPECT_EQ(R.Output, (std::vector<uint32_t>{7, 0}));
  EXPECT_EQ(run(Copy("", "16"), S).finding(), "out-of-bounds");
  EXPECT_EQ(run(Copy("+8", "4"), S).finding(), "misaligned");
}

/// A load of 16 bytes of which 12 are there.
TEST(Finding, UsedBytesOfALoad) {
  std::string Body = "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0];"
                     "st.global.u32 [%rd1], %r4;"
                     "st.global.u32 [%rd1+4], %r5;";
  std::string Used = ".pragma \"used_bytes_mask 0xfff\"; " + Body;
  test::Setup S{.Input = {5, 6, 7}, .OutputWords = 2, .Threads = 1};
  EXPECT_EQ(run(Body, S).finding(), "out-of-bounds");
  Outcome R = run(Used, S);
  EXPECT_EQ(R.text(), "");
  EXPECT_EQ(R.Output, (std::vector<uint32_t>{7, ~0u}));
  // It is of the next instruction alone, and alignment is of the whole.
  EXPECT_EQ(run(Used + Body, S).finding(), "out-of-bounds");
  S.Input = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(".pragma \"used_bytes_mask 0xfff\";"
                "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd0+8];",
                S)
                .finding(),
            "misaligned");
  // Half of an element; 16 bits with their sign.
  R = run(".pragma \"used_bytes_mask 0x3\"; ld.global.b32 %r4, [%rd0];"
          ".pragma \"used_bytes_mask 0xc\"; "
          "ld.global.v2.s16 {%r6, %r5}, [%rd0+4];"
          "st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r5;",
          {.Input = {0x10002, 0xfff00000}, .OutputWords = 2, .Threads = 1});
  EXPECT_EQ(R.text(), "");
  EXPECT_EQ(R.Output, (std::vector<uint32_t>{0xffff0002, 0xfffffff0}));
  // Three bytes of a word; its upper half.
  R = run(".pragma \"used_bytes_mask 0x7\"; ld.global.b32 %r4, [%rd0];"
          ".pragma \"used_bytes_mask 0xc\"; ld.global.b32 %r5, [%rd0];"
          "st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r5;",
          {.Input = {0x11223344}, .OutputWords = 2, .Threads = 1});
  EXPECT_EQ(R.text(), "");
  EXPECT_EQ(R.Output, (std::vector<uint32_t>{0xff223344, 0x1122ffff}));
  EXPECT_EQ(run(".pragma \"used_bytes_mask 0x1ffffffff\"; ret;").text(),
            "line 12: used_bytes_mask takes a number of up to 32 bits\n");
}

/// Of a finding of the body's one line.
std::string at(const std::string &Kind, const std::string &What,
               const std::string &Thread, const std::string &Detail) {
  return Kind + ": " + What +
         " (line 12 of kernel k, block (0, 0, 0), thread (" + Thread +
         ", 0, 0)): " + Detail;
}

TEST(Finding, SaysWhichAllocation) {
  EXPECT_EQ(run("st.global.u32 [%rd3+4], %r1;").text(),
            at("out-of-bounds", "st.global.u32", "31",
               "4 bytes at 0x…, right after the end of an allocation of 128 "
               "bytes (argument 1, 'out', plus 128)"));
  EXPECT_EQ(run("st.global.u32 [%rd1+136], %r1;").text(),
            at("out-of-bounds", "st.global.u32", "0",
               "4 bytes at 0x…, 8 bytes after the end of an allocation of 128 "
               "bytes (argument 1, 'out', plus 136)"));
  EXPECT_EQ(run("st.global.v2.b32 [%rd1+128], {%r1, %r1};", {.OutputWords = 33})
                .text(),
            at("out-of-bounds", "st.global.v2.b32", "0",
               "8 bytes at 0x…, byte 128 of an allocation of 132 bytes "
               "(argument 1, 'out', plus 128), cross its end"));
  EXPECT_EQ(run("ld.global.u32 %r2, [0];").text(),
            at("out-of-bounds", "ld.global.u32", "0",
               "4 bytes at 0x…, a null pointer"));
  EXPECT_EQ(run("ld.global.u32 %r2, [16];").text(),
            at("out-of-bounds", "ld.global.u32", "0",
               "4 bytes at 0x…, 16 bytes after a null pointer"));
  EXPECT_EQ(run("mov.u64 %rd4, -16; ld.global.u32 %r2, [%rd4];").text(),
            at("out-of-bounds", "ld.global.u32", "0",
               "4 bytes at 0x…, near no allocation"));
  EXPECT_EQ(run("st.global.v2.b32 [%rd1+4], {%r1, %r1};").text(),
            at("misaligned", "st.global.v2.b32", "0",
               "address 0x…, byte 4 of an allocation of 128 bytes (argument 1, "
               "'out', plus 4), is no multiple of 8"));
}

TEST(Finding, SaysWhichVariable) {
  std::string Outside = run("mov.u64 %rd4, g; ld.global.u32 %r2, [%rd4+20];",
                            {.Module = ".global .u32 g[4];"})
                            .text();
  EXPECT_EQ(Outside, at("out-of-bounds", "ld.global.u32", "0",
                        "4 bytes at 0x…, 4 bytes after the end of the "
                        "variable 'g' of 16 bytes"));
  EXPECT_EQ(run("mov.u64 %rd4, c; cvta.const.u64 %rd4, %rd4;"
                "st.u32 [%rd4], %r1;",
                {.Module = ".const .u32 c = 1;"})
                .text(),
            at("write-to-read-only", "st.u32", "0",
               "byte 0 of the variable 'c' of 4 bytes is .const"));
}

TEST(Finding, SaysWhatTheTextIsMadeOf) {
  std::string Text = "\n.loc 2 17 5, function_name $L, inlined_at 1 3 1\n"
                     "st.global.u32 [%rd3+4], %r1;";
  Outcome R = run(Text, {.Module = ".file 1 \"a.cu\"\n.file 2 \"b.cu\"\n"});
  EXPECT_THAT(R.Trouble->text(), HasSubstr("of kernel k, from b.cu:17, block"));
  // A line of a file that has no name.
  R = run(Text, {});
  EXPECT_THAT(R.Trouble->text(), HasSubstr("of kernel k, block"));
}

TEST(Finding, Misaligned) {
  EXPECT_EQ(run("mov.b16 %rs1, 1; st.global.u16 [%rd1+1], %rs1;").finding(),
            "misaligned");
  EXPECT_EQ(run("st.global.v2.b32 [%rd1+4], {%r1, %r1};").finding(),
            "misaligned");
}

TEST(Finding, ReadOnly) {
  EXPECT_EQ(run("mov.u64 %rd4, c; cvta.const.u64 %rd4, %rd4;"
                "st.u32 [%rd4], %r1;",
                {.Module = ".const .u32 c = 1;"})
                .finding(),
            "write-to-read-only");
}

TEST(Finding, UninitialisedRegister) {
  EXPECT_EQ(run("st.global.u32 [%rd3], %r9;").finding(),
            "uninitialised-register");
  // On one of two ways here, and for the lanes that came that way.
  std::string Half = "setp.lt.u32 %p1, %r1, 16; @%p1 bra L; mov.b32 %r9, 1;"
                     "L: setp.lt.u32 %p1, %r1, ";
  EXPECT_EQ(run(Half + "20; @!%p1 st.global.u32 [%rd3], %r9;").finding(), "");
  EXPECT_EQ(run(Half + "15; @!%p1 st.global.u32 [%rd3], %r9;").finding(),
            "uninitialised-register");
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 9; @%p1 mov.b32 %r9, 1;"
                "@%p1 st.global.u32 [%rd3], %r9;")
                .finding(),
            "");
  // A copy is no use; what uses the copy is.
  EXPECT_EQ(run("mov.b32 %r10, %r9;").finding(), "");
  EXPECT_EQ(run("mov.b32 %r10, %r9; st.global.u32 [%rd3], %r10;").finding(),
            "uninitialised-register");
}

TEST(Finding, RegisterPool) {
  auto With = [](const std::string &First, const std::string &Second) {
    std::string Body = "setp.ge.u32 %p1, %r1, 128; @%p1 bra B;" + First +
                       "bra E; B:" + Second + "E:";
    return run(Body, {.OutputWords = 384, .Threads = 384});
  };
  std::string Less = "setmaxnreg.dec.sync.aligned.u32 40;",
              More = "setmaxnreg.inc.sync.aligned.u32 232;";
  // 384 threads begin with 168 each: 40 + 2 * 232 is 3 * 168.
  EXPECT_EQ(With(Less, More).finding(), "");
  EXPECT_EQ(With("", More).finding(), "deadlock");
  EXPECT_THAT(With("", More).Trouble->text(), HasSubstr("0 are free"));
  EXPECT_EQ(With("setmaxnreg.dec.sync.aligned.u32 48;", More).finding(),
            "deadlock");
  EXPECT_EQ(With(Less, "setmaxnreg.dec.sync.aligned.u32 232;").finding(),
            "register-pool");
  EXPECT_EQ(With(More, Less + "setmaxnreg.inc.sync.aligned.u32 32;").finding(),
            "register-pool");
  EXPECT_EQ(run("setmaxnreg.dec.sync.aligned.u32 41;").finding(), "load");
}

TEST(Finding, UninitialisedShared) {
  std::string Body = "mov.b16 %rs1, 1; st.shared.u16 [tile], %rs1;"
                     "ld.shared.u32 %r2, [tile];";
  EXPECT_EQ(run(Body, {.Threads = 1}).finding(), "uninitialised-shared");
  EXPECT_EQ(run(Body, {.Threads = 1, .Strict = false}).finding(), "");
}

/// Warp 1 reads what warp 0 writes.
std::string exchange(const std::string &Between) {
  return "setp.lt.u32 %p1, %r1, 32; mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, tile;"
         "add.u32 %r3, %r3, %r2; @%p1 st.shared.u32 [%r3], %r1;" +
         Between + "@!%p1 ld.shared.u32 %r4, [%r3+-128];";
}

TEST(Finding, SharedRace) {
  Outcome R = run(exchange(""), {.Threads = 64});
  EXPECT_EQ(R.finding(), "shared-race");
  EXPECT_THAT(R.Trouble->text(), HasSubstr("st.shared.u32"));
  EXPECT_EQ(run(exchange("bar.sync 0;"), {.Threads = 64}).finding(), "");
  // A barrier of other warps orders nothing here.
  EXPECT_EQ(run("setp.lt.u32 %p2, %r1, 64;" + exchange("@!%p2 bar.sync 1, 64;"),
                {.Threads = 128})
                .finding(),
            "shared-race");
}

TEST(Finding, WriteAfterRead) {
  std::string Body = "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [tile], 1;"
                     "bar.sync 0; @!%p1 ld.shared.u32 %r2, [tile];"
                     "%s @%p1 st.shared.u32 [tile], 2;";
  auto With = [&](const char *Between) {
    std::string Text = Body;
    Text.replace(Text.find("%s"), 2, Between);
    return run(Text, {.Threads = 64}).finding();
  };
  EXPECT_EQ(With("bar.sync 0;"), "");
  // Warp 0 runs first, so it is the read that comes second.
  EXPECT_EQ(With(""), "shared-race");
}

TEST(Finding, ArriveOrdersOneWay) {
  // The producer arrives, the consumer waits.
  std::string Body = exchange("@%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 64;");
  EXPECT_EQ(run(Body, {.Threads = 64}).finding(), "");
  // What the producer does after it arrived is not ordered.
  EXPECT_EQ(
      run(Body + "@%p1 st.shared.u32 [%r3], 3;", {.Threads = 64}).finding(),
      "shared-race");
}

TEST(Finding, BarrierMismatch) {
  Outcome R = run("setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0; L:",
                  {.Threads = 64});
  EXPECT_EQ(R.text(),
            at("barrier-mismatch", "bar.sync", "32",
               "barrier 0 has 32 of 64 threads; warps wait: 1 (bar.sync, line "
               "12); warps have ended: 0 (ret, line 13)"));
  R = run("setp.lt.u32 %p1, %r1, 32; @!%p1 bra L;\nbar.sync 1, 64;\n"
          "L: @%p1 bra M; bar.sync 1, 96; M:",
          {.Threads = 64});
  EXPECT_EQ(R.text(), "barrier-mismatch: bar.sync (line 14 of kernel k, block "
                      "(0, 0, 0), thread (32, 0, 0)): barrier 1 waits for 64 "
                      "threads, not 96; warps came: 0 (bar.sync, line 13)");
}

TEST(Finding, TimeLimit) {
  Outcome R = run("setp.lt.u32 %p1, %r1, 64; @!%p1 bar.sync 0;\nL: bra L;",
                  {.Threads = 96, .Seconds = 0.5});
  EXPECT_EQ(R.text(), "time-limit: kernel k, block (0, 0, 0): barrier 0 has 32 "
                      "of 96 threads; warps wait: 2 (bar.sync, line 12); warps "
                      "run: 0, 1 (bra, line 13); no warp has ended. 0 of 1 "
                      "blocks have ended");
  EXPECT_EQ(run("bar.sync 0;", {.Seconds = 100}).text(), "");
}

TEST(Finding, Deadlock) {
  Outcome R = run("setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64;"
                  "@!%p1 bar.sync 2, 64;",
                  {.Threads = 64});
  EXPECT_EQ(R.text(),
            "deadlock: kernel k, block (0, 0, 0): barrier 1 has 32 of 64 "
            "threads; warps wait: 0 (bar.sync, line 12); barrier 2 has 32 of "
            "64 threads; warps wait: 1 (bar.sync, line 12); no warp has ended");
}

TEST(Finding, NotConverged) {
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 5; @%p1 bar.sync 0;").finding(),
            "not-converged");
}

TEST(Finding, InactiveLane) {
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 5; @%p1 bra L; ret; L:"
                "shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;")
                .finding(),
            "inactive-lane");
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 5;"
                "@%p1 shfl.sync.idx.b32 %r2, %r1, 9, 31, 31;")
                .finding(),
            "inactive-lane");
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 5; @%p1 bar.warp.sync -1;").finding(),
            "inactive-lane");
}

TEST(Finding, BadOperand) {
  EXPECT_EQ(run("shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;").finding(),
            "bad-operand");
  EXPECT_EQ(run("bar.sync 16;").finding(), "bad-operand");
  EXPECT_EQ(run("bar.sync 1, 33;").finding(), "bad-operand");
}

TEST(Finding, Trap) { EXPECT_EQ(run("trap;").finding(), "trap"); }

TEST(Finding, BadLaunch) {
  EXPECT_EQ(run("", {.Threads = 2000}).finding(), "bad-launch");
  EXPECT_EQ(run("", {.Blocks = 0}).finding(), "bad-launch");
}

TEST(Finding, UseAfterFree) {
  DeviceMemory Memory(1 << 20);
  std::vector<LoadError> Errors;
  auto M = LoadedModule::load(kernelText("ld.global.u32 %r2, [%rd0];"), Memory,
                              Errors);
  ASSERT_TRUE(M);
  uint64_t Buffers[2] = {Memory.allocate(64), Memory.allocate(64)};
  Memory.release(Buffers[0]);
  std::vector<uint8_t> Parameters(16);
  std::copy_n(reinterpret_cast<uint8_t *>(Buffers), 16, Parameters.begin());
  auto R = launch(*M->find("k"), {}, Parameters, Memory, {});
  Outcome Freed;
  Freed.Trouble = R.Trouble;
  EXPECT_EQ(Freed.text(),
            at("use-after-free", "ld.global.u32", "0",
               "4 bytes at 0x…, byte 0 of an allocation of 64 bytes that was "
               "freed before this launch (argument 0, 'in')"));
}

TEST(Finding, BeforeGridWait) {
  std::string Wait = "griddepcontrol.wait; ",
              Read = "ld.global.u32 %r2, [%rd2]; ",
              Write = "st.global.u32 [%rd3], %r1; ";
  kpc::emulator::test::Setup Early{.Input = std::vector<uint32_t>(32),
                                   .BeginsEarly = true};
  // Constants may be read at once, but nothing is written.
  EXPECT_EQ(run(Read + Wait + Write, Early).finding(), "");
  EXPECT_EQ(run(Write + Wait, Early).finding(), "before-grid-wait");
  Early.InputWritten = true;
  EXPECT_EQ(run(Wait + Read + Write, Early).finding(), "");
  EXPECT_EQ(run(Read + Wait + Write, Early).text(),
            at("before-grid-wait", "ld.global.u32", "0",
               "reads what a kernel wrote, 0x…, byte 0 of an allocation of 128 "
               "bytes (argument 0, 'in'), while kernels that it depends on may "
               "still run"));
  Early.BeginsEarly = false;
  EXPECT_EQ(run(Read + Write, Early).finding(), "");
}

TEST(GlobalRace, BlocksAreNotOrdered) {
  kpc::emulator::test::Setup Two{.OutputWords = 64, .Threads = 1, .Blocks = 2};
  std::string Rank = "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4;"
                     "add.u64 %rd5, %rd1, %rd4;";
  Outcome Same = run(Rank + "st.global.u32 [%rd1], %r2;", Two);
  ASSERT_EQ(Same.finding(), "global-race");
  EXPECT_THAT(Same.Trouble->text(), HasSubstr("warp 0 of block "));
  EXPECT_THAT(Same.text(),
              HasSubstr("nothing orders this access to byte 0 of an allocation "
                        "of 256 bytes (argument 1, 'out') and where warp 0 of "
                        "block "));
  // Bytes beside each other, and atomics.
  EXPECT_EQ(run("mov.u32 %r2, %ctaid.x; cvt.u64.u32 %rd4, %r2;"
                "add.u64 %rd5, %rd1, %rd4; st.global.u8 [%rd5], %r2;",
                Two)
                .finding(),
            "");
  EXPECT_EQ(run("red.global.add.u32 [%rd1], 1;", Two).finding(), "");
  EXPECT_EQ(run("red.global.add.u32 [%rd1], 1; ld.global.u32 %r3, [%rd1];", Two)
                .finding(),
            "global-race");
  // One reads, the other writes, whichever comes first.
  EXPECT_EQ(run(Rank +
                    "setp.eq.u32 %p1, %r2, 0; @%p1 ld.global.u32 %r3, [%rd1];"
                    "@!%p1 st.global.u32 [%rd1], %r2;",
                Two)
                .finding(),
            "global-race");
}

/// Each block writes its word; the last one to come sums them.
std::string lastBlock(const std::string &Release, const std::string &Acquire,
                      const std::string &Semantics = "") {
  return "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4;"
         "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5+64], %r2;" +
         Release + "atom" + Semantics +
         ".global.add.u32 %r3, [%rd0], 1; setp.ne.u32 %p1, %r3, 1;"
         "@%p1 bra END;" +
         Acquire +
         "ld.global.u32 %r4, [%rd1+64]; ld.global.u32 %r5, [%rd1+68];"
         "add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4; END:";
}

TEST(GlobalRace, ReleaseAndAcquire) {
  kpc::emulator::test::Setup Two{
      .Input = {0}, .OutputWords = 64, .Threads = 1, .Blocks = 2};
  for (const char *Fence : {"fence.acq_rel.gpu;", "membar.gl;"}) {
    Outcome R = run(lastBlock(Fence, Fence), Two);
    EXPECT_EQ(R.Trouble ? R.Trouble->text() : "", "");
    EXPECT_EQ(R.Output[0], 1u);
    EXPECT_EQ(run(lastBlock("", Fence), Two).finding(), "global-race");
    EXPECT_EQ(run(lastBlock(Fence, ""), Two).finding(), "global-race");
  }
  EXPECT_EQ(run(lastBlock("", "", ".acq_rel.gpu"), Two).finding(), "");
  EXPECT_EQ(run(lastBlock("", "", ".relaxed.gpu"), Two).finding(),
            "global-race");
  EXPECT_EQ(
      run(lastBlock("fence.acq_rel.cta;", "fence.acq_rel.gpu;"), Two).finding(),
      "global-race");
}

/// Blocks side by side, again and again: whichever comes between which steps of
/// whose atomic, no race is invented.
TEST(GlobalRace, BlocksSideBySide) {
  kpc::emulator::test::Setup Two{
      .Input = {0}, .OutputWords = 64, .Threads = 1, .Blocks = 2};
  const char *Fence = "fence.acq_rel.gpu;";
  std::string Waits = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1;"
                      "@%p1 bra WAIT; st.global.u32 [%rd1], 7;"
                      "st.release.gpu.global.u32 [%rd0], 1; bra END;"
                      "WAIT: ld.acquire.gpu.global.u32 %r3, [%rd0];"
                      "setp.eq.u32 %p2, %r3, 0; @%p2 bra END;"
                      "ld.global.u32 %r4, [%rd1]; END:";
  // Who has seen a flag may write it without more ado.
  std::string Resets = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1;"
                       "@%p1 bra WAIT; fence.acq_rel.gpu;"
                       "st.relaxed.gpu.global.u32 [%rd0], 1; bra END;"
                       "WAIT: ld.acquire.gpu.global.u32 %r3, [%rd0];"
                       "setp.eq.u32 %p2, %r3, 0; @%p2 bra END;"
                       "st.global.u32 [%rd0], 0; END:";
  for (int N = 0; N < 200; ++N) {
    ASSERT_EQ(run(lastBlock(Fence, Fence), Two).finding(), "") << N;
    ASSERT_EQ(run(lastBlock("", "", ".acq_rel.gpu"), Two).finding(), "") << N;
    ASSERT_EQ(run(Waits, Two).finding(), "") << N;
    ASSERT_EQ(run(Resets, Two).finding(), "") << N;
  }
}

TEST(GlobalRace, WarpsOfABlock) {
  kpc::emulator::test::Setup S{.OutputWords = 64, .Threads = 64};
  std::string Write =
                  "setp.lt.u32 %p1, %r1, 32; @%p1 st.global.u32 [%rd3], %r1;",
              Read = "@!%p1 ld.global.u32 %r4, [%rd3+-128];";
  EXPECT_EQ(run(Write + "bar.sync 0;" + Read, S).finding(), "");
  EXPECT_EQ(run(Write + Read, S).finding(), "global-race");
}

} // namespace
