//===- LoadTest.cpp - What is loaded and what is refused ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/Parser.h"
#include "test/unit/emulator/Harness.h"

#include <gmock/gmock.h>
#include <random>

using namespace kpc::emulator;
using namespace kpc::emulator::test;
using testing::HasSubstr;

namespace {

TEST(Load, AllUnknownInstructionsAtOnce) {
  Outcome R = run("frobnicate.u32 %r2, %r1;\n"
                  "add.u32 %r2, %r1, 1;\n"
                  "add.quite.u32 %r2, %r1, 1;\n"
                  "add.u32 %r2, %rd1, 1;\n"
                  "mov.u32 %r99, 1;\n"
                  "bra nowhere;\n");
  EXPECT_THAT(R.Errors, HasSubstr("frobnicate.u32"));
  EXPECT_THAT(R.Errors, HasSubstr("'.quite' is not supported"));
  EXPECT_THAT(R.Errors, HasSubstr("'%rd1' has 64 bits, not 32"));
  EXPECT_THAT(R.Errors, HasSubstr("'%r99'"));
  EXPECT_THAT(R.Errors, HasSubstr("label 'nowhere' is not known"));
  EXPECT_EQ(std::count(R.Errors.begin(), R.Errors.end(), '\n'), 5);
}

TEST(Load, SyntaxErrorsNameTheLine) {
  EXPECT_THAT(run("add.u32 %r2 %r1;").Errors, HasSubstr("line 12: expected"));
  EXPECT_THAT(run("add.u32 %r2, ;").Errors, HasSubstr("expected an operand"));
  EXPECT_THAT(run("{ add.u32 %r2, %r1, 1;").Errors, HasSubstr("ends inside"));
  EXPECT_THAT(run(".reg .what %x;").Errors, HasSubstr("no type"));
}

TEST(Load, BlocksHaveNamesOfTheirOwn) {
  Outcome R = run("mov.u32 %r2, 5;\n"
                  "{ .reg .b32 %r<4>; mov.u32 %r2, 9; bra DONE; DONE: }\n"
                  "{ bra DONE; DONE: }\n"
                  "st.global.u32 [%rd3], %r2;");
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.Output[3], 5u);
}

TEST(Load, ModuleVariables) {
  Outcome R = run("ld.const.u32 %r2, [table+4]; mov.u64 %rd4, numbers;\n"
                  "ld.global.u32 %r3, [%rd4+8]; add.u32 %r2, %r2, %r3;\n"
                  "ld.global.u64 %rd5, [pointer]; ld.global.u32 %r3, [%rd5];\n"
                  "add.u32 %r2, %r2, %r3; st.global.u32 [%rd3], %r2;",
                  {.Module = ".const .align 4 .u32 table[3] = {1, 20, 3};\n"
                             ".global .align 4 .u32 numbers[4] = {7, 8, 300};\n"
                             ".global .align 8 .u64 pointer = numbers;\n"});
  EXPECT_EQ(R.Errors, "");
  EXPECT_EQ(R.finding(), "");
  EXPECT_EQ(R.Output[0], 327u);
}

/// Whatever the text is, it is loaded or refused; what is loaded ends in a
/// result or a finding.
TEST(Load, DamagedTexts) {
  std::string Whole = kernelText(
      "setp.lt.u32 %p1, %r1, 7; @%p1 bra L; ld.global.v4.b32 {%r2, %r3, %r4, "
      "_}, [%rd2+16]; L: mad.lo.s32 %r5, %r2, %r3, 0x10; cvt.rn.f32.u32 %r6, "
      "%r5; shfl.sync.bfly.b32 %r7|%p2, %r6, 1, 31, -1; st.shared.u32 [tile], "
      "%r7; bar.sync 0; atom.global.add.u32 %r8, [%rd3], %r7;",
      ".global .align 4 .b8 bytes[8] = {1, 2, 3};");
  std::mt19937 Random(7);
  for (int N = 0; N < 4000; ++N) {
    std::string Text = Whole;
    for (unsigned Edits = 1 + Random() % 3; Edits; --Edits) {
      size_t At = Random() % Text.size(), Length = 1 + Random() % 6;
      if (Random() % 2)
        Text.erase(At, Length);
      else
        Text.insert(At, Whole.substr(Random() % Whole.size(), Length));
    }
    DeviceMemory Memory(1 << 20);
    std::vector<LoadError> Errors;
    auto M = LoadedModule::load(Text, Memory, Errors);
    EXPECT_EQ(M != nullptr, Errors.empty());
  }
}

TEST(Load, DeepNesting) {
  std::string Deep(100000, '{');
  EXPECT_NE(run(Deep).Errors, "");
  EXPECT_NE(run("mov.b64 %rd1, " + Deep).Errors, "");
  EXPECT_NE(run("ld.global.u32 %r1, " + std::string(100000, '[')).Errors, "");
  EXPECT_NE(run("", {.Module = ".global .u32 x[4] = " + Deep}).Errors, "");
}

} // namespace
