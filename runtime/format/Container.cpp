//===- Container.cpp - The fixed header of an artifact --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Container.h"

#include <cinttypes>
#include <cstring>

namespace kpc::format {

namespace {
// Where the fields of the header are.
enum Offset : size_t {
  MagicAt = 0,
  MajorAt = 8,
  MinorAt = 10,
  LeastReaderAt = 12,
  FileSizeAt = 16,
  TableOffsetAt = 24,
  TableSizeAt = 32,
  TableDigestAt = 40,
  SignatureAt = SignedHeaderSize,
  SignedByAt = 136,
  HeaderDigestAt = 224,
};

template <class T> void store(uint8_t *At, T Value) {
  for (size_t I = 0; I < sizeof(T); ++I)
    At[I] = uint8_t(uint64_t(Value) >> (8 * I));
}

template <class T> T load(const uint8_t *At) {
  uint64_t Value = 0;
  for (size_t I = 0; I < sizeof(T); ++I)
    Value |= uint64_t(At[I]) << (8 * I);
  return T(Value);
}
} // namespace

KeyId keyId(const uint8_t *PublicKey) {
  DigestBytes Digest = Sha256::of(PublicKey, 32);
  KeyId Id;
  std::memcpy(Id.data(), Digest.data(), Id.size());
  return Id;
}

std::string keyText(const KeyId &Id) {
  std::string Text;
  for (uint8_t Byte : Id)
    for (int Half : {Byte >> 4, Byte & 15})
      Text += "0123456789abcdef"[Half];
  return Text;
}

SignedBytes signedBytes(const uint8_t *Header) {
  SignedBytes Out;
  constexpr size_t Context = sizeof SignatureContext - 1;
  std::memcpy(Out.data(), SignatureContext, Context);
  std::memcpy(Out.data() + Context, Header, SignedHeaderSize);
  return Out;
}

std::array<uint8_t, HeaderSize> encodeHeader(const Header &H) {
  std::array<uint8_t, HeaderSize> Bytes{};
  std::memcpy(&Bytes[MagicAt], Magic, sizeof Magic);
  store(&Bytes[MajorAt], H.Major);
  store(&Bytes[MinorAt], H.Minor);
  store(&Bytes[LeastReaderAt], H.LeastReader);
  store(&Bytes[FileSizeAt], H.FileSize);
  store(&Bytes[TableOffsetAt], H.TableOffset);
  store(&Bytes[TableSizeAt], H.TableSize);
  std::memcpy(&Bytes[TableDigestAt], H.TableDigest.data(), 32);
  std::memcpy(&Bytes[SignatureAt], H.Signature.data(), H.Signature.size());
  std::memcpy(&Bytes[SignedByAt], H.SignedBy.data(), H.SignedBy.size());
  DigestBytes Digest = Sha256::of(Bytes.data(), HeaderDigestAt);
  std::memcpy(&Bytes[HeaderDigestAt], Digest.data(), 32);
  return Bytes;
}

Result<Header> decodeHeader(const uint8_t *Bytes, size_t Available,
                            uint64_t FileSize) {
  if (Available < sizeof Magic || std::memcmp(Bytes, Magic, sizeof Magic) != 0)
    return failure(ErrorCode::NotAnArtifact, "not a kpc artifact");
  if (Available < HeaderSize)
    return failure(ErrorCode::Damaged,
                   "the file ends after %" PRIu64
                   " bytes, within its header of %zu",
                   FileSize, HeaderSize);
  // The version first: another major may keep its digest elsewhere.
  Header H;
  H.Major = load<uint16_t>(Bytes + MajorAt);
  H.Minor = load<uint16_t>(Bytes + MinorAt);
  H.LeastReader = load<uint16_t>(Bytes + LeastReaderAt);
  if (H.Major == FormatMajor) {
    DigestBytes Digest = Sha256::of(Bytes, HeaderDigestAt);
    if (std::memcmp(Bytes + HeaderDigestAt, Digest.data(), 32) != 0)
      return failure(ErrorCode::Damaged, "the header's digest does not match: "
                                         "the file is damaged");
  }
  if (H.Major != FormatMajor || H.LeastReader > FormatMinor) {
    Error E = failure(ErrorCode::Version,
                      "the artifact has format version %u.%u (readers from "
                      "%u.%u on), this runtime reads %u.0 to %u.%u",
                      H.Major, H.Minor, H.Major, H.LeastReader, FormatMajor,
                      FormatMajor, FormatMinor);
    E.Hint = H.Major < FormatMajor ? "compile the model again with this kpc"
                                   : "use a newer kpc runtime";
    return E;
  }
  H.FileSize = load<uint64_t>(Bytes + FileSizeAt);
  H.TableOffset = load<uint64_t>(Bytes + TableOffsetAt);
  H.TableSize = load<uint64_t>(Bytes + TableSizeAt);
  std::memcpy(H.TableDigest.data(), Bytes + TableDigestAt, 32);
  std::memcpy(H.Signature.data(), Bytes + SignatureAt, H.Signature.size());
  std::memcpy(H.SignedBy.data(), Bytes + SignedByAt, H.SignedBy.size());
  if (H.FileSize != FileSize)
    return failure(ErrorCode::Damaged,
                   "the file has %" PRIu64 " bytes, its header says %" PRIu64,
                   FileSize, H.FileSize);
  if (H.TableOffset < HeaderSize || H.TableOffset % TableAlignment ||
      H.TableOffset > FileSize || H.TableSize > FileSize - H.TableOffset ||
      H.TableSize > LargestTable)
    return failure(ErrorCode::Malformed,
                   "the table [%" PRIu64 ", +%" PRIu64
                   ") does not lie in the file of %" PRIu64 " bytes",
                   H.TableOffset, H.TableSize, FileSize);
  return H;
}

} // namespace kpc::format
