//===- SessionTest.cpp - Sessions on the host -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/Sample.h"

#include <gmock/gmock.h>
#include <thread>

using namespace kpc;
using namespace kpc::test;
using testing::HasSubstr;

namespace {

struct Opened {
  explicit Opened(const kpc_session_options *Options = nullptr)
      : File(sampleArtifact()), M(load(File)), S(test::open(M, Options)) {}
  artifact::Bytes File;
  Own<kpc_model> M;
  Own<kpc_session> S;
};

kpc_session_options optionsWith(int Threads, uint32_t Flags = 0) {
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.num_threads = Threads;
  O.flags = Flags;
  return O;
}

TEST(Session, UnknownFlagsAndSizesAreRefused) {
  artifact::Bytes File = sampleArtifact();
  Own<kpc_model> M = load(File);
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  kpc_session_options O = optionsWith(1, 1u << 20);
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E),
            KPC_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(describe(E), HasSubstr("flags has bits that this runtime does "
                                     "not know: 0x100000"));
  O = optionsWith(1);
  // The first version ended in front of max_run_us.
  O.struct_size = offsetof(kpc_session_options, max_run_us);
  O.max_run_us = -1;
  ASSERT_EQ(kpc_session_create(M.get(), &O, &S, &E), KPC_OK);
  Own<kpc_session> Opened(S);
  O.struct_size -= 8;
  EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E),
            KPC_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(describe(E), HasSubstr("struct_size is"));
}

TEST(Session, RunsAtSeveralShapes) {
  for (int Threads : {1, 2, 5}) {
    kpc_session_options O = optionsWith(Threads);
    Opened H(&O);
    for (auto [Batch, Width] : {std::pair(1, 1), {4, 8}, {32, 64}, {3, 7}}) {
      SampleRun Run(Batch, Width);
      kpc_error *E = nullptr;
      ASSERT_EQ(Run.run(H.S.get(), &E), KPC_OK) << describe(E);
      Run.expectRight();
    }
  }
}

// The sample multiplies by 3; where an alternative holds, by 5.
TEST(Session, TheFirstAlternativeThatFitsTheSizesIsLaunched) {
  artifact::Contents C = sampleContents();
  artifact::Target &T = C.Targets[0];
  using artifact::Expr;
  addAlternative(T, 1).Instead.Params[2].Size = Expr(5);
  // Never reached where the first one holds.
  auto &Second = addAlternative(T, 1);
  Second.Bounds = {{Expr::symbol("batch"), 3, 6}};
  Second.Instead.Params[2].Size = Expr(7);
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  auto factorAt = [&](int64_t Batch, int64_t Width) {
    SampleRun Run(Batch, Width);
    kpc_error *E = nullptr;
    EXPECT_EQ(Run.run(S.get(), &E), KPC_OK) << describe(E);
    // z = factor * t + t
    return Run.Z[1] / (Run.X[1] + Run.Y[1]) - 1;
  };
  EXPECT_EQ(factorAt(1, 8), 3);
  EXPECT_EQ(factorAt(2, 8), 5);
  EXPECT_EQ(factorAt(4, 25), 5);
  EXPECT_EQ(factorAt(4, 26), 7); // more than 100 elements
  EXPECT_EQ(factorAt(5, 8), 7);
  EXPECT_EQ(factorAt(7, 8), 3);
  EXPECT_EQ(factorAt(2, 8), 5); // bound before
}

TEST(Session, ABoundWithoutAValueIsAnError) {
  artifact::Contents C = sampleContents();
  using artifact::Expr;
  addAlternative(C.Targets[0], 1).Bounds[0].Size =
      Expr(1).floorDiv(Expr::symbol("batch") - 3);
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  SampleRun Good(4, 8), Bad(3, 8);
  EXPECT_EQ(Good.run(S.get()), KPC_OK);
  kpc_error *E = nullptr;
  EXPECT_EQ(Bad.run(S.get(), &E), KPC_ERROR_MALFORMED);
  EXPECT_THAT(describe(E),
              HasSubstr("step 1 of target 'host:x86-64': a bound does not fit "
                        "these dims"));
}

