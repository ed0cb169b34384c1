//===- TensorMapDeviceTest.cpp - Tensor maps on a real CUDA device --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Skipped where there is no device of capability 9.0 or later.

#include "runtime/src/cuda/CudaModel.h"
#include "test/unit/runtime/Sample.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::test;
using artifact::Expr;
using artifact::Param;
using artifact::ParamKind;
using testing::HasSubstr;

namespace {

/// z = x, through a tensor map of x.
artifact::Contents copyingModel() {
  Expr Batch = Expr::symbol("batch"), Width = Expr::symbol("width");
  artifact::Contents C;
  C.Symbols = {
      {"batch", {.Min = 1}, {}},
      {"width", {.Min = 1}, {}},
      {"sm_count", {.Min = 1}, artifact::SymbolSource::MultiprocessorCount}};
  C.Inputs = {{"x", ElementType::F32, {Batch, Width}, {}}};
  C.Outputs = {{"z", ElementType::F32, {Batch, Width}, {}}};
  artifact::Target &T = C.Targets.emplace_back();
  T.Name = "portable";
  T.Kind = artifact::TargetKind::Cuda;
  T.CapabilityMajor = 9;
  T.Rule = artifact::CapabilityRule::AtLeast;
  std::ifstream File(KPC_TILE_PTX);
  T.Modules.emplace_back().Ptx =
      std::string((std::istreambuf_iterator<char>(File)), {});
  EXPECT_FALSE(T.Modules[0].Ptx.empty());
  artifact::Kernel &K = T.Kernels.emplace_back();
  K.Symbol = "kpc_copy_tiles";
  K.Params = {ParamKind::Buffer, ParamKind::Buffer, ParamKind::Size,
              ParamKind::Size, ParamKind::TensorMap};
  T.Buffers.resize(2);
  T.Buffers[0].Kind = artifact::BufferKind::Input;
  T.Buffers[1].Kind = artifact::BufferKind::Output;
  T.Buffers[0].Size = T.Buffers[1].Size = Batch * Width * 4;
  artifact::TensorMap Map;
  Map.Element = ElementType::F32;
  Map.Dims = {Width, Batch};
  Map.Strides = {Width * 4};
  Map.Box = {32, 8};
  artifact::Launch L;
  L.Params = {Param::buffer(0, artifact::Read),
              Param::buffer(1, artifact::Write), Param::size(Width),
              Param::size(Batch),
              Param::tensorMap(0, artifact::Read, std::move(Map))};
  L.Grid[0] = Width.ceilDiv(Expr(32));
  L.Grid[1] = Expr::min(Batch.ceilDiv(Expr(8)), Expr::symbol("sm_count"));
  L.Block[0] = 256;
  L.Shared = Expr(100 * 1024);
  T.Steps.push_back(L);
  return C;
}

TEST(TensorMapDevice, CopiesThroughATensorMap) {
  auto Opened = rt::cuda::Driver::open("");
  if (!Opened)
    GTEST_SKIP() << Opened.error().Message;
  auto Device = rt::cuda::DeviceContext::open(*Opened, 0);
  if (!Device || (*Device)->major() < 9)
    GTEST_SKIP() << "no device with tensor maps";
  EXPECT_GT((*Device)->multiprocessors(), 0);
  artifact::Bytes File = written(copyingModel());
  Own<kpc_model> M = load(File);
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.flags = Flags;
    Own<kpc_session> S = test::open(M, &O);
    for (auto [Batch, Width] : {std::pair(4, 8), {33, 100}, {64, 64}, {4, 8}}) {
      std::vector<float> X(size_t(Batch * Width)), Z(X.size(), -1.f);
      for (size_t I = 0; I < X.size(); ++I)
        X[I] = float(I) + 0.5f;
      int64_t Dims[] = {Batch, Width};
      kpc_named_tensor In = {"x", {X.data(), Dims, 2, KPC_F32, KPC_HOST}};
      kpc_named_tensor Out = {"z", {Z.data(), Dims, 2, KPC_F32, KPC_HOST}};
      kpc_error *E = nullptr;
      ASSERT_EQ(kpc_session_run(S.get(), &In, 1, &Out, 1, nullptr, &E), KPC_OK)
          << describe(E);
      EXPECT_EQ(X, Z) << Batch << " by " << Width;
    }
    // A stride that no tensor map can have.
    std::vector<float> X(20);
    int64_t Dims[] = {4, 5};
    kpc_named_tensor In = {"x", {X.data(), Dims, 2, KPC_F32, KPC_HOST}};
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_session_run(S.get(), &In, 1, &In, 1, nullptr, &E),
              KPC_ERROR_OUT_OF_RANGE);
    EXPECT_THAT(describe(E), HasSubstr("is 20 bytes"));
  }
}

} // namespace
