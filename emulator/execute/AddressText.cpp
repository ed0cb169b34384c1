//===- AddressText.cpp - Device addresses in words ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/AddressText.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kpc::emulator {

/// An address below is a null pointer and an offset.
static constexpr uint64_t NullBytes = 65536;
/// An address that is farther from an allocation, and farther than the
/// allocation is long, has nothing to do with it.
static constexpr uint64_t NearBytes = uint64_t{1} << 20;

std::string hexadecimal(uint64_t Value) {
  char Text[24];
  std::snprintf(Text, sizeof Text, "0x%llx",
                static_cast<unsigned long long>(Value));
  return Text;
}

namespace {
/// A pointer among the kernel's arguments.
struct Pointer {
  const Parameter *Of = nullptr;
  uint64_t At = 0; ///< byte of the parameter
  uint64_t Value = 0;
};
} // namespace

/// The nearest one into the range, of those that are not behind the address if
/// there are such. A structure's bytes are taken eight at a time.
static Pointer argumentFor(const LaunchState &Launch, const MemoryRange &R,
                           uint64_t Address) {
  Pointer Best;
  for (const Parameter &P : Launch.K->Parameters)
    for (uint64_t At = 0; At + 8 <= P.Bytes; At += 8) {
      uint64_t Value = 0;
      std::memcpy(&Value, Launch.Parameters.data() + P.Offset + At, 8);
      if (Value < R.Begin || Value >= R.End)
        continue;
      bool Better =
          !Best.Of || (Value <= Address && Best.Value > Address) ||
          (Value <= Address ? Value > Best.Value : Value < Best.Value);
      if (Better)
        Best = {&P, At, Value};
    }
  return Best;
}

static std::string argumentText(const LaunchState &Launch, const MemoryRange &R,
                                uint64_t Address) {
  Pointer Found = argumentFor(Launch, R, Address);
  if (!Found.Of)
    return {};
  std::string Out = " (argument " +
                    std::to_string(Found.Of - Launch.K->Parameters.data()) +
                    ", '" + Found.Of->Name + "'";
  if (Found.Of->Bytes > 8)
    Out += ", byte " + std::to_string(Found.At);
  if (Address > Found.Value)
    Out += ", plus " + std::to_string(Address - Found.Value);
  if (Address < Found.Value)
    Out += ", minus " + std::to_string(Found.Value - Address);
  return Out + ")";
}

std::string placeOf(const LaunchState &Launch, uint64_t Address) {
  if (Address == 0)
    return "a null pointer";
  if (Address < NullBytes)
    return std::to_string(Address) + " bytes after a null pointer";
  const MemoryRange *R = nearestRange(*Launch.Memory, Address);
  if (!R || distanceFrom(*R, Address) > std::max(NearBytes, R->End - R->Begin))
    return "near no allocation";
  std::string Out;
  if (Address < R->Begin)
    Out = std::to_string(R->Begin - Address) + " bytes before";
  else if (Address < R->End)
    Out = "byte " + std::to_string(Address - R->Begin) + " of";
  else if (Address == R->End)
    Out = "right after the end of";
  else
    Out = std::to_string(Address - R->End) + " bytes after the end of";
  Out += R->Variable ? std::string(" the variable '") + R->Variable + "' of "
                     : std::string(" an allocation of ");
  Out += std::to_string(R->End - R->Begin) + " bytes";
  if (!R->Live)
    Out += " that was freed before this launch";
  return Out + argumentText(Launch, *R, Address);
}

std::string addressText(const LaunchState &Launch, uint64_t Address) {
  return hexadecimal(Address) + ", " + placeOf(Launch, Address);
}

} // namespace kpc::emulator
