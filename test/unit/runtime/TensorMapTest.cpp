//===- TensorMapTest.cpp - Tensor maps from the artifact to the launch ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"
#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Sample.h"

#include <cstring>
#include <gmock/gmock.h>
#include <list>

using namespace kpc;
using namespace kpc::test;
using artifact::Contents;
using artifact::Expr;
using testing::AllOf;
using testing::HasSubstr;

namespace {

kpc_session_options onFake(uint32_t Flags = 0) {
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.device = KPC_CUDA(0);
  O.driver = KPC_FAKE_CUDA;
  O.flags = Flags;
  return O;
}

struct TensorMaps : testing::Test {
  void SetUp() override { Fake.reset(); }
  void TearDown() override { EXPECT_EQ(Fake.live(), 0); }

  /// The error of binding and running a model with one shape; "" for none.
  std::string errorOf(const Contents &C, int64_t Batch, int64_t Width) {
    artifact::Bytes File = written(C);
    Own<kpc_model> M = load(File);
    kpc_session_options O = onFake();
    kpc_session *Raw = nullptr;
    kpc_error *E = nullptr;
    if (kpc_session_create(M.get(), &O, &Raw, &E))
      return "kernel " + std::string(kpc_error_kernel(E)) + ": " + describe(E);
    Own<kpc_session> S(Raw);
    SampleRun Run(Batch, Width);
    if (Run.run(Raw, &E) == KPC_OK)
      return "";
    return "kernel " + std::string(kpc_error_kernel(E)) + ": " + describe(E);
  }
  FakeCuda Fake;
};

artifact::Launch &launchOf(Contents &C, size_t Step) {
  return std::get<artifact::Launch>(C.Targets[0].Steps[Step]);
}
/// The tensor map of x: after three pointers and a size.
artifact::Param &mapOfX(Contents &C) { return launchOf(C, 0).Params[4]; }

kpc_status runOnDevice(SampleRun &Run, kpc_session *S) {
  auto In = Run.inputs(), Out = Run.outputs();
  for (auto *List : {&In, &Out})
    for (kpc_named_tensor &T : *List)
      T.tensor.device = KPC_CUDA(0);
  return kpc_session_run(S, In.data(), In.size(), Out.data(), Out.size(),
                         KPC_STREAM_DEFAULT, nullptr);
}

TEST_F(TensorMaps, HaveTheRightValuesAtEachShape) {
  artifact::Bytes File = written(mappedContents(true));
  Own<kpc_model> M = load(File);
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    kpc_session_options O = onFake(Flags);
    Own<kpc_session> S = test::open(M, &O);
    // All are kept: at an address seen before, nothing would be encoded.
    std::list<SampleRun> Runs;
    for (auto [Batch, Width] : {std::pair(4, 8), {7, 16}, {4, 8}}) {
      Fake.reset();
      SampleRun &Run = Runs.emplace_back(Batch, Width);
      ASSERT_EQ(runOnDevice(Run, S.get()), KPC_OK);
      Run.expectRight();
      bool SawX = false;
      for (const FakeTensorMap &Map : Fake.encoded()) {
        EXPECT_EQ(Map.DataType, 7); // FLOAT32
        EXPECT_EQ(Map.Rank, 2);
        EXPECT_EQ(Map.Dims[0], uint64_t(Width));
        EXPECT_EQ(Map.Dims[1], uint64_t(Batch));
        EXPECT_EQ(Map.Strides[0], uint64_t(Width) * 4);
        EXPECT_EQ(Map.Box[0], 32);
        EXPECT_EQ(Map.Box[1], 8);
        EXPECT_EQ(Map.Traversal[1], 2);
        EXPECT_EQ(Map.Swizzle, 3);
        EXPECT_EQ(Map.Promotion, 2); // the default, 128 bytes
        SawX |= Map.Address == uint64_t(Run.X);
      }
      EXPECT_TRUE(SawX);
    }
  }
}

