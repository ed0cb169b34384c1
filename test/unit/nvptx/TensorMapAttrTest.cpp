//===- TensorMapAttrTest.cpp - Tests of kpc.tensor_maps -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/TensorMapAttr.h"
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
  Context.loadDialect<mlir::gpu::GPUDialect>();
  Read Out;
  Context.getDiagEngine().registerHandler(
      [&](mlir::Diagnostic &D) { Out.Error += D.str(); });
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(
      "gpu.module @m { gpu.func @k(%a: memref<bf16>, %b: memref<bf16>, %c: "
      "memref<bf16>, %m: index, %n: index, %k: index) kernel attributes "
      "{kpc.tensor_maps = " +
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
      R"([{buffer = 0 : i64, element = bf16, dims = ["arg5", "arg4"],
           strides = ["arg5*2"], box = array<i64: 64, 128>,
           swizzle = 128 : i64},
          {buffer = 2 : i64, element = tf32, dims = ["arg3*2 + sm_count"],
           strides = [], box = array<i64: 32>, l2 = 256 : i64,
           traversal = array<i64: 2>, fill = "nan"}])");
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
      R"([{buffer = 1 : i64, element = f16, dims = ["64", "56", "56", "arg3"],
           strides = ["128", "7168", "401408"], traversal = array<i64: 1, 2, 2, 1>,
           im2col = {lower = array<i64: -1, -1>, upper = array<i64: -1, -1>,
                     channels = 64 : i64, pixels = 128 : i64}}])");
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

TEST(TensorMapAttr, WhatIsMalformedIsSaid) {
  auto ErrorOf = [](const std::string &Text) {
    return readAttribute(Text).Error;
  };
  // One entry whose parts are replaced.
  auto Entry = [&](const std::string &From, const std::string &To) {
    std::string Text = R"([{buffer = 0 : i64, element = bf16, dims = ["arg3"],
                            strides = [], box = array<i64: 8>}])";
    size_t At = Text.find(From);
    EXPECT_NE(At, std::string::npos);
    return ErrorOf(Text.replace(At, From.size(), To));
  };
  EXPECT_EQ(Entry("arg3", "arg4"), "");
  EXPECT_THAT(ErrorOf("1 : i64"),
              HasSubstr("has kpc.tensor_maps that are no list"));
  EXPECT_THAT(ErrorOf("[1 : i64]"),
              HasSubstr("has kpc.tensor_maps whose entry 0 is no dictionary"));
  EXPECT_THAT(Entry("buffer = 0 : i64, ", ""),
              HasSubstr("has kpc.tensor_maps whose entry 0 is malformed: "
                        "'buffer' must be"));
  EXPECT_THAT(Entry("0 : i64", "6 : i64"),
              HasSubstr("'buffer' is 6, but the kernel has 6 arguments"));
  EXPECT_THAT(Entry("0 : i64", "-1 : i64"), HasSubstr("not negative"));
  EXPECT_THAT(Entry("0 : i64", "0 : i32"), HasSubstr("'buffer' must be"));
  EXPECT_THAT(Entry("bf16", "i4"), HasSubstr("'element' must be"));
  EXPECT_THAT(Entry("bf16", "1 : i64"), HasSubstr("'element' must be"));
  EXPECT_THAT(Entry("\"arg3\"", "\"arg3 +\""), HasSubstr("'dims' holds a bad"));
  EXPECT_THAT(Entry("\"arg3\"", "3 : i64"), HasSubstr("it is no text"));
  EXPECT_THAT(Entry("strides = []", "strides = 1 : i64"),
              HasSubstr("'strides' must be a list"));
  EXPECT_THAT(Entry("box = array<i64: 8>", "box = [8]"),
              HasSubstr("'box' must be an array"));
  EXPECT_THAT(Entry("array<i64: 8>", "array<i64: -8>"),
              HasSubstr("'box' holds -8"));
  EXPECT_THAT(Entry("box", "swizle = 1 : i64, box"),
              HasSubstr("'swizle' is no field"));
  EXPECT_THAT(Entry("box", "swizzle = 96 : i64, box"),
              HasSubstr("'swizzle' cannot be 96 bytes"));
  EXPECT_THAT(Entry("box", "l2 = 32 : i64, box"),
              HasSubstr("'l2' cannot be 32 bytes"));
  EXPECT_THAT(Entry("box", "fill = \"one\", box"), HasSubstr("'fill' must be"));
  EXPECT_THAT(Entry("box = array<i64: 8>", "im2col = {lower = 1 : i64}"),
              HasSubstr("'lower' must be an array"));
}

} // namespace
