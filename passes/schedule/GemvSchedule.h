//===- GemvSchedule.h - How a product of few rows streams its weights -*-C++-*//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a product with at most 16 rows at a time, which reads its
/// weights once: plain data, chosen by a cost whose parts can be printed.
///
///   for (const GemvCost &One : rankGemvSchedules(Shape, T))
///     puts(One.str().c_str());
///   // gemv 32 columns x 16 warps x 4: 9.6 us = 1.0 rounds x (8.4 stream +
///   // 1.2 finish)
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H
#define KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct GemvShape {
  int64_t Rows = 1, Columns = 0, Sum = 0;
  bool SumContiguous = true; ///< in the weights; else the columns are
  int64_t MostSlices = 8;    ///< columns of a thread that alignment allows
};

struct GemvSchedule {
  int64_t Slices = 4; ///< columns of a block, by 8: of one thread's registers
  int64_t Warps = 16; ///< that share the sum
  int64_t Steps = 4;  ///< of 32 elements of the sum, loaded ahead by a warp

  int64_t columns() const { return Slices * 8; }
  int64_t threads() const { return Warps * 32; }
  /// Elements of the sum that a block takes before its threads begin again.
  int64_t sumStep() const { return Warps * Steps * 32; }
  /// Shared bytes for the warps' partial sums.
  int64_t sharedBytes() const { return Warps * 16 * columns() * 4; }
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct GemvCost {
  GemvSchedule Schedule;
  double Rounds = 0; ///< blocks of the fullest multiprocessor over the mean
  double Stream = 0; ///< all bytes of the weights through memory
  double Finish = 0; ///< start, partial sums and the rows' part of the cache
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no mma.sync of
/// 16-bit floats.
std::vector<GemvCost> rankGemvSchedules(const GemvShape &Shape,
                                        const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H
