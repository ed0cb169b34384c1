//===- DlPackTest.cpp - DLPack tensors in and out -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kpc/dlpack.h"
#include "test/unit/runtime/Sample.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::test;
using testing::HasSubstr;

namespace {

struct Given {
  Given() {
    M.version = {1, 1};
    M.dl_tensor.data = Data;
    M.dl_tensor.device = {kDLCPU, 0};
    M.dl_tensor.ndim = 2;
    M.dl_tensor.dtype = {kDLFloat, 32, 1};
    M.dl_tensor.shape = Shape;
    M.dl_tensor.byte_offset = 8;
  }
  float Data[16] = {};
  int64_t Shape[2] = {2, 3}, Strides[2] = {3, 1};
  DLManagedTensorVersioned M{};
};

TEST(DlPack, StridesOfWhatIsEmptyDoNotMatter) {
  Given G;
  G.Shape[0] = 0;
  G.Strides[0] = 12;
  G.Strides[1] = 2;
  G.M.dl_tensor.strides = G.Strides;
  kpc_tensor T;
  ASSERT_EQ(kpc_tensor_from_dlpack(&G.M, &T, nullptr), KPC_OK);
  EXPECT_EQ(T.dims[0], 0);
  EXPECT_EQ(T.dims[1], 3);
}

TEST(DlPack, ViewsWhatIsGiven) {
  Given G;
  kpc_tensor T;
  G.M.dl_tensor.strides = G.Strides;
  ASSERT_EQ(kpc_tensor_from_dlpack(&G.M, &T, nullptr), KPC_OK);
  EXPECT_EQ(T.data, &G.Data[2]);
  EXPECT_EQ(T.rank, 2);
  EXPECT_EQ(T.dims[1], 3);
  EXPECT_EQ(T.type, KPC_F32);
  EXPECT_EQ(T.device.kind, KPC_DEVICE_HOST);
  EXPECT_EQ(kpc_tensor_bytes(&T), 24);
  // A dim of one may have any stride.
  G.Shape[0] = 1;
  G.Strides[0] = 77;
  EXPECT_EQ(kpc_tensor_from_dlpack(&G.M, &T, nullptr), KPC_OK);
}

TEST(DlPack, RefusesWhatItCannotView) {
  auto Refused = [](kpc_status Status, const char *Text, auto Change) {
    Given G;
    Change(G, G.M.dl_tensor);
    kpc_tensor T;
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_tensor_from_dlpack(&G.M, &T, &E), Status);
    EXPECT_THAT(describe(E), HasSubstr(Text));
  };
  Refused(KPC_ERROR_WRONG_SHAPE, "not contiguous", [](auto &G, auto &T) {
    G.Strides[0] = 1;
    G.Strides[1] = 2;
    T.strides = G.Strides;
  });
  Refused(KPC_ERROR_WRONG_TYPE, "4 lanes",
          [](auto &, auto &T) { T.dtype.lanes = 4; });
  Refused(KPC_ERROR_WRONG_TYPE, "code 99",
          [](auto &, auto &T) { T.dtype.code = 99; });
  Refused(KPC_ERROR_WRONG_TYPE, "padded", [](auto &G, auto &T) {
    T.dtype = {kDLFloat4_e2m1fn, 4, 1};
    G.M.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  });
  Refused(KPC_ERROR_WRONG_DEVICE, "kind 10",
          [](auto &, auto &T) { T.device.device_type = DLDeviceType(10); });
  Refused(KPC_ERROR_INVALID_ARGUMENT, "DLPack 2.0",
          [](auto &G, auto &) { G.M.version = {2, 0}; });
  Refused(KPC_ERROR_WRONG_SHAPE, "rank -1",
          [](auto &, auto &T) { T.ndim = -1; });
}

TEST(DlPack, OutputsLiveAsLongAsTheirTensors) {
  DLManagedTensorVersioned *Total = nullptr;
  SampleRun Run(4, 8);
  {
    artifact::Bytes File = sampleArtifact();
    Own<kpc_model> M = load(File);
    Own<kpc_session> S = test::open(M);
    auto In = Run.inputs();
    kpc_outputs *Raw = nullptr;
    ASSERT_EQ(
        kpc_session_run_owned(S.get(), In.data(), 2, nullptr, &Raw, nullptr),
        KPC_OK);
    Own<kpc_outputs> Outputs(Raw);
    ASSERT_EQ(kpc_outputs_to_dlpack(Raw, 1, &Total, nullptr), KPC_OK);
    DLManagedTensorVersioned *None = nullptr;
    EXPECT_EQ(kpc_outputs_to_dlpack(Raw, 3, &None, nullptr),
              KPC_ERROR_OUT_OF_RANGE);
  }
  EXPECT_EQ(Total->version.major, 1u);
  EXPECT_EQ(Total->dl_tensor.ndim, 1);
  EXPECT_EQ(Total->dl_tensor.shape[0], 4);
  EXPECT_EQ(Total->dl_tensor.dtype.bits, 32);
  float Sum = 0;
  for (int I = 0; I < 8; ++I)
    Sum += 3 * (Run.X[I] + Run.Y[I]);
  EXPECT_EQ(static_cast<float *>(Total->dl_tensor.data)[0], Sum);
  Total->deleter(Total);
}

} // namespace
