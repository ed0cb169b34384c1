//===- EndedLoopTest.cpp - Loops of plans that data ends ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"
#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Programs.h"

#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr int64_t Width = ProgramWidth, Bytes64 = Width * 4;
constexpr int64_t Endless = 0x7fffffff;

Expr i() { return Expr::symbol("i"); }

enum : uint32_t { X, Goes, Last, Pair };

struct EndedRun {
  explicit EndedRun(bool Goes) : Goes(Goes) {
    for (int64_t I = 0; I < Width; ++I)
      In[I] = float(I + 1);
  }
  std::vector<kpc_named_tensor> inputs() {
    return {{"x", {In, Row, 1, KPC_F32, KPC_HOST}},
            {"goes", {&Goes, One, 1, KPC_BOOL, KPC_HOST}}};
  }
  std::vector<kpc_named_tensor> outputs() {
    return {{"last", {Out, Row, 1, KPC_F32, KPC_HOST}}};
  }
  kpc_status run(const Own<kpc_session> &S, std::string &Why) {
    auto Given = inputs(), Wanted = outputs();
    kpc_error *E = nullptr;
    kpc_status Status =
        kpc_session_run(S.get(), Given.data(), Given.size(), Wanted.data(),
                        Wanted.size(), nullptr, &E);
    Why = E ? describe(E) : "";
    return Status;
  }

  bool Goes;
  int64_t Row[1] = {Width}, One[1] = {1};
  alignas(64) float In[Width] = {};
  alignas(64) float Out[Width] = {};
};

/// The last value is x as often as there were iterations, and once more.
void expectIterations(const Own<kpc_session> &S, bool Goes, int64_t Count) {
  EndedRun Run(Goes);
  std::string Why;
  ASSERT_EQ(Run.run(S, Why), KPC_OK) << Why;
  for (int64_t I = 0; I < Width; ++I)
    ASSERT_EQ(Run.Out[I], float((Count + 1) * (I + 1)));
}

TEST(EndedLoop, RunsOnTheHost) {
  for (int64_t Count : {0, 1, 2, 7, 5000}) {
    Bytes File = written(endedContents(false, Count));
    Own<kpc_model> M = load(File);
    Own<kpc_session> S = test::open(M);
    expectIterations(S, true, Count);
    expectIterations(S, false, 0);
    expectIterations(S, true, Count);
  }
}

Own<kpc_session> openCuda(const Own<kpc_model> &M, uint32_t Flags = 0,
                          int64_t Most = 0) {
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.device = KPC_CUDA(0);
  O.driver = KPC_FAKE_CUDA;
  O.flags = Flags;
  O.max_run_us = Most;
  return test::open(M, &O);
}

TEST(EndedLoop, RunsOnCuda) {
  FakeCuda Fake;
  Fake.reset();
  for (uint32_t Flags : {0u, unsigned(KPC_SESSION_NO_GRAPH)})
    for (int64_t Count : {0, 1, 2, 7}) {
      Bytes File = written(endedContents(true, Count));
      Own<kpc_model> M = load(File);
      Own<kpc_session> S = openCuda(M, Flags);
      expectIterations(S, true, Count);
      expectIterations(S, false, 0);
    }
}

TEST(EndedLoop, IsANodeOfTheGraph) {
  FakeCuda Fake;
  Fake.reset();
  Bytes File = written(endedContents(true, 7));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = openCuda(M);
  expectIterations(S, true, 7);
  Fake.reset();
  for (unsigned Seed : {1u, 2u, 3u}) {
    Fake.seed(Seed);
    expectIterations(S, true, 7);
  }
  EXPECT_EQ(Fake.count("GraphLaunch"), 3);
  EXPECT_EQ(Fake.count("LaunchKernel"), 0);
  // Four even iterations hold three odd ones, and one of two endings runs.
  EXPECT_EQ(Fake.count("body"), 3 * (4 + 3 + 1));
}

/// Row i is (i + 2) * x, or (i + 1) as much of it.
void expectRows(const Own<kpc_session> &S, int64_t Count, int64_t Most,
                bool NamesIterations) {
  EndedRun Run(Count > 0);
  std::vector<float> Rows(size_t(Most * Width));
  int64_t Dims[] = {Most, Width};
  auto In = Run.inputs(), Out = Run.outputs();
  Out.push_back({"rows", {Rows.data(), Dims, 2, KPC_F32, KPC_HOST}});
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_run(S.get(), In.data(), In.size(), Out.data(),
                            Out.size(), nullptr, &E),
            KPC_OK)
      << describe(E);
  for (int64_t I = 0; I < Count; ++I)
    for (int64_t J = 0; J < Width; ++J)
      ASSERT_EQ(Rows[size_t(I * Width + J)],
                float((I + 2) * (J + 1) * (NamesIterations ? I + 1 : 1)))
          << "row " << I;
}

