//===- LoadTest.cpp - What is loaded and what is refused ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Target.h"
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

std::string errorsOf(const std::string &Text, unsigned Capability = 0) {
  DeviceMemory Memory(1 << 20);
  std::vector<LoadError> Errors;
  LoadedModule::load(Text, Memory, Errors, Capability);
  return describe(Errors);
}

TEST(Load, WhatTheTargetLacks) {
  std::string Body = "setmaxnreg.dec.sync.aligned.u32 40;\n"
                     "wgmma.fence.sync.aligned;\n"
                     "tcgen05.wait::ld.sync.aligned;\n"
                     "cp.async.bulk.commit_group;\n"
                     "add.u32 %r2, %r1, 1;\n"
                     "mov.u32 %r2, %cluster_ctarank;\n";
  EXPECT_EQ(run(Body, {.Attributes = ".reqnctapercluster 1", .Target = "sm_80"})
                .Errors,
            "line 5: .reqnctapercluster needs .target sm_90 or later, and the "
            "text says sm_80\n"
            "line 12: setmaxnreg.dec.sync.aligned.u32: needs .target sm_90a, "
            "sm_100f, sm_110f or sm_120f, and the text says sm_80\n"
            "line 13: wgmma.fence.sync.aligned: needs .target sm_90a, and the "
            "text says sm_80\n"
            "line 14: tcgen05.wait::ld.sync.aligned: needs .target sm_100f or "
            "sm_110f, and the text says sm_80\n"
            "line 15: cp.async.bulk.commit_group: needs .target sm_90 or "
            "later, and the text says sm_80\n"
            "line 17: mov.u32: %cluster_ctarank needs .target sm_90 or later, "
            "and the text says sm_80\n");
  std::string Plain = run(Body, {.Target = "sm_90"}).Errors;
  EXPECT_EQ(std::count(Plain.begin(), Plain.end(), '\n'), 3);
  EXPECT_EQ(run(Body, {.Target = "sm_90a"}).Errors,
            "line 14: tcgen05.wait::ld.sync.aligned: needs .target sm_100f or "
            "sm_110f, and the text says sm_90a\n");
  EXPECT_EQ(run(Body, {.Target = "sm_103f"}).Errors,
            "line 13: wgmma.fence.sync.aligned: needs .target sm_90a, and the "
            "text says sm_103f\n");
}

TEST(Load, WhatTheVersionLacks) {
  auto With = [](const std::string &Version, const std::string &Target,
                 const std::string &Body = "elect.sync %r2|%p1, -1;") {
    std::string Text = kernelText(Body, "", "", Target);
    Text.replace(Text.find("8.8"), 3, Version);
    return errorsOf(Text);
  };
  EXPECT_EQ(With("8.0", "sm_90"), "");
  EXPECT_EQ(With("7.8", "sm_90"),
            "line 12: elect.sync: needs .version 8.0, and the text says 7.8\n");
  EXPECT_EQ(With("7.8", "sm_90a", ""),
            "line 2: .target sm_90a needs .version 8.0, and the text says "
            "7.8\n");
  EXPECT_EQ(With("seven", "sm_90"),
            "line 1: .version 'seven' is none: it is written 8.0\n");
  EXPECT_EQ(With("8.8", "sm_9"),
            "line 2: .target 'sm_9' is not known; there are " + knownTargets() +
                "\n");
}

TEST(Load, WhatTheChipRuns) {
  auto On = [](const std::string &Target, unsigned Capability) {
    return errorsOf(kernelText("", "", "", Target), Capability);
  };
  EXPECT_EQ(On("sm_90a", 80),
            "line 2: .target sm_90a does not run on a chip of "
            "compute capability 8.0\n");
  EXPECT_NE(On("sm_90a", 100), "");
  EXPECT_NE(On("sm_100f", 120), "");
  EXPECT_NE(On("sm_100a", 103), "");
  EXPECT_NE(On("sm_89", 86), "");
  EXPECT_EQ(On("sm_90a", 90), "");
  EXPECT_EQ(On("sm_100f", 103), "");
  EXPECT_EQ(On("sm_80", 120), "");
}

