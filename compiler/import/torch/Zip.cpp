//===- Zip.cpp - Zip archives of tensors, mapped --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Records and field offsets are those of PKWARE's APPNOTE 6.3.10, section 4.3.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Zip.h"

#include "compiler/import/onnx/model/MappedFile.h"
#include "compiler/import/torch/Inflate.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <fstream>

namespace kpc::torch {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

static constexpr uint32_t LocalMagic = 0x04034b50, CentralMagic = 0x02014b50,
                          EndMagic = 0x06054b50, End64Magic = 0x06064b50,
                          Locator64Magic = 0x07064b50;
static constexpr size_t LocalSize = 30, CentralSize = 46, EndSize = 22,
                        Locator64Size = 20, End64Size = 56;
static constexpr uint16_t Zip64Field = 1;

bool startsAsZip(std::span<const uint8_t> Start) {
  return Start.size() >= 4 && (read32le(Start.data()) == LocalMagic ||
                               read32le(Start.data()) == EndMagic);
}

bool isZipFile(const std::string &Path) {
  std::ifstream In(Path, std::ios::binary);
  uint8_t Start[4] = {};
  return In.read(reinterpret_cast<char *>(Start), sizeof(Start)) &&
         startsAsZip(Start);
}

namespace {
/// Where the central directory lies.
struct Directory {
  uint64_t Entries, Offset, Size;
};
} // namespace

/// Whether [Offset, Offset + Length) lies in `Bytes`.
static bool inside(std::span<const uint8_t> Bytes, uint64_t Offset,
                   uint64_t Length) {
  return Offset <= Bytes.size() && Length <= Bytes.size() - Offset;
}

static std::optional<Directory> findDirectory(std::span<const uint8_t> Bytes,
                                              std::string &Why) {
  // A comment of up to 64 KiB may follow the record.
  size_t Last = Bytes.size() < EndSize ? 0 : Bytes.size() - EndSize;
  size_t First = Last > 0xffff ? Last - 0xffff : 0;
  for (size_t At = Last + 1; Bytes.size() >= EndSize && At-- > First;) {
    const uint8_t *P = Bytes.data() + At;
    if (read32le(P) != EndMagic)
      continue;
    Directory D{read16le(P + 10), read32le(P + 16), read32le(P + 12)};
    if (read16le(P + 4) != 0 || read16le(P + 6) != 0) {
      Why = "it is spread over several disks";
      return std::nullopt;
    }
    bool Wide =
        D.Entries == 0xffff || D.Offset == UINT32_MAX || D.Size == UINT32_MAX;
    if (At < Locator64Size || read32le(P - Locator64Size) != Locator64Magic) {
      if (!Wide)
        return D;
      Why = "its directory has no 64-bit record";
      return std::nullopt;
    }
    uint64_t Record = read64le(P - Locator64Size + 8);
    if (!inside(Bytes, Record, End64Size) ||
        read32le(Bytes.data() + Record) != End64Magic) {
      Why = "its 64-bit directory record is out of range";
      return std::nullopt;
    }
    const uint8_t *Q = Bytes.data() + Record;
    return Directory{read64le(Q + 32), read64le(Q + 48), read64le(Q + 40)};
  }
  Why = "it has no directory at its end: it is cut off, or no zip archive";
  return std::nullopt;
}

/// Names that stay inside the archive.
static bool isPlain(llvm::StringRef Name) {
  if (Name.empty() || Name.size() > 4096 || Name.contains('\\') ||
      Name.contains('\0') || Name.starts_with("/") || Name.contains(':'))
    return false;
  llvm::SmallVector<llvm::StringRef> Parts;
  Name.split(Parts, '/');
  for (auto [I, Part] : llvm::enumerate(Parts))
    if (Part == "." || Part == ".." || (Part.empty() && I + 1 < Parts.size()))
      return false;
  return true;
}

/// Takes 64-bit sizes from an entry's extra fields where the record has none.
static bool readWide(std::span<const uint8_t> Extra, ZipEntry &E,
                     uint64_t &Local) {
  bool Wants =
      E.Size == UINT32_MAX || E.Packed == UINT32_MAX || Local == UINT32_MAX;
  while (Wants && Extra.size() >= 4) {
    uint16_t Id = read16le(Extra.data()), Length = read16le(Extra.data() + 2);
    Extra = Extra.subspan(4);
    if (Length > Extra.size())
      return false;
    if (Id == Zip64Field) {
      std::span<const uint8_t> Field = Extra.first(Length);
      for (uint64_t *V : {&E.Size, &E.Packed, &Local})
        if (*V == UINT32_MAX) {
          if (Field.size() < 8)
            return false;
          *V = read64le(Field.data());
          Field = Field.subspan(8);
        }
      return true;
    }
    Extra = Extra.subspan(Length);
  }
  return !Wants;
}

bool ZipArchive::readDirectory(std::string &Why) {
  std::optional<Directory> D = findDirectory(Bytes, Why);
  if (!D)
    return false;
  if (!inside(Bytes, D->Offset, D->Size) || D->Entries > MostEntries ||
      D->Entries * CentralSize > D->Size) {
    Why = "its directory is out of range";
    return false;
  }
  std::span<const uint8_t> Rest = Bytes.subspan(D->Offset, D->Size);
  std::vector<std::pair<uint64_t, uint64_t>> Ranges;
  for (uint64_t I = 0; I < D->Entries; ++I) {
    if (Rest.size() < CentralSize || read32le(Rest.data()) != CentralMagic) {
      Why = "entry " + std::to_string(I) + " of its directory is damaged";
      return false;
    }
    const uint8_t *P = Rest.data();
    uint16_t Flags = read16le(P + 8);
    uint64_t NameLength = read16le(P + 28), ExtraLength = read16le(P + 30),
             Whole = CentralSize + NameLength + ExtraLength + read16le(P + 32);
    if (Whole > Rest.size()) {
      Why = "entry " + std::to_string(I) + " of its directory is cut off";
      return false;
    }
    ZipEntry E;
    E.Name.assign(reinterpret_cast<const char *>(P) + CentralSize, NameLength);
    E.Method = read16le(P + 10);
    E.Crc = read32le(P + 16);
    E.Packed = read32le(P + 20);
    E.Size = read32le(P + 24);
    uint64_t Local = read32le(P + 42);
    auto Refuse = [&](const char *What) {
      Why = "entry " + std::to_string(I) + " of its directory " + What;
      return false;
    };
    if (!isPlain(E.Name))
      return Refuse("has a name that leads out of the archive");
    if (Flags & 1)
      return Refuse("is encrypted");
    if (!readWide(Rest.subspan(CentralSize + NameLength, ExtraLength), E,
                  Local))
      return Refuse("has a damaged 64-bit field");
    if (!inside(Bytes, Local, LocalSize) ||
        read32le(Bytes.data() + Local) != LocalMagic)
      return Refuse("has no header where it should be");
    const uint8_t *L = Bytes.data() + Local;
    E.Offset = Local + LocalSize + read16le(L + 26) + read16le(L + 28);
    if (!inside(Bytes, E.Offset, E.Packed) || E.Offset + E.Packed > D->Offset)
      return Refuse("is out of range");
    if (E.Method == 0 && E.Packed != E.Size)
      return Refuse("is stored, but has two sizes");
    Ranges.emplace_back(Local, E.Offset + E.Packed);
    std::string Name = E.Name;
    if (!Entries.emplace(std::move(Name), std::move(E)).second)
      return Refuse("has the name of another");
    Rest = Rest.subspan(Whole);
  }
  std::sort(Ranges.begin(), Ranges.end());
  for (size_t I = 1; I < Ranges.size(); ++I)
    if (Ranges[I].first < Ranges[I - 1].second) {
      Why = "two of its entries overlap";
      return false;
    }
  return true;
}

std::shared_ptr<const ZipArchive>
ZipArchive::of(std::span<const uint8_t> Bytes, std::shared_ptr<const void> Keep,
               std::string &Why) {
  auto Zip = std::make_shared<ZipArchive>();
  Zip->Bytes = Bytes;
  Zip->Keep = std::move(Keep);
  if (!Zip->readDirectory(Why))
    return nullptr;
  return Zip;
}

std::shared_ptr<const ZipArchive> ZipArchive::open(const std::string &Path,
                                                   std::string &Why) {
  auto File = onnx::MappedFile::open(Path, Why);
  return File ? of(File->bytes(), File, Why) : nullptr;
}

std::optional<ZipData> ZipArchive::read(const ZipEntry &E, uint64_t MostBytes,
                                        std::string &Why) const {
  std::string Who = "'" + E.Name + "' ";
  if (E.Size > MostBytes) {
    Why = Who + "has " + std::to_string(E.Size) + " bytes; kpc reads up to " +
          std::to_string(MostBytes);
    return std::nullopt;
  }
  std::span<const uint8_t> Packed = Bytes.subspan(E.Offset, E.Packed);
  // Weights are not summed: that would read all of a large file once more.
  if (E.Method == 0)
    return ZipData{Packed, Keep};
  if (E.Method != 8) {
    Why = Who + "is packed by method " + std::to_string(E.Method) +
          "; kpc reads stored and deflated entries";
    return std::nullopt;
  }
  auto Inflated = std::make_shared<std::vector<uint8_t>>();
  if (!inflate(Packed, E.Size, *Inflated) ||
      llvm::crc32(llvm::ArrayRef<uint8_t>(*Inflated)) != E.Crc) {
    Why = Who + "is damaged";
    return std::nullopt;
  }
  return ZipData{{Inflated->data(), Inflated->size()}, Inflated};
}

} // namespace kpc::torch
