//===- CudaTest.cpp - Sessions on a CUDA device, with a fake driver -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Programs.h"

#include <cstring>
#include <gmock/gmock.h>
#include <thread>

using namespace kpc;
using namespace kpc::test;
using artifact::CapabilityRule;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

kpc_session_options onFake(uint32_t Flags = 0) {
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.device = KPC_CUDA(0);
  O.driver = KPC_FAKE_CUDA;
  O.flags = Flags;
  return O;
}

struct Cuda : testing::Test {
  void SetUp() override { Fake.reset(); }
  void TearDown() override { EXPECT_EQ(Fake.live(), 0); }
  FakeCuda Fake;
};

/// Tensors of a SampleRun on the "device".
struct DeviceRun : SampleRun {
  using SampleRun::SampleRun;
  kpc_status runOnDevice(kpc_session *S, kpc_error **E = nullptr,
                         void *Stream = KPC_STREAM_DEFAULT) {
    auto In = inputs(), Out = outputs();
    for (auto *List : {&In, &Out})
      for (kpc_named_tensor &T : *List)
        T.tensor.device = KPC_CUDA(0);
    return kpc_session_run(S, In.data(), In.size(), Out.data(), Out.size(),
                           Stream, E);
  }
};

TEST_F(Cuda, RunsFromHostTensors) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)}) {
    kpc_session_options O = onFake(Flags);
    Own<kpc_session> S = test::open(M, &O);
    EXPECT_STREQ(kpc_session_target(S.get()), "sm_90a");
    for (auto [Batch, Width] : {std::pair(4, 8), {1, 1}, {32, 64}, {4, 8}}) {
      SampleRun Run(Batch, Width);
      kpc_error *E = nullptr;
      ASSERT_EQ(Run.run(S.get(), &E), KPC_OK) << describe(E);
      Run.expectRight();
    }
  }
}

TEST_F(Cuda, GraphEdgesAloneGiveTheRightResult) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  for (unsigned Seed = 0; Seed < 200; ++Seed) {
    Fake.seed(Seed);
    DeviceRun Run(4, 8, int(Seed));
    ASSERT_EQ(Run.runOnDevice(S.get()), KPC_OK);
    Run.expectRight();
  }
}

TEST_F(Cuda, SteadyRunsAllocateAndSynchroniseNothing) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  DeviceRun A(4, 8), B(4, 8, 2);
  ASSERT_EQ(A.runOnDevice(S.get()), KPC_OK);
  Fake.reset();
  ASSERT_EQ(A.runOnDevice(S.get()), KPC_OK);
  EXPECT_EQ(Fake.count("GraphExecKernelNodeSetParams"), 0);
  ASSERT_EQ(B.runOnDevice(S.get()), KPC_OK);
  B.expectRight();
  // x, y: step 0; z: step 2 and the copy; total: step 3; tail: step 5.
  EXPECT_EQ(Fake.count("GraphExecKernelNodeSetParams"), 4);
  EXPECT_EQ(Fake.count("GraphExecMemcpyNodeSetParams"), 1);
  EXPECT_EQ(Fake.count("GraphLaunch"), 2);
  for (const char *Name :
       {"MemAlloc", "StreamSynchronize", "EventSynchronize", "MemcpyAsync",
        "GraphInstantiateWithFlags", "StreamWaitEvent"})
    EXPECT_EQ(Fake.count(Name), 0) << Name;
  // Another stream must wait for the last run.
  ASSERT_EQ(A.runOnDevice(S.get(), nullptr, reinterpret_cast<void *>(2)),
            KPC_OK);
  EXPECT_EQ(Fake.count("StreamWaitEvent"), 1);
}

