//===- KernelLaunchTest.cpp - From compiled kernels to launches -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/ArtifactWriter.h"
#include "compiler/artifact/PlanToContents.h"
#include "dialects/RegisterDialects.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kpc;
using shape::Expr;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// `Dim` is the name of the plan's dim.
std::string planWith(const std::string &Dim) {
  return "module attributes {graph.symbols = {" + Dim +
         " = {min = 1, max = 64}}} {\n"
         "func.func private @gemm(memref<bf16>, memref<bf16>, index)\n"
         "plan.program {\n"
         "  %0 = plan.input \"x\" : !graph.tensor<[" +
         Dim +
         ", 64], bf16>\n"
         "  %1 = plan.output \"y\" : !graph.tensor<[" +
         Dim +
         ", 64], bf16>\n"
         "  plan.launch @gemm (%0) -> (%1) sizes <[" +
         Dim + "]> : (!graph.tensor<[" + Dim +
         ", 64], bf16>) -> (!graph.tensor<[" + Dim + ", 64], bf16>)\n}\n}\n";
}

/// Reads argument 0 and writes argument 1 through tensor maps.
CompiledKernel gemm() {
  CompiledKernel K;
  K.Ptx = ".version 8.0";
  K.Entry = "matmul_0";
  K.Grid[0] = "min(arg2, sm_count)";
  K.Shared = "204800";
  artifact::KernelTensorMap Map;
  Map.Map.Element = ElementType::BF16;
  Map.Map.Dims = {Expr(64), Expr::symbol("arg2")};
  Map.Map.Strides = {Expr(128)};
  Map.Map.Box = {64, 128};
  Map.Map.Swizzle = artifact::TensorMapSwizzle::Bytes128;
  K.TensorMaps.push_back(Map);
  Map.Buffer = 1;
  K.TensorMaps.push_back(Map);
  return K;
}

struct Built {
  artifact::Contents Contents;
  std::string Error;
};

Built build(const CompiledKernel &Kernel, const std::string &Dim = "n",
            std::vector<CompiledVariant> Variants = {}) {
  mlir::DialectRegistry Registry;
  registerDialects(Registry);
  mlir::MLIRContext Context(Registry, mlir::MLIRContext::Threading::DISABLED);
  auto Module =
      mlir::parseSourceString<mlir::ModuleOp>(planWith(Dim), &Context);
  EXPECT_TRUE(Module);
  TargetKernels Compiled;
  Compiled.Target = target::findTarget("sm_90a");
  Compiled.Plan = *Module;
  Compiled.Kernels["gemm"] = Kernel;
  if (!Variants.empty())
    Compiled.Variants["gemm"] = std::move(Variants);
  Built Out;
  auto Contents = planToContents(WeightStore(), {Compiled}, false);
  if (Contents)
    Out.Contents = std::move(*Contents);
  else
    Out.Error = llvm::toString(Contents.takeError());
  return Out;
}

TEST(KernelLaunch, TensorMapsFollowTheArguments) {
  Built B = build(gemm());
  ASSERT_EQ(B.Error, "");
  const artifact::Target &T = B.Contents.Targets[0];
  using artifact::ParamKind;
  EXPECT_THAT(T.Kernels[0].Params,
              ElementsAre(ParamKind::Buffer, ParamKind::Buffer, ParamKind::Size,
                          ParamKind::TensorMap, ParamKind::TensorMap));
  const auto &L = std::get<artifact::Launch>(T.Steps[0]);
  ASSERT_EQ(L.Params.size(), 5u);
  EXPECT_EQ(L.Params[3].Buffer, L.Params[0].Buffer);
  EXPECT_EQ(L.Params[3].Access, artifact::Read);
  EXPECT_EQ(L.Params[4].Buffer, L.Params[1].Buffer);
  EXPECT_EQ(L.Params[4].Access, artifact::Write);
  EXPECT_THAT(L.Params[3].View.Dims, ElementsAre(Expr(64), Expr::symbol("n")));
  EXPECT_EQ(L.Grid[0], Expr::min(Expr::symbol("n"), Expr::symbol("sm_count")));
  EXPECT_EQ(L.Shared, Expr(204800));
  ASSERT_EQ(B.Contents.Symbols.size(), 2u);
  EXPECT_EQ(B.Contents.Symbols[1].Name, "sm_count");
  EXPECT_EQ(B.Contents.Symbols[1].Source,
            artifact::SymbolSource::MultiprocessorCount);
  artifact::Bytes File;
  EXPECT_EQ(artifact::writeToMemory(B.Contents, File), std::nullopt);
}

