//===- SharedShadow.h - Who touched which shared byte -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The strict mode's record of shared memory. Each warp has a vector of clocks
/// (how far it knows every other warp to be); barriers join them. Two accesses
/// to a byte, one of them a write, by two warps that no barrier orders are a
/// race. Accesses of one warp are not looked at: its threads go in step here.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H
#define KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kpc::emulator {

inline constexpr unsigned MaxWarps = 32;
/// Who writes for asynchronous copies: it has a clock, but never reads.
inline constexpr unsigned AsyncAgent = MaxWarps;
using Clocks = std::array<uint32_t, MaxWarps + 1>;
/// How many fence.proxy.async each warp has done.
using Fences = std::array<uint32_t, MaxWarps + 1>;

enum class SharedUse : uint8_t { Read, Write, Atomic };

/// The earlier access of a race; Other is its warp.
struct Conflict {
  enum class Kind : uint8_t { None, Uninitialised, Race, Unfenced } TheKind;
  unsigned Other = 0;
  bool OtherWrote = false;
  uint32_t OtherStatement = 0; ///< of the write; reads are not remembered
};

class SharedShadow {
public:
  void reset(uint64_t Bytes, unsigned Warps);
  /// Records an access of `Warp`, whose clocks are `Now`. `Async`: by the async
  /// proxy, which sees generic writes only behind a fence.
  Conflict access(uint64_t Offset, unsigned Bytes, SharedUse Use, unsigned Warp,
                  const Clocks &Now, uint32_t Statement, const Fences &Done,
                  bool Async);

private:
  struct Write {
    uint32_t Clock;
    uint32_t Statement;
    uint32_t Fence; ///< of the writer, when it wrote
    uint8_t Warp;   ///< NoWarp: never written
    bool Atomic;
  };
  static constexpr uint8_t NoWarp = 0xFF;
  unsigned Warps = 0;
  std::vector<Write> Writes;
  std::vector<uint32_t> Readers;    ///< a bit for each warp since the write
  std::vector<uint32_t> ReadClocks; ///< by byte and warp
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H