TEST_F(TensorMaps, OnlyThoseOfChangedAddressesAreEncodedAgain) {
  artifact::Bytes File = written(mappedContents(false));
  Own<kpc_model> M = load(File);
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    kpc_session_options O = onFake(Flags);
    Own<kpc_session> S = test::open(M, &O);
    SampleRun A(4, 8), B(4, 8, 2);
    Fake.reset();
    ASSERT_EQ(runOnDevice(A, S.get()), KPC_OK);
    EXPECT_EQ(Fake.encoded().size(), 5u); // x, y, t of step 0; t, u of step 1
    Fake.reset();
    ASSERT_EQ(runOnDevice(A, S.get()), KPC_OK);
    EXPECT_EQ(Fake.encoded().size(), 0u);
    ASSERT_EQ(runOnDevice(B, S.get()), KPC_OK);
    B.expectRight();
    std::vector<FakeTensorMap> Maps = Fake.encoded();
    ASSERT_EQ(Maps.size(), 2u);
    EXPECT_EQ(Maps[0].Address, uint64_t(B.X));
    EXPECT_EQ(Maps[1].Address, uint64_t(B.Y));
    if (Flags == 0) { // as without tensor maps: see CudaTest.cpp
      EXPECT_EQ(Fake.count("GraphExecKernelNodeSetParams"), 4);
    }
  }
}

/// Step 1 takes pointers alone; for few rows a kernel with tensor maps and a
/// grid and shared memory of its own is launched.
Contents alternativeContents() {
  Contents C = mappedContents(false);
  artifact::Alternative &A = addAlternative(C.Targets[0], 1);
  artifact::Launch &L = launchOf(C, 1);
  EXPECT_NE(L.Kernel, 1u);
  L.Kernel = 1;
  L.Params.resize(C.Targets[0].Kernels[1].Params.size());
  L.Shared = Expr(0);
  A.Instead.Grid[0] = A.Instead.Grid[0] + 1;
  return C;
}

TEST_F(TensorMaps, AnAlternativeHasItsOwn) {
  artifact::Bytes File = written(alternativeContents());
  Own<kpc_model> M = load(File);
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    kpc_session_options O = onFake(Flags);
    Own<kpc_session> S = test::open(M, &O);
    std::list<SampleRun> Runs;
    // Step 0 has three maps, the alternative two more.
    for (auto [Batch, Encoded] : {std::pair(8, 3), {4, 5}, {8, 3}, {4, 5}}) {
      Fake.reset();
      SampleRun &Run = Runs.emplace_back(Batch, 16);
      ASSERT_EQ(runOnDevice(Run, S.get()), KPC_OK);
      Run.expectRight();
      if (Runs.size() <= 2) {
        EXPECT_EQ(Fake.count("TensorMapEncodeTiled"), Encoded) << Batch;
      }
    }
  }
}

