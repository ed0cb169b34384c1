//===- GemmSchedule.h - How a product is cut and piped ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a matrix product on tensor cores: plain data, chosen by a
/// sum of costs whose parts can be printed. Nothing here knows a shape by name.
///
///   for (const GemmCost &One : rankGemmSchedules(Shape, T))
///     puts(One.str().c_str());  // gemm 128x256x64 slots 4 group 8: 41.2 us =
///     …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
#define KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct GemmShape {
  int64_t Batch = 1, Rows = 0, Columns = 0, Sum = 0;
  int64_t ElementBytes = 2;
};

struct GemmSchedule {
  int64_t TileRows = 128, TileColumns = 256;
  int64_t TileSum = 64; ///< elements of the sum in one slot
  int64_t Slots = 4;
  /// Row tiles that are walked before the next column tile: blocks that run
  /// together then share what they read.
  int64_t GroupRows = 8;

  /// Warpgroups that multiply, of 64 rows each.
  int64_t consumers() const { return TileRows / 64; }
  /// One warpgroup more brings the data.
  int64_t threads() const { return 128 * (1 + consumers()); }
  /// Bytes of a slot, and of all shared memory without barriers.
  int64_t slotBytes(int64_t ElementBytes) const;
  int64_t sharedBytes(int64_t ElementBytes) const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct GemmCost {
  GemmSchedule Schedule;
  double Waves = 0;    ///< tiles that a multiprocessor computes in turn
  double Multiply = 0; ///< a tile's products on the tensor cores
  double Bring = 0;    ///< a tile's operands from the second cache
  double Finish = 0;   ///< a tile's start and end, which nothing overlaps
  double Total = 0;
  std::string str() const;
};

/// Columns of the output that one store moves; buffers of each warpgroup.
inline constexpr int64_t StagingColumns = 64, StagingBuffers = 2;

/// Legal schedules, the best first; none where the target has no tensor cores
/// of this kind or no memory for any.
std::vector<GemmCost> rankGemmSchedules(const GemmShape &Shape,
                                        const target::Target &T);

/// The cost of the schedule that `Text` prints (GemmSchedule::str), which may
/// be one that is not ranked: fewer slots, another group. None where it is no
/// schedule or the target has no room for it.
std::optional<GemmCost> readGemmSchedule(const std::string &Text,
                                         const GemmShape &Shape,
                                         const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