TEST(EndedLoop, CollectsAtThePlaceOfTheIteration) {
  FakeCuda Fake;
  for (int Version : {12020, 12040})
    for (int64_t Count : {1, 2, 3, 8, 9})
      for (bool Names : {false, true}) {
        Fake.reset();
        Fake.device(9, 0, /*Images=*/3, Version);
        Bytes File = written(collectingContents(true, Count, Names));
        Own<kpc_model> M = load(File);
        Own<kpc_session> S = openCuda(M);
        expectRows(S, Count, Count, Names);
        expectRows(S, 0, Count, Names);
        expectRows(S, Count, Count, Names);
        // What a kernel takes as a number is the same in all runs of a graph.
        bool Reads = Version < 12030 || Names;
        EXPECT_EQ(Fake.count("LaunchKernel") > 0, Reads)
            << Version << " " << Count << " " << Names;
      }
}

TEST(EndedLoop, IsReadBackWhereTheDriverRefusesNodes) {
  FakeCuda Fake;
  for (const char *Call : {"GraphAddNode", "GraphConditionalHandleCreate",
                           "GraphInstantiateWithFlags"}) {
    Fake.reset();
    Bytes File = written(endedContents(true, 5));
    Own<kpc_model> M = load(File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.driver = KPC_FAKE_CUDA;
    std::string Said;
    O.log.user = &Said;
    O.log.log = [](void *User, kpc_log_level Level, const char *Text) {
      if (Level == KPC_LOG_WARNING)
        static_cast<std::string *>(User)->append(Text);
    };
    Own<kpc_session> S = test::open(M, &O);
    Fake.fail(Call, 801);
    expectIterations(S, true, 5);
    EXPECT_THAT(Said,
                HasSubstr("takes no conditional nodes of graphs (cannot"));
    EXPECT_EQ(Fake.count("LaunchKernel"), 5) << Call;
    expectIterations(S, false, 0);
    S.reset();
    M.reset();
    EXPECT_EQ(Fake.live(), 0);
  }
}

// The loop reads x where the caller has it.
TEST(EndedLoop, NodesTakeNewAddressesOrAreMadeAgain) {
  FakeCuda Fake;
  Fake.reset();
  Bytes File = written(endedContents(true, 5));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = openCuda(M);
  // Device memory is the fake's process's own.
  auto RunAt = [&](EndedRun &R) {
    std::fill_n(R.Out, Width, 0.0f);
    auto In = R.inputs(), Out = R.outputs();
    for (auto *List : {&In, &Out})
      for (kpc_named_tensor &T : *List)
        T.tensor.device = KPC_CUDA(0);
    ASSERT_EQ(kpc_session_run(S.get(), In.data(), In.size(), Out.data(),
                              Out.size(), nullptr, nullptr),
              KPC_OK);
    for (int64_t I = 0; I < Width; ++I)
      ASSERT_EQ(R.Out[I], float(6 * (I + 1)));
  };
  EndedRun One(true), Other(true);
  RunAt(One);
  long Made = Fake.count("GraphInstantiateWithFlags");
  RunAt(Other);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), Made);
  EXPECT_GT(Fake.count("GraphExecKernelNodeSetParams"), 0);
  Fake.fail("GraphExecKernelNodeSetParams", 1);
  RunAt(One);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), Made + 1);
}

// One kernel for each iteration that there is.
TEST(EndedLoop, LaunchesNothingBehindItsEnd) {
  FakeCuda Fake;
  Fake.reset();
  Fake.device(9, 0, /*Images=*/3, 12020);
  Bytes File = written(endedContents(true, Endless));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = openCuda(M);
  Fake.reset();
  expectIterations(S, false, 0);
  EXPECT_EQ(Fake.count("LaunchKernel"), 0);
}

