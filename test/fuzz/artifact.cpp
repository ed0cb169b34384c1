//===- artifact.cpp - Fuzzes the loader of artifacts ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Digests are recomputed, or nothing behind them would be reached; code is made
// harmless, since what native code does is not the loader's to contain.

#include "test/unit/runtime/Hostile.h"

using namespace kpc::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  kpc::artifact::Bytes File(Data, Data + Size);
  makeCodeHarmless(File);
  recomputeDigests(File);
  (void)useArtifact(File.data(), File.size(), true);
  return 0;
}

/// The first input, so that the fuzzer starts from a whole artifact.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *Data, size_t Size,
                                          size_t MaxSize, unsigned Seed);
extern "C" size_t LLVMFuzzerMutate(uint8_t *Data, size_t Size, size_t MaxSize);
size_t LLVMFuzzerCustomMutator(uint8_t *Data, size_t Size, size_t MaxSize,
                               unsigned Seed) {
  static const kpc::artifact::Bytes Sample = hostileSample();
  if (Size < 256 && Sample.size() <= MaxSize) {
    std::copy(Sample.begin(), Sample.end(), Data);
    Size = Sample.size();
  }
  // Mostly the table, which is at the end; its size must stay.
  uint64_t Table = 0;
  std::copy(Data + 24, Data + 32, reinterpret_cast<uint8_t *>(&Table));
  if (Seed % 8 && Table < Size) {
    LLVMFuzzerMutate(Data + Table, Size - Table, Size - Table);
    return Size;
  }
  return LLVMFuzzerMutate(Data, Size, MaxSize);
}