TEST_F(Cuda, AlternatingShapesRebuildNothing) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  O.max_bound_shapes = 3;
  Own<kpc_session> S = test::open(M, &O);
  DeviceRun Small(2, 3), Middle(4, 8), Large(32, 64);
  // The workspace grows with the second and the third: what was recorded for
  // the first then has other addresses, no other graph.
  for (DeviceRun *Run : {&Small, &Middle, &Large})
    ASSERT_EQ(Run->runOnDevice(S.get()), KPC_OK);
  Fake.reset();
  for (int Round = 0; Round < 4; ++Round)
    for (DeviceRun *Run : {&Small, &Large, &Middle}) {
      ASSERT_EQ(Run->runOnDevice(S.get()), KPC_OK);
      Run->expectRight();
    }
  for (const char *Name :
       {"MemAlloc", "GraphCreate", "GraphInstantiateWithFlags"})
    EXPECT_EQ(Fake.count(Name), 0) << Name;
  // A fourth takes the place of the one that was used longest ago.
  DeviceRun Fourth(5, 5);
  ASSERT_EQ(Fourth.runOnDevice(S.get()), KPC_OK);
  EXPECT_EQ(Fake.count("GraphExecDestroy"), 1);
  ASSERT_EQ(Middle.runOnDevice(S.get()), KPC_OK);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 1);
  ASSERT_EQ(Small.runOnDevice(S.get()), KPC_OK);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 2);
}

TEST_F(Cuda, KernelsThatWaitThemselvesAreLaunchedEarly) {
  artifact::Contents C = cudaContents();
  for (artifact::Kernel &K : C.Targets[0].Kernels)
    K.EarlyLaunch = true;
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  struct Case {
    uint32_t Flags;
    int Version;
    long Full, Early;
  };
  // x + y -> t -> u -> z, total; z is copied to row, which lies where t was and
  // is the last kernel's: t -> z follows from t -> u -> z and is no edge.
  for (auto [Flags, Version, Full, Early] :
       {Case{0, 12040, 2, 3}, Case{KPC_SESSION_NO_EARLY_LAUNCH, 12040, 5, 0},
        Case{KPC_SESSION_ONE_CHAIN, 12040, 2, 3},
        Case{KPC_SESSION_ONE_CHAIN | KPC_SESSION_NO_EARLY_LAUNCH, 12040, 5, 0},
        Case{0, 12020, 5, 0}}) {
    Fake.reset();
    Fake.device(9, 0, 3, Version);
    kpc_session_options O = onFake(Flags);
    Own<kpc_session> S = test::open(M, &O);
    for (unsigned Seed = 0; Seed < 20; ++Seed) {
      Fake.seed(Seed);
      DeviceRun Run(4, 8, int(Seed));
      ASSERT_EQ(Run.runOnDevice(S.get()), KPC_OK);
      Run.expectRight();
    }
    EXPECT_EQ(Fake.count("edge"), Full) << Flags;
    EXPECT_EQ(Fake.count("programmatic edge"), Early) << Flags;
  }
}

// A step more writes what only a second one reads, and that one's alternative
// does not: where it is launched, the first is not.
TEST_F(Cuda, StepsWhoseResultsNothingReadsAreLeftOut) {
  artifact::Contents C = cudaContents();
  artifact::Target &T = C.Targets[0];
  auto First = std::get<artifact::Launch>(T.Steps[0]);
  auto Steps = uint32_t(T.Steps.size()), Buffers = uint32_t(T.Buffers.size());
  artifact::Buffer Extra = T.Buffers[6];
  Extra.FirstStep = Steps;
  Extra.LastStep = Steps + 1;
  T.Buffers.insert(T.Buffers.end(), 2, Extra);
  for (artifact::Buffer *Kept : {&T.Buffers[6], &T.Buffers[7]})
    Kept->LastStep = Steps + 1;
  auto In = [](uint32_t B) {
    return artifact::Param::buffer(B, artifact::Access::Read);
  };
  auto AddLaunch = [&](uint32_t From, uint32_t To) {
    artifact::Launch L = First;
    L.Params[0] = In(From);
    L.Params[1] = In(From);
    L.Params[2] = artifact::Param::buffer(To, artifact::Access::Write);
    T.Steps.push_back(L);
  };
  AddLaunch(6, Buffers);
  AddLaunch(Buffers, 7);
  // For 2 to 4 of a batch.
  auto &Instead = addAlternative(T, Steps + 1).Instead;
  Instead.Params[0] = Instead.Params[1] = In(6);
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  for (auto [Flags, Batch, Launches] :
       {std::tuple(0u, 4, 6L),
        {0u, 8, 7L},
        {unsigned(KPC_SESSION_KEEP_VALUES), 4, 7L}}) {
    kpc_session_options O = onFake(Flags | KPC_SESSION_NO_GRAPH);
    Own<kpc_session> S = test::open(M, &O);
    Fake.reset();
    SampleRun Run(Batch, 8);
    ASSERT_EQ(Run.run(S.get()), KPC_OK);
    Run.expectRight();
    EXPECT_EQ(Fake.count("LaunchKernel"), Launches) << Batch << " " << Flags;
  }
}

