//===- RecurrentSchedule.h - Who has which weights of a layer ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a recurrent layer whose steps are one kernel: plain data,
/// chosen by a cost whose parts can be printed.
///
///   for (const RecurrentCost &One : rankRecurrentSchedules(Shape, T))
///     puts(One.str().c_str());
///   // recurrent 8 units x 16 rows, 16 of 16 parts kept: 512 us = 128 x …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_RECURRENTSCHEDULE_H
#define KPC_PASSES_SCHEDULE_RECURRENTSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct RecurrentShape {
  int64_t Steps = 1, Batch = 1;
  int64_t Hidden = 0, Gates = 1, Directions = 1;
  int64_t ElementBytes = 2; ///< of the weights: 2, or 4 for f32
  bool Split = false;       ///< f32 as two numbers of tf32

  /// A part is what a lane loads in 16 bytes of four neighbouring lanes: two
  /// steps of mma.sync along K.
  static constexpr int64_t PartBytes = 64;
  int64_t parts() const {
    return (Hidden + 31) / 32 * 32 * ElementBytes / PartBytes;
  }
};

struct RecurrentSchedule {
  int64_t Units = 8;   ///< hidden units of a block, all of their gates
  int64_t Columns = 8; ///< rows of the batch that are multiplied at once
  int64_t Kept = 0;    ///< parts of the weights in shared memory
  int64_t Warps = 8;   ///< of a block; they share K

  int64_t threads() const { return Warps * 32; }
  /// Rows of weights, padded to those of mma.sync.
  int64_t rows(const RecurrentShape &Shape) const {
    return (Shape.Gates * Units + 15) / 16 * 16;
  }
  int64_t blocksOfDirection(const RecurrentShape &Shape) const {
    return (Shape.Hidden + Units - 1) / Units;
  }
  int64_t blocks(const RecurrentShape &Shape) const {
    return Shape.Directions * blocksOfDirection(Shape);
  }
  int64_t partBytes(const RecurrentShape &Shape) const {
    return rows(Shape) * RecurrentShape::PartBytes;
  }
  /// Floats from a row of sums to the next: odd, so that neither those who
  /// write nor those who read meet in a bank.
  int64_t pitch() const { return Columns + 1; }
  int64_t sumBytes(const RecurrentShape &Shape) const {
    return Warps * rows(Shape) * pitch() * 4;
  }
  /// Dynamic shared memory: weights, and behind them the sums of all warps.
  int64_t sharedBytes(const RecurrentShape &Shape) const {
    return Kept * partBytes(Shape) + sumBytes(Shape);
  }
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct RecurrentCost {
  RecurrentSchedule Schedule;
  int64_t Steps = 0, Parts = 0;
  double Wait = 0;    ///< of a step: the barrier of all blocks
  double Load = 0;    ///< the state of the step before, and weights not kept
  double Product = 0; ///< weights through shared memory, or tensor cores
  double Update = 0;  ///< sums of all warps, and the cells
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first. None: `Why` says what is missing.
std::vector<RecurrentCost> rankRecurrentSchedules(const RecurrentShape &Shape,
                                                  const target::Target &T,
                                                  std::string *Why = nullptr);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_RECURRENTSCHEDULE_H
