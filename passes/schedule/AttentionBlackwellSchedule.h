//===- AttentionBlackwellSchedule.h - Attention on tcgen05, cut -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of an attention of many queries whose scores, powers and sums
/// lie in tensor memory: plain data, chosen by a sum of costs whose parts can
/// be printed, with what limits a step.
///
///   for (const AttentionBlackwellCost &One :
///        rankAttentionBlackwellSchedules(Shape, T))
///     puts(One.str().c_str());
///   // attention_tcgen05 256x128 stages 2 fma 1: 310.2 us = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_ATTENTIONBLACKWELLSCHEDULE_H
#define KPC_PASSES_SCHEDULE_ATTENTIONBLACKWELLSCHEDULE_H

#include "passes/schedule/AttentionSchedule.h"

#include <optional>

namespace kpc::schedule {

struct AttentionBlackwellSchedule {
  /// Queries of a tile: the rows of tensor memory. A block has one or two
  /// tiles, with a warpgroup each for their softmax.
  static constexpr int64_t TileRows = 128;
  /// Powers of a block of keys are handed over in so many parts.
  static constexpr int64_t Parts = 2;
  /// Columns of the result that a tile stages at a time: two tiles of heads of
  /// 128 leave no room for more.
  static constexpr int64_t StagedColumns = 32;

  /// Elements of a head in tiles: whole lines of 128 bytes, of which copies
  /// fill with zeros what the head does not have.
  static constexpr int64_t headInTiles(int64_t Size) {
    constexpr int64_t Line = 64;
    return (Size + Line - 1) / Line * Line;
  }

  int64_t Tiles = 2;
  int64_t TileKeys = 128;
  int64_t Stages = 2;   ///< of keys, and of values
  int64_t FmaShare = 2; ///< of each 8 powers, those by multiply-adds

  int64_t tileQueries() const { return Tiles * TileRows; }
  int64_t partKeys() const { return TileKeys / Parts; }
  /// One warpgroup copies and begins products.
  int64_t threads() const { return 128 * (1 + Tiles); }
  /// Registers of a thread of the softmax, and of one that copies or begins
  /// products. Together no more than the block is launched with.
  int64_t softmaxRegisters() const { return Tiles == 2 ? 216 : 240; }
  int64_t otherRegisters() const { return 72; }
  /// Columns of tensor memory: scores of all tiles, then their sums; what is
  /// taken is a power of two.
  int64_t scoreColumns() const { return Tiles * TileKeys; }
  int64_t tensorMemoryColumns(const AttentionShape &Shape) const;
  /// All shared memory, without barriers.
  int64_t sharedBytes(const AttentionShape &Shape) const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct AttentionBlackwellCost {
  AttentionBlackwellSchedule Schedule;
  double Waves = 0; ///< tiles that a multiprocessor computes in turn
  double Steps = 0; ///< blocks of keys of a tile
  // Of a step, of which the longest counts.
  double Mma = 0;    ///< products, and waits for places between them
  double Powers = 0; ///< of the special function units
  double Issue = 0;  ///< other instructions of the softmax
  double Chain = 0;  ///< one tile's way from scores to the next ones
  double Load = 0;   ///< keys and values from the second cache
  double Ends = 0;   ///< a tile's start and end
  double Launch = 0;
  double Total = 0;
  /// What a step takes, and its name.
  double step() const;
  const char *limiter() const;
  std::string str() const;
};

/// Why there is no schedule for heads of this size, or empty.
std::string whyNoAttentionBlackwell(const AttentionShape &Shape,
                                    const target::Target &T);

/// Legal schedules, the best first; none where the target has no tensor memory.
std::vector<AttentionBlackwellCost>
rankAttentionBlackwellSchedules(const AttentionShape &Shape,
                                const target::Target &T);

/// The cost of the schedule that `str()` prints so; none where it is not legal.
std::optional<AttentionBlackwellCost>
readAttentionBlackwellSchedule(const std::string &Text,
                               const AttentionShape &Shape,
                               const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_ATTENTIONBLACKWELLSCHEDULE_H