TEST(EndedLoop, OneThatNeverEndsMeetsTheLimitOfTime) {
  for (bool OnDevice : {false, true}) {
    FakeCuda Fake;
    Fake.reset();
    Bytes File = written(endedContents(OnDevice, Endless));
    Own<kpc_model> M = load(File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.max_run_us = 20'000;
    Own<kpc_session> S =
        OnDevice ? openCuda(M, 0, O.max_run_us) : test::open(M, &O);
    EndedRun Run(true);
    std::string Why;
    EXPECT_EQ(Run.run(S, Why), KPC_ERROR_TIMED_OUT) << Why;
    EXPECT_THAT(Why, HasSubstr("takes longer than the 0.02 s"));
    expectIterations(S, false, 0);
  }
}

TEST(EndedLoop, OneThatNeverEndsMeetsTheSessionsMostIterations) {
  FakeCuda Fake;
  Fake.reset();
  for (bool OnDevice : {false, true}) {
    Bytes File = written(endedContents(OnDevice, Endless));
    Own<kpc_model> M = load(File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.max_iterations = 9;
    if (OnDevice) {
      O.device = KPC_CUDA(0);
      O.driver = KPC_FAKE_CUDA;
      O.flags = KPC_SESSION_NO_GRAPH;
    }
    Own<kpc_session> S = test::open(M, &O);
    EndedRun Run(true);
    std::string Why;
    EXPECT_EQ(Run.run(S, Why), KPC_ERROR_OUT_OF_RANGE) << Why;
    EXPECT_THAT(Why, AllOf(HasSubstr("has not ended after 9 iterations"),
                           HasSubstr("max_iterations")));
    expectIterations(S, false, 0);
  }
}

TEST(EndedLoop, ATripCountIsNoMatterOfTheSessionsMostIterations) {
  Bytes File = written(endedContents(false, 20));
  Own<kpc_model> M = load(File);
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.max_iterations = 9;
  expectIterations(test::open(M, &O), true, 20);
}

TEST(EndedLoop, AMostOfIterationsThatIsNoneIsAnError) {
  Bytes File = written(endedContents(false, Endless));
  Own<kpc_model> M = load(File);
  for (int64_t Most : {int64_t(-1), Endless + 1}) {
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.max_iterations = Most;
    kpc_session *S = nullptr;
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_session_create(M.get(), &O, &S, &E),
              KPC_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(describe(E), HasSubstr("expected max_iterations from 0 to "
                                       "2147483647, got " +
                                       std::to_string(Most)));
  }
}

// As a node nothing but the loop's data ends it, and the kernel that decides
// traps in the end.
TEST(EndedLoop, AsANodeSaysThatItMayNotHaveEnded) {
  FakeCuda Fake;
  for (int64_t Count : {Endless, int64_t(7)}) {
    Fake.reset();
    Bytes File = written(endedContents(true, Count));
    Own<kpc_model> M = load(File);
    Own<kpc_session> S = openCuda(M);
    expectIterations(S, false, 0);
    EndedRun Run(false);
    std::string Why;
    Fake.fail("StreamSynchronize", 719);
    EXPECT_EQ(Run.run(S, Why), KPC_ERROR_SESSION_LOST) << Why;
    testing::Matcher<std::string> Says =
        AllOf(HasSubstr("perhaps because the loop of steps 1 to 1 has not "
                        "ended after 10000000 iterations"),
              HasSubstr("max_run_us"));
    if (Count == Endless)
      EXPECT_THAT(Why, Says);
    else
      EXPECT_THAT(Why, Not(HasSubstr("perhaps")));
  }
}

TEST(EndedLoop, AProfileCountsTheIterationsThatThereWere) {
  Bytes File = written(endedContents(false, 6));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  for (bool Goes : {true, false}) {
    EndedRun Run(Goes);
    auto In = Run.inputs(), Out = Run.outputs();
    kpc_profile *P = nullptr;
    ASSERT_EQ(kpc_session_profile(S.get(), In.data(), In.size(), Out.data(),
                                  Out.size(), &P, nullptr),
              KPC_OK);
    Own<kpc_profile> Kept(P);
    kpc_profile_step Step;
    ASSERT_EQ(kpc_profile_get(P, 1, &Step), KPC_OK);
    EXPECT_EQ(Step.flops, Goes ? 6 * Width : 0);
    EXPECT_EQ(Step.bytes_written, Goes ? 6 * Bytes64 : 0);
    ASSERT_EQ(kpc_profile_get(P, 2, &Step), KPC_OK);
    EXPECT_EQ(Step.bytes_written, Bytes64);
  }
}

TEST(EndedLoop, OldReadersAreKeptOut) {
  Bytes File = written(endedContents(false, 3));
  EXPECT_EQ(File[12] + 256 * File[13], format::EndedLoopsMinor);
}

TEST(EndedLoop, RefusesWhatDoesNotFit) {
  auto Refused = [](auto Change) {
    Contents C = endedContents(false, 3);
    Change(std::get<Loop>(C.Targets[0].Controls[0]), C.Targets[0]);
    Bytes Out;
    return writeToMemory(C, Out).value_or("accepted");
  };
  EXPECT_EQ(Refused([](Loop &, Target &) {}), "accepted");
  for (uint32_t Behind : {0u, 1u, 4u}) // no body; outside
    EXPECT_THAT(Refused([&](Loop &L, Target &) { L.Until->Behind = Behind; }),
                HasSubstr("control 0 is not good"));
  EXPECT_THAT(Refused([](Loop &L, Target &) { L.Until->Condition = 99; }),
              HasSubstr("control 0 is not good"));
  EXPECT_THAT(
      Refused([](Loop &L, Target &) { L.Until->ConditionOffset = i(); }),
      HasSubstr("control 0 is not good"));
  // The condition must live as long as it is asked for.
  EXPECT_THAT(Refused([](Loop &L, Target &T) {
                L.Until->Condition = Pair;
                T.Buffers[Pair].LastStep = 0;
              }),
              HasSubstr("control 0 is not good"));
  // A control is in the body or after it.
  EXPECT_THAT(Refused([](Loop &, Target &T) {
                T.Controls.push_back(If{1, 2, 3, Goes, {}});
              }),
              HasSubstr("control 1 is neither next to nor inside"));
}

} // namespace
