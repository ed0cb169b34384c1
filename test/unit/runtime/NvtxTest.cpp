//===- NvtxTest.cpp - Ranges for profilers, with a fake one ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Sample.h"

#include <cstdlib>

using namespace kpc;
using namespace kpc::test;

namespace {

/// A profiler attaches once to a process, and stays.
struct Nvtx : testing::Test {
  static void SetUpTestSuite() {
    setenv("NVTX_INJECTION64_PATH", KPC_FAKE_PROFILER, 1);
  }
  void SetUp() override {
    Profiler = dlopen(KPC_FAKE_PROFILER, RTLD_NOW);
    ASSERT_NE(Profiler, nullptr) << dlerror();
    Fake.reset();
  }
  void TearDown() override { dlclose(Profiler); }

  std::string heard() {
    auto *Ask = reinterpret_cast<const char *(*)()>(
        dlsym(Profiler, "fake_profiler_heard"));
    std::string Text = Ask();
    // Only the first test of the process sees the domain made.
    const std::string Domain = "domain kpc\n";
    return Text.rfind(Domain, 0) == 0 ? Text.substr(Domain.size()) : Text;
  }

  FakeCuda Fake;
  void *Profiler = nullptr;
};

kpc_session_options withRanges(uint32_t Flags = 0) {
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.flags = Flags | KPC_SESSION_NVTX;
  return O;
}

kpc_session_options onFake(uint32_t Flags = 0) {
  kpc_session_options O = withRanges(Flags);
  O.device = KPC_CUDA(0);
  O.driver = KPC_FAKE_CUDA;
  return O;
}

TEST_F(Nvtx, HostRunsNameTheirSteps) {
  artifact::Bytes File = sampleArtifact();
  Own<kpc_model> M = load(File);
  kpc_session_options O = withRanges();
  O.num_threads = 1;
  Own<kpc_session> S = test::open(M, &O);
  SampleRun Run(4, 8);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  std::string Steps = "  add\n  scale\n  add\n  sum_rows\n  copy\n  add\n";
  EXPECT_EQ(heard(), "run\n  bind\n" + Steps);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "run\n" + Steps);
}

TEST_F(Nvtx, GraphsAreOneLaunch) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  SampleRun Run(4, 8);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "run\n  bind\n  record\n");
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "run\n");
}

TEST_F(Nvtx, StepsOneByOneHaveNames) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake(KPC_SESSION_NO_GRAPH);
  Own<kpc_session> S = test::open(M, &O);
  SampleRun Run(4, 8);
  ASSERT_EQ(Run.run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "run\n  bind\n  add\n  scale\n  add\n  sum_rows\n  copy\n"
                     "  add\n");
}

TEST_F(Nvtx, NothingIsSaidUnasked) {
  artifact::Bytes File = sampleArtifact();
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  ASSERT_EQ(SampleRun(4, 8).run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "");
}

TEST_F(Nvtx, FailedRunsEndTheirRanges) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  Fake.fail("GraphInstantiateWithFlags", OutOfDeviceMemory);
  kpc_error *E = nullptr;
  EXPECT_EQ(SampleRun(4, 8).run(S.get(), &E), KPC_ERROR_DEVICE_OUT_OF_MEMORY);
  kpc_error_free(E);
  EXPECT_EQ(heard(), "run\n  bind\n  record\n");
  ASSERT_EQ(SampleRun(4, 8).run(S.get()), KPC_OK);
  EXPECT_EQ(heard(), "run\n  record\n");
}

} // namespace
