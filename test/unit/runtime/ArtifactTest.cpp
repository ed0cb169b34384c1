//===- ArtifactTest.cpp - Writing and loading artifacts -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"
#include "runtime/format/Validate.h"
#include "test/unit/runtime/Sample.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/resource.h>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;
using testing::HasSubstr;

namespace fs = std::filesystem;

namespace {

std::string loadError(const Bytes &File, uint32_t Flags = 0) {
  kpc_load_options O = KPC_LOAD_OPTIONS_INIT;
  O.flags = Flags;
  kpc_model *M = nullptr;
  kpc_error *E = nullptr;
  kpc_status S = kpc_model_load_memory(File.data(), File.size(), &O, &M, &E);
  kpc_model_free(M);
  return S == KPC_OK ? "" : describe(E);
}

struct Folder {
  Folder() {
    char Name[] = "/tmp/kpc-artifact-XXXXXX";
    Path = mkdtemp(Name);
  }
  ~Folder() { fs::remove_all(Path); }
  std::string file(const char *Name) const { return (Path / Name).string(); }
  size_t count() const {
    return size_t(std::distance(fs::directory_iterator(Path), {}));
  }
  fs::path Path;
};

TEST(Artifact, EqualContentsGiveEqualBytes) {
  EXPECT_EQ(sampleArtifact(), sampleArtifact());
}

TEST(Artifact, FileAndMemoryHaveTheSameBytes) {
  Folder F;
  std::string Path = F.file("a.kpc");
  ASSERT_EQ(write(sampleContents(), Path), std::nullopt);
  std::ifstream In(Path, std::ios::binary);
  Bytes Read((std::istreambuf_iterator<char>(In)), {});
  EXPECT_EQ(Read, sampleArtifact());
  EXPECT_EQ(F.count(), 1u);
  // And it runs from the file, which may go meanwhile.
  kpc_model *M = nullptr;
  kpc_error *E = nullptr;
  ASSERT_EQ(kpc_model_load_file(Path.c_str(), nullptr, &M, &E), KPC_OK)
      << describe(E);
  Own<kpc_model> Owner(M);
  fs::remove(Path);
  Own<kpc_session> S = test::open(Owner);
  SampleRun Run(4, 8);
  EXPECT_EQ(Run.run(S.get()), KPC_OK);
  Run.expectRight();
  EXPECT_EQ(kpc_model_verify_weights(M, nullptr), KPC_OK);
}

// FlatBuffers leaves lists without elements where the name before them ends.
TEST(Artifact, ScalarWeightsWithNamesOfAnyLength) {
  Folder F;
  for (size_t Length = 1; Length <= 16; ++Length) {
    Contents C = sampleContents();
    C.Weights.push_back(weightFromBytes(std::string(Length, 'w'),
                                        ElementType::F32, {}, Bytes(4)));
    EXPECT_EQ(write(C, F.file("scalar.kpc")), std::nullopt) << Length;
  }
}

TEST(Artifact, SaysWhatIsInIt) {
  Bytes File = sampleArtifact();
  Own<kpc_model> M = load(File);
  EXPECT_EQ(kpc_model_input_count(M.get()), 2);
  EXPECT_EQ(kpc_model_output_count(M.get()), 3);
  kpc_port P;
  ASSERT_EQ(kpc_model_input(M.get(), 1, &P), KPC_OK);
  EXPECT_STREQ(P.name, "y");
  EXPECT_EQ(P.type, KPC_F32);
  EXPECT_EQ(P.rank, 2);
  EXPECT_EQ(P.dims[0], -1);
  EXPECT_STREQ(P.dim_texts[1], "width");
  EXPECT_EQ(kpc_model_input(M.get(), 2, &P), KPC_ERROR_OUT_OF_RANGE);
  kpc_symbol S;
  ASSERT_EQ(kpc_model_symbol(M.get(), 1, &S), KPC_OK);
  EXPECT_STREQ(S.name, "width");
  EXPECT_EQ(S.max, 64);
  EXPECT_EQ(S.optimum, 8);
  kpc_target T;
  ASSERT_EQ(kpc_model_target(M.get(), 0, &T), KPC_OK);
  EXPECT_STREQ(T.name, "host:x86-64");
  EXPECT_EQ(T.kernels, 3);
  EXPECT_EQ(T.steps, 6);
  EXPECT_STREQ(kpc_model_provenance(M.get(), "model_name"), "sample");
  EXPECT_STREQ(kpc_model_provenance(M.get(), "color"), "blue");
  EXPECT_EQ(kpc_model_provenance(M.get(), "shape"), nullptr);
}

TEST(Artifact, DamageIsNoticedWhereItIs) {
  Bytes File = sampleArtifact();
  auto Flipped = [&](size_t At) {
    Bytes Copy = File;
    Copy[At] ^= 1;
    return Copy;
  };
  EXPECT_THAT(loadError(Flipped(3)), HasSubstr("not a kpc artifact"));
  EXPECT_THAT(loadError(Flipped(30)), HasSubstr("header's digest"));
  EXPECT_THAT(loadError(Flipped(4096)), HasSubstr("segment 0 (code)"));
  EXPECT_THAT(loadError(Flipped(File.size() - 9)), HasSubstr("table's digest"));
  // Weights on request.
  EXPECT_EQ(loadError(Flipped(8192)), "");
  EXPECT_THAT(loadError(Flipped(8192), KPC_LOAD_VERIFY_WEIGHTS),
              HasSubstr("segment 1 (weights)"));
  EXPECT_THAT(loadError({}), HasSubstr("not a kpc artifact"));
  Bytes Short(File.begin(), File.begin() + 100);
  EXPECT_THAT(loadError(Short), HasSubstr("ends after 100 bytes"));
  Bytes Long = File;
  Long.push_back(0);
  EXPECT_THAT(loadError(Long), HasSubstr("its header says"));
}

// Versions that do not exist yet, so that evolution works before it is needed.
TEST(Artifact, VersionsOfTheFormat) {
  auto WithVersion = [](uint16_t Major, uint16_t Minor, uint16_t LeastReader) {
    Bytes File = sampleArtifact();
    std::memcpy(&File[8], &Major, 2);
    std::memcpy(&File[10], &Minor, 2);
    std::memcpy(&File[12], &LeastReader, 2);
    recomputeDigests(File);
    return loadError(File);
  };
  EXPECT_EQ(WithVersion(1, 0, 0), "");
  EXPECT_EQ(WithVersion(1, 1, 0), "");
  EXPECT_EQ(WithVersion(1, 2, 0), "");
  EXPECT_EQ(WithVersion(1, 3, 0), "");
  EXPECT_EQ(WithVersion(1, 9, 0), ""); // newer, but nothing we must know
  EXPECT_EQ(WithVersion(1, 10, 8), "");
  EXPECT_THAT(WithVersion(1, 10, 9),
              HasSubstr("format version 1.10 (readers from 1.9 on), this "
                        "runtime reads 1.0 to 1.8 [use a newer kpc runtime]"));
  EXPECT_THAT(WithVersion(2, 0, 0), HasSubstr("format version 2.0"));
  EXPECT_THAT(WithVersion(0, 9, 0), HasSubstr("compile the model again"));
}

// The table holds the weight's name in front of its empty list of dims, so the
// list begins at any multiple of 4.
TEST(Artifact, ScalarWeightsLieAnywhere) {
  for (size_t Length = 1; Length <= 16; ++Length) {
    artifact::Contents C = sampleContents();
    C.Weights.push_back(artifact::weightFromBytes(
        std::string(Length, 'w'), ElementType::F32, {}, {0, 0, 128, 63}));
    Bytes Out;
    EXPECT_EQ(writeToMemory(C, Out).value_or(""), "") << Length;
  }
}

// Files that earlier versions of the format wrote are read for ever.
TEST(Artifact, GoldenFilesOfEveryVersion) {
  int Count = 0;
  for (const auto &Entry : fs::directory_iterator(KPC_GOLDEN)) {
    std::string Path = Entry.path().string();
    kpc_model *M = nullptr;
    kpc_error *E = nullptr;
    ASSERT_EQ(kpc_model_load_file(Path.c_str(), nullptr, &M, &E), KPC_OK)
        << describe(E);
    Own<kpc_model> Owner(M);
    EXPECT_EQ(kpc_model_verify_weights(M, nullptr), KPC_OK);
    Own<kpc_session> S = test::open(Owner);
    SampleRun Run(7, 9);
    ASSERT_EQ(Run.run(S.get()), KPC_OK) << Path;
    Run.expectRight();
    ++Count;
  }
  EXPECT_GT(Count, 0);
}

TEST(Artifact, LoadsFromAnyAddressAndFromACopy) {
  Bytes File = sampleArtifact();
  Bytes Shifted(File.size() + 1);
  std::copy(File.begin(), File.end(), Shifted.begin() + 1);
  kpc_model *M = nullptr;
  ASSERT_EQ(kpc_model_load_memory(Shifted.data() + 1, File.size(), nullptr, &M,
                                  nullptr),
            KPC_OK);
  Own<kpc_model> A(M);
  kpc_load_options O = KPC_LOAD_OPTIONS_INIT;
  O.flags = KPC_LOAD_COPY;
  ASSERT_EQ(kpc_model_load_memory(File.data(), File.size(), &O, &M, nullptr),
            KPC_OK);
  Own<kpc_model> B(M);
  std::fill(File.begin(), File.end(), 0);
  std::fill(Shifted.begin(), Shifted.end(), 0);
  for (const Own<kpc_model> *Which : {&A, &B}) {
    Own<kpc_session> S = test::open(*Which);
    SampleRun Run(4, 8);
    ASSERT_EQ(Run.run(S.get()), KPC_OK);
    Run.expectRight();
  }
}

TEST(Artifact, OptionsOfNoVersionAreRefused) {
  Bytes File = sampleArtifact();
  struct {
    kpc_load_options Known;
    uint64_t Later[2];
  } Long{KPC_LOAD_OPTIONS_INIT, {0, 0}};
  auto Error = [&] {
    kpc_model *M = nullptr;
    kpc_error *E = nullptr;
    kpc_status S =
        kpc_model_load_memory(File.data(), File.size(), &Long.Known, &M, &E);
    kpc_model_free(M);
    EXPECT_EQ(S == KPC_OK || S == KPC_ERROR_INVALID_ARGUMENT, true);
    return S == KPC_OK ? "" : describe(E);
  };
  EXPECT_EQ(Error(), "");
  // The first version ended in front of public_key.
  constexpr size_t First = offsetof(kpc_load_options, public_key);
  Long.Known.struct_size = First;
  Long.Known.public_key = reinterpret_cast<const uint8_t *>(1);
  EXPECT_EQ(Error(), "");
  Long.Known.public_key = nullptr;
  for (size_t Size : {size_t(0), size_t(3), First - 8,
                      sizeof(kpc_load_options) + 1, size_t(1) << 40}) {
    Long.Known.struct_size = Size;
    EXPECT_THAT(Error(), HasSubstr("struct_size is " + std::to_string(Size) +
                                   ", but should be "));
  }
  // A later version's, which asks for nothing that is new in it.
  Long.Known.struct_size = sizeof(Long);
  EXPECT_EQ(Error(), "");
  Long.Later[1] = 1;
  EXPECT_THAT(Error(), HasSubstr("the options have fields of a later version"));
  Long.Known.struct_size = sizeof(kpc_load_options);
  EXPECT_EQ(Error(), "");
  EXPECT_THAT(loadError(File, 0x80000001),
              HasSubstr("bits that this runtime does not know: 0x80000000"));
}

TEST(Artifact, AKeyNeedsASignature) {
  Bytes File = sampleArtifact();
  const std::array<uint8_t, 32> Key = {1, 2, 3};
  kpc_load_options O = KPC_LOAD_OPTIONS_INIT;
  O.public_key = Key.data();
  auto Load = [&](kpc_status Wanted) {
    kpc_model *M = nullptr;
    kpc_error *E = nullptr;
    EXPECT_EQ(kpc_model_load_memory(File.data(), File.size(), &O, &M, &E),
              Wanted);
    EXPECT_EQ(M, nullptr);
    return describe(E);
  };
  EXPECT_THAT(Load(KPC_ERROR_SIGNATURE), HasSubstr("is not signed"));
  // A signature of another key's, and one that this key did not make.
  auto Header = format::decodeHeader(File.data(), File.size(), File.size());
  ASSERT_TRUE(Header);
  auto Sign = [&](const format::KeyId &By) {
    Header->Signature.fill(7);
    Header->SignedBy = By;
    auto Head = format::encodeHeader(*Header);
    std::copy(Head.begin(), Head.end(), File.begin());
  };
  Sign({1});
  EXPECT_THAT(Load(KPC_ERROR_SIGNATURE),
              HasSubstr("signed with the key 0100000000000000, not with "));
  Sign(format::keyId(Key.data()));
  void *Library = ::dlopen("libcrypto.so.3", RTLD_LAZY);
  if (Library)
    EXPECT_THAT(Load(KPC_ERROR_SIGNATURE), HasSubstr("is not right"));
  else
    EXPECT_THAT(Load(KPC_ERROR_SYSTEM), HasSubstr("libcrypto.so.3"));
  EXPECT_EQ(loadError(File), ""); // nobody asks
}

TEST(Artifact, ARunEndsWhenItsTimeIsOver) {
  Bytes File = sampleArtifact();
  kpc_model *M = nullptr;
  ASSERT_EQ(
      kpc_model_load_memory(File.data(), File.size(), nullptr, &M, nullptr),
      KPC_OK);
  Own<kpc_model> Owner(M);
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  auto Open = [&](int64_t Microseconds) {
    O.max_run_us = Microseconds;
    kpc_session *S = nullptr;
    EXPECT_EQ(kpc_session_create(M, &O, &S, nullptr), KPC_OK);
    return Own<kpc_session>(S);
  };
  Own<kpc_session> Enough = Open(int64_t(1) << 40), Short = Open(1);
  SampleRun Good(4, 8);
  EXPECT_EQ(Good.run(Enough.get()), KPC_OK);
  Good.expectRight();
  // A run takes some microseconds; on a quick machine, one of many does.
  SampleRun Long(32, 64);
  kpc_status Ended = KPC_OK;
  for (int Tries = 0; Tries < 1000 && Ended == KPC_OK; ++Tries)
    Ended = Long.run(Short.get());
  EXPECT_EQ(Ended, KPC_ERROR_TIMED_OUT);
  O.max_run_us = -1;
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(M, &O, &S, &E), KPC_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(describe(E), HasSubstr("expected max_run_us from 0 to"));
}

TEST(Artifact, HostCodeIsRefusedWhereTheCallerSaysSo) {
  Bytes File = sampleArtifact();
  kpc_load_options O = KPC_LOAD_OPTIONS_INIT;
  O.flags = KPC_LOAD_NO_HOST_CODE;
  kpc_model *M = nullptr;
  ASSERT_EQ(kpc_model_load_memory(File.data(), File.size(), &O, &M, nullptr),
            KPC_OK);
  Own<kpc_model> Owner(M);
  kpc_session *S = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_session_create(M, nullptr, &S, &E), KPC_ERROR_NO_TARGET);
  EXPECT_THAT(describe(E), HasSubstr("native host code is refused"));
  EXPECT_EQ(S, nullptr);
}