TEST_F(TensorMaps, AProfileNamesTheKernelThatRan) {
  artifact::Bytes File = written(alternativeContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  for (auto [Batch, Symbol] :
       {std::pair(8, "kpc_scale"), {4, "kpc_scale_mapped"}}) {
    SampleRun Run(Batch, 16);
    auto In = Run.inputs(), Out = Run.outputs();
    kpc_profile *P = nullptr;
    ASSERT_EQ(
        kpc_session_profile(S.get(), In.data(), 2, Out.data(), 3, &P, nullptr),
        KPC_OK);
    Own<kpc_profile> Owner(P);
    kpc_profile_step Step;
    ASSERT_EQ(kpc_profile_get(P, 1, &Step), KPC_OK);
    EXPECT_STREQ(Step.symbol, Symbol);
    EXPECT_EQ(Step.flops, Batch * 16); // the launch's
  }
}

TEST_F(TensorMaps, ADriverWithoutThemIsTooOldForAlternatives) {
  Contents C = alternativeContents();
  artifact::Launch &First = launchOf(C, 0);
  First.Kernel = 0;
  First.Params.resize(C.Targets[0].Kernels[0].Params.size());
  First.Shared = Expr(0);
  Fake.device(9, 0, 3, 11080);
  EXPECT_THAT(errorOf(C, 8, 16),
              AllOf(HasSubstr("kernel scale: KPC_ERROR_DRIVER_TOO_OLD"),
                    HasSubstr("no cuTensorMapEncodeTiled (CUDA 12.0")));
}

TEST_F(TensorMaps, Im2col) {
  Contents C = mappedContents(false);
  artifact::TensorMap &Map = mapOfX(C).View;
  Map = {};
  Map.Mode = artifact::TensorMapMode::Im2col;
  Map.Element = ElementType::F32;
  Map.Tf32 = true;
  Map.Dims = {Expr(4), Expr(2), Expr::symbol("batch"), Expr(1)};
  Map.Strides = {Expr(16), Expr(32), Expr(64)};
  Map.Traversal = {1, 2, 3, 1};
  Map.Lower = {-1, -128};
  Map.Upper = {127, 0};
  Map.Channels = 4;
  Map.Pixels = 1024;
  Map.Promotion = artifact::TensorMapPromotion::Bytes256;
  Map.Fill = artifact::TensorMapFill::Nans;
  EXPECT_EQ(errorOf(C, 4, 8), "");
  EXPECT_EQ(Fake.count("TensorMapEncodeIm2col"), 1);
  std::vector<FakeTensorMap> Maps = Fake.encoded();
  auto It = std::find_if(Maps.begin(), Maps.end(),
                         [](const FakeTensorMap &M) { return M.Im2col; });
  ASSERT_NE(It, Maps.end());
  EXPECT_EQ(It->DataType, 11); // TFLOAT32
  EXPECT_EQ(It->Rank, 4);
  EXPECT_EQ(It->Dims[2], 4u);
  EXPECT_EQ(It->Strides[2], 64u);
  EXPECT_EQ(It->Traversal[2], 3);
  EXPECT_EQ(It->Lower[1], -128);
  EXPECT_EQ(It->Upper[0], 127);
  EXPECT_EQ(It->Channels, 4);
  EXPECT_EQ(It->Pixels, 1024);
  EXPECT_EQ(It->Promotion, 3);
  EXPECT_EQ(It->Fill, 1);
}

TEST_F(TensorMaps, ALaunchWithoutBlocksEncodesNothing) {
  Contents C = mappedContents(true);
  C.Symbols[0].Facts.Min = 0;
  auto &Copy = std::get<artifact::Copy>(C.Targets[0].Steps[4]);
  Copy.Size = Expr::min(Expr::symbol("batch"), 1) * Expr::symbol("width") * 4;
  EXPECT_EQ(errorOf(C, 0, 8), "");
  EXPECT_TRUE(Fake.encoded().empty());
  // With blocks, a dim of 0 is one that no tensor map can have.
  launchOf(C, 0).Grid[0] = Expr(1);
  EXPECT_THAT(errorOf(C, 0, 8),
              AllOf(HasSubstr("kernel add: KPC_ERROR_OUT_OF_RANGE"),
                    HasSubstr("tensor map (parameter 4) of kernel 'add': dim 1 "
                              "is 0, but must be 1 to 2147483392")));
}

TEST_F(TensorMaps, WhatCannotBeEncodedIsNamed) {
  EXPECT_THAT(errorOf(mappedContents(true), 4, 5),
              AllOf(HasSubstr("kernel add: KPC_ERROR_OUT_OF_RANGE"),
                    HasSubstr("the stride of dim 1 is 20 bytes, but must be a "
                              "multiple of 16")));
  Contents C = mappedContents(false);
  mapOfX(C).View.Dims = {Expr(1) +
                         Expr::symbol("batch") * Expr::symbol("width")};
  EXPECT_THAT(errorOf(C, 4, 8), HasSubstr("reaches beyond the 128 bytes"));
  mapOfX(C).View.Dims = {Expr(int64_t(1) << 33)};
  EXPECT_THAT(errorOf(C, 4, 8), HasSubstr("dim 0 is 8589934592, but must be"));
  mapOfX(C).View.Dims = {Expr(int64_t(1) << 62) * Expr::symbol("batch")};
  EXPECT_THAT(errorOf(C, 4, 8), HasSubstr("dim 0 has no value"));
  C = mappedContents(true);
  mapOfX(C).View.Strides = {Expr(int64_t(1) << 40)};
  EXPECT_THAT(errorOf(C, 4, 8), HasSubstr("multiple of 16 below 2^40"));
  C = mappedContents(false);
  mapOfX(C).Offset = Expr(4);
  mapOfX(C).View.Dims = {Expr(2)};
  EXPECT_THAT(errorOf(C, 4, 8),
              AllOf(HasSubstr("kernel add: KPC_ERROR_MISALIGNED"),
                    HasSubstr("is not a multiple of 16")));
  Fake.fail("TensorMapEncodeTiled", 1);
  EXPECT_THAT(errorOf(mappedContents(false), 4, 8),
              AllOf(HasSubstr("KPC_ERROR_DRIVER: tensor map"),
                    HasSubstr("cannot encode it: CUDA_ERROR_FAKE (1)"),
                    HasSubstr("dims 32")));
}

TEST_F(TensorMaps, ADriverWithoutThemIsTooOldForTheirKernelsAlone) {
  Fake.device(9, 0, 3, 11080);
  EXPECT_THAT(errorOf(mappedContents(false), 4, 8),
              AllOf(HasSubstr("kernel add: KPC_ERROR_DRIVER_TOO_OLD"),
                    HasSubstr("no cuTensorMapEncodeTiled (CUDA 12.0")));
  EXPECT_EQ(errorOf(cudaContents(), 4, 8), "");
}

TEST_F(TensorMaps, SharedMemoryIsAllowedWhenAShapeIsBound) {
  artifact::Bytes File = written(mappedContents(false));
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  kpc_dim Dims[] = {{"batch", 4}, {"width", 8}};
  ASSERT_EQ(kpc_session_prepare(S.get(), Dims, 2, nullptr), KPC_OK);
  EXPECT_EQ(Fake.count("FuncSetAttribute"), 2); // each of two kernels
  EXPECT_EQ(Fake.shared(), 200 * 1024);
  Fake.fail("FuncSetAttribute", 1);
  EXPECT_THAT(errorOf(mappedContents(false), 4, 8),
              HasSubstr("kernel add: KPC_ERROR_DRIVER: cannot allow"));
}

// Step 1 multiplies by the number of multiprocessors.
TEST_F(TensorMaps, TheMultiprocessorsAreTheDevices) {
  Contents C = mappedContents(false);
  launchOf(C, 1).Params[2] = artifact::Param::size(Expr::symbol("sm_count"));
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  EXPECT_EQ(kpc_model_symbol_count(M.get()), 2); // no dim that callers choose
  Fake.multiprocessors(7);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  SampleRun Run(4, 8);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  EXPECT_EQ(Run.Z[9], 8 * (Run.X[9] + Run.Y[9]));
  kpc_dim Dims[] = {{"sm_count", 4}};
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_prepare(S.get(), Dims, 1, &E), KPC_ERROR_UNKNOWN_NAME);
  EXPECT_THAT(describe(E), HasSubstr("[its dims are batch, width]"));
  C.Symbols[2].Facts.Max = 6;
  EXPECT_THAT(errorOf(C, 4, 8), HasSubstr("'sm_count' of the device is 7"));
}

