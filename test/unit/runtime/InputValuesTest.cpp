//===- InputValuesTest.cpp - Sizes that are elements of inputs ------------===//
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
using namespace kpc::artifact;
using namespace kpc::test;
using testing::HasSubstr;

namespace {

template <class T> struct ValuesRun : SampleRun {
  ValuesRun(int64_t Batch, int64_t Width, T Factor, T Second, int32_t Type)
      : SampleRun(Batch, Width), N{Factor, Second}, Type(Type) {}

  std::string run(kpc_session *S, kpc_device Where = KPC_HOST) {
    auto In = inputs(), Out = outputs();
    In.push_back({"n", {N, Two, 1, Type, Where}});
    kpc_error *E = nullptr;
    kpc_status Done = kpc_session_run(S, In.data(), In.size(), Out.data(),
                                      Out.size(), nullptr, &E);
    return Done == KPC_OK ? "" : describe(E);
  }

  T N[2];
  int64_t Two[1] = {2};
  int32_t Type;
};

using Longs = ValuesRun<int64_t>;
using Floats = ValuesRun<float>;

struct Opened {
  explicit Opened(Contents C)
      : File(written(C)), M(load(File)), S(test::open(M)) {}
  Bytes File;
  Own<kpc_model> M;
  Own<kpc_session> S;
};

TEST(InputValues, ARunReadsThemBeforeItBinds) {
  Opened H(valuesContents(sampleContents()));
  for (int64_t Factor : {3, 5, 0, 3}) {
    Longs Run(4, 6, Factor, 6, KPC_I64);
    ASSERT_EQ(Run.run(H.S.get()), "");
    for (int I = 0; I < 24; ++I) {
      float T = Run.X[I] + Run.Y[I];
      ASSERT_EQ(Run.Z[I], T * float(Factor) + T) << Factor << " " << I;
    }
  }
}

TEST(InputValues, OtherTypes) {
  Opened H(valuesContents(sampleContents(), ElementType::F32));
  Floats Run(4, 6, 3, 6, KPC_F32);
  EXPECT_EQ(Run.run(H.S.get()), "");
  Run.expectRight();
  for (float Bad : {2.5F, -1.F, NAN, 1e30F}) {
    Run.N[0] = Bad;
    EXPECT_THAT(Run.run(H.S.get()), HasSubstr("OUT_OF_RANGE: n[0] is ")) << Bad;
  }
  Opened Small(valuesContents(sampleContents(), ElementType::U8));
  ValuesRun<uint8_t> Bytes(4, 6, 3, 6, KPC_U8);
  EXPECT_EQ(Bytes.run(Small.S.get()), "");
  Bytes.expectRight();
}

TEST(InputValues, WhatCannotBeIsRefused) {
  Opened H(valuesContents(sampleContents()));
  auto Refused = [&](int64_t Factor, int64_t Width) {
    return Longs(4, 6, Factor, Width, KPC_I64).run(H.S.get());
  };
  EXPECT_THAT(Refused(-1, 6),
              HasSubstr("n[0] is -1, but the model takes a size from it [give "
                        "a whole number from 0 on, or compile for one value "
                        "with --value n=...]"));
  EXPECT_THAT(Refused(3, 7), HasSubstr("n[1] is 7, but must be 6: width"));
  EXPECT_THAT(Refused(101, 6), HasSubstr("dim 'n[0]' is 101, but the model was "
                                         "compiled for 0 to 100"));
  EXPECT_THAT(Refused(9, 6), HasSubstr("n[0] = 9 must be at most 2*batch = 8: "
                                       "'mul' (Mul) needs it [give inputs of "
                                       "which this holds]"));
  EXPECT_EQ(Refused(8, 6), "");
}

TEST(InputValues, TheModelSaysThem) {
  Opened H(valuesContents(sampleContents()));
  ASSERT_EQ(kpc_model_input_value_count(H.M.get()), 2);
  kpc_input_value V;
  ASSERT_EQ(kpc_model_input_value(H.M.get(), 1, &V), KPC_OK);
  EXPECT_EQ(V.input, 2);
  EXPECT_EQ(V.element, 1);
  EXPECT_STREQ(V.name, "n[1]");
  EXPECT_STREQ(V.size_text, "width");
  EXPECT_EQ(kpc_model_input_value(H.M.get(), 2, &V), KPC_ERROR_OUT_OF_RANGE);
  EXPECT_EQ(kpc_model_input_value(nullptr, 0, &V), KPC_ERROR_INVALID_ARGUMENT);
  kpc_requirement R;
  ASSERT_EQ(kpc_model_requirement_count(H.M.get()), 1);
  ASSERT_EQ(kpc_model_requirement(H.M.get(), 0, &R), KPC_OK);
  EXPECT_STREQ(R.left_text, "n[0]");
  EXPECT_EQ(R.equal, 0);
  EXPECT_STREQ(R.reason, "'mul' (Mul) needs it");
  EXPECT_EQ(kpc_model_requirement(H.M.get(), 1, &R), KPC_ERROR_OUT_OF_RANGE);
}

TEST(InputValues, PrepareTakesThemAsDims) {
  Opened H(valuesContents(sampleContents()));
  kpc_dim Dims[] = {{"batch", 4}, {"width", 6}, {"n[0]", 9}};
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_prepare(H.S.get(), Dims, 3, &E),
            KPC_ERROR_OUT_OF_RANGE);
  EXPECT_THAT(describe(E), HasSubstr("must be at most"));
  Dims[2].value = 5;
  E = nullptr;
  EXPECT_EQ(kpc_session_prepare(H.S.get(), Dims, 3, &E), KPC_OK);
  // What the data says counts, not what was prepared.
  Longs Run(4, 6, 3, 6, KPC_I64);
  EXPECT_EQ(Run.run(H.S.get()), "");
  Run.expectRight();
}

