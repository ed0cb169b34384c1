//===- InstructionTest.cpp - Single instructions, edge values -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/emulator/Harness.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace kpc::emulator;
using namespace kpc::emulator::test;

namespace {

/// The result %r9 of instructions on words %r10, %r11, %r12 of each case, a
/// lane each.
std::vector<uint32_t> results(const std::string &Body,
                              const std::vector<std::vector<uint32_t>> &Cases) {
  Setup S;
  for (const auto &C : Cases)
    for (size_t N = 0; N < 3; ++N)
      S.Input.push_back(N < C.size() ? C[N] : 0);
  S.Input.resize(96);
  Outcome R = run("mul.wide.u32 %rd9, %r1, 12; add.u64 %rd9, %rd9, %rd0;"
                  "ld.global.u32 %r10, [%rd9]; ld.global.u32 %r11, [%rd9+4];"
                  "ld.global.u32 %r12, [%rd9+8];" +
                      Body + "st.global.u32 [%rd3], %r9;",
                  S);
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.finding(), "");
  R.Output.resize(Cases.size());
  return R.Output;
}

using Words = std::vector<uint32_t>;
uint32_t f(float V) { return std::bit_cast<uint32_t>(V); }
constexpr uint32_t NaN = 0x7FFFFFFF, Inf = 0x7F800000, NegInf = 0xFF800000;

TEST(Instruction, IntegerArithmetic) {
  Words A = results("mul.hi.s32 %r9, %r10, %r11;",
                    {{0x80000000, 0x80000000}, {~0u, 5}, {0x7FFFFFFF, 2}});
  EXPECT_EQ(A, (Words{0x40000000, ~0u, 0}));
  EXPECT_EQ(results("div.s32 %r9, %r10, %r11;",
                    {{uint32_t(-7), 2}, {0x80000000, ~0u}, {5, 0}}),
            (Words{uint32_t(-3), 0x80000000, ~0u}));
  EXPECT_EQ(results("rem.s32 %r9, %r10, %r11;", {{uint32_t(-7), 2}}),
            (Words{~0u}));
  EXPECT_EQ(results("add.sat.s32 %r9, %r10, %r11;",
                    {{0x7FFFFFFF, 1}, {0x80000000, ~0u}, {3, 4}}),
            (Words{0x7FFFFFFF, 0x80000000, 7}));
  EXPECT_EQ(results("add.cc.u32 %r9, %r10, %r11; addc.u32 %r9, %r12, 0;",
                    {{~0u, 1, 5}, {1, 1, 5}}),
            (Words{6, 5}));
  EXPECT_EQ(results("sub.cc.u32 %r9, %r10, %r11; subc.u32 %r9, %r12, 0;",
                    {{0, 1, 5}, {1, 1, 5}}),
            (Words{4, 5}));
  EXPECT_EQ(results("sad.u32 %r9, %r10, %r11, %r12;", {{3, 9, 1}, {9, 3, 1}}),
            (Words{7, 7}));
}

TEST(Instruction, ExtremesNotBelowZero) {
  std::vector<Words> Cases = {{uint32_t(-3), 5},
                              {uint32_t(-3), uint32_t(-9)},
                              {7, 5},
                              {0x80000000, 0x7FFFFFFF},
                              {0, uint32_t(-1)}};
  EXPECT_EQ(results("min.relu.s32 %r9, %r10, %r11;", Cases),
            (Words{0, 0, 5, 0, 0}));
  EXPECT_EQ(results("max.relu.s32 %r9, %r10, %r11;", Cases),
            (Words{5, 0, 7, 0x7FFFFFFF, 0}));
  EXPECT_EQ(results("min.relu.s32 %r9, %r10, -1;", {{7}}), (Words{0}));
  std::vector<Words> Pairs = {{0xFFFD0007, 0x00050009},
                              {0x80000001, 0x7FFFFFFF},
                              {0xFFFFFFFE, 0xFFFEFFFF}};
  EXPECT_EQ(results("min.relu.s16x2 %r9, %r10, %r11;", Pairs),
            (Words{0x00000007, 0, 0}));
  EXPECT_EQ(results("max.s16x2.relu %r9, %r10, %r11;", Pairs),
            (Words{0x00050009, 0x7FFF0001, 0}));
}

