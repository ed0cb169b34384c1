//===- DecodeSchedule.h - How few queries stream their keys -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of an attention of few queries, which reads keys and values
/// once: plain data, chosen by a cost whose parts can be printed.
///
///   for (const DecodeCost &One : rankDecodeSchedules(Shape, T))
///     puts(One.str().c_str());
///   // decode 8 rows x 16 keys x 4 warps stages 3 cluster 2: 78.0 us = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_DECODESCHEDULE_H
#define KPC_PASSES_SCHEDULE_DECODESCHEDULE_H

#include "compiler/target/Target.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// With more queries than this an attention is no longer bound by memory.
inline constexpr int64_t MostDecodeQueries = 8;

/// Sizes to choose for; where they are dynamic, their optimum.
struct DecodeShape {
  int64_t Streams = 1; ///< batch · groups: each has keys and values of its own
  int64_t Rows = 1;    ///< queries of a group's heads
  int64_t Keys = 0;
  int64_t Depth = 0; ///< of q and k
  int64_t Width = 0; ///< of v and y
  /// Of keys and values; 1: codes of FP8. Queries have 16 bits.
  int64_t ElementBytes = 2;
  /// Whether keys and values are stored again, behind one another: those of a
  /// cache and new ones.
  bool Appends = false;
  /// Whether there is memory for parts of sums, so that blocks of no cluster
  /// may share the keys of their rows; then how many streams and rows there may
  /// be.
  bool MaySplit = false;
  int64_t MostStreams = 1, MostRows = 1;

  /// Elements in the 16 bytes that a lane multiplies at a time.
  int64_t pieceElements() const { return 16 / ElementBytes; }
};

struct DecodeSchedule {
  int64_t Rows = 8;   ///< of a block: 8 or 16
  int64_t Keys = 16;  ///< that a warp takes in a step: 16 or 32
  int64_t Warps = 4;  ///< of a block; they share its keys
  int64_t Stages = 3; ///< steps of a warp whose keys and values have room
  int64_t Blocks = 1; ///< of a cluster; they share the keys of their rows
  int64_t Splits = 1; ///< or blocks of the grid, through memory

  int64_t threads() const { return Warps * 32; }
  /// Keys that a cluster takes before its warps begin again.
  int64_t stride() const { return Keys * Warps * Blocks * Splits; }
  /// Neighbouring lanes that copy a key, or its value, 16 bytes each: a power
  /// of two that holds what the tensor cores take at once.
  static int64_t keyLanes(const DecodeShape &Shape) {
    return lanes(Shape.Depth * Shape.ElementBytes, 64);
  }
  static int64_t valueLanes(const DecodeShape &Shape) {
    return lanes(Shape.Width * Shape.ElementBytes, 128);
  }
  int64_t keyBytes(const DecodeShape &Shape) const {
    return Keys * keyLanes(Shape) * 16;
  }
  /// Shared memory of a step: its keys, and behind them its values.
  int64_t stepBytes(const DecodeShape &Shape) const {
    return keyBytes(Shape) + Keys * valueLanes(Shape) * 16;
  }
  /// What a warp hands over at its end: sums, greatest score and total of each
  /// row.
  int64_t partBytes(const DecodeShape &Shape) const {
    return Rows * partPitch(Shape) * 4;
  }
  /// Elements of a row of a part.
  static int64_t partPitch(const DecodeShape &Shape) {
    return paddedWidth(Shape) + 4;
  }
  /// Dynamic shared memory: steps, and behind the last one the parts.
  int64_t sharedBytes(const DecodeShape &Shape) const;
  /// Registers that a thread's values take, with room for addresses.
  int64_t neededRegisters(const DecodeShape &Shape) const;
  /// Blocks that a multiprocessor runs side by side.
  int64_t resident(const DecodeShape &Shape, const target::Target &T) const;
  std::string str() const;

  /// Columns as the tensor cores' fragments have them: eight lanes have a piece
  /// of 16 bytes each.
  static int64_t paddedWidth(const DecodeShape &Shape) {
    int64_t Chunk = 8 * Shape.pieceElements();
    return (Shape.Width + Chunk - 1) / Chunk * Chunk;
  }

private:
  static int64_t lanes(int64_t Bytes, int64_t Chunk) {
    return int64_t(
        std::bit_ceil(uint64_t((Bytes + Chunk - 1) / Chunk * Chunk / 16)));
  }
};

/// Microseconds that a schedule is expected to take, by its parts.
struct DecodeCost {
  DecodeSchedule Schedule;
  double Rounds = 0;   ///< blocks of the fullest multiprocessor over the mean
  double Stream = 0;   ///< all keys and values through memory
  double Overhead = 0; ///< start, the joining of parts
  double Total = 0;
  std::string str() const;
};

/// Blocks that may share keys through memory, and elements of all their parts.
inline constexpr int64_t MostSplitBlocks = 256, MostSplitRows = 16;
inline int64_t splitPartElements(const DecodeShape &Shape) {
  return MostSplitBlocks * MostSplitRows * DecodeSchedule::partPitch(Shape);
}

/// Legal schedules, the best first; none where the target has no mma.sync of
/// 16-bit floats or no asynchronous copies, or heads of no such size.
std::vector<DecodeCost> rankDecodeSchedules(const DecodeShape &Shape,
                                            const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_DECODESCHEDULE_H
