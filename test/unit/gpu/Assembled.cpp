//===- Assembled.cpp - What ptxas makes of a kernel -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembled.h"
#include "CaseData.h"

#include "codegen/nvptx/CompileKernel.h"

namespace kpc::testing {

void expectNoLoss(const std::string &Text, const Family &Of,
                  const char *Target) {
  const target::Target &T = *target::findTarget(Target);
  CompilerContext Compiler;
  auto Module = Compiler.parse(Text);
  ASSERT_TRUE(Module) << Compiler.Reported;
  auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
  ASSERT_TRUE(mlir::succeeded(Kernel)) << Compiler.Reported;
  SCOPED_TRACE(Kernel->Schedule);
  EXPECT_THAT(Kernel->Schedule, ::testing::StartsWith(Of.Name));
  for (const char *Instruction : Of.Instructions)
    EXPECT_THAT(Kernel->Ptx, ::testing::HasSubstr(Instruction));
  EXPECT_EQ(Kernel->TensorMaps.size(), Of.Maps);
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
  std::printf("ASSEMBLED %s 1\n", Target);
}

} // namespace kpc::testing
