//===- BuilderTest.cpp - Every GPU builder, simulated and assembled -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "Cases.h"
#include "Sample.h"
#include "SimulatedGpu.h"
#include "dialects/kernel/Kernel.h"

#include "codegen/nvptx/CompileKernel.h"
#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::testing;

namespace {

/// Rejects what the host gives up on, so that it is never compared.
class Builder : public ::testing::TestWithParam<Case> {};

/// Tile kernels are of copy engines and tensor cores, which the simulation does
/// not have: test/passes/tile, the assembly below, and the run on a GPU.
bool isTileKernel(mlir::gpu::GPUModuleOp Gpu) {
  return Gpu
      .walk([](mlir::Operation *Op) {
        return Op->getName().getDialectNamespace() == "tile"
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// A chip without tensor cores: what the loops are for.
target::Target withoutTensorCores() {
  target::Target T = *target::findTarget("sm_90a");
  T.Can.MmaSync = 0;
  T.Can.Wgmma = false;
  return T;
}

/// A chip whose blocks reach no other's shared memory.
target::Target withoutClusters(target::Target T) {
  T.Can.ClusterBlocks = 1;
  return T;
}

/// Runs `C` on the simulated chip for all sizes, in both thread orders. What is
/// a tile kernel there is simulated as a chip without tensor cores runs it, and
/// a kernel of clusters as one without them does. The emulator runs both.
void simulate(const Case &C, const target::Target &T) {
  SCOPED_TRACE(std::string(T.Name) + "\n" + C.Kernel.text());
  CompilerContext Compiler;
  auto Module = Compiler.parse(C.Kernel.text());
  ASSERT_TRUE(Module) << Compiler.Reported;
  auto Gpu =
      kernels::buildGpuKernel(*Module->getOps<mlir::func::FuncOp>().begin(), T);
  ASSERT_TRUE(mlir::succeeded(Gpu)) << Compiler.Reported;
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*Module))) << Compiler.Reported;
  auto Kernel = *(*Gpu).getOps<mlir::gpu::GPUFuncOp>().begin();
  if (kernel::launchOf(Kernel).getCluster() > 1 && !isTileKernel(*Gpu)) {
    ASSERT_GT(T.Can.ClusterBlocks, 1);
    return simulate(C, withoutClusters(T));
  }
  // On Hopper, Tensor Cores multiply what else is loops.
  bool IsLoops = std::string(C.Schedule).starts_with("contraction");
  if (IsLoops ? T.Can.MmaSync == 0 : T.Name == "sm_90a" && T.Can.MmaSync)
    EXPECT_THAT(kernel::scheduleOf(Kernel).getText().str(),
                ::testing::StartsWith(C.Schedule));
  if (isTileKernel(*Gpu)) {
    ASSERT_NE(T.Can.MmaSync, 0u);
    return simulate(C, withoutTensorCores());
  }
  std::array<std::string, 3> Grid;
  for (unsigned I = 0; I < 3; ++I)
    Grid[I] =
        mlir::cast<mlir::StringAttr>(kernel::launchOf(Kernel).getGrid()[I])
            .str();
  std::string Error;
  auto Simulated = SimulatedKernel::create(*Gpu, Error);
  ASSERT_TRUE(Simulated) << Error << Compiler.Reported;
  HostReference Host(C.Kernel.text());
  ASSERT_EQ(Host.Error, "");
  for (const auto &Sizes : C.Sizes) {
    CaseData Reference(C.Kernel, Sizes), Forward(C.Kernel, Sizes),
        Backward(C.Kernel, Sizes);
    std::string At = "sizes";
    for (int64_t S : Sizes)
      At += " " + std::to_string(S);
    SCOPED_TRACE(At);
    ASSERT_EQ(Host.run(Reference), "");
    auto Blocks = gridOf(Grid, Forward);
    ASSERT_EQ(Simulated->run(Forward.parameters(), Blocks, false), "");
    ASSERT_EQ(Simulated->run(Backward.parameters(), Blocks, true), "");
    EXPECT_EQ(Forward.compare(Backward, 0), "") << "in the other order";
    EXPECT_EQ(Forward.compare(Reference, C.Tolerance), "");
    EXPECT_EQ(Forward.checkGuards(), "");
  }
}

TEST_P(Builder, agreesWithTheHost) {
  simulate(GetParam(), *target::findTarget("sm_90a"));
}

// Wider accesses and, for chips with little shared memory, other tiles.
TEST_P(Builder, agreesWithTheHostOnBlackwell) {
  simulate(GetParam(), *target::findTarget("sm_120a"));
}

TEST_P(Builder, assemblesForEveryTarget) {
  nvptx::Ptxas Program = nvptx::findPtxas();
  int Compiled = 0, Assembled = 0;
  unsigned Number = 0;
  for (const target::Target &T : target::allTargets()) {
    if (!T.isGpu() || !isInSample(GetParam().Kernel.name(), Number++, 4))
      continue;
    SCOPED_TRACE(T.Name);
    CompilerContext Compiler;
    auto Module = Compiler.parse(GetParam().Kernel.text());
    ASSERT_TRUE(Module) << Compiler.Reported;
    auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
    ASSERT_TRUE(mlir::succeeded(Kernel)) << Compiler.Reported;
    ++Compiled;
    if (!Program)
      continue;
    nvptx::Assembly A = nvptx::assemblePtx(Program, Kernel->Ptx, T);
    ASSERT_TRUE(A.ok()) << A.Error << Kernel->Ptx;
    ASSERT_EQ(A.Kernels.size(), 1u);
    EXPECT_EQ(A.Kernels[0].SpillStoreBytes, 0);
    EXPECT_LE(A.Kernels[0].SharedBytes, 48 * 1024);
    EXPECT_THAT(A.Warnings, ::testing::IsEmpty());
    ++Assembled;
    // Counted by test/check/summary.py.
    std::printf("ASSEMBLED %s 1\n", T.Name.data());
  }
  RecordProperty("compiled", Compiled);
  RecordProperty("assembled", Assembled);
  if (!Program)
    GTEST_SKIP() << Program.Missing;
}

std::string nameOf(const ::testing::TestParamInfo<Case> &Info) {
  return Info.param.Kernel.name();
}

INSTANTIATE_TEST_SUITE_P(Map, Builder, ::testing::ValuesIn(mapCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Transpose, Builder,
                         ::testing::ValuesIn(transposeCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Reduction, Builder,
                         ::testing::ValuesIn(reductionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Window, Builder, ::testing::ValuesIn(windowCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Contraction, Builder,
                         ::testing::ValuesIn(contractionCases()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Builder);

} // namespace
