//===- ControlTest.cpp - Loops and branches of plans ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"
#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Programs.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;
using testing::HasSubstr;

namespace {

constexpr int64_t Width = ProgramWidth, Bytes64 = Width * 4;

Expr count() { return Expr::symbol("count"); }
Expr i() { return Expr::symbol("i"); }

/// Buffers of the plan.
enum : uint32_t { Taken = 2, Pair = 7 };

/// Inputs and outputs for one number of iterations.
struct ControlRun {
  ControlRun(int64_t Count, bool Taken) : Count(Count), Flag(Taken) {
    for (std::vector<float> *Store : {&In, &Marks, &Rows, &Scaled, &Last})
      Store->assign(size_t((Count + 2) * Width) + 16, -1.f);
    for (int64_t I = 0; I < Width; ++I)
      aligned(In)[I] = float(I + 1);
  }
  static float *aligned(std::vector<float> &Store) {
    return Store.data() + (64 - uintptr_t(Store.data()) % 64) % 64 / 4;
  }
  std::vector<kpc_named_tensor> inputs() {
    return {{"x", {aligned(In), Row, 1, KPC_F32, KPC_HOST}},
            {"marks", {aligned(Marks), &Count, 1, KPC_F32, KPC_HOST}},
            {"taken", {&Flag, One, 1, KPC_BOOL, KPC_HOST}}};
  }
  std::vector<kpc_named_tensor> outputs() {
    Matrix[0] = Count;
    return {{"rows", {aligned(Rows), Matrix, 2, KPC_F32, KPC_HOST}},
            {"scaled", {aligned(Scaled), Matrix, 2, KPC_F32, KPC_HOST}},
            {"last", {aligned(Last), Row, 1, KPC_F32, KPC_HOST}},
            {"picked", {aligned(Last) + Width, Row, 1, KPC_F32, KPC_HOST}}};
  }
  void run(const Own<kpc_session> &S) {
    auto Given = inputs(), Wanted = outputs();
    kpc_error *E = nullptr;
    ASSERT_EQ(kpc_session_run(S.get(), Given.data(), Given.size(),
                              Wanted.data(), Wanted.size(), nullptr, &E),
              KPC_OK)
        << describe(E);
    for (int64_t R = 0; R < Count; ++R)
      for (int64_t C = 0; C < Width; ++C) {
        float H = float((R + 2) * (C + 1));
        ASSERT_EQ(aligned(Rows)[R * Width + C], H) << R << ", " << C;
        ASSERT_EQ(aligned(Scaled)[(Count - 1 - R) * Width + C],
                  H * float(R + 1))
            << R << ", " << C;
      }
    for (int64_t C = 0; C < Width; ++C) {
      ASSERT_EQ(aligned(Last)[C], float((Count + 1) * (C + 1))) << C;
      ASSERT_EQ(aligned(Last)[Width + C], float((Flag ? 2 : 3) * (C + 1))) << C;
    }
  }