TEST(Session, MisalignedTensorsAreCopied) {
  Opened H;
  SampleRun Run(3, 5, 1, /*Shift=*/1);
  kpc_error *E = nullptr;
  ASSERT_EQ(Run.run(H.S.get(), &E), KPC_OK) << describe(E);
  Run.expectRight();
  kpc_memory Memory;
  ASSERT_EQ(kpc_session_memory(H.S.get(), &Memory), KPC_OK);
  EXPECT_GT(Memory.staging_bytes, 0u);
}

TEST(Session, OwnedOutputsOutliveTheSession) {
  Own<kpc_outputs> Out;
  SampleRun Run(4, 6);
  {
    Opened H;
    auto In = Run.inputs();
    kpc_outputs *O = nullptr;
    kpc_error *E = nullptr;
    ASSERT_EQ(kpc_session_run_owned(H.S.get(), In.data(), 2, nullptr, &O, &E),
              KPC_OK)
        << describe(E);
    Out.reset(O);
  }
  ASSERT_EQ(kpc_outputs_count(Out.get()), 3);
  kpc_named_tensor Z;
  ASSERT_EQ(kpc_outputs_get(Out.get(), 0, &Z), KPC_OK);
  EXPECT_STREQ(Z.name, "z");
  ASSERT_EQ(Z.tensor.rank, 2);
  EXPECT_EQ(Z.tensor.dims[0], 4);
  EXPECT_EQ(Z.tensor.dims[1], 6);
  for (int I = 0; I < 24; ++I)
    EXPECT_EQ(static_cast<float *>(Z.tensor.data)[I],
              4 * (Run.X[I] + Run.Y[I]));
  EXPECT_EQ(kpc_outputs_get(Out.get(), 3, &Z), KPC_ERROR_OUT_OF_RANGE);
}

TEST(Session, ErrorsNameWhatIsWrong) {
  Opened H;
  auto Expect = [&](kpc_status Status, const char *Text, auto Change) {
    SampleRun Run(4, 8);
    auto In = Run.inputs(), Out = Run.outputs();
    Change(Run, In, Out);
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_session_run(H.S.get(), In.data(), In.size(), Out.data(),
                              Out.size(), nullptr, &E),
              Status)
        << Text;
    EXPECT_EQ(kpc_error_status(E), Status);
    EXPECT_THAT(describe(E), HasSubstr(Text));
  };
  Expect(KPC_ERROR_MISSING, "input 'y' f32[batch, width] is not given",
         [](auto &, auto &In, auto &) { In.pop_back(); });
  Expect(KPC_ERROR_UNKNOWN_NAME, "the model has no input 'q'",
         [](auto &, auto &In, auto &) { In[0].name = "q"; });
  Expect(KPC_ERROR_INVALID_ARGUMENT, "input 'x' is given twice",
         [](auto &, auto &In, auto &) { In[1].name = "x"; });
  Expect(KPC_ERROR_WRONG_TYPE, "'x' is i64, expected f32[batch, width]",
         [](auto &, auto &In, auto &) { In[0].tensor.type = KPC_I64; });
  Expect(KPC_ERROR_WRONG_SHAPE, "'x' has rank 1, expected f32[batch, width]",
         [](auto &, auto &In, auto &) { In[0].tensor.rank = 1; });
  Expect(KPC_ERROR_OUT_OF_RANGE,
         "dim 'batch' is 33, but the model was compiled for 1 to 32",
         [](auto &R, auto &, auto &) { R.Matrix[0] = 33; });
  Expect(KPC_ERROR_OUT_OF_RANGE, "dim 'batch' is 0",
         [](auto &R, auto &, auto &) { R.Matrix[0] = 0; });
  Expect(KPC_ERROR_WRONG_SHAPE, "'x' has dims [-4, 8], one is negative",
         [](auto &R, auto &, auto &) { R.Matrix[0] = -4; });
  int64_t Other[2] = {5, 8};
  Expect(KPC_ERROR_WRONG_SHAPE,
         "'y' has dims [5, 8], but dim 0 must be batch = 4",
         [&](auto &, auto &In, auto &) { In[1].tensor.dims = Other; });
  Expect(KPC_ERROR_WRONG_SHAPE, "'z' has dims [5, 8], but dim 0 must be batch",
         [&](auto &, auto &, auto &Out) { Out[0].tensor.dims = Other; });
  Expect(KPC_ERROR_INVALID_ARGUMENT, "'x' has no data",
         [](auto &, auto &In, auto &) { In[0].tensor.data = nullptr; });
  Expect(KPC_ERROR_WRONG_DEVICE, "'x' is on a device of kind 2",
         [](auto &, auto &In, auto &) { In[0].tensor.device = KPC_CUDA(0); });
  Expect(KPC_ERROR_INVALID_ARGUMENT, "output 'z' overlaps input 'x'",
         [](auto &R, auto &, auto &Out) { Out[0].tensor.data = R.X + 1; });
  Expect(KPC_ERROR_INVALID_ARGUMENT, "output 'tail' overlaps output 'z'",
         [](auto &R, auto &, auto &Out) { Out[2].tensor.data = R.Z; });
  // And the session still works.
  SampleRun Run(4, 8);
  EXPECT_EQ(Run.run(H.S.get()), KPC_OK);
  Run.expectRight();
}