TEST_F(Cuda, SaysWhatBindingTook) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  kpc_bind_times Times{};
  ASSERT_EQ(kpc_session_bind_times(S.get(), &Times), KPC_OK);
  EXPECT_EQ(Times.sizes_us, 0);
  DeviceRun Run(4, 8);
  ASSERT_EQ(Run.runOnDevice(S.get()), KPC_OK);
  ASSERT_EQ(kpc_session_bind_times(S.get(), &Times), KPC_OK);
  EXPECT_GT(Times.sizes_us, 0);
  EXPECT_GT(Times.workspace_us, 0);
  EXPECT_GT(Times.record_us, 0);
  EXPECT_GT(Times.instantiate_us, 0);
  EXPECT_EQ(kpc_session_bind_times(nullptr, &Times),
            KPC_ERROR_INVALID_ARGUMENT);
}

TEST_F(Cuda, SessionsShareWeights) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> A = test::open(M, &O), B = test::open(M, &O);
  EXPECT_EQ(Fake.count("MemcpyHtoD"), 1);
  EXPECT_EQ(Fake.count("ModuleLoadDataEx"), 1);
}

TEST_F(Cuda, OwnedOutputsStayOnTheDeviceAndOutliveEverything) {
  Own<kpc_outputs> Out;
  DeviceRun Run(4, 8);
  {
    artifact::Bytes File = written(cudaContents());
    Own<kpc_model> M = load(File);
    kpc_session_options O = onFake();
    Own<kpc_session> S = test::open(M, &O);
    auto In = Run.inputs();
    for (kpc_named_tensor &T : In)
      T.tensor.device = KPC_CUDA(0);
    kpc_outputs *Given = nullptr;
    ASSERT_EQ(kpc_session_run_owned(S.get(), In.data(), 2, KPC_STREAM_DEFAULT,
                                    &Given, nullptr),
              KPC_OK);
    Out.reset(Given);
  }
  kpc_named_tensor Z;
  ASSERT_EQ(kpc_outputs_get(Out.get(), 0, &Z), KPC_OK);
  EXPECT_EQ(Z.tensor.device.kind, KPC_DEVICE_CUDA);
  EXPECT_EQ(static_cast<float *>(Z.tensor.data)[5], 4 * (Run.X[5] + Run.Y[5]));
}

TEST_F(Cuda, PrepareRecordsAheadWhereNoCopyNeedsAnAddress) {
  artifact::Contents C = cudaContents();
  artifact::Target &T = C.Targets[0];
  // Without the copy from output z.
  T.Steps.resize(4);
  T.Buffers.resize(8);
  C.Outputs.pop_back();
  T.Buffers.erase(T.Buffers.begin() + 4); // tail
  for (artifact::Step &S : T.Steps)
    for (artifact::Param &P : std::get<artifact::Launch>(S).Params)
      if (P.Kind == artifact::ParamKind::Buffer && P.Buffer > 4)
        --P.Buffer;
  for (artifact::Value &V : T.Values)
    if (V.Buffer > 4)
      --V.Buffer;
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  kpc_dim Dims[] = {{"batch", 4}, {"width", 8}};
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_prepare(S.get(), Dims, 2, &E), KPC_OK) << describe(E);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 1);
  DeviceRun Run(4, 8);
  auto In = Run.inputs(), Out = Run.outputs();
  ASSERT_EQ(kpc_session_run(S.get(), In.data(), 2, Out.data(), 2, nullptr, &E),
            KPC_OK)
      << describe(E);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 1);
  EXPECT_EQ(Run.Total[1], [&] {
    float Sum = 0;
    for (int I = 8; I < 16; ++I)
      Sum += 3 * (Run.X[I] + Run.Y[I]);
    return Sum;
  }());
}