TEST(Instruction, IntegersInPairs) {
  std::vector<Words> Cases = {{0xFFFD0007, 0x00050009},
                              {0x8000FFFF, 0x7FFF0001}};
  EXPECT_EQ(results("add.u16x2 %r9, %r10, %r11;", Cases),
            (Words{0x00020010, 0xFFFF0000}));
  EXPECT_EQ(results("add.s16x2 %r9, %r10, %r11;", Cases),
            (Words{0x00020010, 0xFFFF0000}));
  EXPECT_EQ(results("min.u16x2 %r9, %r10, %r11;", Cases),
            (Words{0x00050007, 0x7FFF0001}));
  EXPECT_EQ(results("min.s16x2 %r9, %r10, %r11;", Cases),
            (Words{0xFFFD0007, 0x8000FFFF}));
  EXPECT_EQ(results("max.u16x2 %r9, %r10, %r11;", Cases),
            (Words{0xFFFD0009, 0x8000FFFF}));
  EXPECT_EQ(results("max.s16x2 %r9, %r10, %r11;", Cases),
            (Words{0x00050009, 0x7FFF0001}));
}

TEST(Instruction, Bits) {
  EXPECT_EQ(results("shl.b32 %r9, %r10, %r11;", {{1, 31}, {1, 32}, {1, ~0u}}),
            (Words{0x80000000, 0, 0}));
  EXPECT_EQ(results("shr.s32 %r9, %r10, %r11;", {{0x80000000, 40}, {64, 3}}),
            (Words{~0u, 8}));
  EXPECT_EQ(results("shf.l.wrap.b32 %r9, %r10, %r11, %r12;",
                    {{0x80000000, 1, 1}, {5, 6, 32}}),
            (Words{3, 6}));
  EXPECT_EQ(results("shf.r.clamp.b32 %r9, %r10, %r11, %r12;",
                    {{8, 1, 1}, {5, 6, 40}}),
            (Words{0x80000004, 6}));
  EXPECT_EQ(results("bfe.u32 %r9, %r10, %r11, %r12;",
                    {{0xABCD, 4, 8}, {~0u, 28, 8}, {5, 0, 0}}),
            (Words{0xBC, 15, 0}));
  EXPECT_EQ(results("bfe.s32 %r9, %r10, %r11, %r12;",
                    {{0x80, 4, 4}, {0x80000000, 28, 8}, {0x70, 4, 4}}),
            (Words{uint32_t(-8), uint32_t(-8), 7}));
  EXPECT_EQ(results("bfi.b32 %r9, %r10, %r11, 8, 8;", {{0x5A, ~0u}}),
            (Words{0xFFFF5AFF}));
  EXPECT_EQ(results("bfind.u32 %r9, %r10;", {{0}, {1}, {0x80000000}}),
            (Words{~0u, 0, 31}));
  EXPECT_EQ(results("bfind.s32 %r9, %r10;", {{~0u}, {uint32_t(-9)}}),
            (Words{~0u, 3}));
  EXPECT_EQ(results("clz.b32 %r9, %r10;", {{0}, {1}}), (Words{32, 31}));
  EXPECT_EQ(results("prmt.b32 %r9, %r10, %r11, %r12;",
                    {{0x03020100, 0x07060504, 0x7531},
                     {0x80, 0, 0x8888},
                     {0x11223344, 0, 0x0123}}),
            (Words{0x07050301, ~0u, 0x44332211}));
  EXPECT_EQ(
      results("lop3.b32 %r9, %r10, %r11, %r12, 0x96;", {{0xF0, 0xCC, 0xAA}}),
      (Words{0xF0 ^ 0xCC ^ 0xAA}));
  EXPECT_EQ(results("dp4a.s32.s32 %r9, %r10, %r11, %r12;",
                    {{0xFF020304, 0x01010101, 100}}),
            (Words{108}));
}

TEST(Instruction, FloatSpecials) {
  EXPECT_EQ(results("add.rn.f32 %r9, %r10, %r11;",
                    {{Inf, NegInf}, {0x7FC12345, f(1)}, {f(1), f(2)}}),
            (Words{NaN, NaN, f(3)}));
  EXPECT_EQ(results("max.f32 %r9, %r10, %r11;",
                    {{NaN, f(1)}, {f(1), NaN}, {NaN, NaN}, {0x80000000, 0}}),
            (Words{f(1), f(1), NaN, 0}));
  EXPECT_EQ(
      results("min.NaN.f32 %r9, %r10, %r11;", {{NaN, f(1)}, {0, 0x80000000}}),
      (Words{NaN, 0x80000000}));
  EXPECT_EQ(results("mul.rn.ftz.f32 %r9, %r10, %r11;",
                    {{0x00000001, f(1)}, {0x80000001, f(1)}}),
            (Words{0, 0x80000000}));
  EXPECT_EQ(results("fma.rn.sat.f32 %r9, %r10, %r11, %r12;",
                    {{f(2), f(2), 0}, {f(-2), f(2), 0}, {NaN, 0, 0}}),
            (Words{f(1), 0, 0}));
  EXPECT_EQ(
      results("rcp.approx.ftz.f32 %r9, %r10;", {{0x80000000}, {0x000116C2}}),
      (Words{NegInf, Inf}));
  EXPECT_EQ(
      results("ex2.approx.f32 %r9, %r10;", {{NegInf}, {f(128)}, {f(-149)}}),
      (Words{0, Inf, 1}));
  EXPECT_EQ(results("lg2.approx.f32 %r9, %r10;", {{0}, {f(-1)}, {f(8)}}),
            (Words{NegInf, NaN, f(3)}));
  EXPECT_EQ(results("sqrt.rn.f32 %r9, %r10;", {{0x80000000}, {f(-1)}}),
            (Words{0x80000000, NaN}));
}