TEST(Session, ADimWithoutARangeHasOne) {
  artifact::Contents C = sampleContents();
  for (artifact::Symbol &S : C.Symbols)
    if (S.Name == "width")
      S.Facts.Max = INT64_MAX;
  artifact::Bytes File = written(C);
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  kpc_dim Dims[] = {{"batch", 1}, {"width", int64_t(1) << 31}};
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_prepare(S.get(), Dims, 2, &E), KPC_ERROR_OUT_OF_RANGE);
  EXPECT_THAT(describe(E), HasSubstr("dim 'width' is 2147483648, but one "
                                     "without a range is at most 2147483646"));
}

TEST(Session, PrepareBindsAShape) {
  Opened H;
  kpc_error *E = nullptr;
  const int64_t *Dims;
  int32_t Rank;
  EXPECT_EQ(kpc_session_output_dims(H.S.get(), 0, &Dims, &Rank, nullptr),
            KPC_ERROR_MISSING);
  kpc_dim Two[] = {{"batch", 5}, {"width", 9}};
  EXPECT_EQ(kpc_session_prepare(H.S.get(), Two, 1, &E), KPC_ERROR_MISSING);
  EXPECT_THAT(describe(E), HasSubstr("nothing says what dim 'width' is"));
  ASSERT_EQ(kpc_session_prepare(H.S.get(), Two, 2, &E), KPC_OK) << describe(E);
  ASSERT_EQ(kpc_session_output_dims(H.S.get(), 0, &Dims, &Rank, nullptr),
            KPC_OK);
  EXPECT_EQ(Dims[0], 5);
  EXPECT_EQ(Dims[1], 9);
  Two[1].name = "depth";
  EXPECT_EQ(kpc_session_prepare(H.S.get(), Two, 2, &E), KPC_ERROR_UNKNOWN_NAME);
  EXPECT_THAT(describe(E), HasSubstr("its dims are batch, width"));
}

TEST(Session, BoundShapesAreCappedLeastRecentlyUsedOut) {
  kpc_session_options O = optionsWith(1);
  O.max_bound_shapes = 3;
  Opened H(&O);
  for (int Round = 0; Round < 2; ++Round)
    for (int Batch = 1; Batch <= 10; ++Batch) {
      SampleRun Run(Batch, 4);
      ASSERT_EQ(Run.run(H.S.get()), KPC_OK);
      Run.expectRight();
      kpc_memory Memory;
      ASSERT_EQ(kpc_session_memory(H.S.get(), &Memory), KPC_OK);
      EXPECT_LE(Memory.bound_shapes, 3);
    }
}

TEST(Session, GivenWorkspace) {
  alignas(256) static char Workspace[4096];
  kpc_session_options O = optionsWith(1);
  O.workspace = Workspace;
  O.workspace_size = sizeof Workspace;
  Opened H(&O);
  SampleRun Small(4, 8), Large(32, 64);
  EXPECT_EQ(Small.run(H.S.get()), KPC_OK);
  Small.expectRight();
  kpc_error *E = nullptr;
  EXPECT_EQ(Large.run(H.S.get(), &E), KPC_ERROR_TOO_SMALL);
  EXPECT_THAT(describe(E), HasSubstr("the workspace has 4096 bytes"));
}

