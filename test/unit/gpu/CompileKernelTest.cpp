//===- CompileKernelTest.cpp - What no kernel can be made of --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Built kernels come from builders, and from texts that people edit.
///
//===----------------------------------------------------------------------===//
#include "CaseData.h"

#include "codegen/nvptx/CompileKernel.h"
#include "codegen/nvptx/Nvptx.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::testing;
using ::testing::HasSubstr;

namespace {

std::string errorOf(const std::string &Text) {
  CompilerContext Compiler;
  auto Module = Compiler.parse(Text);
  if (Module && mlir::succeeded(nvptx::buildAndCompileGpuKernel(
                    *Module, *target::findTarget("sm_90a"))))
    return "none";
  return Compiler.Reported;
}

/// A module of one kernel with such attributes.
std::string kernel(const std::string &Attributes) {
  return "gpu.module @m { gpu.func @k() kernel attributes {" + Attributes +
         "} { gpu.return } }\n";
}

std::string launch(const std::string &Block, const std::string &More = "") {
  return R"(kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = )" +
         Block + More + ">";
}

const std::string Warp = launch("[32, 1, 1]");

TEST(CompileKernel, LaunchAttributes) {
  EXPECT_EQ(errorOf(kernel(Warp)), "none");
  EXPECT_THAT(errorOf(kernel("")),
              HasSubstr("expected 'kernel.launch', which says how it is "
                        "launched, got none"));
}

TEST(CompileKernel, SharedMemory) {
  auto Taking = [](int64_t Bytes) {
    return errorOf(
        kernel(launch("[32, 1, 1]", ", shared = " + std::to_string(Bytes))));
  };
  EXPECT_EQ(Taking(227 * 1024), "none");
  EXPECT_THAT(Taking(227 * 1024 + 1),
              HasSubstr("takes 232449 bytes of shared memory; a block of "
                        "sm_90a has 232448"));
}

// LLVM would end the process.
TEST(CompileKernel, TensorMemory) {
  std::string One = kernel(Warp);
  One.replace(One.find("{ gpu.return }"), 14,
              "{ tile.barrier_init\n"
              "%m = tile.tmem_alloc : !tile.tmem<[128, 64], f32>\n"
              "tile.tmem_free %m : !tile.tmem<[128, 64], f32>\n"
              "gpu.return }");
  EXPECT_THAT(errorOf(One), HasSubstr("takes 64 columns of tensor memory; a "
                                      "block of sm_90a has 0"));
}

TEST(CompileKernel, OneKernel) {
  std::string One = kernel(Warp), Two = One;
  Two.replace(Two.find("@m"), 2, "@n");
  EXPECT_THAT(errorOf("module {}"), HasSubstr("must hold one kernel, not 0"));
  EXPECT_THAT(errorOf(One + Two), HasSubstr("must hold one kernel, not 2"));
  EXPECT_THAT(errorOf("gpu.module @m {}"), HasSubstr("holds no kernel"));
  std::string Both =
      One.substr(0, One.rfind('}')) + "gpu.func @l() kernel { gpu.return } }";
  EXPECT_THAT(errorOf(Both), HasSubstr("must hold one function, not 2"));
}

TEST(CompileKernel, OnlyLlvmIsTranslated) {
  CompilerContext Compiler;
  auto Module = Compiler.parse(kernel(Warp));
  ASSERT_TRUE(Module);
  llvm::LLVMContext Context;
  EXPECT_FALSE(nvptx::translateToLlvm(
      *Module->getOps<mlir::gpu::GPUModuleOp>().begin(), Context));
  EXPECT_THAT(Compiler.Reported, HasSubstr("cannot be translated to LLVM IR"));
}

} // namespace
