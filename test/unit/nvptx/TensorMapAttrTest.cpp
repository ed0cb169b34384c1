//===- TensorMapAttrTest.cpp - Tests of kernel.tensor_maps
//-------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/TensorMapAttr.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::artifact;
using shape::Expr;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Read {
  std::vector<KernelTensorMap> Maps;
  std::string Error; ///< what was reported
};

/// Reads the attribute of a kernel with six arguments.
Read readAttribute(const std::string &Text) {
  mlir::MLIRContext Context(mlir::MLIRContext::Threading::DISABLED);
  Context.loadDialect<mlir::gpu::GPUDialect, kernel::KernelDialect>();
  Read Out;
  Context.getDiagEngine().registerHandler(
      [&](mlir::Diagnostic &D) { Out.Error += D.str(); });
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(
      "gpu.module @m { gpu.func @k(%a: memref<bf16>, %b: memref<bf16>, %c: "
      "memref<bf16>, %m: index, %n: index, %k: index) kernel attributes "
      "{kernel.tensor_maps = " +
          Text + "} { gpu.return } }",
      &Context);
  if (!Module)
    return Out;
  auto Gpu = *Module->getOps<mlir::gpu::GPUModuleOp>().begin();
  auto Maps =
      nvptx::readTensorMaps(*Gpu.getOps<mlir::gpu::GPUFuncOp>().begin());
  EXPECT_EQ(mlir::succeeded(Maps), Out.Error.empty());
  if (mlir::succeeded(Maps))
    Out.Maps = *Maps;
  return Out;
}

TEST(TensorMapAttr, Tiled) {
  Read R = readAttribute(
      R"([#kernel.tensor_map<buffer = 0, element = bf16,
            dims = ["arg5", "arg4"], strides = ["arg5*2"], box = [64, 128],
            swizzle = 128>,
          #kernel.tensor_map<buffer = 2, element = tf32,
            dims = ["arg3*2 + sm_count"], strides = [], box = [32], l2 = 256,
            traversal = [2], fill = nan>])");
  ASSERT_EQ(R.Error, "");
  ASSERT_EQ(R.Maps.size(), 2u);
  const TensorMap &A = R.Maps[0].Map, &B = R.Maps[1].Map;
  EXPECT_EQ(R.Maps[0].Buffer, 0u);
  EXPECT_EQ(A.Mode, TensorMapMode::Tiled);
  EXPECT_EQ(A.Element, ElementType::BF16);
  EXPECT_THAT(A.Dims, ElementsAre(Expr::symbol("arg5"), Expr::symbol("arg4")));
  EXPECT_THAT(A.Strides, ElementsAre(Expr::symbol("arg5") * 2));
  EXPECT_THAT(A.Box, ElementsAre(64, 128));
  EXPECT_EQ(A.Swizzle, TensorMapSwizzle::Bytes128);
  EXPECT_EQ(A.Promotion, TensorMapPromotion::Bytes128);
  EXPECT_EQ(A.Fill, TensorMapFill::Zeros);
  EXPECT_EQ(R.Maps[1].Buffer, 2u);
  EXPECT_EQ(B.Element, ElementType::F32);
  EXPECT_TRUE(B.Tf32);
  EXPECT_EQ(B.Swizzle, TensorMapSwizzle::None);
  EXPECT_EQ(B.Promotion, TensorMapPromotion::Bytes256);
  EXPECT_THAT(B.Traversal, ElementsAre(2));
  EXPECT_EQ(B.Fill, TensorMapFill::Nans);
}

TEST(TensorMapAttr, Im2col) {
  Read R = readAttribute(
      R"([#kernel.tensor_map<buffer = 1, element = f16,
            dims = ["64", "56", "56", "arg3"],
            strides = ["128", "7168", "401408"], traversal = [1, 2, 2, 1],
            im2col = <lower = [-1, -1], upper = [-1, -1], channels = 64,
                      pixels = 128>>])");
  ASSERT_EQ(R.Error, "");
  ASSERT_EQ(R.Maps.size(), 1u);
  const TensorMap &M = R.Maps[0].Map;
  EXPECT_EQ(M.Mode, TensorMapMode::Im2col);
  EXPECT_THAT(M.Lower, ElementsAre(-1, -1));
  EXPECT_THAT(M.Upper, ElementsAre(-1, -1));
  EXPECT_EQ(M.Channels, 64u);
  EXPECT_EQ(M.Pixels, 128u);
  EXPECT_TRUE(M.Box.empty());
}

TEST(TensorMapAttr, ElementsThatAreNotCopied) {
  Read R = readAttribute(R"([#kernel.tensor_map<buffer = 0, element = i4,
                              dims = ["arg3"], strides = [], box = [8]>])");
  EXPECT_THAT(R.Error,
              HasSubstr("expected tensor maps of types of 8 to 64 bits "
                        "that can be copied, got 'i4'"));
}

} // namespace
