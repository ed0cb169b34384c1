//===- SharedShadow.h - Who touched which shared byte -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The strict mode's record of shared memory: the last write, and the reads
/// since. Two accesses to a byte, one of them a write, that nothing orders are
/// a conflict, in whatever order they happen to be emulated. Accesses of one
/// warp are not looked at: its threads go in step here.
///
/// A cell stands for 16 bytes until a smaller access splits it into words, and
/// those into bytes; a write of the whole makes it one again.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H
#define KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H

#include "emulator/execute/Agents.h"

namespace kpc::emulator {

enum class SharedUse : uint8_t { Read, Write, Atomic };

struct SharedAccess {
  AgentId Agent;
  uint32_t Clock; ///< the agent's
  uint32_t Statement;
  SharedUse Use;
  bool Async; ///< by the async proxy: sees generic writes behind a fence only
};

/// What an access conflicts with.
struct Conflict {
  enum class Kind : uint8_t { None, Uninitialised, Unordered, Unfenced };
  Kind TheKind = Kind::None;
  AgentId Other = NoAgent;
  bool OtherWrote = false;
  uint32_t OtherStatement = 0;
  uint32_t OtherClock = 0;
};

class SharedShadow {
public:
  void reset(uint64_t Bytes, const Agents &Of);
  /// Records the access of a warp that knows `Now`, or that starts the agent.
  Conflict access(uint64_t Offset, unsigned Bytes, const SharedAccess &A,
                  const Knowledge &Now);
  /// Whole cells are as if never touched.
  void forget(uint64_t Offset, uint64_t Bytes);

private:
  static constexpr uint32_t NoReader = ~uint32_t{0};
  struct Reader {
    uint32_t Clock, Statement, Next;
    AgentId Agent;
  };
  struct Cell {
    uint32_t Clock = 0, Statement = 0;
    uint32_t Readers = NoReader; ///< since the write
    AgentId Agent = NoAgent;     ///< NoAgent: never written
    bool Atomic = false, Split = false;
  };
  /// Bytes, words, 16 bytes.
  static constexpr unsigned Levels = 3;
  static constexpr unsigned Shift[Levels] = {0, 2, 4};

  Conflict visit(unsigned Level, uint64_t Index, const SharedAccess &A,
                 const Knowledge &Now);
  Conflict check(Cell &C, const SharedAccess &A, const Knowledge &Now);
  void split(unsigned Level, uint64_t Index);
  void addReader(Cell &C, const SharedAccess &A, const Knowledge &Now);
  uint32_t makeReader(const Reader &R);
  void freeReaders(Cell &C);
  void clear(unsigned Level, uint64_t Index);

  Agents Of;
  std::vector<Cell> Cells[Levels];
  std::vector<Reader> Pool;
  uint32_t Free = NoReader;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_SHAREDSHADOW_H
