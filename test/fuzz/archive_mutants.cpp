//===- archive_mutants.cpp - Thousands of damaged archives of PyTorch -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads damaged `.pt2` and TorchScript archives in one process, which is a
/// hundred times as fast as compiling each:
///
///   kpc_archive_mutants COUNT SEED ARCHIVE...
///
/// An entry of an archive has bytes changed, words exchanged, parts dropped or
/// doubled; or the zip file itself does. Each mutant is taken or refused with a
/// reason. A crash, a hang of ten seconds and memory beyond a limit end the
/// process with the number of the mutant, which the same seed makes again.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Program.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/import/torchscript/Archive.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CRC.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace kpc;
using Bytes = std::vector<uint8_t>;

static constexpr uint64_t MostOfEntry = uint64_t(1) << 20;
static constexpr size_t MostOfSeed = 24 << 10; ///< larger ones take longer
static constexpr long MostMemory = 1 << 20;    ///< KiB resident

namespace {
struct Entry {
  std::string Name;
  Bytes Held;
};
struct Seed {
  std::string Path;
  bool IsScript = false;
  std::vector<Entry> Entries;
};
} // namespace

static void put(Bytes &Out, uint64_t V, int Width) {
  for (int I = 0; I < Width; ++I)
    Out.push_back(static_cast<uint8_t>(V >> (8 * I)));
}

/// A zip archive of stored entries.
static Bytes zipOf(const std::vector<Entry> &Entries) {
  Bytes Out, Directory;
  for (const Entry &E : Entries) {
    uint32_t Crc = llvm::crc32(llvm::ArrayRef<uint8_t>(E.Held));
    auto Common = [&](Bytes &To) {
      put(To, 20, 2), put(To, 0, 2), put(To, 0, 2), put(To, 0, 4);
      put(To, Crc, 4);
      put(To, E.Held.size(), 4), put(To, E.Held.size(), 4);
      put(To, E.Name.size(), 2), put(To, 0, 2);
    };
    put(Directory, 0x02014b50, 4), put(Directory, 20, 2);
    Common(Directory);
    put(Directory, 0, 2), put(Directory, 0, 2), put(Directory, 0, 2);
    put(Directory, 0, 4), put(Directory, Out.size(), 4);
    Directory.insert(Directory.end(), E.Name.begin(), E.Name.end());
    put(Out, 0x04034b50, 4);
    Common(Out);
    Out.insert(Out.end(), E.Name.begin(), E.Name.end());
    Out.insert(Out.end(), E.Held.begin(), E.Held.end());
  }
  size_t Start = Out.size();
  Out.insert(Out.end(), Directory.begin(), Directory.end());
  put(Out, 0x06054b50, 4), put(Out, 0, 4);
  put(Out, Entries.size(), 2), put(Out, Entries.size(), 2);
  put(Out, Directory.size(), 4), put(Out, Start, 4), put(Out, 0, 2);
  return Out;
}

static void spoil(Bytes &Of, std::mt19937_64 &Chance) {
  static const char *const Words[] = {"-1",   "9223372036854775807",
                                      "null", "{}",
                                      "[]",   "\"x\"",
                                      "self", "CONSTANTS.c9",
                                      "((((", "return",
                                      "s0",   "1e308",
                                      "True", "\x80\x02",
                                      "c\n",  "R",
                                      "\\u",  "Symbol('"};
  auto Below = [&](size_t N) { return N ? Chance() % N : 0; };
  size_t At = Below(Of.size() + 1);
  auto Place = Of.begin() + static_cast<int64_t>(At);
  size_t Left = Of.size() - At, Long = Below(std::min<size_t>(Left, 40) + 1);
  switch (Chance() % 6) {
  case 0:
    if (Left)
      *Place = static_cast<uint8_t>(Chance());
    break;
  case 1:
    if (Left)
      *Place ^= static_cast<uint8_t>(1 << Below(8));
    break;
  case 2:
    Of.erase(Place, Place + static_cast<int64_t>(Long));
    break;
  case 3: {
    Bytes Part(Place, Place + static_cast<int64_t>(Long));
    Of.insert(Place, Part.begin(), Part.end());
    break;
  }
  case 4: {
    const char *Word = Words[Below(std::size(Words))];
    Of.insert(Place, Word, Word + std::strlen(Word));
    break;
  }
  default: {
    // A part in the place of another one.
    size_t From = Below(Of.size() + 1);
    Bytes Part(Of.begin() + static_cast<int64_t>(From),
               Of.begin() +
                   static_cast<int64_t>(std::min(Of.size(), From + Long)));
    Of.erase(Place, Place + static_cast<int64_t>(Long));
    Of.insert(Of.begin() + static_cast<int64_t>(std::min(At, Of.size())),
              Part.begin(), Part.end());
  }
  }
}

