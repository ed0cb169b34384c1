//===- DeviceTest.cpp - Sessions on a real CUDA device --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Skipped where there is no driver or device.

#include "runtime/src/cuda/Driver.h"
#include "test/unit/runtime/Sample.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::test;
using artifact::CapabilityRule;

namespace {

artifact::Contents deviceContents() {
  artifact::Contents C = sampleContents();
  C.Targets.clear();
  addCudaTarget(C, "portable", 8, 0, CapabilityRule::AtLeast, false, true);
  std::ifstream File(KPC_SAMPLE_PTX);
  C.Targets[0].Modules[0].Ptx =
      std::string((std::istreambuf_iterator<char>(File)), {});
  EXPECT_FALSE(C.Targets[0].Modules[0].Ptx.empty());
  return C;
}

struct DeviceTest : testing::Test {
  void SetUp() override {
    auto Opened = rt::cuda::Driver::open("");
    if (!Opened)
      GTEST_SKIP() << Opened.error().Message;
    Driver = *Opened;
    File = written(deviceContents());
    M = load(File);
  }
  Own<kpc_session> open(uint32_t Flags = 0) {
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.flags = Flags;
    return test::open(M, &O);
  }
  std::shared_ptr<const rt::cuda::Driver> Driver;
  artifact::Bytes File;
  Own<kpc_model> M;
};

TEST_F(DeviceTest, HostTensors) {
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    Own<kpc_session> S = open(Flags);
    for (auto [Batch, Width] : {std::pair(4, 8), {1, 1}, {32, 64}, {4, 8}}) {
      SampleRun Run(Batch, Width);
      kpc_error *E = nullptr;
      ASSERT_EQ(Run.run(S.get(), &E), KPC_OK) << describe(E);
      Run.expectRight();
    }
  }
}

// A run's tensors in device memory.
struct OnDevice {
  OnDevice(const rt::cuda::Driver &D, SampleRun &Run) : D(D), Run(Run) {
    Bytes = Run.Storage.size() * 4;
    EXPECT_EQ(D->MemAlloc(&Memory, Bytes), 0);
    EXPECT_EQ(D->MemcpyHtoD(Memory, Run.X, used()), 0);
  }
  ~OnDevice() { (void)D->MemFree(Memory); }
  size_t used() const {
    return size_t(Run.Storage.data() + Run.Storage.size() - Run.X) * 4;
  }
  kpc_status run(kpc_session *S, rt::cuda::Stream Stream, kpc_error **E) {
    auto In = Run.inputs(), Out = Run.outputs();
    for (auto *List : {&In, &Out})
      for (kpc_named_tensor &T : *List) {
        T.tensor.data = reinterpret_cast<void *>(
            Memory +
            uint64_t(static_cast<char *>(T.tensor.data) - (char *)Run.X));
        T.tensor.device = KPC_CUDA(0);
      }
    return kpc_session_run(S, In.data(), In.size(), Out.data(), Out.size(),
                           Stream, E);
  }
  void expectRight(rt::cuda::Stream Stream) {
    EXPECT_EQ(
        D->MemcpyAsync(uint64_t(uintptr_t(Run.X)), Memory, used(), Stream), 0);
    EXPECT_EQ(D->StreamSynchronize(Stream), 0);
    Run.expectRight();
  }
  const rt::cuda::Driver &D;
  SampleRun &Run;
  rt::cuda::Pointer Memory = 0;
  size_t Bytes;
};

TEST_F(DeviceTest, DeviceTensorsOnStreamsWithChangingPointers) {
  Own<kpc_session> S = open();
  rt::cuda::Context Context;
  ASSERT_EQ((*Driver)->DevicePrimaryCtxRetain(&Context, 0), 0);
  ASSERT_EQ((*Driver)->CtxPushCurrent(Context), 0);
  rt::cuda::Stream Streams[2];
  for (auto &Stream : Streams)
    ASSERT_EQ((*Driver)->StreamCreate(&Stream, 1), 0);
  for (int I = 0; I < 50; ++I) {
    SampleRun RunA(8, 16, I), RunB(8, 16, I + 1), RunC(3, 5, I);
    OnDevice A(*Driver, RunA), B(*Driver, RunB), C(*Driver, RunC);
    kpc_error *E = nullptr;
    ASSERT_EQ(A.run(S.get(), Streams[0], &E), KPC_OK) << describe(E);
    ASSERT_EQ(B.run(S.get(), Streams[1], &E), KPC_OK) << describe(E);
    ASSERT_EQ(C.run(S.get(), Streams[0], &E), KPC_OK) << describe(E);
    A.expectRight(Streams[0]);
    B.expectRight(Streams[1]);
    C.expectRight(Streams[0]);
  }
  for (auto Stream : Streams)
    (void)(*Driver)->StreamDestroy(Stream);
  rt::cuda::Context Popped;
  (void)(*Driver)->CtxPopCurrent(&Popped);
  (void)(*Driver)->DevicePrimaryCtxRelease(0);
}

TEST_F(DeviceTest, OwnedOutputsProfileAndValues) {
  Own<kpc_session> S = open(KPC_SESSION_KEEP_VALUES);
  SampleRun Run(4, 8);
  auto In = Run.inputs(), Out = Run.outputs();
  kpc_outputs *Outputs = nullptr;
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_run_owned(S.get(), In.data(), 2, nullptr, &Outputs, &E),
            KPC_OK)
      << describe(E);
  Own<kpc_outputs> Owner(Outputs);
  kpc_named_tensor Z;
  ASSERT_EQ(kpc_outputs_get(Outputs, 0, &Z), KPC_OK);
  EXPECT_EQ(static_cast<float *>(Z.tensor.data)[9], 4 * (Run.X[9] + Run.Y[9]));
  kpc_profile *P = nullptr;
  ASSERT_EQ(kpc_session_profile(S.get(), In.data(), 2, Out.data(), 3, &P, &E),
            KPC_OK)
      << describe(E);
  Own<kpc_profile> ProfileOwner(P);
  Run.expectRight();
  kpc_profile_step Step;
  ASSERT_EQ(kpc_profile_get(P, 0, &Step), KPC_OK);
  EXPECT_GT(Step.duration_us, 0);
  std::vector<float> U(32);
  ASSERT_EQ(kpc_session_read_value(S.get(), 1, U.data(), 128, &E), KPC_OK)
      << describe(E);
  EXPECT_EQ(U[7], 3 * (Run.X[7] + Run.Y[7]));
}

TEST_F(DeviceTest, BadPtxIsAnErrorWithTheDriversLog) {
  artifact::Contents C = deviceContents();
  C.Targets[0].Modules[0].Ptx += "\nthis is not PTX\n";
  artifact::Bytes Bad = written(C);
  Own<kpc_model> BadModel = load(Bad);
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.device = KPC_CUDA(0);
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(BadModel.get(), &O, &S, &E), KPC_ERROR_DRIVER);
  EXPECT_THAT(describe(E), testing::HasSubstr("the driver says"));
}

} // namespace
