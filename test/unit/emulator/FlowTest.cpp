//===- FlowTest.cpp - Diverged threads ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/emulator/Harness.h"

#include <gtest/gtest.h>

using namespace kpc::emulator;
using namespace kpc::emulator::test;

namespace {

/// Every shape of control flow ends with a barrier and a shuffle, which need
/// all lanes together again.
Outcome converging(const std::string &Body, uint32_t Threads = 64) {
  return run(Body + " bar.sync 0; shfl.sync.bfly.b32 %r30, %r1, 1, 31, -1;"
                    "st.global.u32 [%rd3], %r2;",
             {.OutputWords = Threads, .Threads = Threads});
}

TEST(Flow, Diamond) {
  Outcome R = converging("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0;"
                         "@%p1 bra EVEN; mov.u32 %r2, 111; bra JOIN;"
                         "EVEN: mov.u32 %r2, 222; JOIN:");
  EXPECT_EQ(R.finding(), "");
  for (size_t T = 0; T < 64; ++T)
    EXPECT_EQ(R.Output[T], T % 2 ? 111u : 222u);
}

TEST(Flow, LoopsOfDifferentLength) {
  Outcome R = converging("mov.u32 %r2, 0; mov.u32 %r3, 0;"
                         "LOOP: setp.ge.u32 %p1, %r3, %r1; @%p1 bra DONE;"
                         "add.u32 %r2, %r2, %r3; add.u32 %r3, %r3, 1;"
                         "bra LOOP; DONE:");
  EXPECT_EQ(R.finding(), "");
  for (uint32_t T = 0; T < 64; ++T)
    EXPECT_EQ(R.Output[T], T ? T * (T - 1) / 2 : 0);
}

TEST(Flow, NestedLoopsWithBreak) {
  // Sum over i < t of the first j with i * j >= t, at most t.
  Outcome R = converging(
      "mov.u32 %r2, 0; mov.u32 %r3, 0;"
      "OUTER: setp.ge.u32 %p1, %r3, %r1; @%p1 bra DONE; mov.u32 %r4, 0;"
      "INNER: setp.ge.u32 %p2, %r4, %r1; @%p2 bra NEXT;"
      "mul.lo.u32 %r5, %r3, %r4; setp.ge.u32 %p3, %r5, %r1; @%p3 bra NEXT;"
      "add.u32 %r4, %r4, 1; bra INNER;"
      "NEXT: add.u32 %r2, %r2, %r4; add.u32 %r3, %r3, 1; bra OUTER; DONE:");
  EXPECT_EQ(R.finding(), "");
  for (uint32_t T = 0; T < 64; ++T) {
    uint32_t Sum = 0;
    for (uint32_t I = 0; I < T; ++I) {
      uint32_t J = 0;
      while (J < T && I * J < T)
        ++J;
      Sum += J;
    }
    EXPECT_EQ(R.Output[T], Sum);
  }
}

TEST(Flow, SomeLanesReturn) {
  Outcome R = run("mov.u32 %r2, 7; st.global.u32 [%rd3], %r2;"
                  "setp.gt.u32 %p1, %r1, 9; @%p1 ret;"
                  "activemask.b32 %r3; st.global.u32 [%rd3], %r3;");
  EXPECT_EQ(R.finding(), "");
  for (size_t T = 0; T < 32; ++T)
    EXPECT_EQ(R.Output[T], T > 9 ? 7u : 0x3FFu);
}

TEST(Flow, JumpTable) {
  Outcome R = converging("and.b32 %r3, %r1, 3;"
                         "LIST: .branchtargets A, B, A, C;"
                         "brx.idx %r3, LIST;"
                         "A: mov.u32 %r2, 10; bra JOIN;"
                         "B: mov.u32 %r2, 20; bra JOIN;"
                         "C: mov.u32 %r2, 30; JOIN:");
  EXPECT_EQ(R.finding(), "");
  constexpr uint32_t Want[] = {10, 20, 10, 30};
  for (size_t T = 0; T < 64; ++T)
    EXPECT_EQ(R.Output[T], Want[T % 4]);
}

TEST(Flow, GuardsTouchTheirLanesOnly) {
  Outcome R = converging("mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 20;"
                         "@%p1 add.u32 %r2, %r2, 4; @!%p1 mov.u32 %r2, 9;");
  for (size_t T = 0; T < 64; ++T)
    EXPECT_EQ(R.Output[T], T < 20 ? 5u : 9u);
}

TEST(Flow, ManyBlocks) {
  Outcome R = run("mov.u32 %r2, %ctaid.x; add.u32 %r3, %r2, 1;"
                  "red.global.add.u32 [%rd3], %r3;"
                  "atom.global.max.u32 %r4, [%rd1+128], %r2;",
                  {.OutputWords = 33, .Blocks = 100});
  EXPECT_EQ(R.finding(), "");
  EXPECT_EQ(R.Output[5], 5050u - 1); // fresh memory is all ones
  EXPECT_EQ(R.Output[32], ~0u);
}

} // namespace