TEST(Artifact, PathsThatCannotBeRead) {
  kpc_model *M = nullptr;
  kpc_error *E = nullptr;
  EXPECT_EQ(kpc_model_load_file("/nowhere/a.kpc", nullptr, &M, &E),
            KPC_ERROR_IO);
  EXPECT_THAT(describe(E),
              HasSubstr("cannot read '/nowhere/a.kpc': No such file"));
  EXPECT_EQ(kpc_model_load_file("/tmp", nullptr, &M, &E), KPC_ERROR_IO);
  EXPECT_THAT(describe(E), HasSubstr("not a regular file"));
  Folder F;
  std::ofstream(F.file("empty")).flush();
  EXPECT_EQ(kpc_model_load_file(F.file("empty").c_str(), nullptr, &M, &E),
            KPC_ERROR_NOT_AN_ARTIFACT);
  EXPECT_THAT(describe(E), HasSubstr("empty: not a kpc artifact"));
}

//===-- The writer
//----------------------------------------------------------===//

TEST(Writer, RefusesContentsThatReadersWould) {
  auto Refused = [](auto Change) {
    Contents C = sampleContents();
    Change(C, C.Targets[0]);
    Bytes Out;
    return writeToMemory(C, Out).value_or("accepted");
  };
  EXPECT_THAT(Refused([](Contents &C, Target &) { C.Symbols.pop_back(); }),
              HasSubstr("names 'width', which is not a symbol"));
  EXPECT_THAT(Refused([](Contents &C, Target &) { C.Inputs[1].Name = "x"; }),
              HasSubstr("two inputs are called 'x'"));
  EXPECT_THAT(Refused([](Contents &C, Target &) {
                C.Inputs[0].Type = ElementType::String;
              }),
              HasSubstr("input 'x' has element type 8"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[0]).Kernel = 9;
              }),
              HasSubstr("step 0: kernel 9 does not exist"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[0]).Params.pop_back();
              }),
              HasSubstr("'kpc_add' takes 3 parameters and is given 2"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[1]).Params[1].Buffer = 0;
              }),
              HasSubstr("step 1: parameter 1 of 'kpc_scale'")); // writes x
  EXPECT_THAT(Refused([](Contents &, Target &T) { T.Buffers[7].LastStep = 2; }),
              HasSubstr("step 3: parameter 0 of 'kpc_sum_rows'")); // u is dead
  EXPECT_THAT(Refused([](Contents &, Target &T) { T.Kernels[0].Entry = 4096; }),
              HasSubstr("kernel 0 'kpc_add' is not good"));
  EXPECT_THAT(Refused([](Contents &, Target &T) { T.Buffers[6].LastStep = 6; }),
              HasSubstr("buffer 6 't' is not good"));
  // An alternative is checked as the launch is whose place it takes.
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                addAlternative(T, 1).Instead.Kernel = 9;
              }),
              HasSubstr("step 1: kernel 9 does not exist"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                addAlternative(T, 1).Instead.Params[1].Buffer = 0;
              }),
              HasSubstr("step 1: parameter 1 of 'kpc_scale'")); // writes x
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                addAlternative(T, 1).Bounds[0].Size = Expr::symbol("q");
              }),
              HasSubstr("'q', which is not a symbol"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                Alternative Inner = addAlternative(T, 1);
                std::get<Launch>(T.Steps[1])
                    .Alternatives[0]
                    .Instead.Alternatives.push_back(Inner);
              }),
              HasSubstr("step 1: an alternative has alternatives"));
  EXPECT_THAT(
      Refused([](Contents &, Target &T) { T.Values[3].Order = {0, 0}; }),
      HasSubstr("value 'z'' is not good"));
  EXPECT_THAT(Refused([](Contents &, Target &T) {
                std::get<Launch>(T.Steps[0]).Work = Expr::symbol("q");
              }),
              HasSubstr("'q', which is not a symbol"));
  EXPECT_THAT(
      Refused([](Contents &C, Target &) { C.Symbols[0].Facts.Max = 0; }),
      HasSubstr("symbol 'batch' has range [1, 0]"));
  EXPECT_THAT(Refused([](Contents &C, Target &) { C.Weights[0].Length = 255; }),
              HasSubstr("weight 'w' is said to have 255 bytes, but its type "
                        "and dims take 256"));
  EXPECT_THAT(Refused([](Contents &C, Target &) { C.Weights[0].Length = 257; }),
              HasSubstr("weight 'w' is said to have 257 bytes"));
  EXPECT_THAT(Refused([](Contents &C, Target &) {
                C.Weights[0] =
                    weightFromBytes("w", ElementType::F32, {64}, Bytes(256));
                C.Weights[0].Length = 260;
                C.Weights[0].Dims = {65};
              }),
              HasSubstr("weight 'w' has 256 bytes, fewer than it should"));
  EXPECT_THAT(Refused([](Contents &C, Target &) {
                C.Weights[0].Read = [](uint64_t, uint8_t *, size_t) {
                  return std::optional<std::string>("the disk is gone");
                };
              }),
              HasSubstr("the disk is gone"));
}

