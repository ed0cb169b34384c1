//===- Sha256.h - SHA-256 ---------------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SHA-256 (FIPS 180-4), with the processor's instructions for it where there
/// are any (1–2 GB/s on x86-64, against 0.3 GB/s in plain C++).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_SHA256_H
#define KPC_RUNTIME_FORMAT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace kpc::format {

using DigestBytes = std::array<uint8_t, 32>;

class Sha256 {
public:
  /// `Portable` keeps to plain C++, whatever the processor has (for tests).
  explicit Sha256(bool Portable = false);
  void update(const void *Data, size_t Size);
  /// Ends the message; the object is not used after that.
  DigestBytes finish();

  static DigestBytes of(const void *Data, size_t Size);

private:
  using Compress = void (*)(uint32_t State[8], const uint8_t *Blocks,
                            size_t Count);
  Compress TheCompress;
  uint32_t State[8];
  uint8_t Pending[64];
  size_t PendingSize = 0;
  uint64_t Total = 0;
};

/// 64 hexadecimal digits and a terminating zero.
std::array<char, 65> toHex(const DigestBytes &Digest);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_SHA256_H
