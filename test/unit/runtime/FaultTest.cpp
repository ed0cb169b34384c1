//===- FaultTest.cpp - Every allocation made to fail once -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A program of its own: it replaces operator new.

#include "kpc/dlpack.h"
#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Programs.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <sys/mman.h>

using namespace kpc;
using namespace kpc::test;

namespace {
std::atomic<long> Countdown{-1}; ///< allocations until one fails; -1: none does
std::atomic<long> Allocations{0};

bool mustFail() {
  ++Allocations;
  long Left = Countdown.load();
  while (Left >= 0)
    if (Countdown.compare_exchange_weak(Left, Left - 1))
      return Left == 0;
  return false;
}
} // namespace

// All forms: a sanitizer has its own for those that are not here.
void *operator new(size_t Size, const std::nothrow_t &) noexcept {
  return mustFail() ? nullptr : std::malloc(Size ? Size : 1);
}
void *operator new(size_t Size, std::align_val_t Alignment,
                   const std::nothrow_t &) noexcept {
  size_t A = size_t(Alignment);
  return mustFail() ? nullptr : std::aligned_alloc(A, (Size + A) / A * A);
}
void *operator new(size_t Size) {
  if (void *Out = operator new(Size, std::nothrow))
    return Out;
  throw std::bad_alloc();
}
void *operator new(size_t Size, std::align_val_t Alignment) {
  if (void *Out = operator new(Size, Alignment, std::nothrow))
    return Out;
  throw std::bad_alloc();
}
void operator delete(void *P) noexcept { std::free(P); }
void operator delete(void *P, size_t) noexcept { std::free(P); }
void operator delete(void *P, std::align_val_t) noexcept { std::free(P); }
void operator delete(void *P, size_t, std::align_val_t) noexcept {
  std::free(P);
}
void operator delete(void *P, const std::nothrow_t &) noexcept { std::free(P); }
void operator delete(void *P, std::align_val_t,
                     const std::nothrow_t &) noexcept {
  std::free(P);
}

// The runtime's mappings (the linker puts these in their place).
static std::atomic<int> MappingsUntilFailure{-1};
static bool mappingMustFail() {
  int Left = MappingsUntilFailure.load();
  if (Left >= 0)
    MappingsUntilFailure = Left - 1;
  return Left == 0;
}
extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_mprotect(void *, size_t, int);
void *__wrap_mmap(void *Address, size_t Size, int Protection, int Flags,
                  int File, off_t Offset) {
  if (mappingMustFail()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(Address, Size, Protection, Flags, File, Offset);
}
int __wrap_mprotect(void *Address, size_t Size, int Protection) {
  if (mappingMustFail()) {
    errno = EACCES;
    return -1;
  }
  return __real_mprotect(Address, Size, Protection);
}
// NOLINTEND(readability-identifier-naming)
}

namespace {

/// All that a program may do; returns the first error. What tests themselves
/// allocate is made before.
struct Program {
  explicit Program(kpc_device Where)
      : Where(Where),
        File(Where.kind == KPC_DEVICE_CUDA ? written(mappedContents(false))
                                           : sampleArtifact()),
        A(4, 8), B(3, 5), In(A.inputs()), Out(A.outputs()), In2(B.inputs()),
        Out2(B.outputs()) {}

  kpc_status use(kpc_session *S, kpc_error **E) {
    kpc_dim Dims[] = {{"batch", 3}, {"width", 5}};
    if (kpc_status Code = kpc_session_prepare(S, Dims, 2, E))
      return Code;
    if (kpc_status Code = kpc_session_run(S, In.data(), 2, Out.data(), 3, 0, E))
      return Code;
    if (kpc_status Code =
            kpc_session_run(S, In2.data(), 2, Out2.data(), 3, 0, E))
      return Code;
    kpc_outputs *Raw = nullptr;
    if (kpc_status Code = kpc_session_run_owned(S, In.data(), 2, 0, &Raw, E))
      return Code;
    Own<kpc_outputs> Outputs(Raw);
    DLManagedTensorVersioned *Dl = nullptr;
    if (kpc_status Code = kpc_outputs_to_dlpack(Raw, 0, &Dl, E))
      return Code;
    Dl->deleter(Dl);
    kpc_profile *P = nullptr;
    if (kpc_status Code =
            kpc_session_profile(S, In.data(), 2, Out.data(), 3, &P, E))
      return Code;
    kpc_profile_free(P);
    float Value[32];
    if (kpc_status Code = kpc_session_read_value(S, 3, Value, sizeof Value, E))
      return Code;
    // An error's own text may fail as well.
    In[0].name = "nobody";
    kpc_status Code = kpc_session_run(S, In.data(), 2, Out.data(), 3, 0, E);
    In[0].name = "x";
    if (Code != KPC_ERROR_UNKNOWN_NAME)
      return Code;
    kpc_error_free(*E);
    *E = nullptr;
    return KPC_OK;
  }

  kpc_status run(kpc_error **E) {
    kpc_model *RawModel = nullptr;
    if (kpc_status Code = kpc_model_load_memory(File.data(), File.size(),
                                                nullptr, &RawModel, E))
      return Code;
    Own<kpc_model> M(RawModel);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = Where;
    O.driver = KPC_FAKE_CUDA;
    O.num_threads = 3;
    O.max_bound_shapes = 1;
    O.flags = KPC_SESSION_KEEP_VALUES;
    kpc_session *S = nullptr;
    if (kpc_status Code = kpc_session_create(RawModel, &O, &S, E))
      return Code;
    Own<kpc_session> Owner(S);
    return use(S, E);
  }