TEST(Load, NothingIsDeclaredTwice) {
  auto First = [](const std::string &Name, int Line, int Before) {
    return "line " + std::to_string(Line) + ": '" + Name +
           "' is declared twice, first in line " + std::to_string(Before) +
           "\n";
  };
  EXPECT_EQ(run("", {.Module = ".entry k() { ret; }"}).Errors,
            First("k", 5, 4));
  EXPECT_EQ(
      run("", {.Module = ".func f() { ret; }\n.func f() { ret; }"}).Errors,
      First("f", 5, 4));
  EXPECT_EQ(run("", {.Module = ".global .u32 x;\n.const .u32 x;"}).Errors,
            First("x", 5, 4));
  EXPECT_EQ(
      run("", {.Module = ".func f(.param .u32 a,\n.param .u32 a) {}"}).Errors,
      First("a", 5, 4));
  EXPECT_EQ(run("L:\nL:").Errors, First("L", 13, 12));
  EXPECT_EQ(run(".reg .b32 x;\n.reg .f32 x;").Errors, First("x", 13, 12));
  EXPECT_EQ(run(".reg .b32 %r7;").Errors, First("%r7", 12, 7));
  EXPECT_EQ(run(".reg .b32 y7;\n.reg .b32 y<8>;").Errors, First("y7", 13, 12));
  EXPECT_EQ(run(".reg .b32 %r<4>;").Errors, First("%r<", 12, 7));
  EXPECT_EQ(run(".shared .b32 in;").Errors, First("in", 12, 5));
  EXPECT_EQ(run("tile:").Errors, First("tile", 12, 8));
  // Inside of braces, and beyond a range, names are free; functions are
  // declared and then defined.
  EXPECT_EQ(run(".reg .b32 %r32; { .reg .f32 %r<4>; L: } L:",
                {.Module = ".func f();\n.func f() { ret; }"})
                .Errors,
            "");
}

TEST(Load, RegistersAreOfTheInstructionsType) {
  std::string Has = ".reg .f32 f; .reg .s32 s; .reg .u16 h; .reg .f64 d;"
                    ".reg .f16x2 p; .reg .u64 l;\n";
  auto Wrong = [&](const std::string &Text) { return run(Has + Text).Errors; };
  EXPECT_EQ(
      Wrong("add.f32 s, s, s;"),
      "line 13: add.f32: 's' is declared .s32, and the instruction's type "
      "is .f32\n");
  EXPECT_EQ(
      Wrong("mul.wide.u32 d, s, s;"),
      "line 13: mul.wide.u32: 'd' is declared .f64, and the instruction's "
      "type is .u32\n");
  for (const char *Text :
       {"add.u32 f, s, s;", "mov.f32 f, s;", "setp.lt.f32 %p1, f, s;",
        "selp.s32 s, s, f, %p1;", "ld.global.f32 s, [%rd0];",
        "ld.global.f32 d, [%rd0];", "st.global.u32 [%rd0], f;",
        "ld.global.v2.u32 {s, f}, [%rd0];", "cvt.rn.f32.u32 f, f;",
        "cvt.rn.f32.u32 s, s;", "atom.global.add.f32 f, [%rd0], s;",
        "add.f16x2 s, s, s;", "ex2.approx.f32 f, s;"})
    EXPECT_THAT(Wrong(Text), HasSubstr("is declared .")) << Text;
  EXPECT_EQ(Wrong("add.u32 s, %r1, p; and.b32 %r2, f, s; mov.b32 f, s;"
                  "add.f32 f, %r2, f; ld.global.u8 s, [%rd0];"
                  "cvt.rn.f32.s32 %r2, s; mul.wide.u16 s, h, h;"
                  "ld.global.v2.f32 {s, s}, [%rd0]; shl.b64 %rd5, l, s;"),
            "");
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
