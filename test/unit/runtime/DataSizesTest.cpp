//===- DataSizesTest.cpp - Sizes that data decides ------------------------===//
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

Expr batch() { return Expr::symbol("batch"); }
Expr found() { return Expr::symbol("found"); }

struct DataRun : SampleRun {
  DataRun(int64_t Batch, int64_t Width, int64_t Count, int64_t Room)
      : SampleRun(Batch, Width), Count{Count}, Room{Room} {}

  std::string run(kpc_session *S, kpc_device Where = KPC_HOST) {
    auto In = inputs(), Out = outputs();
    In.push_back({"count", {Count, One, 1, KPC_I64, Where}});
    Out.push_back({"firsts", {Firsts, Room, 1, KPC_F32, Where}});
    kpc_error *E = nullptr;
    kpc_status Done = kpc_session_run(S, In.data(), In.size(), Out.data(),
                                      Out.size(), nullptr, &E);
    return Done == KPC_OK ? "" : describe(E);
  }
  void expectRightTimes(int64_t Factor) const {
    for (int64_t I = 0; I < Batch * Width; ++I) {
      float T = X[I] + Y[I];
      ASSERT_EQ(Z[I], T * float(Factor) + T) << Factor << " " << I;
    }
    for (int64_t I = 0; I < Factor; ++I)
      ASSERT_EQ(Firsts[I], Z[I]);
  }

  alignas(64) float Firsts[64] = {};
  alignas(64) int64_t Count[1];
  int64_t One[1] = {1}, Room[1];
};

struct Opened {
  explicit Opened(Contents C)
      : File(written(C)), M(load(File)), S(test::open(M)) {}
  std::vector<int64_t> dims(int32_t Output) {
    const int64_t *Dims = nullptr;
    int32_t Rank = 0;
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_session_output_dims(S.get(), Output, &Dims, &Rank, &E),
              KPC_OK)
        << describe(E);
    return {Dims, Dims + Rank};
  }
  Bytes File;
  Own<kpc_model> M;
  Own<kpc_session> S;
};

TEST(DataSizes, ARunGoesOnWithWhatItCounted) {
  Opened H(dataContents(sampleContents()));
  for (int64_t Count : {3, 5, 0, 8, 3}) {
    DataRun Run(4, 6, Count, 8);
    ASSERT_EQ(Run.run(H.S.get()), "");
    Run.expectRightTimes(Count);
    EXPECT_EQ(H.dims(3), std::vector<int64_t>{Count});
  }
}

TEST(DataSizes, PrepareTellsTheGreatest) {
  Opened H(dataContents(sampleContents()));
  kpc_dim Dims[] = {{"batch", 4}, {"width", 6}};
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_session_prepare(H.S.get(), Dims, 2, &E), KPC_OK) << describe(E);
  EXPECT_EQ(H.dims(3), std::vector<int64_t>{8});
  EXPECT_EQ(H.dims(0), (std::vector<int64_t>{4, 6}));
}

TEST(DataSizes, WhatDoesNotFitIsRefused) {
  Opened H(dataContents(sampleContents()));
  auto Refused = [&](int64_t Count, int64_t Room) {
    return DataRun(4, 6, Count, Room).run(H.S.get());
  };
  EXPECT_THAT(Refused(5, 4),
              HasSubstr("'firsts' has dims [4], but the data decides [5]"));
  EXPECT_THAT(Refused(-1, 8), HasSubstr("the data decides that found is -1, "
                                        "but sizes are 0 or more"));
  EXPECT_THAT(Refused(101, 8), HasSubstr("the data decides that 'found' is "
                                         "101, but the model was compiled for "
                                         "0 to 100"));
  DataRun After(4, 6, 2, 8); // an error does no harm
  EXPECT_EQ(After.run(H.S.get()), "");
  After.expectRightTimes(2);
}

TEST(DataSizes, TheLibraryAllocatesWhatIsThere) {
  Opened H(dataContents(sampleContents()));
  DataRun Run(4, 6, 7, 8);
  auto In = Run.inputs();
  In.push_back({"count", {Run.Count, Run.One, 1, KPC_I64, KPC_HOST}});
  kpc_outputs *Raw = nullptr;
  kpc_error *E = nullptr;
  ASSERT_EQ(
      kpc_session_run_owned(H.S.get(), In.data(), In.size(), nullptr, &Raw, &E),
      KPC_OK)
      << describe(E);
  Own<kpc_outputs> Out(Raw);
  ASSERT_EQ(kpc_outputs_count(Out.get()), 4);
  kpc_named_tensor T;
  ASSERT_EQ(kpc_outputs_get(Out.get(), 3, &T), KPC_OK);
  EXPECT_STREQ(T.name, "firsts");
  EXPECT_EQ(T.tensor.dims[0], 7);
  float First = (Run.X[6] + Run.Y[6]) * 8;
  EXPECT_EQ(static_cast<const float *>(T.tensor.data)[6], First);
}