TEST_F(Cuda, ProfileAndValues) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake(KPC_SESSION_KEEP_VALUES);
  Own<kpc_session> S = test::open(M, &O);
  SampleRun Run(4, 8);
  auto In = Run.inputs(), Out = Run.outputs();
  kpc_profile *P = nullptr;
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_profile(S.get(), In.data(), 2, Out.data(), 3, &P, &E),
            KPC_OK)
      << describe(E);
  Own<kpc_profile> Owner(P);
  Run.expectRight();
  EXPECT_EQ(kpc_profile_step_count(P), 6);
  EXPECT_THAT(kpc_profile_trace(P), HasSubstr("Fake GPU"));
  std::vector<float> U(32);
  ASSERT_EQ(kpc_session_read_value(S.get(), 1, U.data(), 128, &E), KPC_OK)
      << describe(E);
  EXPECT_EQ(U[7], 3 * (Run.X[7] + Run.Y[7]));
}

//===-- Choice of target
//---------------------------------------------------===//

TEST_F(Cuda, ImageIsChosenByRuleAndByWhatTheDeviceTakes) {
  artifact::Contents C = cudaContents();
  C.Targets.clear();
  addCudaTarget(C, "sm_80", 8, 0, CapabilityRule::SameMajor, true, true);
  addCudaTarget(C, "sm_90a", 9, 0, CapabilityRule::Exactly, true, true);
  addCudaTarget(C, "portable", 8, 0, CapabilityRule::AtLeast, false, true);
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  const struct {
    int Major, Minor;
    unsigned Images;
    const char *Target, *Image;
  } Cases[] = {
      {9, 0, 3, "sm_90a", "FAKECUBIN"}, {9, 0, 2, "sm_90a", "FAKEPTX"},
      {8, 0, 3, "sm_80", "FAKECUBIN"},  {8, 6, 3, "sm_80", "FAKECUBIN"},
      {8, 6, 2, "sm_80", "FAKEPTX"},    {9, 1, 3, "portable", "FAKEPTX"},
      {12, 0, 3, "portable", "FAKEPTX"}};
  for (const auto &Case : Cases) {
    Fake.device(Case.Major, Case.Minor, Case.Images, 12040);
    kpc_session_options O = onFake();
    Own<kpc_session> S = test::open(M, &O);
    EXPECT_STREQ(kpc_session_target(S.get()), Case.Target);
    EXPECT_THAT(Fake.lastImage(), StartsWith(Case.Image));
  }
  auto Refused = [&](kpc_status Status, const char *Text, const char *Name) {
    kpc_session_options O = onFake();
    O.target = Name;
    kpc_session *S = nullptr;
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E), Status);
    EXPECT_THAT(describe(E), HasSubstr(Text));
  };
  Fake.device(7, 5, 3, 12040);
  Refused(KPC_ERROR_NO_TARGET,
          "no code for Fake GPU, of compute capability 7.5; it holds sm_80 "
          "(compute capability 8.0 and later 8.x); sm_90a",
          nullptr);
  Fake.device(12, 0, 1, 12040); // takes cubins alone
  Refused(KPC_ERROR_NO_TARGET, "compile with --arch sm_120a", nullptr);
  Fake.device(9, 0, 3, 11020);
  Refused(KPC_ERROR_DRIVER_TOO_OLD, "supports CUDA 11.2, at least 11.4",
          nullptr);
  Fake.device(9, 0, 3, 12040);
  Refused(KPC_ERROR_NO_TARGET, "no code for Fake GPU", "sm_80");
}

