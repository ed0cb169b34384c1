//===- ModelDigest.cpp - Which model a file holds -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/ModelDigest.h"
#include "compiler/import/torch/Zip.h"
#include "runtime/format/Sha256.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace kpc;

/// An entry is taken whole up to so many bytes.
static constexpr uint64_t MostWhole = 1 << 20;
/// Else so many from its start and before its end.
static constexpr uint64_t Sampled = 1 << 16;

static void add(format::Sha256 &Hash, std::span<const uint8_t> Bytes) {
  Hash.update(Bytes.data(), Bytes.size());
}

std::string kpc::fileDigest(const std::string &Path) {
  auto Buffer = llvm::MemoryBuffer::getFile(Path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return {};
  // Of weights in the model's own file there may be gigabytes: not with LLVM's
  // SHA-256, which knows nothing of the processor's instructions for it.
  return format::toHex(format::Sha256::of((*Buffer)->getBufferStart(),
                                          (*Buffer)->getBufferSize()))
      .data();
}

/// With `Checked` the CRC-32 of a large entry is that of its bytes.
static std::string digestOf(const std::string &Path, bool Checked) {
  std::string Why;
  std::shared_ptr<const torch::ZipArchive> Zip;
  if (torch::isZipFile(Path))
    Zip = torch::ZipArchive::open(Path, Why);
  if (!Zip)
    return fileDigest(Path);
  format::Sha256 Hash;
  for (const auto &[Name, E] : Zip->entries()) {
    std::span<const uint8_t> Bytes = Zip->packed(E);
    uint32_t Crc = E.Crc;
    // Reading an entry that is deflated compares its sum.
    if (Checked && E.Method == 0 && Bytes.size() > MostWhole)
      Crc = llvm::crc32(llvm::ArrayRef<uint8_t>(Bytes.data(), Bytes.size()));
    std::string Line = Name + '\0' + std::to_string(E.Method) + ' ' +
                       std::to_string(Crc) + ' ' + std::to_string(E.Packed) +
                       ' ' + std::to_string(E.Size) + '\n';
    Hash.update(Line.data(), Line.size());
    if (Bytes.size() <= MostWhole) {
      add(Hash, Bytes);
    } else {
      add(Hash, Bytes.first(Sampled));
      add(Hash, Bytes.last(Sampled));
    }
  }
  return format::toHex(Hash.finish()).data();
}

std::string kpc::modelDigest(const std::string &Path) {
  return digestOf(Path, /*Checked=*/false);
}

std::string kpc::checkedModelDigest(const std::string &Path) {
  return digestOf(Path, /*Checked=*/true);
}
