//===- ConvHaloSchedule.h - Convolutions of tiles of images -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a convolution on mma.sync whose blocks keep a rectangle of
/// the image with its border (halo) in shared memory, and the filter of all
/// taps. Each pixel is copied once for all taps.
///
///   for (const ConvHaloCost &One : rankConvHaloSchedules(Shape, T))
///     puts(One.str().c_str());
///   // conv_halo 16x16x32 warpgroups 4 stages 1: 31.0 us = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_CONVHALOSCHEDULE_H
#define KPC_PASSES_SCHEDULE_CONVHALOSCHEDULE_H

#include "passes/schedule/MmaSyncSchedule.h"

#include <array>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum. Elements have 16
/// bits. Of two numbers the first is of lines.
struct ConvHaloShape {
  int64_t Images = 0;
  std::array<int64_t, 2> Places = {}; ///< of the filter, in an image
  std::array<int64_t, 2> Pixels = {}; ///< of an image in memory
  std::array<int64_t, 2> Taps = {1, 1}, Strides = {1, 1}, Dilations = {1, 1};
  int64_t Channels = 0, Outputs = 0;
  /// Where taps of a line were taken for channels: elements from a pixel to the
  /// next one, in which its channels go on. A multiple of 8.
  int64_t PixelStep = 0;
  int64_t ResultBytes = 2;
  bool HasResidual = false; ///< another tensor is read at each result

  /// Pixels of a line of a tile, or lines of it, for so many places.
  int64_t reach(size_t Axis, int64_t Count) const {
    return (Count - 1) * Strides[Axis] + (Taps[Axis] - 1) * Dilations[Axis] + 1;
  }
  /// Pixels of a line of a tile in shared memory, with those in which the
  /// channels of the last one go on.
  int64_t width(int64_t Columns) const {
    int64_t Beyond = PixelStep ? (Channels - 1) / PixelStep : 0;
    return reach(1, Columns) + Beyond;
  }
  /// Elements of a pixel of its own, and of one tap in the filter.
  int64_t pixelElements() const { return PixelStep ? PixelStep : Channels; }
  int64_t filterRows() const { return (Channels + 7) / 8 * 8; }
  /// Elements from a pixel of a tile to the next: an odd number of 16 bytes, so
  /// that eight in a line are in all banks. Pixels that go on are as in memory.
  int64_t pixelPitch() const {
    if (PixelStep)
      return PixelStep;
    return Channels / 8 % 2 ? Channels : Channels + 8;
  }
};

struct ConvHaloSchedule {
  int64_t Lines = 16, Columns = 16; ///< places of a tile
  int64_t TileN = 32;               ///< outputs
  /// Each takes tiles of its own, and all share the filter: while one waits for
  /// pixels or stores results, others multiply.
  int64_t Warpgroups = 4;
  /// A warpgroup's tiles of pixels in shared memory: with 2 the next one
  /// arrives while this one is multiplied.
  int64_t Stages = 1;

  int64_t tileM() const { return Lines * Columns; }
  int64_t threads() const { return 128 * Warpgroups; }
  /// Sums that a thread keeps, and all its registers.
  int64_t accumulators() const { return tileM() * TileN / 128; }
  int64_t registers() const;
  /// Pixels of a stage, and bytes.
  int64_t pixels(const ConvHaloShape &Shape) const {
    return Shape.reach(0, Lines) * Shape.width(Columns);
  }
  /// Results go through the stage whose pixels were multiplied.
  int64_t stageBytes(const ConvHaloShape &Shape) const;
  int64_t filterBytes(const ConvHaloShape &Shape) const {
    return Shape.Taps[0] * Shape.Taps[1] * Shape.filterRows() * TileN * 2;
  }
  int64_t sharedBytes(const ConvHaloShape &Shape) const {
    return Warpgroups * Stages * stageBytes(Shape) + filterBytes(Shape);
  }
  /// Blocks that a multiprocessor runs at once; there are no others.
  int64_t residentBlocks(const ConvHaloShape &Shape,
                         const target::Target &T) const;
  /// The same as that of a GEMM, of which the epilogue is.
  MmaSyncSchedule gemm() const;
  std::string str() const;
};

/// Microseconds that a schedule is expected to take, by its parts.
struct ConvHaloCost {
  ConvHaloSchedule Schedule;
  double Tiles = 0;  ///< that a multiprocessor computes
  double Mma = 0;    ///< a tile's products
  double Move = 0;   ///< a tile's pixels and results between it and L2
  double Issue = 0;  ///< a tile's copies and stores as instructions
  double Wait = 0;   ///< a tile's barriers, and what is not hidden
  double Memory = 0; ///< all bytes of memory
  double Fill = 0;   ///< the filter, and the first tile
  double Launch = 0;
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no room.
std::vector<ConvHaloCost> rankConvHaloSchedules(const ConvHaloShape &Shape,
                                                const target::Target &T);

/// The cost of the schedule that `Text` prints; none where it is not legal.
std::optional<ConvHaloCost> readConvHaloSchedule(const std::string &Text,
                                                 const ConvHaloShape &Shape,
                                                 const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_CONVHALOSCHEDULE_H