/// Whether it was taken. What is refused must say why.
static bool readScript(const std::string &Path, bool &SaysWhy) {
  std::string Why;
  std::unique_ptr<torchscript::Archive> A =
      torchscript::Archive::open(Path, Why);
  bool Taken = A != nullptr;
  if (Taken) {
    torchscript::Archive::Found Top = A->findTop(Why);
    Taken = Top.TheClass != nullptr;
    for (size_t I = 0; A->constant(I); ++I) {
      std::string Unread;
      (void)A->payload(*A->constant(I), true, Unread);
    }
  }
  SaysWhy = Taken || !Why.empty();
  return Taken;
}

static bool readOne(const std::string &Path, bool IsScript, bool &SaysWhy) {
  if (IsScript)
    return readScript(Path, SaysWhy);
  Diagnostics Diags;
  bool Taken = torch::readProgram(Path, Diags).has_value();
  SaysWhy = Taken || Diags.errorCount() > 0;
  return Taken;
}

int main(int Count, char **Arguments) {
  if (Count < 4)
    return std::fprintf(stderr, "usage: COUNT SEED ARCHIVE...\n"), 2;
  long Mutants = std::atol(Arguments[1]);
  std::mt19937_64 Chance(static_cast<uint64_t>(std::atol(Arguments[2])));
  std::vector<Seed> Seeds;
  for (int I = 3; I < Count; ++I) {
    Seed &S = Seeds.emplace_back();
    S.Path = Arguments[I];
    S.IsScript = torchscript::isScript(S.Path);
    std::string Why;
    auto Zip = torch::ZipArchive::open(S.Path, Why);
    if (!Zip)
      return std::fprintf(stderr, "%s: %s\n", S.Path.c_str(), Why.c_str()), 2;
    size_t Size = 0;
    for (const auto &[Name, E] : Zip->entries()) {
      auto Held = Zip->read(E, MostOfEntry, Why);
      Size += Held ? Held->Bytes.size() : 0;
      if (Held)
        S.Entries.push_back(
            {Name, Bytes(Held->Bytes.begin(), Held->Bytes.end())});
    }
    if (Size > MostOfSeed)
      Seeds.pop_back();
  }
  // In memory: a file system takes longer than the readers.
  std::string File = "/dev/shm/kpc-mutant-" + std::to_string(getpid());
  long Taken = 0;
  for (long N = 0; N < Mutants; ++N) {
    const Seed &Of = Seeds[Chance() % Seeds.size()];
    std::vector<Entry> Entries = Of.Entries;
    bool OfZip = Chance() % 8 == 0;
    if (!OfZip)
      for (int I = 1 + static_cast<int>(Chance() % 3); I > 0; --I)
        spoil(Entries[Chance() % Entries.size()].Held, Chance);
    Bytes Whole = zipOf(Entries);
    for (int I = static_cast<int>(Chance() % 3); OfZip && I >= 0; --I)
      spoil(Whole, Chance);
    {
      std::ofstream Out(File, std::ios::binary | std::ios::trunc);
      Out.write(reinterpret_cast<const char *>(Whole.data()),
                static_cast<std::streamsize>(Whole.size()));
    }
    alarm(10);
    bool SaysWhy = true;
    Taken += readOne(File, Of.IsScript, SaysWhy);
    struct rusage Used{};
    getrusage(RUSAGE_SELF, &Used);
    if (!SaysWhy || Used.ru_maxrss > MostMemory) {
      std::fprintf(stderr, "mutant %ld of %s: %s; it is %s\n", N,
                   Of.Path.c_str(),
                   SaysWhy ? "too much memory" : "refused without a reason",
                   File.c_str());
      return 1;
    }
  }
  unlink(File.c_str());
  std::printf("%ld mutants of %zu archives: %ld taken, %ld refused\n", Mutants,
              Seeds.size(), Taken, Mutants - Taken);
  return 0;
}
