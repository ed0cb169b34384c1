//===- Container.h - The fixed header of an artifact ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An artifact is one file, all numbers little-endian:
///
///   0     fixed header, 256 bytes
///   …     segments: host images, device code, weights; each aligned
///   …     the table (FlatBuffers, artifact.fbs), to the end of the file
///
/// The header holds the digest of the table, the table the digests of the
/// segments. docs/artifact-format.md has the version policy.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_CONTAINER_H
#define KPC_RUNTIME_FORMAT_CONTAINER_H

#include "runtime/format/Error.h"
#include "runtime/format/Sha256.h"

namespace kpc::format {

/// As PNG's: a byte above 127, a name, and line ends that text transfers break.
inline constexpr uint8_t Magic[8] = {0x8b, 'K',  'P',  'C',
                                     '\r', '\n', 0x1a, '\n'};

/// A change that older readers cannot skip raises the major; an addition
/// raises the minor.
inline constexpr uint16_t FormatMajor = 1;
inline constexpr uint16_t FormatMinor = 8;
/// The least reader of tensor maps and of symbols that a device gives.
inline constexpr uint16_t DeviceFactsMinor = 1;
/// The least reader of loops and branches.
inline constexpr uint16_t ControlsMinor = 3;
/// The least reader of sizes that are elements of inputs, and of what must
/// hold of several sizes.
inline constexpr uint16_t InputValuesMinor = 5;
/// The least reader of sizes that data decides in a run.
inline constexpr uint16_t ReadbacksMinor = 6;
/// The least reader of custom operators' host functions.
inline constexpr uint16_t LibrariesMinor = 7;
/// The least reader of loops that data ends.
inline constexpr uint16_t EndedLoopsMinor = 7;
/// The least reader of kernels whose blocks wait for each other.
inline constexpr uint16_t CooperativeMinor = 8;

inline constexpr size_t HeaderSize = 256;
/// Segments start at multiples of this, so that they can be mapped alone.
inline constexpr uint64_t PageAlignment = 4096;
/// Weights start at multiples of this within their segment.
inline constexpr uint64_t WeightAlignment = 128;
/// The table starts at a multiple of this.
inline constexpr uint64_t TableAlignment = 64;
/// FlatBuffers' offsets are 32 bits wide.
inline constexpr uint64_t LargestTable = 0x7fffffff;

/// A loop's iterations: counters stay far from overflow. Where a loop with a
/// condition has so many, only its data ends it, or the session's limit.
inline constexpr int64_t MostIterations = 0x7fffffff;

/// The first bytes of a public key's SHA-256: which key it is, no proof.
using KeyId = std::array<uint8_t, 8>;
KeyId keyId(const uint8_t *PublicKey); ///< of 32 bytes
std::string keyText(const KeyId &Id);  ///< 16 hexadecimal digits

struct Header {
  uint16_t Major = FormatMajor;
  uint16_t Minor = FormatMinor;
  /// The least minor version whose readers understand this file.
  uint16_t LeastReader = 0;
  uint64_t FileSize = 0;
  uint64_t TableOffset = 0;
  uint64_t TableSize = 0;
  DigestBytes TableDigest{};
  /// Ed25519 over signedBytes(); all 0: none.
  std::array<uint8_t, 64> Signature{};
  KeyId SignedBy{};
};

/// What a signature is of: a text that says what for, and the header's bytes in
/// front of it. These hold the table's digest, and so all of the file.
inline constexpr size_t SignedHeaderSize = 72;
inline constexpr char SignatureContext[] = "kpc artifact, signature 1\n";
using SignedBytes =
    std::array<uint8_t, sizeof SignatureContext - 1 + SignedHeaderSize>;
SignedBytes signedBytes(const uint8_t *Header);

/// The 256 bytes, digest included.
std::array<uint8_t, HeaderSize> encodeHeader(const Header &H);

/// Checks magic, digest, version and that the table lies in the file.
/// `Available` bytes are at `Bytes`; the file (or block of memory) has
/// `FileSize`.
Result<Header> decodeHeader(const uint8_t *Bytes, size_t Available,
                            uint64_t FileSize);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_CONTAINER_H