  int64_t Count, Row[1] = {Width}, One[1] = {1}, Matrix[2] = {0, Width};
  bool Flag;
  std::vector<float> In, Marks, Rows, Scaled, Last;
};

TEST(Control, RunsOnTheHost) {
  Bytes File = written(controlContents(false));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  for (int64_t Count : {3, 0, 1, 8, 700})
    for (bool Taken : {true, false})
      ControlRun(Count, Taken).run(S);
}

struct ControlOnCuda : testing::Test {
  void SetUp() override { Fake.reset(); }
  void TearDown() override { EXPECT_EQ(Fake.live(), 0); }
  static Own<kpc_session> open(const Own<kpc_model> &M, uint32_t Flags = 0) {
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.driver = KPC_FAKE_CUDA;
    O.flags = Flags;
    return test::open(M, &O);
  }
  FakeCuda Fake;
};

TEST_F(ControlOnCuda, RunsAsGraphsAndWithout) {
  Bytes File = written(controlContents(true));
  Own<kpc_model> M = load(File);
  for (uint32_t Flags :
       {0u, unsigned(KPC_SESSION_NO_GRAPH), unsigned(KPC_SESSION_ONE_CHAIN)}) {
    Own<kpc_session> S = open(M, Flags);
    for (int64_t Count : {3, 0, 1, 8, 300})
      for (bool Taken : {true, false})
        ControlRun(Count, Taken).run(S);
  }
}

// The fake driver runs what graphs leave open in any order.
TEST_F(ControlOnCuda, IterationsFollowFromEdges) {
  Bytes File = written(controlContents(true));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = open(M);
  for (unsigned Seed = 0; Seed < 50; ++Seed) {
    Fake.seed(Seed);
    ControlRun(9, Seed % 2).run(S);
  }
}

// CUDA 12.3 brought conditional nodes.
void haveDriver(FakeCuda &Fake, int Version) {
  Fake.reset();
  Fake.device(9, 0, /*Images=*/3, Version);
}

TEST_F(ControlOnCuda, ALoopAndABranchAreOneGraph) {
  haveDriver(Fake, 12030);
  Bytes File = written(controlContents(true));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = open(M);
  ControlRun(20, true).run(S);
  for (bool Taken : {false, true}) {
    Fake.reset();
    ControlRun(20, Taken).run(S);
    EXPECT_EQ(Fake.count("GraphLaunch"), 1);
    EXPECT_EQ(Fake.count("LaunchKernel"), 0);
    EXPECT_EQ(Fake.count("body"), 1);
    EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 0);
  }
}

TEST_F(ControlOnCuda, AnOlderDriverReadsTheConditionOfABranch) {
  haveDriver(Fake, 12020);
  Bytes File = written(controlContents(true));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = open(M);
  ControlRun(20, true).run(S);
  Fake.reset();
  ControlRun(20, false).run(S);
  // The loop with what is beside it, and the branch that is taken.
  EXPECT_EQ(Fake.count("GraphLaunch"), 2);
  EXPECT_EQ(Fake.count("LaunchKernel"), 0);
  EXPECT_EQ(Fake.count("GraphInstantiateWithFlags"), 0);
}

// Too long to be recorded: its kernels are launched one by one.
TEST_F(ControlOnCuda, LongLoopsAreLaunchedStepByStep) {
  Bytes File = written(controlContents(true));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = open(M);
  ControlRun(2000, true).run(S);
  EXPECT_EQ(Fake.count("LaunchKernel"), 2 * 2000);
}

TEST(Control, AStepsTimesAreOfAllIterations) {
  Bytes File = written(controlContents(false));
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  ControlRun Run(6, true);
  auto In = Run.inputs(), Out = Run.outputs();
  kpc_profile *P = nullptr;
  ASSERT_EQ(kpc_session_profile(S.get(), In.data(), In.size(), Out.data(),
                                Out.size(), &P, nullptr),
            KPC_OK);
  Own<kpc_profile> Kept(P);
  ASSERT_EQ(kpc_profile_step_count(P), 7);
  kpc_profile_step Step;
  ASSERT_EQ(kpc_profile_get(P, 1, &Step), KPC_OK);
  EXPECT_EQ(Step.flops, 6 * Width);
  EXPECT_EQ(Step.bytes_written, 6 * Bytes64);
  ASSERT_EQ(kpc_profile_get(P, 5, &Step), KPC_OK);
  EXPECT_EQ(Step.flops, Width);
}

TEST(Control, OldReadersAreKeptOut) {
  auto leastReader = [](const Bytes &File) {
    return File[12] + 256 * File[13];
  };
  EXPECT_EQ(leastReader(written(controlContents(false))),
            format::ControlsMinor);
  EXPECT_LT(leastReader(sampleArtifact()), format::ControlsMinor);
}