TEST(Session, ReadsIntermediateValues) {
  kpc_session_options O = optionsWith(1, KPC_SESSION_KEEP_VALUES);
  Opened H(&O);
  SampleRun Run(3, 5);
  ASSERT_EQ(Run.run(H.S.get()), KPC_OK);
  ASSERT_EQ(kpc_session_value_count(H.S.get()), 4);
  EXPECT_STREQ(kpc_session_value_name(H.S.get(), 1), "u");
  kpc_named_tensor U;
  ASSERT_EQ(kpc_session_value(H.S.get(), 1, &U, nullptr), KPC_OK);
  EXPECT_EQ(U.tensor.dims[1], 5);
  std::vector<float> Values(15);
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_read_value(H.S.get(), 1, Values.data(), 60, &E), KPC_OK)
      << describe(E);
  for (int I = 0; I < 15; ++I)
    EXPECT_EQ(Values[size_t(I)], 3 * (Run.X[I] + Run.Y[I]));
  // Stored as [batch, width], read as [width, batch].
  ASSERT_EQ(kpc_session_read_value(H.S.get(), 3, Values.data(), 60, &E), KPC_OK)
      << describe(E);
  for (int R = 0; R < 3; ++R)
    for (int C = 0; C < 5; ++C)
      EXPECT_EQ(Values[size_t(C * 3 + R)], Run.Z[R * 5 + C]);
  EXPECT_EQ(kpc_session_read_value(H.S.get(), 1, Values.data(), 59, nullptr),
            KPC_ERROR_TOO_SMALL);
}

TEST(Session, ProfileNamesEveryStep) {
  Opened H;
  SampleRun Run(8, 8);
  auto In = Run.inputs(), Out = Run.outputs();
  kpc_profile *P = nullptr;
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_profile(H.S.get(), In.data(), 2, Out.data(), 3, &P, &E),
            KPC_OK)
      << describe(E);
  Own<kpc_profile> Owner(P);
  Run.expectRight();
  ASSERT_EQ(kpc_profile_step_count(P), 6);
  kpc_profile_step Step;
  ASSERT_EQ(kpc_profile_get(P, 3, &Step), KPC_OK);
  EXPECT_STREQ(Step.name, "sum_rows");
  EXPECT_STREQ(Step.nodes, "sum_rows_0, second \"node\"");
  EXPECT_EQ(Step.bytes_read, 8 * 8 * 4);
  EXPECT_EQ(Step.bytes_written, 8 * 4);
  EXPECT_EQ(Step.flops, 8);
  ASSERT_EQ(kpc_profile_get(P, 4, &Step), KPC_OK);
  EXPECT_STREQ(Step.name, "copy");
  EXPECT_THAT(kpc_profile_trace(P), HasSubstr("second \\\"node\\\""));
}

TEST(Session, SteadyRunsReuseTheArena) {
  Opened H;
  SampleRun Run(32, 64);
  ASSERT_EQ(Run.run(H.S.get()), KPC_OK);
  kpc_memory Memory;
  ASSERT_EQ(kpc_session_memory(H.S.get(), &Memory), KPC_OK);
  EXPECT_EQ(Memory.live_bytes, 2u * 32 * 64 * 4);
  EXPECT_EQ(Memory.arena_bytes, Memory.live_bytes);
  EXPECT_GT(Memory.value_bytes, Memory.arena_bytes);
  EXPECT_EQ(Memory.weight_bytes, 256u);
}

TEST(Session, SeveralThreadsOnOneModel) {
  artifact::Bytes File = sampleArtifact();
  Own<kpc_model> M = load(File);
  std::vector<std::thread> Threads;
  for (int T = 0; T < 4; ++T)
    Threads.emplace_back([&, T] {
      kpc_session_options O = optionsWith(2);
      Own<kpc_session> S = test::open(M, &O);
      for (int I = 0; I < 50; ++I) {
        SampleRun Run(1 + (I * 7 + T) % 32, 1 + (I + T) % 64, I);
        ASSERT_EQ(Run.run(S.get()), KPC_OK);
        Run.expectRight();
      }
    });
  for (std::thread &T : Threads)
    T.join();
}

TEST(Session, HostTakesNoStreamAndNeedsItsTarget) {
  Opened H;
  SampleRun Run(4, 8);
  EXPECT_EQ(Run.run(H.S.get(), nullptr, KPC_STREAM_DEFAULT),
            KPC_ERROR_INVALID_ARGUMENT);
  kpc_session_options O = optionsWith(1);
  O.target = "sm_90a";
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(H.M.get(), &O, &S, &E), KPC_ERROR_UNKNOWN_NAME);
  EXPECT_THAT(describe(E),
              HasSubstr("it holds host:x86-64 (x86-64 processors)"));
}

} // namespace
