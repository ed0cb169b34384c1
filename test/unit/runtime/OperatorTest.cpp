//===- OperatorTest.cpp - Host functions of custom operators --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"
#include "test/unit/runtime/Hostile.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <random>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;
using testing::HasSubstr;

namespace {

std::string sampleLibrary() {
  std::ifstream In(KPC_OPERATOR_SAMPLE, std::ios::binary);
  return {std::istreambuf_iterator<char>(In), {}};
}

/// y = f(x) of f32[batch, 4], with a function of the sample library.
Contents contentsFor(const std::string &Function) {
  Contents C;
  Expr Batch = Expr::symbol("batch");
  C.Symbols = {{"batch", {.Min = 0, .Max = 32}}};
  C.Inputs = {{"x", ElementType::F32, {Batch, Expr(4)}, {}}};
  C.Outputs = {{"y", ElementType::F32, {Batch, Expr(4)}, {}}};
  C.Libraries = {{"sample.so", sampleLibrary()}};
  Target &T = C.Targets.emplace_back();
  T.Name = "host:x86-64";
  Kernel &K = T.Kernels.emplace_back();
  K.Symbol = Function;
  K.DisplayName = "node";
  K.Params = {ParamKind::Buffer, ParamKind::Buffer, ParamKind::Size,
              ParamKind::Size,   ParamKind::Size,   ParamKind::Size,
              ParamKind::Size,   ParamKind::Size};
  K.Function = HostFunction{0,
                            {{ElementType::F32, 2}},
                            {{ElementType::F32, 2}},
                            {ArgumentType::I64, ArgumentType::F32}};
  for (BufferKind Kind : {BufferKind::Input, BufferKind::Output}) {
    Buffer B;
    B.Kind = Kind;
    B.Size = Batch * 16;
    T.Buffers.push_back(B);
  }
  Launch L;
  L.Params = {Param::buffer(0, Access::Read),
              Param::buffer(1, Access::Write),
              Param::size(Batch),
              Param::size(Expr(4)),
              Param::size(Batch),
              Param::size(Expr(4)),
              Param::size(Expr(-3)),
              Param::size(Expr(std::bit_cast<uint32_t>(0.5F)))};
  L.Work = 1;
  T.Steps.push_back(L);
  return C;
}

Own<kpc_model> loadWith(const Bytes &File, uint32_t Flags,
                        kpc_error **E = nullptr) {
  kpc_load_options Options = KPC_LOAD_OPTIONS_INIT;
  Options.flags = Flags;
  kpc_model *M = nullptr;
  (void)kpc_model_load_memory(File.data(), File.size(), &Options, &M, E);
  return Own<kpc_model>(M);
}

/// What a session, or a run of three rows, ends with.
kpc_status runWith(const Own<kpc_model> &M, std::string &Message,
                   std::vector<float> &Y, int64_t Batch = 3) {
  kpc_session *Raw = nullptr;
  kpc_error *E = nullptr;
  kpc_status S = kpc_session_create(M.get(), nullptr, &Raw, &E);
  Own<kpc_session> Session(Raw);
  int64_t Dims[] = {Batch, 4};
  std::vector<float> X;
  for (int I = 0; I < Batch * 4; ++I)
    X.push_back(float(I));
  Y.assign(X.size(), 0);
  kpc_named_tensor In = {"x", {X.data(), Dims, 2, KPC_F32, KPC_HOST}},
                   Out = {"y", {Y.data(), Dims, 2, KPC_F32, KPC_HOST}};
  if (S == KPC_OK)
    S = kpc_session_run(Raw, &In, 1, &Out, 1, nullptr, &E);
  if (E)
    Message = std::string(kpc_error_message(E)) + "\n" + kpc_error_hint(E);
  kpc_error_free(E);
  return S;
}

TEST(Operator, IsRefusedUnlessItIsAllowed) {
  Bytes File = written(contentsFor("sample_affine"));
  std::string Message;
  std::vector<float> Y;
  EXPECT_EQ(runWith(loadWith(File, 0), Message, Y), KPC_ERROR_NO_TARGET);
  EXPECT_THAT(Message, HasSubstr("'sample.so'"));
  EXPECT_THAT(Message, HasSubstr("KPC_LOAD_CUSTOM_HOST_CODE"));
  EXPECT_EQ(
      runWith(loadWith(File, KPC_LOAD_CUSTOM_HOST_CODE | KPC_LOAD_NO_HOST_CODE),
              Message, Y),
      KPC_ERROR_NO_TARGET);
  EXPECT_THAT(Message, HasSubstr("KPC_LOAD_NO_HOST_CODE"));
}

TEST(Operator, IsGivenTensorsDimsAndArguments) {
  Own<kpc_model> M = loadWith(written(contentsFor("sample_affine")),
                              KPC_LOAD_CUSTOM_HOST_CODE | KPC_LOAD_COPY);
  std::string Message;
  std::vector<float> Y;
  ASSERT_EQ(runWith(M, Message, Y), KPC_OK) << Message;
  for (size_t I = 0; I < Y.size(); ++I)
    EXPECT_EQ(Y[I], float(I) * 0.5F - 3);
  EXPECT_EQ(runWith(M, Message, Y, /*Batch=*/0), KPC_OK) << Message;
}

TEST(Operator, ErrorsComeBackWithTheirText) {
  Bytes File = written(contentsFor("sample_fail"));
  std::string Message;
  std::vector<float> Y;
  EXPECT_EQ(runWith(loadWith(File, KPC_LOAD_CUSTOM_HOST_CODE), Message, Y),
            KPC_ERROR_OPERATOR);
  EXPECT_THAT(Message, HasSubstr("'sample_fail' failed with 42: nnn"));
}

TEST(Operator, FunctionsAndLibrariesThatAreMissing) {
  std::string Message;
  std::vector<float> Y;
  Bytes File = written(contentsFor("sample_none"));
  EXPECT_EQ(runWith(loadWith(File, KPC_LOAD_CUSTOM_HOST_CODE), Message, Y),
            KPC_ERROR_UNKNOWN_NAME);
  EXPECT_THAT(Message, HasSubstr("'sample.so' has no function 'sample_none'"));
  Contents Named = contentsFor("sample_affine");
  Named.Libraries = {{"libkpc-of-nowhere.so", ""}};
  File = written(Named);
  EXPECT_EQ(runWith(loadWith(File, KPC_LOAD_CUSTOM_HOST_CODE), Message, Y),
            KPC_ERROR_SYSTEM);
  EXPECT_THAT(Message, HasSubstr("libkpc-of-nowhere.so"));
  EXPECT_THAT(Message, HasSubstr("LD_LIBRARY_PATH"));
}

/// What the writer refuses, as a reader would.
std::string refusal(const Contents &C) {
  Bytes File;
  return writeToMemory(C, File).value_or("");
}

TEST(Operator, TablesThatDoNotFitAreRefused) {
  auto Refused = [](auto Change) {
    Contents C = contentsFor("sample_affine");
    Change(C, C.Targets[0].Kernels[0], std::get<Launch>(C.Targets[0].Steps[0]));
    return refusal(C);
  };
  EXPECT_EQ(Refused([](Contents &, Kernel &, Launch &) {}), "");
  EXPECT_THAT(
      Refused([](Contents &, Kernel &K, Launch &) { K.Function->Library = 1; }),
      HasSubstr("kernel 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &K, Launch &) {
                K.Function->Outputs.clear();
              }),
              HasSubstr("kernel 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &K, Launch &) {
                K.Function->Inputs[0].second = 3;
              }),
              HasSubstr("kernel 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &K, Launch &) {
                K.Function->Inputs[0].first = ElementType::Undefined;
              }),
              HasSubstr("kernel 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &K, Launch &) {
                K.Function->Arguments.push_back(ArgumentType::I64);
              }),
              HasSubstr("kernel 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &, Launch &L) {
                L.Params[0].Access = Access::ReadWrite;
              }),
              HasSubstr("parameter 0"));
  EXPECT_THAT(Refused([](Contents &, Kernel &, Launch &L) {
                L.Params[1].Access = Access::Read;
              }),
              HasSubstr("parameter 1"));
  EXPECT_THAT(Refused([](Contents &C, Kernel &, Launch &) {
                C.Libraries[0].Name = "";
              }),
              HasSubstr("library 0"));
}

