//===- Npz.cpp - numpy's zip archives of arrays ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads what `numpy.savez` and `savez_compressed` write: members stored or
/// deflated, ZIP64 sizes. Source: APPNOTE.TXT of PKWARE, version 6.3.
///
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <climits>
#include <zlib.h>

namespace kpc::tensorfile {

namespace {
/// Little-endian numbers at places that may not be there.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> Bytes) : Bytes(Bytes) {}
  bool has(uint64_t At, uint64_t Size) const {
    return At <= Bytes.size() && Size <= Bytes.size() - At;
  }
  /// 0 beyond the end; callers ask `has` first where it matters.
  uint64_t number(uint64_t At, int Size) const {
    uint64_t Value = 0;
    if (has(At, Size))
      for (int I = Size; I-- > 0;)
        Value = Value << 8 | Bytes[At + I];
    return Value;
  }
  std::span<const uint8_t> Bytes;
};

/// One entry of the central directory.
struct Member {
  std::string Name;
  uint64_t Method = 0, Flags = 0, Crc = 0;
  uint64_t Compressed = 0, Size = 0, Local = 0;
};
} // namespace

/// The ZIP64 extra field replaces, in this order, what did not fit.
static void applyZip64(const Reader &R, uint64_t At, uint64_t Length,
                       Member &M) {
  for (uint64_t End = At + Length; At + 4 <= End;) {
    uint64_t Id = R.number(At, 2), Size = R.number(At + 2, 2);
    uint64_t Field = At + 4;
    At = Field + Size;
    if (Id != 1)
      continue;
    for (uint64_t *Value : {&M.Size, &M.Compressed, &M.Local})
      if (*Value == 0xFFFFFFFF && Field + 8 <= At) {
        *Value = R.number(Field, 8);
        Field += 8;
      }
  }
}

/// Where the central directory starts and how many members it has.
static bool findDirectory(const Reader &R, uint64_t &Start, uint64_t &Count) {
  // The end record is followed by a comment of at most 65,535 bytes.
  uint64_t Size = R.Bytes.size();
  uint64_t Least = Size > 22 + 65535 ? Size - 22 - 65535 : 0;
  for (uint64_t At = Size >= 22 ? Size - 22 + 1 : 0; At-- > Least;) {
    if (R.number(At, 4) != 0x06054B50)
      continue;
    Count = R.number(At + 10, 2);
    Start = R.number(At + 16, 4);
    bool Wide = Count == 0xFFFF || Start == 0xFFFFFFFF;
    if (Wide && At >= 20 && R.number(At - 20, 4) == 0x07064B50) {
      uint64_t Record = R.number(At - 12, 8);
      if (R.number(Record, 4) != 0x06064B50)
        return false;
      Count = R.number(Record + 32, 8);
      Start = R.number(Record + 48, 8);
    }
    return true;
  }
  return false;
}

static bool readDirectory(const Reader &R, std::vector<Member> &Members) {
  uint64_t At, Count;
  if (!findDirectory(R, At, Count))
    return false;
  for (uint64_t I = 0; I < Count; ++I) {
    if (!R.has(At, 46) || R.number(At, 4) != 0x02014B50)
      return false;
    uint64_t Name = R.number(At + 28, 2), Extra = R.number(At + 30, 2);
    uint64_t Comment = R.number(At + 32, 2);
    if (!R.has(At + 46, Name + Extra + Comment))
      return false;
    Member M;
    M.Flags = R.number(At + 8, 2);
    M.Method = R.number(At + 10, 2);
    M.Crc = R.number(At + 16, 4);
    M.Compressed = R.number(At + 20, 4);
    M.Size = R.number(At + 24, 4);
    M.Local = R.number(At + 42, 4);
    M.Name.assign(reinterpret_cast<const char *>(&R.Bytes[At + 46]), Name);
    applyZip64(R, At + 46 + Name, Extra, M);
    Members.push_back(std::move(M));
    At += 46 + Name + Extra + Comment;
  }
  return true;
}

