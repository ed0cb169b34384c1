//===- DeviceMemory.h - The emulated device's memory ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device addresses are host addresses; nothing is touched that no live
/// allocation covers. A launch looks addresses up in a snapshot, without locks.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_DEVICEMEMORY_H
#define KPC_EMULATOR_EXECUTE_DEVICEMEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace kpc::emulator {

struct MemoryRange {
  uint64_t Begin, End;
  bool Live;
  bool ReadOnly;
  bool Written; ///< by a kernel
  /// Of the module's variable that lies there; nullptr: somebody's allocation.
  const char *Variable;
};

/// Sorted by Begin, without overlaps.
using MemoryMap = std::vector<MemoryRange>;

/// The range that holds `Address`, or nullptr.
const MemoryRange *findRange(const MemoryMap &Map, uint64_t Address);
/// The range whose bytes are nearest, or nullptr: there are none.
const MemoryRange *nearestRange(const MemoryMap &Map, uint64_t Address);
/// From the nearest byte of the range; 0: inside.
uint64_t distanceFrom(const MemoryRange &R, uint64_t Address);

class DeviceMemory {
public:
  explicit DeviceMemory(uint64_t Limit) : Limit(Limit) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// An address aligned to 256 bytes; 0: there is no memory. The content is a
  /// pattern, so that reading it is noticed. `Variable`: its name, if it is one
  /// of a module.
  uint64_t allocate(uint64_t Bytes, bool ReadOnly = false,
                    const std::string &Variable = {});
  /// False: no allocation begins there.
  bool release(uint64_t Address);
  /// Whether the bytes lie in one live allocation.
  bool covers(uint64_t Address, uint64_t Bytes) const;
  /// The allocation that holds `Address`: its base and size.
  bool find(uint64_t Address, uint64_t &Base, uint64_t &Bytes) const;
  std::shared_ptr<const MemoryMap> snapshot() const;
  /// A kernel has written to the allocation that begins there.
  void markWritten(uint64_t Address);
  uint64_t used() const;
  uint64_t limit() const { return Limit; }

private:
  struct Block {
    uint64_t Bytes;
    bool Live, ReadOnly, Written;
    const char *Variable;
  };
  using Blocks = std::map<uint64_t, Block>;
  void forgetDead(uint64_t Begin, uint64_t End);

  const uint64_t Limit;
  mutable std::mutex Lock;
  Blocks All; ///< dead ones until their addresses are used again
  std::set<std::string> Names; ///< of variables, as long as this lives
  uint64_t Used = 0;
  mutable std::shared_ptr<const MemoryMap> Current;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_DEVICEMEMORY_H
