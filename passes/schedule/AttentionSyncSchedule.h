//===- AttentionSyncSchedule.h - Attention on mma.sync, cut -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of an attention of many queries whose warps load their operands
/// themselves (cp.async, ldmatrix, mma.sync): plain data, chosen by a sum of
/// costs whose parts can be printed.
///
///   for (const AttentionSyncCost &One : rankAttentionSyncSchedules(Shape, T))
///     puts(One.str().c_str());
///   // attention_mmasync 128x64 warpgroup 128 stages 1 queries shared: 91.2 us
///   // = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_ATTENTIONSYNCSCHEDULE_H
#define KPC_PASSES_SCHEDULE_ATTENTIONSYNCSCHEDULE_H

#include "passes/schedule/AttentionSchedule.h"

#include <optional>

namespace kpc::schedule {

struct AttentionSyncSchedule {
  int64_t TileQueries = 128, TileKeys = 64;
  /// Queries of one warpgroup: a warp has 16 of each 64.
  int64_t WarpgroupQueries = 128;
  int64_t Stages = 1; ///< of keys, and of values
  /// Queries are loaded into registers once, not with each block of keys.
  bool HoldsQueries = false;

  int64_t groups() const { return TileQueries / WarpgroupQueries; }
  int64_t threads() const { return 128 * groups(); }
  /// Registers that the values of a thread take, with room for addresses.
  int64_t neededRegisters(const AttentionShape &Shape) const;
  /// Queries, where the result is staged, too, and stages.
  int64_t sharedBytes(const AttentionShape &Shape) const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct AttentionSyncCost {
  AttentionSyncSchedule Schedule;
  double Tiles = 0;   ///< that a multiprocessor computes
  double Mma = 0;     ///< a tile's products, or what shared memory takes
  double Softmax = 0; ///< what of a tile's softmax they do not hide
  double Score = 0;   ///< reading a tile's mask or bias
  double Turns = 0;   ///< times that blocks follow each other
  double Ends = 0;    ///< a block's first copies and its result
  double Launch = 0;
  double Total = 0;
  std::string str() const;
};

/// Whether there is a schedule for heads of this size.
bool fitsAttentionSync(const AttentionShape &Shape, const target::Target &T);

/// Legal schedules, the best first; none where the target has no cp.async or no
/// mma.sync of 16-bit floats, or no room for any.
std::vector<AttentionSyncCost>
rankAttentionSyncSchedules(const AttentionShape &Shape,
                           const target::Target &T);

/// The cost of the schedule that `Text` prints (AttentionSyncSchedule::str),
/// which may be one that is not ranked. None where it is no schedule or the
/// target has no room for it.
std::optional<AttentionSyncCost>
readAttentionSyncSchedule(const std::string &Text, const AttentionShape &Shape,
                          const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_ATTENTIONSYNCSCHEDULE_H
