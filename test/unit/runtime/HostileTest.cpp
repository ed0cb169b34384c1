//===- HostileTest.cpp - Damaged and forged artifacts ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every truncation and many random changes: an error, or a run that stays
// within its memory. The code of this sample is `ret` from end to end, so that
// whatever the table is changed to, its kernels do nothing; only where a change
// hits the code itself is it not run, since an artifact's host code is native
// code.

#include "runtime/format/Container.h"
#include "test/unit/runtime/Sample.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;

namespace {

Bytes hostileSample() {
  Contents C = sampleContents();
  C.Targets[0].Modules[0].Image.assign(512, 0xc3); // ret
  Fill F;
  F.Destination = 7;
  F.Size = Expr::symbol("width") * 4;
  F.Pattern = 0x12345678;
  F.PatternBytes = 4;
  C.Targets[0].Steps[4] = F;
  C.Targets[0].Buffers[7].LastStep = 4;
  return written(C);
}

void *allocateLittle(void *, size_t Bytes, size_t Alignment, kpc_device) {
  return Bytes > size_t(16) << 20 || Alignment > 65536
             ? nullptr
             : std::aligned_alloc(Alignment,
                                  (Bytes + Alignment - 1) & ~(Alignment - 1));
}
void release(void *, void *Memory, size_t, kpc_device) { std::free(Memory); }

// Uses an artifact in every way; says how far it came.
enum class Came { Nowhere, Loaded, Opened, Ran };
Came use(const uint8_t *Data, size_t Size, bool MayRun) {
  // A copy of exactly this size, so that reading past it is seen.
  Bytes Exact(Data, Data + Size);
  kpc_model *RawModel = nullptr;
  kpc_error *E = nullptr;
  kpc_status Status =
      kpc_model_load_memory(Exact.data(), Size, nullptr, &RawModel, &E);
  if (Status != KPC_OK) {
    EXPECT_STRNE(kpc_error_message(E), "");
    kpc_error_free(E);
    return Came::Nowhere;
  }
  Own<kpc_model> M(RawModel);
  kpc_port P;
  for (int32_t I = 0; kpc_model_input(RawModel, I, &P) == KPC_OK; ++I)
    for (int32_t D = 0; D < P.rank; ++D)
      EXPECT_NE(P.dim_texts[D], nullptr);
  kpc_target T;
  for (int32_t I = 0; kpc_model_target(RawModel, I, &T) == KPC_OK; ++I)
    EXPECT_NE(T.runs_on, nullptr);
  (void)kpc_model_verify_weights(RawModel, nullptr);
  kpc_session_options O = KPC_SESSION_OPTIONS_INIT;
  O.num_threads = 1;
  O.flags = KPC_SESSION_KEEP_VALUES;
  O.allocator = {allocateLittle, release, nullptr};
  kpc_session *RawSession = nullptr;
  if (kpc_session_create(RawModel, &O, &RawSession, nullptr) != KPC_OK)
    return Came::Loaded;
  Own<kpc_session> S(RawSession);
  for (int64_t Batch : {1, 3, 32, 1 << 20}) {
    kpc_dim Dims[] = {{"batch", Batch}, {"width", 5}};
    (void)kpc_session_prepare(RawSession, Dims, 2, nullptr);
  }
  if (!MayRun)
    return Came::Opened;
  SampleRun Run(3, 5);
  if (Run.run(RawSession) != KPC_OK)
    return Came::Opened;
  std::vector<char> Value(1 << 12);
  for (int32_t I = 0; I < kpc_session_value_count(RawSession); ++I) {
    kpc_named_tensor V;
    if (kpc_session_value(RawSession, I, &V, nullptr) != KPC_OK)
      continue;
    int64_t Size = kpc_tensor_bytes(&V.tensor);
    if (Size >= 0 && Size <= int64_t(Value.size()))
      (void)kpc_session_read_value(RawSession, I, Value.data(), size_t(Size),
                                   nullptr);
  }
  return Came::Ran;
}

TEST(Hostile, TheSampleRuns) {
  Bytes File = hostileSample();
  EXPECT_EQ(use(File.data(), File.size(), true), Came::Ran);
}

TEST(Hostile, TruncationAtEveryByte) {
  Bytes File = hostileSample();
  for (size_t Size = 0; Size < File.size(); ++Size)
    ASSERT_EQ(use(File.data(), Size, true), Came::Nowhere) << Size;
}

// The header made to match, as if the shorter file were meant.
TEST(Hostile, TruncationWithDigestsRecomputed) {
  Bytes File = hostileSample();
  for (size_t Size = format::HeaderSize; Size < File.size(); ++Size) {
    Bytes Short(File.begin(), File.begin() + std::ptrdiff_t(Size));
    uint64_t FileSize = Size, TableOffset;
    std::memcpy(&TableOffset, &Short[24], 8);
    uint64_t TableSize = Size > TableOffset ? Size - TableOffset : 0;
    std::memcpy(&Short[16], &FileSize, 8);
    std::memcpy(&Short[32], &TableSize, 8);
    recomputeDigests(Short);
    (void)use(Short.data(), Short.size(), true);
  }
}

class Flips : public testing::TestWithParam<bool> {};

TEST_P(Flips, AreErrorsOrContainedRuns) {
  const bool Recompute = GetParam();
  const Bytes File = hostileSample();
  const size_t CodeBegin = 4096, CodeEnd = 4096 + 512;
  uint64_t TableOffset;
  std::memcpy(&TableOffset, &File[24], 8);
  std::mt19937_64 Random(Recompute ? 11 : 7);
  size_t Counts[4] = {};
  constexpr int Rounds = 12000;
  for (int Round = 0; Round < Rounds; ++Round) {
    Bytes Copy = File;
    bool HitsCode = false;
    for (uint64_t N = 1 + Random() % 3; N; --N) {
      // Three of four in the header or the table, where they matter.
      size_t At = Random() % File.size();
      if (Random() % 4)
        At = Random() % 16
                 ? TableOffset + Random() % (File.size() - TableOffset)
                 : Random() % 256;
      HitsCode |= At >= CodeBegin && At < CodeEnd;
      switch (Random() % 4) {
      case 0:
        Copy[At] ^= uint8_t(1) << (Random() % 8);
        break;
      case 1:
        Copy[At] = uint8_t(Random());
        break;
      case 2:
        Copy[At] = 0xff;
        break;
      default: // a whole number
        for (size_t I = At; I < std::min(At + 8, Copy.size()); ++I)
          Copy[I] = Random() % 2 ? 0x7f : 0xff;
        HitsCode |= At < CodeEnd && At + 8 > CodeBegin;
        break;
      }
    }
    if (Recompute)
      recomputeDigests(Copy);
    ++Counts[int(use(Copy.data(), Copy.size(), !HitsCode))];
  }
  std::printf("refused %zu, loaded %zu, opened %zu, ran %zu\n", Counts[0],
              Counts[1], Counts[2], Counts[3]);
  EXPECT_GT(Counts[0], 0u);
  if (Recompute) { // or they test nothing
    EXPECT_GT(Counts[1] + Counts[2], size_t(Rounds) / 200);
    EXPECT_GT(Counts[3], size_t(Rounds) / 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Digests, Flips, testing::Bool(), [](const auto &Info) {
  return Info.param ? "Recomputed" : "AsTheyWere";
});

} // namespace