/// A weight of so many bytes that each tell where they are.
static Weight counted(const std::string &Name, int64_t Bytes) {
  Weight W;
  W.Name = Name;
  W.Type = ElementType::U8;
  W.Dims = {Bytes};
  W.Length = Bytes;
  W.Read = [](uint64_t Begin, uint8_t *Out, size_t Size) {
    for (size_t I = 0; I < Size; ++I)
      Out[I] = uint8_t((Begin + I) * 2654435761u >> 24);
    return std::optional<std::string>();
  };
  return W;
}

TEST(Writer, ThreadsMakeNoDifference) {
  Folder F;
  Contents C = sampleContents();
  // Pieces of 1 MiB: many in a weight, many weights in one, none, exactly one.
  for (int64_t Bytes : {5000001, 1, 0, 127, 128, 129, 0, 1 << 20, 3, 2100000})
    C.Weights.push_back(counted("w" + std::to_string(C.Weights.size()), Bytes));
  Bytes One;
  ASSERT_EQ(writeToMemory(C, One).value_or(""), "");
  for (int Threads : {1, 2, 3, 8, 64}) {
    Bytes Many;
    ASSERT_EQ(writeToMemory(C, Many, Threads).value_or(""), "");
    EXPECT_EQ(Many == One, true) << Threads << " threads";
    ASSERT_EQ(write(C, F.file("many.kpc"), Threads).value_or(""), "");
    std::ifstream In(F.file("many.kpc"), std::ios::binary);
    Bytes Read{std::istreambuf_iterator<char>(In), {}};
    EXPECT_EQ(Read == One, true) << Threads << " threads";
  }
  Own<kpc_model> M = load(One);
  EXPECT_EQ(kpc_model_verify_weights(M.get(), nullptr), KPC_OK);
}

