//===- ConvSchedule.h - How a convolution is cut and piped ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a convolution on tensor cores: that of the product which it
/// is, whose sum is cut tap by tap into slices of channels.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_CONVSCHEDULE_H
#define KPC_PASSES_SCHEDULE_CONVSCHEDULE_H

#include "passes/schedule/GemmSchedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct ConvShape {
  int64_t Places = 0; ///< of the filter, in all images
  int64_t Outputs = 0, Channels = 0, Taps = 1;
  int64_t ElementBytes = 2; ///< of pixels and filter; 4: tf32, 1: codes
  bool Promotes = false;    ///< sums of FP8 are added up in registers
  int64_t ResultBytes = 2;
  bool KMajor = false;        ///< the filter is contiguous along channels
  int64_t LeastChannels = 1;  ///< whatever is optimal
  bool ReadsAtResult = false; ///< the epilogue reads a residual
  /// Bytes of its elements that may be copied to shared memory, else 0.
  int64_t StagedBytes = 0;
  /// Instructions that the epilogue has for each element of the result.
  double EpilogueOperations = 0;
  /// For each equal part of the outputs, a mask of the taps that are not zeros;
  /// empty: all.
  std::vector<int64_t> Live;
};

/// For each tile of `TileN` outputs, a mask of the taps that one of them has,
/// at least `Least`; empty where that is all for each.
std::vector<uint32_t> liveTapsOfTiles(const std::vector<int64_t> &Live,
                                      int64_t Taps, int64_t Outputs,
                                      int64_t TileN, int64_t Least);
/// Of channels in slices of `TileK`, so many taps that a tile has two steps:
/// ptxas serialises the products of a sum that may end after the first one.
inline int64_t leastLiveTaps(int64_t Channels, int64_t TileK) {
  return Channels > TileK ? 1 : 2;
}

/// `TileK`: channels of a slice. Blocks share outputs alone, not pixels:
/// `ClusterN` is 1.
struct ConvSchedule : GemmSchedule {
  /// The family's own words; nobody asks for them through the base.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  std::string str() const;
};

using ConvCost = TensorCoreCost<ConvSchedule>;

/// The cost of the schedule that `str()` prints so; none where it is not legal.
std::optional<ConvCost> readConvSchedule(const std::string &Text,
                                         const ConvShape &Shape,
                                         const target::Target &T);

/// Channels of a slice: the widest line of shared memory that they fill, and so
/// the fewest copies; a last slice's missing channels are zeros.
int64_t sliceOf(const ConvShape &Shape);

/// Legal schedules, the best first.
std::vector<ConvCost> rankConvSchedules(const ConvShape &Shape,
                                        const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_CONVSCHEDULE_H