TEST(Control, RefusesWhatDoesNotNest) {
  auto refused = [](auto Change) {
    Contents C = controlContents(false);
    Change(C, C.Targets[0]);
    Bytes Out;
    return writeToMemory(C, Out).value_or("accepted");
  };
  auto withControls = [&](std::vector<Control> Controls) {
    return refused([&](Contents &, Target &T) { T.Controls = Controls; });
  };
  EXPECT_THAT(withControls({Loop{1, 8, count(), "i"}}),
              HasSubstr("control 0 is not good")); // there are 7 steps
  EXPECT_THAT(withControls({Loop{2, 2, count(), "i"}}),
              HasSubstr("control 0 is not good"));
  EXPECT_THAT(withControls({Loop{1, 4, i(), "i"}}),
              HasSubstr("control 0 is not good"));
  EXPECT_THAT(withControls({Loop{1, 4, count(), "count"}}),
              HasSubstr("control 0 is not good")); // a dim
  EXPECT_THAT(withControls({Loop{1, 4, count(), "i"}, Loop{5, 6, 2, "i"}}),
              HasSubstr("control 1 is not good")); // counted twice
  EXPECT_THAT(withControls({Loop{1, 4, count(), "i"}, If{3, 4, 5, Taken, {}}}),
              HasSubstr("control 1 is neither next to nor inside"));
  EXPECT_THAT(withControls({If{5, 6, 7, Taken, {}}, Loop{1, 4, count(), "i"}}),
              HasSubstr("control 1 is neither next to nor inside"));
  EXPECT_THAT(withControls({If{1, 2, 4, Taken, {}}, Loop{1, 4, count(), "i"}}),
              HasSubstr("control 1 is neither next to nor inside"));
  EXPECT_THAT(withControls({Loop{1, 4, count(), "i"}, If{5, 8, 7, Taken, {}}}),
              HasSubstr("control 1 is not good"));
  EXPECT_THAT(withControls({Loop{1, 4, count(), "i"}, If{5, 6, 7, 99, {}}}),
              HasSubstr("control 1 is not good"));
  EXPECT_THAT(withControls({Loop{1, 4, count(), "i"}, If{5, 6, 7, Pair, {}}}),
              HasSubstr("control 1 is not good")); // dead by then
  // Deeper than any model.
  std::vector<Control> Deep(20, If{1, 4, 4, Taken, {}});
  EXPECT_THAT(withControls(Deep), HasSubstr("neither next to nor inside"));
  // The iteration's number outside its loop, and where it may not be.
  EXPECT_THAT(withControls({}), HasSubstr("step 1: parameter 0 of 'kpc_add'"));
  EXPECT_THAT(refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[1]).Work = i();
              }),
              HasSubstr("step 1: the launch of 'kpc_add' is not good"));
  EXPECT_THAT(refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[1]).Params[0].Length.reset();
              }),
              HasSubstr("step 1: parameter 0 of 'kpc_add'"));
  EXPECT_THAT(
      refused([](Contents &C, Target &) { C.Outputs[0].Dims[0] = i(); }),
      HasSubstr("output 'rows' has dims that depend on the iteration"));
  EXPECT_THAT(
      refused([](Contents &, Target &T) { T.Buffers[Pair].Size = i(); }),
      HasSubstr("buffer 7"));
}

/// What a run says of a model that loads and cannot run.
static std::string refusalOf(const Contents &C) {
  Bytes File = written(C);
  Own<kpc_model> M = load(File);
  Own<kpc_session> S = test::open(M);
  ControlRun Run(4, true);
  auto In = Run.inputs(), Out = Run.outputs();
  kpc_error *E = nullptr;
  EXPECT_NE(kpc_session_run(S.get(), In.data(), In.size(), Out.data(),
                            Out.size(), nullptr, &E),
            KPC_OK);
  return describe(E);
}

// An offset that leaves its buffer in a later iteration.
TEST(Control, AnIterationThatReachesOutsideIsAnError) {
  Contents C = controlContents(false);
  std::get<Copy>(C.Targets[0].Steps[2]).DestinationOffset = i() * (Bytes64 + 1);
  EXPECT_THAT(refusalOf(C), HasSubstr("in iteration 3 of a loop a step reaches "
                                      "outside its buffer"));
}

TEST(Control, MoreIterationsThanCanBeCountedAreRefused) {
  Contents C = controlContents(false);
  C.Targets[0].Controls[0] = Loop{1, 4, Expr(int64_t(1) << 40), "i"};
  EXPECT_THAT(refusalOf(C), HasSubstr("the number of iterations does not fit"));
}

} // namespace
