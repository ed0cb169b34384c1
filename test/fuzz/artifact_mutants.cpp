//===- artifact_mutants.cpp - Thousands of damaged artifacts --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads, opens and runs damaged artifacts in one process:
///
///   kpc_artifact_mutants COUNT SEED [ARTIFACT...]
///
/// The samples of the runtime's tests are damaged, on the host and on the fake
/// driver, and so are the given files. A change knows what a table is made of:
/// aligned words, offsets and lengths among them, get other numbers, change
/// places with others or are put over them. Digests are mostly made to match.
/// Code is `ret` from end to end, because what native code does is not the
/// loader's to contain. Each mutant is taken or refused with a reason. A crash,
/// a hang of ten seconds and memory beyond a limit end the process with the
/// number of the mutant, which the same seed makes again.
///
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/FakeCuda.h"
#include "test/unit/runtime/Hostile.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace kpc::test;
using kpc::artifact::Bytes;

static constexpr long MostMemory = 1 << 20; ///< KiB resident
static constexpr unsigned MostSeconds = 10;

namespace {
struct Seed {
  const char *Name;
  Bytes File;
  const char *Driver = nullptr;
};
} // namespace

static std::array<char, 96> AtWork; ///< what a signal's handler says

static void sayWhere(int Signal) {
  (void)!::write(2, AtWork.data(), std::strlen(AtWork.data()));
  std::signal(Signal, SIG_DFL);
  std::raise(Signal);
}

/// Where the table begins, as the header says; the end where it says nonsense.
static size_t tableOf(const Bytes &File) {
  uint64_t Offset = File.size();
  if (File.size() >= 32)
    std::memcpy(&Offset, &File[24], 8);
  return std::min<uint64_t>(Offset, File.size());
}

/// Numbers that sizes, offsets, kinds and counts are wrong at.
static uint64_t number(std::mt19937_64 &Chance, uint64_t Was) {
  static constexpr uint64_t Numbers[] = {
      0,          1,          2,          3,          7,          8,
      63,         64,         127,        128,        255,        256,
      0xffff,     0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 40,
      1ull << 62, INT64_MAX,  1ull << 63, UINT64_MAX};
  switch (Chance() % 4) {
  case 0:
    return Was + 1;
  case 1:
    return Was - 1;
  case 2:
    return Was ^ (1ull << (Chance() % 64));
  default:
    return Numbers[Chance() % std::size(Numbers)];
  }
}

/// One change of a word of 1, 2, 4 or 8 bytes, mostly of the table.
static void change(Bytes &File, size_t Table, std::mt19937_64 &Chance) {
  const size_t Width = size_t(1) << (Chance() % 4);
  const auto Place = [&] {
    size_t First = Chance() % 8 ? Table : 0;
    if (First + Width > File.size())
      First = 0;
    size_t At = First + Chance() % (File.size() - First);
    return std::min(At / Width * Width, File.size() - Width);
  };
  const size_t At = Place(), Other = Place();
  uint64_t One = 0, Two = 0;
  std::memcpy(&One, &File[At], Width);
  std::memcpy(&Two, &File[Other], Width);
  switch (Chance() % 4) {
  case 0: // one in another's place
    One = Two;
    break;
  case 1: // each in the other's
    std::memcpy(&File[Other], &One, Width);
    One = Two;
    break;
  default:
    One = number(Chance, One);
  }
  std::memcpy(&File[At], &One, Width);
}

static Bytes mutant(const Seed &Of, std::mt19937_64 &Chance) {
  Bytes File = Of.File;
  const size_t Table = tableOf(File);
  for (uint64_t N = 1 + Chance() % 3; N; --N)
    change(File, Table, Chance);
  makeCodeHarmless(File);
  if (Chance() % 16)
    recomputeDigests(File);
  return File;
}

static std::vector<Seed> seedsOf(int Count, char **Paths) {
  std::vector<Seed> Seeds = {{"sample", hostileSample()},
                             {"mapped", hostileMappedSample(), KPC_FAKE_CUDA}};
  for (int I = 0; I < Count; ++I) {
    std::ifstream In(Paths[I], std::ios::binary);
    Bytes File((std::istreambuf_iterator<char>(In)), {});
    makeCodeHarmless(File);
    recomputeDigests(File);
    if (useArtifact(File.data(), File.size(), false) == Came::Nowhere) {
      std::fprintf(stderr, "%s does not load\n", Paths[I]);
      std::exit(2);
    }
    Seeds.push_back({Paths[I], std::move(File)});
  }
  return Seeds;
}

int main(int Count, char **Arguments) {
  if (Count < 3)
    return std::fprintf(stderr, "usage: COUNT SEED [ARTIFACT...]\n"), 2;
  const long Mutants = std::atol(Arguments[1]);
  std::mt19937_64 Chance(static_cast<uint64_t>(std::atol(Arguments[2])));
  FakeCuda Fake;
  Fake.reset();
  Fake.makeInert();
  const std::vector<Seed> Seeds = seedsOf(Count - 3, Arguments + 3);
  for (int Signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM})
    std::signal(Signal, sayWhere);
  size_t Counts[4] = {};
  for (long N = 0; N < Mutants; ++N) {
    const Seed &Of = Seeds[Chance() % Seeds.size()];
    Bytes File = mutant(Of, Chance);
    std::snprintf(AtWork.data(), AtWork.size(), "mutant %ld of %.60s\n", N,
                  Of.Name);
    alarm(MostSeconds);
    ++Counts[int(useArtifact(File.data(), File.size(), true, Of.Driver))];
    struct rusage Used{};
    getrusage(RUSAGE_SELF, &Used);
    if (Used.ru_maxrss > MostMemory || (Of.Driver && Fake.live() != 0)) {
      std::fprintf(stderr, "%s: %s\n", AtWork.data(),
                   Used.ru_maxrss > MostMemory ? "too much memory"
                                               : "something is not released");
      return 1;
    }
  }
  std::printf("%ld mutants of %zu artifacts: refused %zu, loaded %zu, opened "
              "%zu, ran %zu\n",
              Mutants, Seeds.size(), Counts[0], Counts[1], Counts[2],
              Counts[3]);
  return 0;
}
