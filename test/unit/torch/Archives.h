//===- Archives.h - Zip archives for tests ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_TORCH_ARCHIVES_H
#define KPC_TEST_UNIT_TORCH_ARCHIVES_H

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kpc::test {

/// An entry as it is written; the sizes may lie.
struct Entry {
  std::string Name, Bytes;
  uint16_t Method = 0;
  uint32_t Crc = 0;
  int64_t Size = -1, Packed = -1; ///< -1: the bytes' own
  int64_t At = -1;                ///< another header's place; -1: its own
};

inline void put(std::string &To, uint64_t V, unsigned Bytes) {
  for (unsigned I = 0; I < Bytes; ++I)
    To += static_cast<char>(V >> (8 * I));
}

/// A zip archive of entries.
inline std::string zipOf(const std::vector<Entry> &Entries) {
  std::string File, Directory;
  for (const Entry &E : Entries) {
    uint64_t Size = E.Size < 0 ? E.Bytes.size() : static_cast<uint64_t>(E.Size);
    uint64_t Packed =
        E.Packed < 0 ? E.Bytes.size() : static_cast<uint64_t>(E.Packed);
    uint64_t At = E.At < 0 ? File.size() : static_cast<uint64_t>(E.At);
    auto Common = [&](std::string &To) {
      put(To, 20, 2);
      put(To, 0, 2);
      put(To, E.Method, 2);
      put(To, 0, 4);
      put(To, E.Crc, 4);
      put(To, Packed, 4);
      put(To, Size, 4);
      put(To, E.Name.size(), 2);
      put(To, 0, 2);
    };
    put(File, 0x04034b50, 4);
    Common(File);
    File += E.Name + E.Bytes;
    put(Directory, 0x02014b50, 4);
    put(Directory, 20, 2);
    Common(Directory);
    put(Directory, 0, 2);
    put(Directory, 0, 2);
    put(Directory, 0, 2);
    put(Directory, 0, 4);
    put(Directory, At, 4);
    Directory += E.Name;
  }
  uint64_t Start = File.size();
  File += Directory;
  put(File, 0x06054b50, 4);
  put(File, 0, 4);
  put(File, Entries.size(), 2);
  put(File, Entries.size(), 2);
  put(File, Directory.size(), 4);
  put(File, Start, 4);
  put(File, 0, 2);
  return File;
}

} // namespace kpc::test

#endif // KPC_TEST_UNIT_TORCH_ARCHIVES_H
