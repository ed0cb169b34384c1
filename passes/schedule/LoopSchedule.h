//===- LoopSchedule.h - Who runs which part of a loop -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a loop whose steps are one kernel: plain data, chosen by a
/// cost whose parts can be printed.
///
///   for (const LoopCost &One : rankLoopSchedules(Shape, T))
///     puts(One.str().c_str());
///   // loop axis 1 x 16, 256 threads: 512 us = 1024 x (…) x 1 wave
///
/// Along an axis the body never mixes elements. A block has one index of each
/// axis, and a few of one of them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_LOOPSCHEDULE_H
#define KPC_PASSES_SCHEDULE_LOOPSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// The elements of a value that a block has.
struct LoopExtent {
  int64_t Whole = 1;         ///< of dims that are no axis
  std::vector<bool> HasAxis; ///< for each axis
  int64_t Innermost = -1;    ///< the axis of the last dim; -1: it is none
  int64_t ElementBytes = 4;

  int64_t elements(int64_t Axis, int64_t Tile) const {
    return Axis >= 0 && HasAxis[size_t(Axis)] ? Whole * Tile : Whole;
  }
};

/// What all threads compute between two barriers.
struct LoopStage {
  LoopExtent Extent;
  unsigned Level = 1;     ///< stages of a level do not wait for each other
  int64_t Terms = 1;      ///< of its reduction
  bool Splits = false;    ///< whether lanes may share these
  int64_t Operations = 1; ///< of a term
  int64_t Loads = 0;      ///< of a term, from memory
};

/// Sizes to choose for; where they are dynamic, their optimum.
struct LoopShape {
  int64_t Steps = 1;
  std::vector<int64_t> Axes;
  std::vector<LoopStage> Stages;
  bool EndsByData = false;
  std::vector<LoopExtent> Carried;
  std::vector<LoopExtent> Kept; ///< each in shared memory of its own
};

struct LoopSchedule {
  int64_t Axis = -1; ///< of which a block has several indices; -1: of none
  int64_t Tile = 1;
  int64_t Threads = 128;

  /// Elements of a thread, and terms of its sums, that are written out one
  /// after another: of these alone memory is read a step ahead.
  static constexpr int64_t MostRounds = 4, MostTermsWritten = 8;

  /// Threads that share the reduction of one element of a stage: lanes of a
  /// warp, or all of the block.
  int64_t lanes(const LoopStage &Stage) const;
  static constexpr int64_t WarpLanes = 32;
  /// Shared memory for two results of each warp.
  static constexpr int64_t PartialBytes = 512;
  int64_t sharedBytes(const LoopShape &Shape) const;
  int64_t blocks(const LoopShape &Shape) const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct LoopCost {
  LoopSchedule Schedule;
  int64_t Steps = 0, Waves = 1;
  double Load = 0;    ///< of a step: what it reads from memory
  double Compute = 0; ///< the stages
  double Wait = 0;    ///< barriers
  double Total = 0;
  std::string str() const;
};

/// Microseconds that `Launches` kernels for each step are expected to take,
/// which read and write what is carried.
double costOfSteps(const LoopShape &Shape, int64_t Launches,
                   const target::Target &T);

/// Legal schedules, the best first. None: `Why` says what is missing.
std::vector<LoopCost> rankLoopSchedules(const LoopShape &Shape,
                                        const target::Target &T,
                                        std::string *Why = nullptr);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_LOOPSCHEDULE_H
