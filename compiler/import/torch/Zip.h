//===- Zip.h - Zip archives of tensors, mapped ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PyTorch's files are zip archives. This reads what PyTorch writes and no
/// more: entries that are stored are spans of the mapped file, never copied;
/// small deflated ones are inflated. Encryption, several disks, links out of
/// the archive and entries that overlap are refused.
///
///   std::string Why;
///   auto Zip = ZipArchive::open("model.pt2", Why);
///   if (!Zip) …                                  // `Why` says what is wrong
///   if (const ZipEntry *E = Zip->find("model/byteorder"))
///     auto Text = Zip->read(*E, /*MostBytes=*/64, Why);
///
/// An archive does not change once it is open; threads may share it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_ZIP_H
#define KPC_COMPILER_IMPORT_TORCH_ZIP_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::torch {

struct ZipEntry {
  /// As the archive names it: relative, with '/', no "." and no "..".
  std::string Name;
  /// 0 stored, 8 deflated.
  uint16_t Method = 0;
  uint32_t Crc = 0;
  /// Bytes in the file, and bytes once inflated.
  uint64_t Packed = 0, Size = 0;
  /// Where its data starts in the file.
  uint64_t Offset = 0;
};

/// The bytes of an entry. `Keep` owns them.
struct ZipData {
  std::span<const uint8_t> Bytes;
  std::shared_ptr<const void> Keep;
  std::string_view text() const {
    return {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()};
  }
};

class ZipArchive {
public:
  /// More entries than any model has tensors.
  static constexpr uint64_t MostEntries = 1'000'000;

  /// Null with the reason in `Why`.
  static std::shared_ptr<const ZipArchive> open(const std::string &Path,
                                                std::string &Why);
  /// The same for bytes that `Keep` owns.
  static std::shared_ptr<const ZipArchive> of(std::span<const uint8_t> Bytes,
                                              std::shared_ptr<const void> Keep,
                                              std::string &Why);

  const std::map<std::string, ZipEntry, std::less<>> &entries() const {
    return Entries;
  }
  const ZipEntry *find(std::string_view Name) const {
    auto It = Entries.find(Name);
    return It == Entries.end() ? nullptr : &It->second;
  }
  /// None with the reason in `Why` where the entry is larger than `MostBytes`,
  /// damaged, or packed in a way that kpc cannot read.
  std::optional<ZipData> read(const ZipEntry &E, uint64_t MostBytes,
                              std::string &Why) const;
  /// An entry's bytes as they lie in the file.
  std::span<const uint8_t> packed(const ZipEntry &E) const {
    return Bytes.subspan(E.Offset, E.Packed);
  }

private:
  bool readDirectory(std::string &Why);

  std::span<const uint8_t> Bytes;
  std::shared_ptr<const void> Keep;
  std::map<std::string, ZipEntry, std::less<>> Entries;
};

/// Whether a file starts as a zip archive does.
bool startsAsZip(std::span<const uint8_t> Start);
/// The same of a file; false for one that cannot be read.
bool isZipFile(const std::string &Path);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_ZIP_H