TEST_F(Cuda, LeastDriverIsChecked) {
  artifact::Contents C = cudaContents();
  C.Targets[0].LeastDriver = 12080;
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E), KPC_ERROR_DRIVER_TOO_OLD);
  EXPECT_THAT(describe(E), HasSubstr("needs a driver for CUDA 12.8, the one "
                                     "installed supports 12.4"));
}

TEST_F(Cuda, MissingDriverAndDevice) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  O.device.ordinal = 1;
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E), KPC_ERROR_NO_DEVICE);
  EXPECT_THAT(describe(E), HasSubstr("no CUDA device 1 (the driver finds 1)"));
  O.driver = "/nowhere/libcuda.so";
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E), KPC_ERROR_DRIVER_MISSING);
  EXPECT_THAT(describe(E),
              AllOf(HasSubstr("/nowhere/libcuda.so"),
                    HasSubstr("[correct that or the library's name")));
}

TEST_F(Cuda, TheDriversLogIsInTheError) {
  artifact::Contents C = cudaContents();
  C.Targets[0].Modules[0].Image.clear();
  C.Targets[0].Modules[0].Ptx = ".version 8.0";
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E), KPC_ERROR_DRIVER);
  EXPECT_THAT(kpc_error_kernel(E), HasSubstr("add, scale"));
  EXPECT_THAT(describe(E), HasSubstr("line 1: not for a fake"));
}

//===-- Faults
//--------------------------------------------------------------===//

// Everything that a program does with a session; the first error, or none.
kpc_status wholeProgram(kpc_model *M, kpc_error **E) {
  kpc_session_options O = onFake(KPC_SESSION_KEEP_VALUES);
  kpc_session *Raw = nullptr;
  if (kpc_status Code = kpc_session_create(M, &O, &Raw, E))
    return Code;
  Own<kpc_session> S(Raw);
  kpc_dim Dims[] = {{"batch", 2}, {"width", 3}};
  if (kpc_status Code = kpc_session_prepare(Raw, Dims, 2, E))
    return Code;
  DeviceRun A(2, 3), B(4, 8), C(4, 8, 2);
  if (kpc_status Code = A.run(Raw, E))
    return Code;
  if (kpc_status Code = B.runOnDevice(Raw, E))
    return Code;
  if (kpc_status Code = C.runOnDevice(Raw, E, reinterpret_cast<void *>(2)))
    return Code;
  C.expectRight();
  auto In = A.inputs(), Out = A.outputs();
  kpc_outputs *Outputs = nullptr;
  if (kpc_status Code =
          kpc_session_run_owned(Raw, In.data(), 2, nullptr, &Outputs, E))
    return Code;
  kpc_outputs_free(Outputs);
  kpc_profile *P = nullptr;
  if (kpc_status Code =
          kpc_session_profile(Raw, In.data(), 2, Out.data(), 3, &P, E))
    return Code;
  kpc_profile_free(P);
  float T[6];
  return kpc_session_read_value(Raw, 0, T, sizeof T, E);
}

struct EveryCall : Cuda, testing::WithParamInterface<bool> {};

