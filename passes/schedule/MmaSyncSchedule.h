//===- MmaSyncSchedule.h - How a product on mma.sync is cut -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a GEMM whose warps load their operands themselves
/// (ldmatrix, mma.sync) from stages that all threads fill (cp.async): plain
/// data, chosen by a sum of costs whose parts can be printed.
///
///   for (const MmaSyncCost &One : rankMmaSyncSchedules(Shape, T))
///     puts(One.str().c_str());
///   // mmasync 128x128x32 warpgroup 128x64 stages 4 group_m 10: 101.3 us = 5
///   tiles x …
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
  int64_t Batch = 1, M = 0, N = 0, K = 0;
  /// Of the operands: 2, 4 for tf32, 1 for FP8 and integers.
  int64_t ElementBytes = 2;
  int64_t ResultBytes = 2;
  /// Bytes that each copy of A and B moves: what alignment allows.
  int64_t PieceOfA = 16, PieceOfB = 16;
  /// Issue slots of a piece of A beside those of a plain matrix's.
  int64_t MoreSlotsOfA = 0;
  bool HasResidual = false; ///< another matrix is read at each result
  /// Of f32: factors are sums of two numbers of tf32 (tile.mma_sync split).
  bool Split = false;
  bool IsFp8 = false; ///< of one byte: FP8, not integers
  /// GEMMs of one A whose results meet element by element: a gated MLP has two.
  /// `N` and `TileN` are those of all together; each warpgroup has equal
  /// shares.
  int64_t Products = 1;
  /// RoPE: element j also reads column j ± RotateHalf. 0: no RoPE.
  int64_t RotateHalf = 0;
  /// Instructions that the epilogue has for each element of the result; counted
  /// for gates, RoPE and codes alone.
  double EpilogueOperations = 0;
  /// Bytes of the operands that share a scale (of a block); 0: none do. Without
  /// `IsFp8` a byte is two codes of FP4.
  int64_t BytesOfScale = 0;

  /// Of a stage with its scales.
  int64_t withScales(int64_t StageBytes) const {
    return StageBytes + (BytesOfScale ? StageBytes / BytesOfScale : 0);
  }
};

struct MmaSyncSchedule {
  int64_t TileM = 128, TileN = 128;
  int64_t TileK = 32; ///< elements of K in one stage
  /// What one warpgroup multiplies of a tile.
  int64_t WarpgroupM = 128, WarpgroupN = 64;
  int64_t Stages = 3;
  /// Row tiles that are counted before the next column tile: blocks that run
  /// together then share what they read.
  int64_t GroupM = 8;

  int64_t groupsDown() const { return TileM / WarpgroupM; }
  int64_t groups() const { return groupsDown() * (TileN / WarpgroupN); }
  int64_t threads() const { return 128 * groups(); }
  /// Sums that a thread keeps.
  int64_t accumulators() const { return WarpgroupM * WarpgroupN / 128; }
  int64_t stageBytes(int64_t ElementBytes) const {
    return (TileM + TileN) * TileK * ElementBytes;
  }
  int64_t sharedBytes(int64_t ElementBytes) const {
    return Stages * stageBytes(ElementBytes);
  }
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct MmaSyncCost {
  MmaSyncSchedule Schedule;
  double Tiles = 0;    ///< that a multiprocessor computes
  double Mma = 0;      ///< a tile's mainloop on the tensor cores
  double Load = 0;     ///< a tile's operands from the second cache, and waits
  double Copy = 0;     ///< a tile's copies as instructions
  double Turns = 0;    ///< times that blocks follow each other
  double Epilogue = 0; ///< a tile's instructions after its products
  double Ends = 0;     ///< a block's first stages and its results
  double Launch = 0;   ///< a launch
  double Total = 0;
  std::string str() const;
};

/// Whether the three products of split factors are faster than multiply-adds of
/// f32: where a chip's tf32 is no faster than its f32, they are not.
bool paysToSplit(const target::Target &T);

/// Legal schedules, the best first; none where the target has no cp.async or
/// no mma.sync of these numbers.
std::vector<MmaSyncCost> rankMmaSyncSchedules(const MmaSyncShape &Shape,
                                              const target::Target &T);

/// The cost of the schedule that `Text` prints (MmaSyncSchedule::str), which
/// may be one that is not ranked: fewer stages, another order. None where it is
/// no schedule or the target has no room for it.
std::optional<MmaSyncCost> readMmaSyncSchedule(const std::string &Text,
                                               const MmaSyncShape &Shape,
                                               const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_MMASYNCSCHEDULE_H