TEST(InputValues, OlderReadersRefuse) {
  Bytes File = written(valuesContents(sampleContents()));
  auto Header = format::decodeHeader(File.data(), File.size(), File.size());
  ASSERT_TRUE(Header);
  EXPECT_EQ(Header->LeastReader, format::InputValuesMinor);
}

TEST(InputValues, TheTableIsChecked) {
  auto Refused = [](Contents C) {
    Bytes Out;
    auto Error = writeToMemory(C, Out);
    return Error.value_or("");
  };
  Contents C = valuesContents(sampleContents());
  C.InputValues[0].Element = 2;
  EXPECT_THAT(Refused(C), HasSubstr("input value 0 is no element"));
  C.InputValues[0] = {3, 0, Expr(1)};
  EXPECT_THAT(Refused(C), HasSubstr("input value 0 is no element"));
  C.InputValues[0] = {0, 0, Expr(1)}; // x has sizes that are no numbers
  EXPECT_THAT(Refused(C), HasSubstr("input value 0 is no element"));
  C = valuesContents(sampleContents(), ElementType::F16);
  EXPECT_THAT(Refused(C), HasSubstr("input value 0 is no element"));
}

// What lies on the device is read back with one wait for all elements; what
// lies on the host costs none.
TEST(InputValues, ADeviceIsReadBackOnce) {
  FakeCuda Fake;
  Fake.reset();
  {
    Bytes File = written(valuesContents(cudaContents()));
    Own<kpc_model> M = load(File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.driver = KPC_FAKE_CUDA;
    Own<kpc_session> S = test::open(M, &O);
    Longs Run(4, 6, 3, 6, KPC_I64);
    ASSERT_EQ(Run.run(S.get(), KPC_HOST), "");
    Run.expectRight();
    long Before = Fake.count("StreamSynchronize");
    ASSERT_EQ(Run.run(S.get(), KPC_HOST), "");
    long OnHost = Fake.count("StreamSynchronize") - Before;
    Before = Fake.count("StreamSynchronize");
    ASSERT_EQ(Run.run(S.get(), KPC_CUDA(0)), "");
    EXPECT_EQ(Fake.count("StreamSynchronize") - Before, OnHost + 1);
    Run.N[0] = 5;
    ASSERT_EQ(Run.run(S.get(), KPC_CUDA(0)), "");
    EXPECT_EQ(Run.Z[0], 6 * (Run.X[0] + Run.Y[0]));
  }
  EXPECT_EQ(Fake.live(), 0);
}

} // namespace
