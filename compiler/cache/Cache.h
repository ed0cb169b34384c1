//===- Cache.h - Compiled kernels kept on disk ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A content-addressed store: what a job's result depends on is digested into
/// a key, the result is kept under it. Nothing is ever changed in place, so
/// entries need no invalidation: another input, target or kpc version is
/// another key.
///
///   Cache C({.Folder = defaultCacheFolder()});
///   std::string Key = CacheKey("ptx").add(KernelText).add(Target).digest();
///   if (auto Hit = C.find(Key)) use(*Hit);
///   else C.store(Key, compile());
///
/// Safe for many processes at once: an entry appears whole (written beside,
/// then renamed), carries a digest of its key and its content, and one that
/// does not match is removed and is a miss. The size is bounded: the entries
/// that were not used for longest go first. A cache that cannot be written is a
/// slow one, never an error.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_CACHE_CACHE_H
#define KPC_COMPILER_CACHE_CACHE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kpc {

/// XDG_CACHE_HOME/kpc, else HOME/.cache/kpc, else empty.
std::string defaultCacheFolder();

/// Collects what a result depends on. Parts are length-prefixed, so that
/// ("ab", "c") and ("a", "bc") differ.
class CacheKey {
public:
  explicit CacheKey(std::string_view Kind) { add(Kind); }
  CacheKey &add(std::string_view Part);
  CacheKey &add(int64_t Number) { return add(std::to_string(Number)); }
  /// SHA-256 in 64 hexadecimal digits.
  std::string digest() const;

private:
  std::string Parts;
};

struct CacheOptions {
  /// Empty: no cache; every look-up is a miss.
  std::string Folder;
  uint64_t MaxBytes = uint64_t(2) << 30;
};

struct CacheStatistics {
  uint64_t Hits = 0, Misses = 0, Stored = 0, Evicted = 0;
  /// Entries found damaged and removed.
  uint64_t Corrupt = 0;
  /// The first reason why an entry could not be written; empty: none.
  std::string WriteError;
};

/// One thread at a time; any number of processes and Cache objects.
class Cache {
public:
  explicit Cache(CacheOptions Options) : Options(std::move(Options)) {}

  bool enabled() const { return !Options.Folder.empty(); }
  /// The content stored under a digest; marks it as used now.
  std::optional<std::string> find(const std::string &Digest);
  void store(const std::string &Digest, std::string_view Content);
  /// Removes entries until the size is well below the bound, and what
  /// processes that were killed left half written.
  void trim();

  const CacheStatistics &statistics() const { return Statistics; }

private:
  std::string pathOf(const std::string &Digest) const;
  std::string ledgerPath() const;
  std::string temporaryPath() const;
  std::optional<uint64_t> bytesAfterStoring(uint64_t Bytes);
  CacheOptions Options;
  CacheStatistics Statistics;
};

} // namespace kpc

#endif // KPC_COMPILER_CACHE_CACHE_H