/// Inflates exactly `M.Size` bytes.
static bool inflateMember(std::span<const uint8_t> From, const Member &M,
                          std::vector<uint8_t> &Out) {
  z_stream Stream{};
  if (inflateInit2(&Stream, -MAX_WBITS) != Z_OK)
    return false;
  Out.resize(M.Size);
  size_t In = 0, Done = 0;
  int Code = Z_OK;
  // zlib counts in 32 bits.
  while (Code == Z_OK) {
    auto Piece =
        static_cast<uInt>(std::min<size_t>(From.size() - In, UINT_MAX));
    auto Room =
        static_cast<uInt>(std::min<size_t>(Out.size() - Done, UINT_MAX));
    Stream.next_in = const_cast<Bytef *>(From.data() + In);
    Stream.avail_in = Piece;
    Stream.next_out = Out.data() + Done;
    Stream.avail_out = Room;
    Code = inflate(&Stream, Z_NO_FLUSH);
    In += Piece - Stream.avail_in;
    Done += Room - Stream.avail_out;
    if (Code == Z_OK && Piece == Stream.avail_in && Room == Stream.avail_out)
      break;
  }
  inflateEnd(&Stream);
  return Code == Z_STREAM_END && Done == Out.size();
}

static std::optional<HostTensor> readMember(const Reader &R, const Member &M,
                                            std::string &Error) {
  auto Failed = [&](const std::string &Why) {
    Error = "its member '" + M.Name + "' " + Why;
    return std::nullopt;
  };
  uint64_t Data =
      M.Local + 30 + R.number(M.Local + 26, 2) + R.number(M.Local + 28, 2);
  if (M.Local > R.Bytes.size() || R.number(M.Local, 4) != 0x04034B50 ||
      !R.has(Data, M.Compressed))
    return Failed("is cut short");
  if (M.Flags & 1)
    return Failed("is encrypted");
  std::span<const uint8_t> Stored = R.Bytes.subspan(Data, M.Compressed);
  std::vector<uint8_t> Inflated;
  if (M.Method == 8) {
    // Deflate cannot do better than 1032 to 1, so a larger claim is a lie.
    if (M.Size / 1032 > M.Compressed + 1 || !inflateMember(Stored, M, Inflated))
      return Failed("is damaged");
    Stored = Inflated;
  } else if (M.Method != 0) {
    return Failed("is compressed in a way that kpc does not know (method " +
                  std::to_string(M.Method) + ")");
  } else if (M.Size != M.Compressed) {
    return Failed("is damaged");
  }
  if (crc32_z(crc32_z(0, nullptr, 0), Stored.data(), Stored.size()) != M.Crc)
    return Failed("is damaged (its checksum does not match)");
  std::string Why;
  std::optional<HostTensor> T = readNpy(Stored, Why);
  if (!T)
    return Failed("cannot be used: " + Why);
  T->Name = M.Name.substr(0, M.Name.size() - 4);
  return T;
}

std::optional<std::vector<HostTensor>> readNpz(std::span<const uint8_t> Bytes,
                                               std::string &Error) {
  Reader R(Bytes);
  std::vector<Member> Members;
  if (!readDirectory(R, Members)) {
    Error = "its directory is damaged or cut short";
    return std::nullopt;
  }
  // Members that share their bytes would make much memory of a small file.
  uint64_t Left = Bytes.size();
  for (const Member &M : Members) {
    if (M.Compressed > Left) {
      Error = "its members are larger than the file";
      return std::nullopt;
    }
    Left -= M.Compressed;
  }
  std::vector<HostTensor> Tensors;
  for (const Member &M : Members) {
    if (!M.Name.ends_with(".npy"))
      continue;
    std::optional<HostTensor> T = readMember(R, M, Error);
    if (!T)
      return std::nullopt;
    Tensors.push_back(std::move(*T));
  }
  return Tensors;
}

} // namespace kpc::tensorfile