TEST(KernelLaunch, VariantsAreAlternativesOverTheDims) {
  CompiledKernel Few = gemm();
  Few.Schedule = "few";
  Few.Entry = "matmul_1";
  Few.Grid[0] = "ceildiv(arg2, 8)";
  Few.TensorMaps.clear();
  Built B = build(
      gemm(), "n",
      {{"gemm_v2", {{{{0}, 0, 16}}, {{{0, 0}, 400, 900}, {{0}, 0, 40}}}, Few}});
  ASSERT_EQ(B.Error, "");
  const artifact::Target &T = B.Contents.Targets[0];
  ASSERT_EQ(T.Kernels.size(), 2u);
  EXPECT_EQ(T.Kernels[1].Symbol, "matmul_1");
  EXPECT_EQ(T.Kernels[1].DisplayName, "gemm_v2");
  EXPECT_EQ(T.Kernels[1].Family, "few");
  EXPECT_EQ(T.Modules.size(), 2u);
  const auto &L = std::get<artifact::Launch>(T.Steps[0]);
  EXPECT_EQ(L.Kernel, 0u);
  ASSERT_EQ(L.Alternatives.size(), 2u);
  Expr N = Expr::symbol("n");
  for (const artifact::Alternative &A : L.Alternatives) {
    EXPECT_EQ(A.Instead.Kernel, 1u);
    EXPECT_EQ(A.Instead.Grid[0], N.ceilDiv(Expr(8)));
    EXPECT_EQ(A.Instead.Params.size(), 3u);
  }
  const auto &First = L.Alternatives[0].Bounds;
  ASSERT_EQ(First.size(), 1u);
  EXPECT_EQ(First[0].Size, N);
  EXPECT_EQ(First[0].Most, 16);
  const auto &Second = L.Alternatives[1].Bounds;
  ASSERT_EQ(Second.size(), 2u);
  EXPECT_EQ(Second[0].Size, N * N);
  EXPECT_EQ(Second[0].Least, 400);
  artifact::Bytes File;
  EXPECT_EQ(artifact::writeToMemory(B.Contents, File), std::nullopt);
}

TEST(KernelLaunch, TheDevicesSymbolIsThereOnlyWhereItIsUsed) {
  CompiledKernel K = gemm();
  K.Grid[0] = "arg2";
  EXPECT_EQ(build(K).Contents.Symbols.size(), 1u);
}

TEST(KernelLaunch, ADimMayBeCalledAsTheDevicesSymbol) {
  Built B = build(gemm(), "sm_count");
  ASSERT_EQ(B.Error, "");
  const auto &L = std::get<artifact::Launch>(B.Contents.Targets[0].Steps[0]);
  EXPECT_EQ(L.Grid[0],
            Expr::min(Expr::symbol("sm_count"), Expr::symbol("sm_count_")));
  artifact::Bytes File;
  EXPECT_EQ(artifact::writeToMemory(B.Contents, File), std::nullopt);
}

TEST(KernelLaunch, ATensorMapOfNoBufferIsRefused) {
  CompiledKernel K = gemm();
  K.TensorMaps[1].Buffer = 2;
  EXPECT_THAT(build(K).Error,
              HasSubstr("kernel 'gemm': a tensor map is of argument 2"));
}

TEST(KernelJob, TensorMapsTravel) {
  CompiledKernel K = gemm();
  artifact::TensorMap &Map = K.TensorMaps[1].Map;
  Map.Mode = artifact::TensorMapMode::Im2col;
  Map.Tf32 = true;
  Map.Traversal = {1, 2};
  Map.Promotion = artifact::TensorMapPromotion::Bytes64;
  Map.Fill = artifact::TensorMapFill::Nans;
  Map.Lower = {-3};
  Map.Upper = {4};
  Map.Channels = 32;
  Map.Pixels = 1024;
  std::string Bytes = K.encode();
  auto Back = CompiledKernel::decode(Bytes);
  ASSERT_TRUE(Back);
  EXPECT_EQ(Back->encode(), Bytes);
  ASSERT_EQ(Back->TensorMaps.size(), 2u);
  const artifact::TensorMap &Got = Back->TensorMaps[1].Map;
  EXPECT_EQ(Back->TensorMaps[1].Buffer, 1u);
  EXPECT_EQ(Got.Mode, Map.Mode);
  EXPECT_EQ(Got.Element, Map.Element);
  EXPECT_TRUE(Got.Tf32);
  EXPECT_EQ(Got.Dims, Map.Dims);
  EXPECT_EQ(Got.Strides, Map.Strides);
  EXPECT_EQ(Got.Box, Map.Box);
  EXPECT_EQ(Got.Traversal, Map.Traversal);
  EXPECT_EQ(Got.Swizzle, Map.Swizzle);
  EXPECT_EQ(Got.Promotion, Map.Promotion);
  EXPECT_EQ(Got.Fill, Map.Fill);
  EXPECT_EQ(Got.Lower, Map.Lower);
  EXPECT_EQ(Got.Upper, Map.Upper);
  EXPECT_EQ(Got.Pixels, Map.Pixels);
  for (size_t Size = 0; Size < Bytes.size(); ++Size)
    EXPECT_FALSE(CompiledKernel::decode(Bytes.substr(0, Size))) << Size;
}

} // namespace