TEST(Writer, TheFirstFailureInTheFileIsTheError) {
  Contents C = sampleContents();
  for (const char *Name : {"good", "first", "second"})
    C.Weights.push_back(counted(Name, 3 << 20));
  for (size_t I : {C.Weights.size() - 1, C.Weights.size() - 2})
    C.Weights[I].Read = [Name = C.Weights[I].Name](uint64_t, uint8_t *,
                                                   size_t) {
      return std::optional<std::string>(Name + " is gone");
    };
  for (int Threads : {1, 2, 8}) {
    Bytes Out;
    EXPECT_EQ(writeToMemory(C, Out, Threads).value_or(""), "first is gone");
  }
}

TEST(Writer, NothingIsLeftOfWhatFails) {
  Folder F;
  Contents C = sampleContents();
  C.Weights[0].Length = 257;
  std::ofstream(F.file("a.kpc")) << "what was there";
  EXPECT_TRUE(write(C, F.file("a.kpc")));
  EXPECT_EQ(F.count(), 1u);
  std::ifstream In(F.file("a.kpc"));
  std::string Text;
  std::getline(In, Text);
  EXPECT_EQ(Text, "what was there");
  EXPECT_THAT(*write(sampleContents(), F.file("no/a.kpc")),
              HasSubstr("no/a.kpc': No such file"));
  EXPECT_THAT(*write(sampleContents(), "/dev/null"),
              HasSubstr("'/dev/null': it is not a regular file"));
}

