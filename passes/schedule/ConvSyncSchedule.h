//===- ConvSyncSchedule.h - How a convolution on mma.sync is cut -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a convolution as implicit GEMM on mma.sync: that of a GEMM
/// (MmaSyncSchedule.h), and how many groups of channels one tile computes.
/// Several are one GEMM whose filter is block-diagonal: more arithmetic, but
/// whole tiles and long pieces of memory.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_CONVSYNCSCHEDULE_H
#define KPC_PASSES_SCHEDULE_CONVSYNCSCHEDULE_H

#include "passes/schedule/MmaSyncSchedule.h"

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct ConvSyncShape {
  int64_t Places = 0; ///< of the filter, in all images
  int64_t Taps = 1;
  int64_t Channels = 0, Outputs = 0; ///< of one group
  int64_t Groups = 1;
  int64_t ElementBytes =
      2;              ///< of pixels and filter: 2, 4 for tf32, 1 for codes
  bool IsFp8 = false; ///< of one byte: FP8, not integers
  int64_t ResultBytes = 2;
  /// Bytes at whose multiples pixels and rows of the filter begin; 16 at most.
  int64_t PixelAlignment = 16, FilterAlignment = 16;
  bool KMajorFilter = false; ///< channels are contiguous in it, not outputs
  bool Split = false;        ///< as of MmaSyncShape
  bool HasResidual = false;  ///< another tensor is read at each result
};

struct ConvSyncSchedule : MmaSyncSchedule {
  int64_t Groups = 1; ///< of a tile

  /// Bytes of a piece of a pixel, and of a row of the filter, that are copied
  /// at once.
  int64_t pixelPiece(const ConvSyncShape &Shape) const;
  int64_t filterPiece(const ConvSyncShape &Shape) const;
  /// Elements of K for each tap: the tile's channels, in whole pieces.
  int64_t channelsOfTap(const ConvSyncShape &Shape) const;
  /// The family's own words; nobody asks for them through the base.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  std::string str() const;
};

struct ConvSyncCost {
  ConvSyncSchedule Schedule;
  MmaSyncCost Gemm;
  double Find = 0;  ///< taps and channels of each step, us
  double Total = 0; ///< us
  std::string str() const;
};

/// Legal schedules, the best first.
std::vector<ConvSyncCost> rankConvSyncSchedules(const ConvSyncShape &Shape,
                                                const target::Target &T);

/// The cost of the schedule that `Text` prints; none where it is not legal.
std::optional<ConvSyncCost> readConvSyncSchedule(const std::string &Text,
                                                 const ConvSyncShape &Shape,
                                                 const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_CONVSYNCSCHEDULE_H