TEST(Instruction, DirectedRounding) {
  uint32_t Tiny = f(0x1p-40f);
  EXPECT_EQ(results("add.rz.f32 %r9, %r10, %r11;", {{f(-1), Tiny}}),
            (Words{f(-1) - 1}));
  EXPECT_EQ(results("add.rp.f32 %r9, %r10, %r11;", {{f(1), Tiny}}),
            (Words{f(1) + 1}));
  EXPECT_EQ(results("add.rm.f32 %r9, %r10, %r11;", {{f(1), f(-1)}}),
            (Words{0x80000000}));
  EXPECT_EQ(results("fma.rm.f32 %r9, %r10, %r11, %r12;",
                    {{f(1), f(-1), f(-0x1p-90f)}}),
            (Words{f(-1) + 1}));
}

TEST(Instruction, Conversions) {
  EXPECT_EQ(results("cvt.rzi.s32.f32 %r9, %r10;",
                    {{NaN}, {f(3e9f)}, {f(-3e9f)}, {f(-1.9f)}}),
            (Words{0, 0x7FFFFFFF, 0x80000000, ~0u}));
  EXPECT_EQ(results("cvt.rni.u32.f32 %r9, %r10;", {{f(-5)}, {f(2.5f)}, {Inf}}),
            (Words{0, 2, ~0u}));
  EXPECT_EQ(results("cvt.rn.f32.u32 %r9, %r10;", {{~0u}, {16777217}}),
            (Words{f(4294967296.f), f(16777216)}));
  EXPECT_EQ(results("cvt.rp.f32.u32 %r9, %r10;", {{16777217}}),
            (Words{f(16777218)}));
  EXPECT_EQ(results("cvt.rn.f16x2.f32 %r9, %r10, %r11;",
                    {{f(1), f(2)}, {NaN, f(65520)}}),
            (Words{0x3C004000, 0x7FFF7C00}));
  EXPECT_EQ(results("cvt.rn.satfinite.e4m3x2.f32 %rs1, %r10, %r11;"
                    "cvt.u32.u16 %r9, %rs1;",
                    {{f(464), f(-0.f)}, {NaN, NegInf}}),
            (Words{0x7E80, 0x7FFE}));
  EXPECT_EQ(
      results("cvt.rna.tf32.f32 %r9, %r10;", {{0x3F801000}, {0x3F800FFF}}),
      (Words{0x3F802000, 0x3F800000}));
  EXPECT_EQ(results("cvt.u16.u32 %rs1, %r10; cvt.s32.s8 %r9, %rs1;", {{0x1FF}}),
            (Words{~0u}));
  EXPECT_EQ(results("cvt.sat.u8.s32 %r9, %r10;", {{300}, {uint32_t(-4)}}),
            (Words{255, 0}));
}

TEST(Instruction, HalfFma) {
  // 1 + 3 * 2^-10 squared and less 1; with two roundings it were 0x1E00.
  EXPECT_EQ(results("mov.b32 {%rs1, %rs2}, %r10; mov.b32 {%rs3, %rs4}, %r11;"
                    "fma.rn.f16 %rs5, %rs1, %rs1, %rs3; cvt.u32.u16 %r9, %rs5;",
                    {{0x3C03, 0xBC00}}),
            (Words{0x1E02}));
}

