//===- ConvKernelTest.cpp - Convolutions on tensor cores, assembled -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ptxas makes of the convolutions by wgmma and tcgen05; see
/// TileKernelTest.cpp.
///
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "KernelText.h"
#include "Sample.h"

#include "codegen/nvptx/CompileKernel.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::testing;

namespace {

struct Convolution {
  const char *Name;
  const char *Type;
  int64_t Size, Channels, Outputs, Taps, Stride = 1, Batch = 32;
  bool Finished = false; ///< bias and ReLU behind it
  /// Images and filters are codes of FP8, and channels are contiguous in both.
  bool Fp8 = false;
  bool KnowsBatch = false; ///< not a dynamic size
};

void PrintTo(const Convolution &C, std::ostream *Out) { *Out << C.Name; }

/// Images are square; nothing is around them.
KernelText textOf(const Convolution &C) {
  auto Text = [](int64_t V) { return std::to_string(V); };
  std::string T = C.Type, In = Text(C.Size), O = Text(C.Outputs),
              Depth = Text(C.Channels), Taps = Text(C.Taps),
              Out = Text((C.Size - C.Taps) / C.Stride + 1),
              Images = C.KnowsBatch ? Text(C.Batch) : "m";
  KernelText K(C.Name);
  std::string Stored = C.Fp8 ? "i8" : T;
  K.input("x", Stored, {Images, In, In, Depth});
  if (C.Fp8)
    K.input("w", Stored, {Taps, Taps, O, Depth});
  else
    K.input("w", Stored, {Taps, Taps, Depth, O});
  if (C.Finished)
    K.input("c", T, {O});
  K.output("y", T, {Images, Out, Out, O});
  if (!C.KnowsBatch)
    K.fact("m", "min = 1, max = 64, optimum = " + Text(C.Batch));
  std::string Same = "(a,b,c,d)->(a,b,c,d)";
  auto Widened = [&](const std::string &Of) {
    return "%f = arith.bitcast %" + Of +
           " : i8 to f8E4M3FN\n%r = arith.extf %f : f8E4M3FN to f32";
  };
  if (C.Fp8) {
    K.generic("xf", {Same, Same}, "pppp", {"x"}, Widened("x"), "%r", "", "f32",
              {Images, In, In, Depth});
    K.generic("wf", {"(a,b,c,d)->(a,b,d,c)", Same}, "pppp", {"w"}, Widened("w"),
              "%r", "", "f32", {Taps, Taps, Depth, O});
  }
  K.conv("s", C.Fp8 ? "xf" : "x", C.Fp8 ? "wf" : "w", C.Stride,
         {Images, Out, Out, O});
  if (!C.Finished)
    K.generic("y", {Same, Same}, "pppp", {"s"},
              "%r = arith.truncf %s : f32 to " + T, "%r");
  else
    K.generic("y", {Same, "(a,b,c,d)->(d)", Same}, "pppp", {"s", "c"},
              "%e = arith.extf %c : " + T +
                  " to f32\n%t = arith.addf %s, %e : f32\n"
                  "%z = arith.constant 0.0 : f32\n"
                  "%u = arith.maximumf %t, %z : f32\n"
                  "%r = arith.truncf %u : f32 to " +
                  T,
              "%r");
  return K;
}

/// `Words`: what the PTX has. `Forced` is a schedule; null: the best.
void expectNoLoss(const Convolution &C, const char *Chip,
                  std::initializer_list<const char *> Words,
                  const char *Forced = nullptr) {
  const target::Target &T = *target::findTarget(Chip);
  CompilerContext Compiler;
  std::string Text = textOf(C).text();
  if (Forced)
    Text.insert(Text.find("attributes {") + 12,
                "kernel.forced_schedule = #kernel.schedule<\"" +
                    std::string(Forced) + "\">, ");
  auto Module = Compiler.parse(Text);
  ASSERT_TRUE(Module) << Compiler.Reported;
  auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
  ASSERT_TRUE(mlir::succeeded(Kernel)) << Compiler.Reported;
  SCOPED_TRACE(Kernel->Schedule);
  EXPECT_THAT(Kernel->Schedule, ::testing::StartsWith("conv "));
  for (const char *Word : Words)
    EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr(Word));
  // Images, filters and results, and on Hopper the bias.
  bool StagesBias = C.Finished && T.Can.Wgmma;
  EXPECT_EQ(Kernel->TensorMaps.size(), StagesBias ? 4u : 3u);
  EXPECT_LE(Kernel->SharedBytes, T.Limit.SharedPerBlock);
  nvptx::Ptxas Program = nvptx::findPtxas();
  if (!Program)
    GTEST_SKIP() << Program.Missing;
  nvptx::Assembly A = nvptx::assemblePtx(Program, Kernel->Ptx, T);
  ASSERT_TRUE(A.ok()) << A.Error;
  EXPECT_THAT(A.Warnings, ::testing::IsEmpty());
  ASSERT_EQ(A.Kernels.size(), 1u);
  EXPECT_EQ(A.Kernels[0].SpillStoreBytes, 0);
  EXPECT_EQ(A.Kernels[0].SpillLoadBytes, 0);
  EXPECT_LE(A.Kernels[0].Registers * Kernel->Block[0], 65536);
  // Counted by test/check/summary.py.
  std::printf("ASSEMBLED %s 1\n", Chip);
}

