//===- BlackwellSchedule.h - Products on tcgen05 ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a GEMM is tiled for tensor cores with a memory of their own: by one
/// block, or by a pair of blocks that multiply as one.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_BLACKWELLSCHEDULE_H
#define KPC_PASSES_SCHEDULE_BLACKWELLSCHEDULE_H

#include "passes/schedule/GemmSchedule.h"

namespace kpc::schedule {

/// A GEMM, or what is multiplied as one.
struct BlackwellShape : GemmShape {
  // NOLINTNEXTLINE(google-explicit-constructor): a GEMM is one
  BlackwellShape(const GemmShape &Gemm) : GemmShape(Gemm) {}
  /// Bytes of K in a stage: a line of shared memory, 128, 64 or 32.
  int64_t StageLine = 128;
};

/// `TileM` is 128, a block's own. A pair is a cluster of two with tiles
/// below each other (`ClusterM`): each copies its own rows of A, and half of
/// the columns of B. Printed are the rows of the pair: `gemm 256x256x64 stages
/// 6 group 8 pair`.
struct BlackwellSchedule : GemmSchedule {
  bool isPair() const { return ClusterM == 2; }
  /// Columns of B that a block copies.
  int64_t ownColumns() const { return TileN / ClusterM; }
  /// Columns of tensor memory that the block scales of a stage take: 4 for each
  /// word of four scales of 128 rows; 0: there are none. Stages have columns of
  /// their own, behind the accumulators.
  int64_t ScaleColumns = 0;
  /// Tiles whose sums are in tensor memory at once: while one is stored, the
  /// next is multiplied. Beside scales there is room for 256 columns alone.
  int64_t accumulators() const { return ScaleColumns && TileN > 128 ? 1 : 2; }
  int64_t firstScaleColumn() const { return TileN * accumulators(); }
  /// What is taken for all: a power of two.
  int64_t tensorMemoryColumns() const;
  /// Of a block. The family's own words; nobody asks through the base.
  // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
  int64_t stageBytes(int64_t ElementBytes) const;
  std::string str() const;
  // NOLINTEND(bugprone-derived-method-shadowing-base-method)
};

/// Microseconds that a schedule is expected to take, by its parts.
struct BlackwellCost {
  BlackwellSchedule Schedule;
  double Waves = 0;    ///< tiles that a multiprocessor computes in turn
  double Mma = 0;      ///< a tile's mainloop on the tensor cores
  double Load = 0;     ///< a tile's operands from the second cache
  double Epilogue = 0; ///< a tile's way out, while the next is multiplied
  double Launch = 0;   ///< a launch, and the meeting of a pair
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no tensor memory.
std::vector<BlackwellCost> rankBlackwellSchedules(const BlackwellShape &Shape,
                                                  const target::Target &T);

/// The cost of the schedule that `str()` prints so; none where it is not legal.
std::optional<BlackwellCost> readBlackwellSchedule(const std::string &Text,
                                                   const BlackwellShape &Shape,
                                                   const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_BLACKWELLSCHEDULE_H
