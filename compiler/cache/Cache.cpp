//===- Cache.cpp - Compiled kernels kept on disk --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FOLDER/ab/cdef...   one entry: Magic, SHA-256 of key and content, the content
// FOLDER/tmp.*        being written
//
// The time of last use is the file's modification time: access times are
// often switched off.
//
//===----------------------------------------------------------------------===//

#include "compiler/cache/Cache.h"
#include "compiler/workers/Subprocess.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <initializer_list>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace kpc {

static constexpr std::string_view Magic = "kpc cache 2\n";
static constexpr size_t DigestBytes = 32;
static constexpr std::string_view TemporaryPrefix = "tmp.";
/// A temporary file this old belongs to a process that is gone.
static constexpr std::chrono::hours TemporaryAge{1};

/// So many stores after a look there is another one: entries that were
/// overwritten or removed by hand count until then, and stores during a look
/// do not.
static constexpr uint64_t MostRecords = 1024;

/// Names temporary files apart within this process.
static std::atomic<uint64_t> Temporaries{0};

static std::string sha256(std::initializer_list<std::string_view> Parts) {
  llvm::SHA256 Hash;
  for (std::string_view Part : Parts)
    Hash.update(llvm::StringRef(Part.data(), Part.size()));
  std::array<uint8_t, 32> Digest = Hash.final();
  return std::string(Digest.begin(), Digest.end());
}

/// What proves an entry: a file that was put in another's place, by a wrong
/// restore or by someone, is as bad as one whose bytes have changed. All keys
/// are of one length.
static std::string seal(std::string_view Key, std::string_view Content) {
  return sha256({Key, Content});
}

std::string defaultCacheFolder() {
  // XDG Base Directory Specification: a relative path is to be ignored.
  const char *Xdg = std::getenv("XDG_CACHE_HOME");
  if (Xdg && *Xdg == '/')
    return std::string(Xdg) + "/kpc";
  const char *Home = std::getenv("HOME");
  return Home && *Home == '/' ? std::string(Home) + "/.cache/kpc" : "";
}

CacheKey &CacheKey::add(std::string_view Part) {
  Parts += std::to_string(Part.size());
  Parts += ':';
  Parts += Part;
  return *this;
}

std::string CacheKey::digest() const {
  return llvm::toHex(sha256({Parts}), /*LowerCase=*/true);
}

std::string Cache::pathOf(const std::string &Digest) const {
  return Options.Folder + "/" + Digest.substr(0, 2) + "/" + Digest.substr(2);
}

static bool isDigest(const std::string &Digest) {
  return Digest.size() == 2 * DigestBytes &&
         std::all_of(Digest.begin(), Digest.end(),
                     [](char C) { return llvm::isHexDigit(C); });
}

std::string Cache::temporaryPath() const {
  return Options.Folder + "/" + std::string(TemporaryPrefix) +
         std::to_string(::getpid()) + "." + std::to_string(++Temporaries);
}

std::optional<std::string> Cache::find(const std::string &Digest) {
  if (!enabled() || !isDigest(Digest))
    return std::nullopt;
  std::string Path = pathOf(Digest), Ignored;
  std::optional<std::string> File = readFile(Path, Ignored);
  if (!File) {
    ++Statistics.Misses;
    return std::nullopt;
  }
  size_t Header = Magic.size() + DigestBytes;
  bool Whole = File->size() >= Header && File->starts_with(Magic) &&
               seal(Digest, std::string_view(*File).substr(Header)) ==
                   File->substr(Magic.size(), DigestBytes);
  if (!Whole) {
    ::unlink(Path.c_str());
    ++Statistics.Corrupt;
    ++Statistics.Misses;
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, Path.c_str(), nullptr, 0); // used now
  ++Statistics.Hits;
  File->erase(0, Header);
  return File;
}