TEST(Operator, NeedsAReaderThatKnowsIt) {
  Bytes File = written(contentsFor("sample_affine"));
  auto Header = format::decodeHeader(File.data(), File.size(), File.size());
  ASSERT_TRUE(Header);
  EXPECT_EQ(Header->LeastReader, format::LibrariesMinor);
}

// Changed tables load or not, and bind; the code stays as it was.
TEST(Operator, MutantsAreErrorsOrBind) {
  const Bytes File = written(contentsFor("sample_affine"));
  uint64_t TableOffset;
  std::memcpy(&TableOffset, &File[24], 8);
  std::mt19937_64 Random(5);
  size_t Loaded = 0, Opened = 0;
  for (int Round = 0; Round < 3000; ++Round) {
    Bytes Copy = File;
    for (uint64_t N = 1 + Random() % 3; N; --N)
      Copy[TableOffset + Random() % (File.size() - TableOffset)] =
          uint8_t(Random());
    recomputeDigests(Copy);
    kpc_error *E = nullptr;
    Own<kpc_model> M = loadWith(Copy, KPC_LOAD_CUSTOM_HOST_CODE, &E);
    kpc_error_free(E);
    if (!M)
      continue;
    ++Loaded;
    kpc_session *Raw = nullptr;
    if (kpc_session_create(M.get(), nullptr, &Raw, nullptr) != KPC_OK)
      continue;
    Own<kpc_session> S(Raw);
    kpc_dim Dims[] = {{"batch", 3}};
    (void)kpc_session_prepare(Raw, Dims, 1, nullptr);
    ++Opened;
  }
  EXPECT_GT(Loaded, 100U);
  EXPECT_GT(Opened, 10U);
}

} // namespace