// A model for both: its plan for the host knows nothing of devices.
TEST_F(TensorMaps, HostTargetsRunBesideThem) {
  Contents C = mappedContents(false);
  C.Targets.push_back(sampleContents().Targets[0]);
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  SampleRun Run(4, 8);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  Run.expectRight();
}

TEST_F(TensorMaps, FilesThatHaveThemNeedAReaderThatKnowsThem) {
  auto LeastReader = [](const Contents &C) {
    artifact::Bytes File = written(C);
    uint16_t Least;
    std::memcpy(&Least, &File[12], 2);
    return Least;
  };
  EXPECT_EQ(LeastReader(cudaContents()), 0);
  EXPECT_EQ(LeastReader(mappedContents(false)), format::DeviceFactsMinor);
  Contents C = cudaContents();
  C.Symbols.push_back({"sms", {}, artifact::SymbolSource::MultiprocessorCount});
  EXPECT_EQ(LeastReader(C), format::DeviceFactsMinor);
}

TEST_F(TensorMaps, AreCheckedWhenTheyAreReadAndWritten) {
  auto Refused = [](auto Change, bool InRows = false) {
    Contents C = mappedContents(InRows);
    Change(C, mapOfX(C).View);
    artifact::Bytes Out;
    return artifact::writeToMemory(C, Out).value_or("accepted");
  };
  using artifact::TensorMap;
  auto Of = [&](auto Change, bool InRows = false) {
    return Refused([&](Contents &, TensorMap &M) { Change(M); }, InRows);
  };
  EXPECT_THAT(Of([](TensorMap &M) { M.Dims.clear(); }), HasSubstr("1 to 5"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Dims.resize(6); }), HasSubstr("1 to 5"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Strides.clear(); }, true),
              HasSubstr("not one stride"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Box = {}; }), HasSubstr("its box"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Box = {0}; }), HasSubstr("its box"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Box = {257}; }), HasSubstr("its box"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Box = {6}; }), HasSubstr("16 bytes"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Box = {36, 1}; }, true),
              HasSubstr("longer than its swizzle"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Traversal = {9}; }),
              HasSubstr("its traversal"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Traversal = {1, 1}; }),
              HasSubstr("its traversal"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Pixels = 4; }), HasSubstr("is tiled"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Element = ElementType::C64; }),
              HasSubstr("element type"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Element = ElementType::U4; }),
              HasSubstr("element type"));
  EXPECT_THAT(Of([](TensorMap &M) {
                M.Element = ElementType::F16;
                M.Tf32 = true;
              }),
              HasSubstr("element type"));
  EXPECT_THAT(Of([](TensorMap &M) {
                M.Element = ElementType::I32;
                M.Fill = artifact::TensorMapFill::Nans;
              }),
              HasSubstr("integers with NaN"));
  EXPECT_THAT(
      Of([](TensorMap &M) { M.Swizzle = artifact::TensorMapSwizzle(4); }),
      HasSubstr("unknown"));
  EXPECT_THAT(Of([](TensorMap &M) { M.Mode = artifact::TensorMapMode(2); }),
              HasSubstr("unknown"));
  auto Im2col = [&](auto Change) {
    return Of([&](TensorMap &M) {
      M.Mode = artifact::TensorMapMode::Im2col;
      M.Box.clear();
      M.Dims = {Expr(4), Expr(1), Expr(1)};
      M.Strides = {Expr(16), Expr(16)};
      M.Lower = M.Upper = {0};
      M.Channels = M.Pixels = 4;
      Change(M);
    });
  };
  EXPECT_EQ(Im2col([](TensorMap &) {}), "accepted");
  EXPECT_THAT(Im2col([](TensorMap &M) { M.Lower = {0, 0}; }),
              HasSubstr("corners"));
  EXPECT_THAT(Im2col([](TensorMap &M) { M.Upper = {32768}; }),
              HasSubstr("corners"));
  EXPECT_THAT(Im2col([](TensorMap &M) { M.Box = {4, 1, 1}; }),
              HasSubstr("has a box"));
  EXPECT_THAT(Im2col([](TensorMap &M) { M.Channels = 260; }),
              HasSubstr("channels"));
  EXPECT_THAT(Im2col([](TensorMap &M) {
                M.Dims.pop_back();
                M.Strides.pop_back();
              }),
              HasSubstr("fewer than three"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                launchOf(C, 0).Params[4].Buffer = 99;
              }),
              HasSubstr("parameter 4 of 'kpc_add_mapped'"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                launchOf(C, 0).Params[4].Access = artifact::Write; // of x
              }),
              HasSubstr("parameter 4 of 'kpc_add_mapped'"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                for (int I = 0; I < 40; ++I)
                  C.Targets[0].Kernels[3].Params.push_back(
                      artifact::ParamKind::TensorMap);
              }),
              HasSubstr("kernel 3 'kpc_add_mapped' is not good"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                C.Inputs[0].Dims[0] = Expr::symbol("sm_count");
              }),
              HasSubstr("'x' has dims that depend on the device"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                C.Targets.push_back(sampleContents().Targets[0]);
                auto &L = std::get<artifact::Launch>(C.Targets[1].Steps[0]);
                L.Work = Expr::symbol("sm_count");
              }),
              HasSubstr("the launch of 'kpc_add' is not good"));
  EXPECT_THAT(Refused([](Contents &C, TensorMap &) {
                C.Symbols[2].Source = artifact::SymbolSource(9);
              }),
              HasSubstr("source 9, which is unknown"));
}

} // namespace
