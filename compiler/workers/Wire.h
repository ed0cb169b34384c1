//===- Wire.h - Length-prefixed messages ------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WORKERS_WIRE_H
#define KPC_COMPILER_WORKERS_WIRE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kpc {

/// Bytes of the length in front of each message.
inline constexpr size_t WireHeader = 8;

/// `Message` with its length in front.
inline std::string frame(std::string_view Message) {
  std::string Bytes;
  Bytes.reserve(WireHeader + Message.size());
  for (size_t I = 0; I < WireHeader; ++I)
    Bytes.push_back(
        static_cast<char>((uint64_t(Message.size()) >> (8 * I)) & 0xff));
  Bytes += Message;
  return Bytes;
}

/// The length that a header tells; none while it is not whole.
inline std::optional<uint64_t> frameLength(std::string_view Bytes) {
  if (Bytes.size() < WireHeader)
    return std::nullopt;
  uint64_t Length = 0;
  for (size_t I = 0; I < WireHeader; ++I)
    Length |= uint64_t(static_cast<unsigned char>(Bytes[I])) << (8 * I);
  return Length;
}

} // namespace kpc

#endif // KPC_COMPILER_WORKERS_WIRE_H