  kpc_device Where;
  artifact::Bytes File;
  SampleRun A, B;
  std::vector<kpc_named_tensor> In, Out, In2, Out2;
};

void everyAllocationFails(const std::function<kpc_status(kpc_error **)> &Run,
                          long Least = 50) {
  kpc_error *E = nullptr;
  kpc_status First = Run(&E);
  ASSERT_EQ(First, KPC_OK) << describe(E);
  long Before = Allocations.load();
  ASSERT_EQ(Run(&E), KPC_OK);
  long Count = Allocations.load() - Before;
  ASSERT_GT(Count, Least);
  for (long N = 0; N < Count; ++N) {
    E = nullptr;
    Countdown = N;
    kpc_status Code = Run(&E);
    Countdown = -1;
    EXPECT_TRUE(Code == KPC_OK || Code == KPC_ERROR_OUT_OF_MEMORY ||
                Code == KPC_ERROR_DEVICE_OUT_OF_MEMORY)
        << N << ": " << kpc_error_message(E);
    EXPECT_EQ(kpc_error_status(E), Code);
    if (Code != KPC_OK)
      EXPECT_STRNE(kpc_error_message(E), "");
    kpc_error_free(E);
  }
}

void everyAllocationFails(kpc_device Where) {
  Program P(Where);
  everyAllocationFails([&](kpc_error **E) { return P.run(E); });
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.device = Where;
  O.driver = KPC_FAKE_CUDA;
  O.num_threads = 2;
  for (const GivenProgram &Other :
       givenPrograms(Where.kind == KPC_DEVICE_CUDA)) {
    SCOPED_TRACE(Other.Name);
    everyAllocationFails([&](kpc_error **E) { return Other.run(O, E); });
  }
}

TEST(Fault, EveryAllocationOnTheHost) { everyAllocationFails(KPC_HOST); }

TEST(Fault, EveryAllocationOnADevice) {
  FakeCuda Fake;
  Fake.reset();
  everyAllocationFails(KPC_CUDA(0));
  EXPECT_EQ(Fake.live(), 0);
}

TEST(Fault, EveryAllocationOfAFile) {
  std::string Path = testing::TempDir() + "kpc-fault-file.kpc";
  ASSERT_FALSE(artifact::write(sampleContents(), Path));
  everyAllocationFails(
      [&](kpc_error **E) {
        kpc_model *M = nullptr;
        kpc_status Code = kpc_model_load_file(Path.c_str(), nullptr, &M, E);
        if (Code == KPC_OK)
          Code = kpc_model_verify_weights(M, E);
        kpc_model_free(M);
        return Code;
      },
      5);
  std::remove(Path.c_str());
}

TEST(Fault, EveryMapping) {
  std::string Path = testing::TempDir() + "kpc-fault.kpc";
  ASSERT_FALSE(artifact::write(sampleContents(), Path));
  auto LoadAndOpen = [&](kpc_error **E) {
    kpc_model *M = nullptr;
    if (kpc_status Code = kpc_model_load_file(Path.c_str(), nullptr, &M, E))
      return Code;
    Own<kpc_model> Owner(M);
    kpc_session *S = nullptr;
    kpc_status Code = kpc_session_create(M, nullptr, &S, E);
    kpc_session_free(S);
    return Code;
  };
  // The file, the pages of the code, their protection.
  for (int N = 0; N < 3; ++N) {
    kpc_error *E = nullptr;
    MappingsUntilFailure = N;
    kpc_status Code = LoadAndOpen(&E);
    MappingsUntilFailure = -1;
    EXPECT_EQ(Code, KPC_ERROR_SYSTEM) << N;
    EXPECT_STRNE(kpc_error_message(E), "");
    kpc_error_free(E);
  }
  kpc_error *E = nullptr;
  EXPECT_EQ(LoadAndOpen(&E), KPC_OK) << describe(E);
  std::remove(Path.c_str());
}

TEST(Fault, SteadyRunsAllocateNothing) {
  FakeCuda Fake;
  Fake.reset();
  for (kpc_device Where : {kpc_device KPC_HOST, kpc_device KPC_CUDA(0)}) {
    Program P(Where);
    Own<kpc_model> M = load(P.File);
    kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
    O.device = Where;
    O.driver = KPC_FAKE_CUDA;
    O.num_threads = 2;
    Own<kpc_session> S = test::open(M, &O);
    for (int I = 0; I < 2; ++I)
      for (auto *List : {&P.In, &P.Out})
        for (kpc_named_tensor &T : *List)
          T.tensor.device = Where;
    auto Run = [&](auto &In, auto &Out) {
      return kpc_session_run(
          S.get(), In.data(), In.size(), Out.data(), Out.size(),
          Where.kind == KPC_DEVICE_CUDA ? KPC_STREAM_DEFAULT : nullptr,
          nullptr);
    };
    ASSERT_EQ(Run(P.In, P.Out), KPC_OK);
    ASSERT_EQ(Run(P.In2, P.Out2), KPC_OK);
    Countdown = 0; // the next one fails, in this library or the fake's caller
    kpc_status Code = Run(P.In, P.Out);
    long Left = Countdown.exchange(-1);
    EXPECT_EQ(Code, KPC_OK);
    EXPECT_EQ(Left, 0) << "something was allocated";
    P.A.expectRight();
  }
}

} // namespace
