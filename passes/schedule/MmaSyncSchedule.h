//===- MmaSyncSchedule.h - How a product on mma.sync is cut -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a matrix product whose warps load their operands themselves
/// (ldmatrix, mma.sync) from slots that all threads fill (cp.async): plain
/// data, chosen by a sum of costs whose parts can be printed.
///
///   for (const MmaSyncCost &One : rankMmaSyncSchedules(Shape, T))
///     puts(One.str().c_str());
///   // mmasync 128x128x32 by 128x64 slots 4 order 10: 101.3 us = 5 tiles x …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_MMASYNCSCHEDULE_H
#define KPC_PASSES_SCHEDULE_MMASYNCSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct MmaSyncShape {
  int64_t Batch = 1, Rows = 0, Columns = 0, Sum = 0;
  int64_t ElementBytes = 2; ///< of the operands: 2, or 4 for tf32
  int64_t ResultBytes = 2;
  /// Bytes that each copy of A and B moves: what alignment allows.
  int64_t PieceOfA = 16, PieceOfB = 16;
  bool HasResidual = false; ///< another matrix is read at each result
};

struct MmaSyncSchedule {
  int64_t TileRows = 128, TileColumns = 128;
  int64_t TileSum = 32; ///< elements of the sum in one slot
  /// What one warpgroup multiplies of a tile.
  int64_t GroupRows = 128, GroupColumns = 64;
  int64_t Slots = 3;
  /// Row tiles that are counted before the next column tile: blocks that run
  /// together then share what they read.
  int64_t OrderRows = 8;

  int64_t groupsDown() const { return TileRows / GroupRows; }
  int64_t groups() const { return groupsDown() * (TileColumns / GroupColumns); }
  int64_t threads() const { return 128 * groups(); }
  /// Sums that a thread keeps.
  int64_t sums() const { return GroupRows * GroupColumns / 128; }
  int64_t slotBytes(int64_t ElementBytes) const {
    return (TileRows + TileColumns) * TileSum * ElementBytes;
  }
  int64_t sharedBytes(int64_t ElementBytes) const {
    return Slots * slotBytes(ElementBytes);
  }
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct MmaSyncCost {
  MmaSyncSchedule Schedule;
  double Tiles = 0;    ///< that a multiprocessor computes
  double Multiply = 0; ///< a tile's products on the tensor cores
  double Bring = 0;    ///< a tile's operands from the second cache
  double Copy = 0;     ///< a tile's copies as instructions
  double Turns = 0;    ///< times that blocks follow each other
  double Ends = 0;     ///< a block's first slots and its results
  double Start = 0;    ///< a launch
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no cp.async or
/// no mma.sync of these numbers.
std::vector<MmaSyncCost> rankMmaSyncSchedules(const MmaSyncShape &Shape,
                                              const target::Target &T);

/// The cost of the schedule that `Text` prints (MmaSyncSchedule::str), which
/// may be one that is not ranked: fewer slots, another order. None where it is
/// no schedule or the target has no room for it.
std::optional<MmaSyncCost> readMmaSyncSchedule(const std::string &Text,
                                               const MmaSyncShape &Shape,
                                               const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_MMASYNCSCHEDULE_H
