//===- SharedShadow.cpp - Who touched which shared byte -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/SharedShadow.h"

#include <bit>

namespace kpc::emulator {

void SharedShadow::reset(uint64_t Bytes, unsigned WarpCount) {
  Warps = WarpCount;
  Writes.assign(Bytes, Write{0, 0, 0, NoWarp, false});
  Readers.assign(Bytes, 0);
  if (ReadClocks.size() < Bytes * Warps)
    ReadClocks.resize(Bytes * Warps); // read under Readers' bits only
}

Conflict SharedShadow::access(uint64_t Offset, unsigned Bytes, SharedUse Use,
                              unsigned Warp, const Clocks &Now,
                              uint32_t Statement, const Fences &Done,
                              bool Async) {
  uint32_t Self = Warp < MaxWarps ? 1u << Warp : 0;
  for (uint64_t At = Offset; At < Offset + Bytes; ++At) {
    Write &Last = Writes[At];
    bool Reads = Use != SharedUse::Write, Stores = Use != SharedUse::Read;
    if (Reads && Last.Warp == NoWarp)
      return {Conflict::Kind::Uninitialised};
    bool BothAtomic = Last.Atomic && Use == SharedUse::Atomic;
    if (Last.Warp != NoWarp && Last.Warp != Warp && !BothAtomic &&
        Now[Last.Warp] < Last.Clock)
      return {Conflict::Kind::Race, Last.Warp, true, Last.Statement};
    bool Generic = Last.Warp < MaxWarps;
    if (Async && Reads && Generic && Done[Last.Warp] == Last.Fence)
      return {Conflict::Kind::Unfenced, Last.Warp, true, Last.Statement};
    if (!Stores) {
      Readers[At] |= Self;
      ReadClocks[At * Warps + Warp] = Now[Warp];
      continue;
    }
    for (uint32_t Left = Readers[At] & ~Self; Left; Left &= Left - 1) {
      auto Other = static_cast<unsigned>(std::countr_zero(Left));
      if (Now[Other] < ReadClocks[At * Warps + Other])
        return {Conflict::Kind::Race, Other, false, 0};
    }
    Readers[At] = 0;
    Last = {Now[Warp], Statement, Done[Warp], static_cast<uint8_t>(Warp),
            Use == SharedUse::Atomic};
  }
  return {Conflict::Kind::None};
}

} // namespace kpc::emulator