TEST(DataSizes, ANumberThatMustBeAnotherSizeIsChecked) {
  Contents C = dataContents(sampleContents());
  C.Symbols.pop_back();
  C.Outputs[4].Decides = batch();
  C.Outputs[3].Dims = {batch()};
  Target &T = C.Targets[0];
  T.Buffers[T.Buffers.size() - 2].Size = batch() * 4;
  std::get<Launch>(T.Steps[2]).Params[2].Size = batch();
  std::get<Copy>(T.Steps.back()).Size = batch() * 4;
  Opened H(C);
  DataRun Run(4, 6, 4, 4);
  EXPECT_EQ(Run.run(H.S.get()), "");
  Run.expectRightTimes(4);
  Run.Count[0] = 5;
  EXPECT_THAT(Run.run(H.S.get()),
              HasSubstr("the data decides a size of 5, but it must be batch "
                        "= 4"));
}

TEST(DataSizes, TheModelSaysThem) {
  Opened H(dataContents(sampleContents()));
  EXPECT_EQ(kpc_model_output_count(H.M.get()), 4);
  EXPECT_EQ(kpc_model_symbol_count(H.M.get()), 2);
  ASSERT_EQ(kpc_model_data_size_count(H.M.get()), 1);
  kpc_data_size S;
  ASSERT_EQ(kpc_model_data_size(H.M.get(), 0, &S), KPC_OK);
  EXPECT_STREQ(S.size_text, "found");
  EXPECT_STREQ(S.at_most_text, "2*batch");
  EXPECT_EQ(kpc_model_data_size(H.M.get(), 1, &S), KPC_ERROR_OUT_OF_RANGE);
}

TEST(DataSizes, OlderReadersRefuse) {
  Bytes File = written(dataContents(sampleContents()));
  auto Header = format::decodeHeader(File.data(), File.size(), File.size());
  ASSERT_TRUE(Header);
  EXPECT_EQ(Header->LeastReader, format::ReadbacksMinor);
}

TEST(DataSizes, TheTableIsChecked) {
  auto Refused = [](Contents C) {
    Bytes Out;
    return writeToMemory(C, Out).value_or("");
  };
  Contents C = dataContents(sampleContents());
  C.Targets[0].Readbacks.clear();
  EXPECT_THAT(Refused(C),
              HasSubstr("output 4 decides a size, but is not read"));
  C = dataContents(sampleContents());
  C.Targets[0].Readbacks[0].Step = 99;
  EXPECT_THAT(Refused(C), HasSubstr("a readback of output 4 before step 99"));
  C = dataContents(sampleContents());
  std::swap(C.Outputs[3], C.Outputs[4]);
  EXPECT_THAT(Refused(C), HasSubstr("is no output that decides a size"));
  C = dataContents(sampleContents());
  C.Outputs[4].Type = ElementType::I32;
  EXPECT_THAT(Refused(C), HasSubstr("is no output that decides a size"));
  C = dataContents(sampleContents());
  C.Targets[0].Buffers[6].Size = found(); // used before the number is known
  EXPECT_THAT(Refused(C), HasSubstr("buffer 6 't' is not good"));
}

// The number is on the device: one wait more than without it.
TEST(DataSizes, ADeviceIsReadBackOnce) {
  FakeCuda Fake;
  Fake.reset();
  {
    Bytes File = written(dataContents(cudaContents()));
    Own<kpc_model> M = load(File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = KPC_CUDA(0);
    O.driver = KPC_FAKE_CUDA;
    Own<kpc_session> S = test::open(M, &O);
    long Waits = 0;
    for (int64_t Count : {3, 8, 3, 2}) {
      DataRun Run(4, 6, Count, 8);
      long Before = Fake.count("StreamSynchronize");
      ASSERT_EQ(Run.run(S.get()), "");
      Waits = Fake.count("StreamSynchronize") - Before;
      Run.expectRightTimes(Count);
    }
    // For the number, and at the end for the host's tensors. The first run
    // waits once more, before it makes the workspace larger.
    EXPECT_EQ(Waits, 2);
  }
  EXPECT_EQ(Fake.live(), 0);
}

} // namespace
