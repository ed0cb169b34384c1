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

#include "test/unit/runtime/Hostile.h"
#include "runtime/format/Container.h"
#include "test/unit/runtime/FakeCuda.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace kpc;
using namespace kpc::test;
using namespace kpc::artifact;

namespace {

TEST(Hostile, TheSampleRuns) {
  Bytes File = hostileSample();
  EXPECT_EQ(useArtifact(File.data(), File.size(), true), Came::Ran);
}

TEST(Hostile, TheSampleWithTensorMapsRuns) {
  FakeCuda Fake;
  Fake.reset();
  Fake.makeInert();
  Bytes File = hostileMappedSample();
  EXPECT_EQ(useArtifact(File.data(), File.size(), true, KPC_FAKE_CUDA),
            Came::Ran);
  EXPECT_GT(Fake.count("TensorMapEncodeTiled"), 0);
}

// What the fuzzer found once.
TEST(Hostile, InputsThatWereFoundBefore) {
  int Count = 0;
  for (const auto &Entry :
       std::filesystem::directory_iterator(KPC_FUZZ_CORPUS)) {
    std::ifstream In(Entry.path(), std::ios::binary);
    Bytes File((std::istreambuf_iterator<char>(In)), {});
    makeCodeHarmless(File);
    recomputeDigests(File);
    (void)useArtifact(File.data(), File.size(), true);
    ++Count;
  }
  EXPECT_GT(Count, 0);
}

TEST(Hostile, TruncationAtEveryByte) {
  for (const Bytes &File : {hostileSample(), hostileMappedSample()})
    for (size_t Size = 0; Size < File.size(); ++Size)
      ASSERT_EQ(useArtifact(File.data(), Size, true), Came::Nowhere) << Size;
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
    (void)useArtifact(Short.data(), Short.size(), true);
  }
}

struct FlipCase {
  bool Recompute, Mapped;
};

class Flips : public testing::TestWithParam<FlipCase> {
public:
  void SetUp() override {
    if (!GetParam().Mapped)
      return;
    Fake.reset();
    Fake.makeInert();
  }
  FakeCuda Fake;
};

// One to three changes, three of four in the header or the table, where they
// matter. Tells whether the bytes [CodeBegin, CodeEnd) are among them.
bool damage(Bytes &File, uint64_t TableOffset, std::mt19937_64 &Random,
            size_t CodeBegin, size_t CodeEnd) {
  bool HitsCode = false;
  for (uint64_t N = 1 + Random() % 3; N; --N) {
    size_t At = Random() % File.size();
    if (Random() % 4)
      At = Random() % 16 ? TableOffset + Random() % (File.size() - TableOffset)
                         : Random() % 256;
    HitsCode |= At >= CodeBegin && At < CodeEnd;
    switch (Random() % 4) {
    case 0:
      File[At] ^= uint8_t(1) << (Random() % 8);
      break;
    case 1:
      File[At] = uint8_t(Random());
      break;
    case 2:
      File[At] = 0xff;
      break;
    default: // a whole number
      for (size_t I = At; I < std::min(At + 8, File.size()); ++I)
        File[I] = Random() % 2 ? 0x7f : 0xff;
      HitsCode |= At < CodeEnd && At + 8 > CodeBegin;
      break;
    }
  }
  return HitsCode;
}

TEST_P(Flips, AreErrorsOrContainedRuns) {
  const auto [Recompute, Mapped] = GetParam();
  const Bytes File = Mapped ? hostileMappedSample() : hostileSample();
  const char *Driver = Mapped ? KPC_FAKE_CUDA : nullptr;
  const size_t CodeBegin = 4096, CodeEnd = 4096 + (Mapped ? 0 : 512);
  uint64_t TableOffset;
  std::memcpy(&TableOffset, &File[24], 8);
  std::mt19937_64 Random(Recompute ? 11 : 7);
  size_t Counts[4] = {};
  const int Rounds = Mapped ? 6000 : 12000;
  for (int Round = 0; Round < Rounds; ++Round) {
    Bytes Copy = File;
    bool HitsCode = damage(Copy, TableOffset, Random, CodeBegin, CodeEnd);
    if (Recompute)
      recomputeDigests(Copy);
    ++Counts[int(useArtifact(Copy.data(), Copy.size(), !HitsCode, Driver))];
  }
  std::printf("refused %zu, loaded %zu, opened %zu, ran %zu\n", Counts[0],
              Counts[1], Counts[2], Counts[3]);
  EXPECT_GT(Counts[0], 0u);
  if (Recompute) { // or they test nothing
    EXPECT_GT(Counts[1] + Counts[2], size_t(Rounds) / 200);
    EXPECT_GT(Counts[3], size_t(Rounds) / 20);
  }
  if (Mapped)
    EXPECT_EQ(Fake.live(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Digests, Flips,
    testing::Values(FlipCase{false, false}, FlipCase{true, false},
                    FlipCase{false, true}, FlipCase{true, true}),
    [](const auto &Info) {
      return std::string(Info.param.Recompute ? "Recomputed" : "AsTheyWere") +
             (Info.param.Mapped ? "WithTensorMaps" : "");
    });

} // namespace