void Cache::store(const std::string &Digest, std::string_view Content) {
  if (!enabled() || !isDigest(Digest))
    return;
  std::string Path = pathOf(Digest), Error;
  std::error_code Code;
  fs::create_directories(fs::path(Path).parent_path(), Code);
  std::string Temporary = temporaryPath();
  std::string File(Magic);
  File += seal(Digest, Content);
  File += Content;
  if (!writeFile(Temporary, File, Error) ||
      ::rename(Temporary.c_str(), Path.c_str()) != 0) {
    if (Error.empty())
      Error = "cannot rename '" + Temporary + "'";
    ::unlink(Temporary.c_str());
    if (Statistics.WriteError.empty())
      Statistics.WriteError = Error;
    return;
  }
  ++Statistics.Stored;
  std::optional<uint64_t> Bytes = bytesAfterStoring(File.size());
  if (!Bytes || *Bytes > Options.MaxBytes)
    trim();
}

std::string Cache::ledgerPath() const { return Options.Folder + "/ledger"; }

/// Bytes in the folder as the ledger has it; none where it is not there, cannot
/// be read, or is due for a new look. Appends of several processes do not mix:
/// each is one write.
std::optional<uint64_t> Cache::bytesAfterStoring(uint64_t Bytes) {
  int File = ::open(ledgerPath().c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (File < 0)
    return std::nullopt;
  std::array<uint64_t, MostRecords> Records;
  ssize_t Wrote = ::write(File, &Bytes, sizeof(Bytes));
  ssize_t Read = ::pread(File, Records.data(), sizeof(Records), 0);
  ::close(File);
  // What the last look found and this store are there at least.
  if (Wrote != ssize_t(sizeof(Bytes)) || Read < ssize_t(2 * sizeof(Bytes)) ||
      Read % sizeof(Bytes) != 0 || Read == ssize_t(sizeof(Records)))
    return std::nullopt;
  uint64_t Total = Read; // the ledger's own
  for (size_t I = 0; I < Read / sizeof(uint64_t); ++I)
    Total += Records[I];
  return Total;
}

namespace {
struct Entry {
  fs::file_time_type Used;
  std::string Path;
  uint64_t Bytes;
};
} // namespace

/// Every entry; temporary files that nobody writes any more are removed.
static std::vector<Entry> listEntries(const std::string &Folder) {
  std::vector<Entry> Entries;
  std::error_code Code;
  fs::recursive_directory_iterator It(
      Folder, fs::directory_options::skip_permission_denied, Code);
  auto Now = fs::file_time_type::clock::now();
  for (; !Code && It != fs::recursive_directory_iterator();
       It.increment(Code)) {
    std::error_code Gone; // another process may remove it meanwhile
    if (!It->is_regular_file(Gone))
      continue;
    auto Used = It->last_write_time(Gone);
    uint64_t Bytes = Gone ? 0 : It->file_size(Gone);
    if (Gone)
      continue;
    std::string Name = It->path().filename();
    if (Name.starts_with(TemporaryPrefix)) {
      if (Now - Used > TemporaryAge)
        fs::remove(It->path(), Gone);
      continue;
    }
    // Only what looks like an entry is ours to remove.
    if (isDigest(It->path().parent_path().filename().string() + Name))
      Entries.push_back({Used, It->path(), Bytes});
  }
  return Entries;
}

void Cache::trim() {
  if (!enabled())
    return;
  std::vector<Entry> Entries = listEntries(Options.Folder);
  uint64_t Bytes = 0;
  for (const Entry &E : Entries)
    Bytes += E.Bytes;
  if (Bytes > Options.MaxBytes) {
    std::sort(Entries.begin(), Entries.end(),
              [](const Entry &A, const Entry &B) {
                return std::tie(A.Used, A.Path) < std::tie(B.Used, B.Path);
              });
    // Some room, so that not every store has to look again.
    uint64_t Aim = Options.MaxBytes - Options.MaxBytes / 8;
    for (const Entry &E : Entries) {
      if (Bytes <= Aim)
        break;
      bool Removed = ::unlink(E.Path.c_str()) == 0;
      Statistics.Evicted += Removed;
      if (Removed || errno == ENOENT)
        Bytes -= E.Bytes;
    }
  }
  // Nobody reads half a ledger, and what another process appends to the old
  // one is found by the next look.
  std::string Temporary = temporaryPath(), Error;
  std::string_view Record(reinterpret_cast<const char *>(&Bytes),
                          sizeof(Bytes));
  if (!writeFile(Temporary, Record, Error) ||
      ::rename(Temporary.c_str(), ledgerPath().c_str()) != 0)
    ::unlink(Temporary.c_str());
}

} // namespace kpc