class ConvKernel : public ::testing::TestWithParam<Convolution> {};

TEST_P(ConvKernel, IsAssembledWithoutLoss) {
  // Tiles of images are faster for a first layer, which other sizes may not be.
  bool IsFirst = std::string(GetParam().Name) == "first";
  expectNoLoss(GetParam(), "sm_90a", {"wgmma.mma_async", ".im2col"},
               IsFirst ? "conv 192x64x32 stages 11 group_m 3 cluster 2"
                       : nullptr);
}

TEST_P(ConvKernel, IsAssembledWithTensorMemory) {
  if (isInSample(GetParam().Name, 0, 3))
    expectNoLoss(GetParam(), "sm_100a", {"tcgen05.mma", ".im2col"});
}

/// By one block and by a pair, whichever is ranked first.
TEST(ConvTensorMemory, IsAssembledByForce) {
  Convolution Wide = {"wide_128", "f16", 30, 128, 128, 3, 1, 32, true};
  for (const char *Schedule : {"conv 128x192x64 stages 4 group_m 8",
                               "conv 128x256x32 stages 4 group_m 8",
                               "conv 256x128x64 stages 4 group_m 4 pair",
                               "conv 256x256x64 stages 6 group_m 8 pair"})
    if (isInSample(Schedule, 0, 3))
      expectNoLoss(Wide, "sm_100a", {"tcgen05.mma", ".im2col"}, Schedule);
  for (const char *Chip : {"sm_103a", "sm_110a"})
    if (isInSample(Chip, 0, 2))
      expectNoLoss(Wide, Chip, {"tcgen05.mma", ".im2col"});
}

const Convolution Convolutions[] = {
    {"wide_64", "f16", 58, 64, 64, 3},
    {"wide_128", "f16", 30, 128, 128, 3, 1, 32, /*Finished=*/true},
    {"step_256", "bf16", 29, 256, 256, 3, 2},
    {"deep_512", "f16", 9, 512, 512, 3, 1, 32, true},
    {"projection", "f16", 28, 512, 1024, 1, 2},
    {"first", "f16", 230, 4, 64, 7, 2, 32, true},
    {"ragged", "bf16", 13, 72, 136, 5, 1, 2},
    {"few_channels", "f16", 20, 24, 40, 3, 1, 3, true},
    // One tile is all: nothing comes between the last product and the wait.
    {"one_tile", "f16", 7, 16, 16, 3, 1, 1, false, false, true},
    {"fp8_wide_64", "f16", 58, 64, 64, 3, 1, 32, true, /*Fp8=*/true},
    {"fp8_step_128", "bf16", 57, 128, 128, 3, 2, 32, true, true},
    {"fp8_deep_512", "f16", 9, 512, 512, 3, 1, 32, true, true},
    {"fp8_projection", "f16", 28, 512, 1024, 1, 2, 32, false, true},
    {"fp8_few_channels", "f16", 20, 32, 40, 3, 1, 3, true, true},
};

INSTANTIATE_TEST_SUITE_P(Conv, ConvKernel, ::testing::ValuesIn(Convolutions),
                         [](const ::testing::TestParamInfo<Convolution> &Info) {
                           return std::string(Info.param.Name);
                         });

} // namespace