TEST(Writer, AFullDiskIsAnErrorThatNamesThePath) {
  Folder F;
  rlimit Before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &Before), 0);
  auto Handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit Small = {4096, Before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &Small), 0);
  auto Error = write(sampleContents(), F.file("full.kpc"));
  setrlimit(RLIMIT_FSIZE, &Before);
  std::signal(SIGXFSZ, Handler);
  ASSERT_TRUE(Error);
  EXPECT_THAT(*Error, HasSubstr("cannot write '" + F.file("full.kpc")));
  EXPECT_EQ(F.count(), 0u);
}

TEST(Writer, ReplacesTheFileThatALinkNames) {
  Folder F;
  std::ofstream(F.file("real.kpc")) << "old";
  fs::create_symlink("real.kpc", F.file("link.kpc"));
  ASSERT_EQ(write(sampleContents(), F.file("link.kpc")), std::nullopt);
  EXPECT_TRUE(fs::is_symlink(F.file("link.kpc")));
  EXPECT_GT(fs::file_size(F.file("real.kpc")), 4096u);
}

//===-- Digests
//--------------------------------------------------------------===//

TEST(Sha256, KnownMessages) {
  auto Hex = [](const std::string &Text, bool Portable) {
    format::Sha256 Hash(Portable);
    for (char C : Text)
      Hash.update(&C, 1);
    return std::string(format::toHex(Hash.finish()).data());
  };
  for (bool Portable : {false, true}) {
    EXPECT_EQ(Hex("abc", Portable), "ba7816bf8f01cfea414140de5dae2223b00361a396"
                                    "177a9cb410ff61f20015ad");
    EXPECT_EQ(Hex("", Portable), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b"
                                 "934ca495991b7852b855");
    EXPECT_EQ(
        Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            Portable),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
  std::string Long(100003, 'x');
  for (size_t Length : {55u, 56u, 63u, 64u, 65u, 100003u}) {
    format::Sha256 A, B(true);
    A.update(Long.data(), Length);
    B.update(Long.data(), Length / 3);
    B.update(Long.data() + Length / 3, Length - Length / 3);
    EXPECT_EQ(A.finish(), B.finish()) << Length;
  }
}

} // namespace