TEST_P(EveryCall, FailsOnce) {
  artifact::Bytes File =
      written(GetParam() ? mappedContents(false) : cudaContents());
  Own<kpc_model> M = load(File);
  const struct {
    int Code;
    kpc_status Status;
  } Kinds[] = {{1, KPC_ERROR_DRIVER},
               {OutOfDeviceMemory, KPC_ERROR_DEVICE_OUT_OF_MEMORY},
               {700, KPC_ERROR_SESSION_LOST}};
  for (auto [Code, Status] : Kinds) {
    Fake.reset();
    kpc_error *E = nullptr;
    ASSERT_EQ(wholeProgram(M.get(), &E), KPC_OK) << describe(E);
    long Calls = Fake.calls(), Failed = 0;
    EXPECT_EQ(Fake.live(), 0);
    for (long Call = 1; Call <= Calls; ++Call) {
      Fake.reset();
      Fake.fail(Call, Code);
      kpc_status Got = wholeProgram(M.get(), &E);
      Failed += Got != KPC_OK;
      if (Got != KPC_OK) {
        EXPECT_STRNE(kpc_error_message(E), "");
        // Releases may fail in silence, pushes and allocations have a code of
        // their own.
        EXPECT_TRUE(Got == Status || Got == KPC_ERROR_DRIVER ||
                    Got == KPC_ERROR_DRIVER_MISSING ||
                    Got == KPC_ERROR_DEVICE_OUT_OF_MEMORY)
            << Call << ": " << kpc_error_message(E);
      }
      kpc_error_free(E);
      E = nullptr;
      ASSERT_EQ(Fake.live(), 0) << "after call " << Call;
    }
    EXPECT_GT(Failed, Calls / 2);
  }
}

TEST_F(Cuda, EveryCallOfEveryKindOfPlanFailsOnce) {
  kpc_session_options O = onFake();
  for (const GivenProgram &P : givenPrograms(true)) {
    SCOPED_TRACE(P.Name);
    Fake.reset();
    kpc_error *E = nullptr;
    ASSERT_EQ(P.run(O, &E), KPC_OK) << describe(E);
    long Calls = Fake.calls(), Failed = 0;
    for (long Call = 1; Call <= Calls; ++Call) {
      Fake.reset();
      Fake.fail(Call, 700);
      kpc_status Got = P.run(O, &E);
      Failed += Got != KPC_OK;
      if (Got != KPC_OK)
        EXPECT_STRNE(kpc_error_message(E), "") << Call;
      kpc_error_free(E);
      E = nullptr;
      ASSERT_EQ(Fake.live(), 0) << "after call " << Call;
    }
    EXPECT_GT(Failed, Calls / 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, EveryCall, testing::Bool(),
                         [](const auto &Info) {
                           return Info.param ? "WithTensorMaps" : "Plain";
                         });

TEST_F(Cuda, ASessionThatIsLostSaysSo) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  kpc_session_options O = onFake();
  Own<kpc_session> S = test::open(M, &O);
  DeviceRun Run(4, 8);
  ASSERT_EQ(Run.runOnDevice(S.get()), KPC_OK);
  long Before = Fake.calls();
  ASSERT_EQ(Run.runOnDevice(S.get()), KPC_OK);
  long PerRun = Fake.calls() - Before;
  for (long Call = 1; Call <= PerRun; ++Call) {
    Own<kpc_session> Other = test::open(M, &O);
    ASSERT_EQ(Run.runOnDevice(Other.get()), KPC_OK);
    Fake.fail(Call, 700);
    kpc_error *E = nullptr;
    kpc_status Got = Run.runOnDevice(Other.get(), &E);
    kpc_error_free(E);
    if (Got != KPC_ERROR_SESSION_LOST)
      continue;
    EXPECT_EQ(Run.runOnDevice(Other.get(), &E), KPC_ERROR_SESSION_LOST);
    EXPECT_THAT(describe(E), HasSubstr("the session is lost since"));
  }
  EXPECT_EQ(Run.runOnDevice(S.get()), KPC_OK);
}

TEST_F(Cuda, SeveralThreadsOnOneModel) {
  artifact::Bytes File = written(cudaContents());
  Own<kpc_model> M = load(File);
  std::vector<std::thread> Threads;
  for (int T = 0; T < 4; ++T)
    Threads.emplace_back([&, T] {
      kpc_session_options O = onFake();
      Own<kpc_session> S = test::open(M, &O);
      for (int I = 0; I < 20; ++I) {
        SampleRun Run(1 + (I * 7 + T) % 32, 1 + (I + T) % 64, I);
        ASSERT_EQ(Run.run(S.get()), KPC_OK);
        Run.expectRight();
      }
    });
  for (std::thread &T : Threads)
    T.join();
}

} // namespace
