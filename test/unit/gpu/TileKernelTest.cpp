//===- TileKernelTest.cpp - Products on tensor cores, assembled -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ptxas makes of the kernels that the builder for sm_90a writes. A line
/// C75xx means that it serialised the products, and spills that the sums do not
/// fit the registers: both are right and slow, so that nothing but this sees
/// them.
///
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "KernelText.h"

#include "codegen/nvptx/CompileKernel.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::testing;

namespace {

struct Product {
  const char *Name;
  const char *Type;
  int64_t Rows, Columns, Sum;
  bool Transposed = false; ///< w is stored columns × sum
  bool Finished = false;   ///< bias and ReLU behind it
  int64_t Batch = 0;       ///< 0: no such loop
};

void PrintTo(const Product &P, std::ostream *Out) { *Out << P.Name; }

/// Rows are dynamic, with P.Rows as their optimum.
KernelText textOf(const Product &P) {
  std::string N = std::to_string(P.Columns), Depth = std::to_string(P.Sum),
              T = P.Type;
  std::vector<std::string> B;
  std::string Index;
  if (P.Batch) {
    B = {std::to_string(P.Batch)};
    Index = "b,";
  }
  auto Dims = [&](const std::string &One, const std::string &Two) {
    std::vector<std::string> All = B;
    All.insert(All.end(), {One, Two});
    return All;
  };
  auto Map = [&](const char *To) {
    return "(" + Index + "m,n,k)->(" + Index + To + ")";
  };
  KernelText K(P.Name);
  K.input("x", T, Dims("m", Depth));
  K.input("w", T, P.Transposed ? Dims(N, Depth) : Dims(Depth, N));
  if (P.Finished)
    K.input("c", T, {N});
  K.output("y", T, Dims("m", N));
  K.fact("m", "kpc.min = 1 : i64, kpc.optimum = " + std::to_string(P.Rows) +
                  " : i64");
  std::string Parallel = P.Batch ? "ppp" : "pp";
  K.generic("s", {Map("m,k"), Map(P.Transposed ? "n,k" : "k,n"), Map("m,n")},
            Parallel + "r", {"x", "w"},
            "%e = arith.extf %x : " + T + " to f32\n%f = arith.extf %w : " + T +
                " to f32\n%p = arith.mulf %e, %f : f32\n"
                "%r = arith.addf %s, %p : f32",
            "%r", "0.0", "f32", Dims("m", N));
  std::string Same = P.Batch ? "(a,b,c)->(a,b,c)" : "(a,b)->(a,b)";
  if (!P.Finished) {
    K.generic("y", {Same, Same}, Parallel, {"s"},
              "%r = arith.truncf %s : f32 to " + T, "%r");
    return K;
  }
  K.generic("y", {Same, P.Batch ? "(a,b,c)->(c)" : "(a,b)->(b)", Same},
            Parallel, {"s", "c"},
            "%e = arith.extf %c : " + T +
                " to f32\n"
                "%t = arith.addf %s, %e : f32\n"
                "%z = arith.constant 0.0 : f32\n"
                "%u = arith.maximumf %t, %z : f32\n"
                "%r = arith.truncf %u : f32 to " +
                T,
            "%r");
  return K;
}

class TileKernel : public ::testing::TestWithParam<Product> {};

TEST_P(TileKernel, IsAssembledWithoutLoss) {
  const target::Target &T = *target::findTarget("sm_90a");
  CompilerContext Compiler;
  auto Module = Compiler.parse(textOf(GetParam()).text());
  ASSERT_TRUE(Module) << Compiler.Reported;
  auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
  ASSERT_TRUE(mlir::succeeded(Kernel)) << Compiler.Reported;
  SCOPED_TRACE(Kernel->Schedule);
  EXPECT_THAT(Kernel->Schedule, ::testing::StartsWith("gemm "));
  EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr("wgmma.mma_async"));
  EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr("cp.async.bulk.tensor"));
  EXPECT_EQ(Kernel->TensorMaps.size(), 3u);
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
  EXPECT_EQ(A.Kernels[0].StackBytes, 0);
  EXPECT_EQ(A.Kernels[0].SharedBytes, 0) << "all of it is dynamic";
  EXPECT_LE(A.Kernels[0].Registers * Kernel->Block[0], 65536);
  // Counted by test/check/summary.py.
  std::printf("ASSEMBLED sm_90a 1\n");
}

const Product Products[] = {
    {"square_8192", "bf16", 8192, 8192, 8192},
    {"wide_3072", "bf16", 4096, 3072, 768},
    {"narrow_768", "f16", 4096, 768, 3072},
    {"small", "bf16", 17, 72, 40},
    {"eight_rows", "f16", 8, 64, 64},
    {"odd_columns", "bf16", 300, 520, 1000},
    {"transposed", "bf16", 4096, 4096, 4096, /*Transposed=*/true},
    {"finished", "f16", 4096, 4096, 4096, false, /*Finished=*/true},
    {"transposed_finished", "bf16", 512, 768, 768, true, true},
    {"batched", "bf16", 384, 384, 64, false, false, /*Batch=*/192},
    {"batched_transposed", "f16", 384, 64, 384, true, false, 12},
    {"batched_finished", "bf16", 128, 256, 512, false, true, 32},
};

INSTANTIATE_TEST_SUITE_P(Gemm, TileKernel, ::testing::ValuesIn(Products),
                         [](const ::testing::TestParamInfo<Product> &Info) {
                           return std::string(Info.param.Name);
                         });

} // namespace