TEST(Instruction, Comparisons) {
  auto Holds = [](const char *How, uint32_t A, uint32_t B) {
    return results(std::string("setp.") + How +
                       " %p1, %r10, %r11; selp.u32 %r9, 1, 0, %p1;",
                   {{A, B}})[0] == 1;
  };
  EXPECT_FALSE(Holds("ne.f32", NaN, f(1)));
  EXPECT_TRUE(Holds("neu.f32", NaN, f(1)));
  EXPECT_TRUE(Holds("geu.f32", NaN, f(1)));
  EXPECT_FALSE(Holds("ge.f32", NaN, f(1)));
  EXPECT_TRUE(Holds("eq.f32", 0, 0x80000000));
  EXPECT_TRUE(Holds("nan.f32", NaN, 0));
  EXPECT_TRUE(Holds("lt.s32", ~0u, 0));
  EXPECT_TRUE(Holds("hi.u32", ~0u, 0));
  EXPECT_EQ(results("setp.eq.u32 %p2, %r12, 1;"
                    "setp.lt.and.u32 %p1|%p3, %r10, %r11, !%p2;"
                    "selp.u32 %r9, 1, 0, %p1; @%p3 add.u32 %r9, %r9, 2;",
                    {{1, 2, 0}, {1, 2, 1}, {2, 1, 0}, {2, 1, 1}}),
            (Words{1, 0, 2, 0}));
}

TEST(Instruction, Shuffles) {
  auto Of = [](const char *Text) {
    return run(std::string("shfl.sync.") + Text +
               ", -1; @!%p1 add.u32 %r2, %r2, 100; st.global.u32 [%rd3], %r2;")
        .Output;
  };
  Words Down = Of("down.b32 %r2|%p1, %r1, 3, 31");
  Words Up = Of("up.b32 %r2|%p1, %r1, 3, 0");
  Words Across = Of("bfly.b32 %r2|%p1, %r1, 5, 31");
  Words Eights = Of("idx.b32 %r2|%p1, %r1, 2, 0x181f"); // segments of 8
  for (uint32_t L = 0; L < 32; ++L) {
    EXPECT_EQ(Down[L], L + 3 < 32 ? L + 3 : L + 100);
    EXPECT_EQ(Up[L], L >= 3 ? L - 3 : L + 100);
    EXPECT_EQ(Across[L], L ^ 5);
    EXPECT_EQ(Eights[L], (L & 24) + 2);
  }
}

TEST(Instruction, VotesAndReductions) {
  Outcome R = run("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, -1;"
                  "redux.sync.add.s32 %r3, %r1, -1; add.u32 %r2, %r2, %r3;"
                  "and.b32 %r4, %r1, 1; match.any.sync.b32 %r5, %r4, -1;"
                  "elect.sync _|%p2, -1; @%p2 mov.u32 %r5, 3;"
                  "mul.lo.u32 %r4, %r5, 1; setp.eq.u32 %p3, %r1, 1;"
                  "@!%p3 st.global.u32 [%rd3], %r2; @%p3 st.global.u32 [%rd3], "
                  "%r5;");
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Output[0], 31u + 496);
  EXPECT_EQ(R.Output[1], 0xAAAAAAAAu);
}

TEST(Instruction, BarrierReductions) {
  Outcome R = run("setp.lt.u32 %p1, %r1, 5; bar.red.popc.u32 %r2, 0, %p1;"
                  "bar.red.or.pred %p2, 0, !%p1; selp.u32 %r3, 100, 0, %p2;"
                  "bar.red.and.pred %p2, 0, %p1; @%p2 add.u32 %r3, %r3, 1000;"
                  "add.u32 %r2, %r2, %r3; st.global.u32 [%rd3], %r2;",
                  {.OutputWords = 64, .Threads = 64});
  EXPECT_EQ(R.Errors, "");
  for (uint32_t W : R.Output)
    EXPECT_EQ(W, 105u);
}

TEST(Instruction, MemoryForms) {
  Outcome R = run("ld.global.v4.b32 {%r2, _, %r4, %r5}, [%rd0+16];"
                  "add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;"
                  "ld.global.s8 %r6, [%rd0+3]; add.u32 %r2, %r2, %r6;"
                  "mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4;"
                  "st.u32 [%rd4+8], %r2; ld.shared.u32 %r7, [tile+8];"
                  "st.global.u32 [%rd3], %r7;",
                  {.Input = {0xFE000000, 0, 0, 0, 1, 2, 3, 4}, .Threads = 1});
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.finding(), "");
  EXPECT_EQ(R.Output[0], 6u);
}

TEST(Instruction, Atomics) {
  Outcome R = run("mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0;"
                  "@%p1 st.shared.v4.b32 [tile], {%r2, %r2, %r2, %r2};"
                  "atom.shared.add.f32 %r3, [tile], 0f3F800000;"
                  "atom.shared.inc.u32 %r3, [tile+4], 9;"
                  "atom.shared.cas.b32 %r3, [tile+8], %r1, 77;"
                  "red.shared.max.s32 [tile+12], %r1;"
                  "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [tile];"
                  "st.global.v4.b32 [%rd1], {%r4, %r5, %r6, %r7};",
                  {.OutputWords = 4});
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Output, (Words{f(32), 2, 77, 31}));
}

} // namespace
