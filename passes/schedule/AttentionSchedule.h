//===- AttentionSchedule.h - How an attention is cut and piped --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a fused attention on tensor cores: plain data, chosen by a
/// sum of costs whose parts can be printed. Nothing here knows a shape by name.
///
///   for (const AttentionCost &One : rankAttentionSchedules(Shape, T))
///     puts(One.str().c_str());  // attention 128x128 stages 2: 970.1 us = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_ATTENTIONSCHEDULE_H
#define KPC_PASSES_SCHEDULE_ATTENTIONSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct AttentionShape {
  int64_t Batch = 1, Heads = 1, Queries = 0, Keys = 0;
  int64_t Depth = 0;        ///< of q and k, in memory
  int64_t Width = 0;        ///< of v and y, in memory
  int64_t ElementBytes = 2; ///< of q, k and v; 1: FP8, and powers become FP8
  bool Causal = false;
  bool Scored = false;      ///< a mask or a bias is read for each score
  bool ScoredByKey = false; ///< and is the same for all queries
  bool Capped = false;      ///< a tanh bends each score (softcap)
  /// A mask says where a query's keys begin or end: those of query 0, which
  /// move with the query. None: they begin with the first, or end as `Causal`
  /// says, or where is not known.
  bool Limited = false;
  std::optional<int64_t> FirstKey = {}, EndKey = {};
  bool Leads = false; ///< the first keys of all are seen in any case
  /// Of f32: factors are sums of two numbers of tf32 (tile.mma_sync split).
  bool Split = false;
};

struct AttentionSchedule {
  int64_t TileQueries = 128, TileKeys = 128;
  int64_t Stages = 2;      ///< of keys, and of values
  int64_t QueryStages = 1; ///< 2: the next tile's queries come early
  /// Columns of the scores whose powers are computed before the product with
  /// the values is waited for.
  int64_t Ahead = 16;
  /// Sums and greatest scores are made in so many chains.
  int64_t Chains = 2;
  /// Row tiles go in pairs from both ends: each block gets as much work.
  bool Pairs = false;

  /// Warpgroups that multiply, of 64 queries each; one more copies.
  int64_t consumers() const { return TileQueries / 64; }
  int64_t threads() const { return 128 * (1 + consumers()); }
  /// Registers of a thread that multiplies, and of one that copies.
  /// Together no more than the block is launched with: it would hang.
  int64_t consumerRegisters() const {
    return consumers() == 1 ? 240 : consumers() == 2 ? 232 : 160;
  }
  int64_t producerRegisters() const { return consumers() < 3 ? 40 : 32; }
  /// What the values of one thread take, with room for addresses.
  int64_t neededRegisters(const AttentionShape &Shape) const;
  /// All shared memory, without barriers.
  int64_t sharedBytes(const AttentionShape &Shape) const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct AttentionCost {
  AttentionSchedule Schedule;
  double Waves = 0;    ///< tiles that a multiprocessor computes in turn
  double Mma = 0;      ///< a tile's mainloop on the tensor cores
  double Softmax = 0;  ///< what of a tile's softmax they do not hide
  double Score = 0;    ///< reading a tile's mask or bias
  double Epilogue = 0; ///< a tile's start and end
  double Total = 0;
  std::string str() const;
};

/// Blocks of keys that a tile of queries sees, on average.
double blocksOfKeys(const AttentionShape &Shape, int64_t TileQueries,
                    int64_t TileKeys);

/// Columns of a matrix in shared memory: whole steps of a product.
inline int64_t paddedColumns(int64_t Columns) {
  return (Columns + 15) / 16 * 16;
}
/// Columns of the result that are staged at a time, at most 128: a part of all.
int64_t stagedColumns(int64_t Width);

/// Whether there is a schedule for heads of this size.
bool fitsAttention(const AttentionShape &Shape, const target::Target &T);

/// Legal schedules, the best first; none where the target has no tensor cores
/// of this kind or no memory for any.
std::vector<AttentionCost> rankAttentionSchedules(const AttentionShape &Shape,
                                                  const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_ATTENTIONSCHEDULE_H
