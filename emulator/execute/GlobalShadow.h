//===- GlobalShadow.h - Who touched which global byte -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The strict mode's record of global memory in one launch. A cell is four
/// bytes: two writes and two reads, each with the bytes that it touched. What
/// there is no room for is forgotten, so that a race may be missed and none is
/// invented.
///
/// Blocks know nothing of each other but through memory: a release (an atomic
/// with .release, or a fence of the device's scope before one) leaves at its
/// address what the warp knew, and who reads it there and acquires knows that
/// too. It is left before the value is written, as blocks run side by side on
/// threads of the host: who reads the address in between knows it too early, by
/// which a race may be missed.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_GLOBALSHADOW_H
#define KPC_EMULATOR_EXECUTE_GLOBALSHADOW_H

#include "emulator/execute/Agents.h"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace kpc::emulator {

/// One time of an agent, at one instruction.
struct GlobalEvent {
  uint32_t Cluster = 0, Clock = 0, Statement = 0;
  AgentId Agent = 0;
  bool Atomic = false;
  bool Async = false; ///< no warp
  bool operator==(const GlobalEvent &) const = default;
};

class GlobalShadow {
public:
  using EventId = uint32_t;
  static constexpr unsigned CellBytes = 4, PageBytes = 4096;
  struct Cell {
    /// 28 bits of an event, 4 of the bytes; 0: none.
    uint32_t Writes[2] = {0, 0}, Reads[2] = {0, 0};
  };
  using Page = std::array<Cell, PageBytes / CellBytes>;

  /// Of a warp: events and pages that it needs again and again.
  struct Cache {
    struct Known {
      GlobalEvent Event;
      EventId Id = 0;
    };
    std::array<Known, 64> Events;
    std::array<std::pair<uint64_t, Page *>, 8> Pages = {};
  };

  /// `Threads`: of the host, that use it.
  explicit GlobalShadow(unsigned Threads);

  /// Records an access of at most 4 GiB; false: it is in conflict with Other.
  bool access(uint64_t Address, uint64_t Bytes, bool Writes,
              const GlobalEvent &By, const Knowledge &Now, Cache &Near,
              GlobalEvent &Other, bool &OtherWrote);

  /// What a release leaves at the address, and what a read finds; nullptr:
  /// nothing.
  void release(uint64_t Address, const ForeignMap &What);
  std::shared_ptr<const ForeignMap> found(uint64_t Address);

private:
  /// Beyond so many pages (128 MiB of memory) nothing new is recorded.
  static constexpr size_t MaxPages = 32768;
  static constexpr uint32_t IdMask = (1u << 28) - 1;
  EventId idOf(const GlobalEvent &E, Cache &Near);
  Page *pageOf(uint64_t Number, Cache &Near);
  bool isOrdered(const GlobalEvent &E, const GlobalEvent &By,
                 const Knowledge &Now) const;
  const GlobalEvent *conflictIn(const uint32_t (&Slots)[2], uint32_t Bytes,
                                const GlobalEvent &By,
                                const Knowledge &Now) const;
  static void put(uint32_t (&Slots)[2], EventId Id, uint32_t Bytes);

  const bool Locks;
  std::mutex Lock;
  std::vector<GlobalEvent> Events;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> Pages;
  std::unordered_map<uint64_t, std::shared_ptr<const ForeignMap>> Released;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_GLOBALSHADOW_H
