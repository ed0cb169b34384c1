//===- GemvSchedule.h - How few rows stream their weights -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a GEMV, a GEMM with an M of at most 16 at a time, which
/// reads its weights once: plain data, chosen by a cost whose parts can be
/// printed.
///
///   for (const GemvCost &One : rankGemvSchedules(Shape, T))
///     puts(One.str().c_str());
///   // gemv 32x64 warps 8 stages 4 tiles 1: 11.0 us = 8.2 stream x 1.03
///   fullest
///   // + 2.8 overhead
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H
#define KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::schedule {

/// With more rows the weights are read too often.
inline constexpr int64_t MostFewRows = 64;

/// Whether a GEMM of typically `Typical` rows, and at most `Most`, is for the
/// family of few rows. Tiles of Tensor Cores are not for fewer than 8 rows, but
/// with gates and RoPE: a token of a GEMM that is `Plain` is multiplied by this
/// family whatever a prompt may have. Sizes of prompts have variants of GEMM.
inline bool isForFewRows(int64_t Typical, int64_t Most, bool Plain) {
  constexpr int64_t TileM = 16, FewestForMma = 8;
  return Typical <= TileM &&
         (Most <= MostFewRows || (Plain && Typical < FewestForMma));
}

/// Sizes to choose for; where they are dynamic, their optimum.
struct GemvShape {
  int64_t M = 1, N = 0, K = 0; ///< columns of all products
  int64_t MaxM = 16;           ///< at a time; 16 at most
  bool KContiguous = true;     ///< in the weights; else the columns are
  int64_t Products = 1;        ///< of the same rows; two meet in each element
  int64_t RotateHalf = 0; ///< columns from one to that it meets; 0: none do
  /// Of the weights: 16, or 4 or 8 where they are codes in tiles.
  int64_t WeightBits = 16;
  bool HasFloatCodes = false; ///< of FP8
  /// Of codes: elements of K that share a scale, and the bytes of a scale and
  /// of its zero point, if it has one.
  int64_t Block = 0, ScaleBytes = 0, ZeroBytes = 0;

  /// The sums of squares of the rows are added up as well.
  bool HasSquares = false;

  bool hasCodes() const { return WeightBits < 16; }

  /// Whether a tile's columns are two runs, those that meet in the same places.
  /// Pairs of neighbours are in one run.
  bool hasHalves() const { return Products > 1 || RotateHalf > 1; }
};

struct GemvSchedule {
  int64_t Slices = 4;     ///< columns of a tile, by 8
  int64_t Depth = 64;     ///< elements of K in a warp's stage
  int64_t Warps = 8;      ///< that share the sum
  int64_t Stages = 4;     ///< of a warp's ring
  int64_t Tiles = 1;      ///< of a block, one after another
  int64_t StageRows = 16; ///< of sums: 8 or 16
  int64_t RingRows = 16;  ///< of x in a stage
  int64_t WeightBits = 16;
  bool HasFloatCodes = false, HasSquares = false;
  /// Of a column's scales, and of its zero points, in a stage.
  int64_t ScaleBytes = 0, ZeroBytes = 0;

  int64_t columns() const { return Slices * 8; }
  int64_t threads() const { return Warps * 32; }
  bool hasCodes() const { return WeightBits < 16; }
  /// Bytes of a stage's weights, of its rows, and of all of it.
  int64_t weightBytes() const { return Depth * columns() * WeightBits / 8; }
  int64_t rowBytes() const { return Depth * RingRows * 2; }
  int64_t stageBytes() const {
    return weightBytes() + rowBytes() + tileBytes(columns() * ScaleBytes) +
           tileBytes(columns() * ZeroBytes);
  }
  /// Tiles of a stage begin at multiples of 128 bytes.
  static int64_t tileBytes(int64_t Bytes) { return (Bytes + 127) / 128 * 128; }
  /// Shared bytes of all rings; with the warps' partial sums.
  int64_t ringBytes() const { return Warps * Stages * stageBytes(); }
  int64_t sharedBytes() const {
    return ringBytes() + Warps * StageRows * (sumColumns() + HasSquares) * 4;
  }
  /// Columns of partial sums in shared memory. Lanes store codes' sums of 8
  /// columns and each other row: with 4 columns more they meet no bank twice.
  int64_t sumColumns() const { return columns() + (hasCodes() ? 4 : 0); }
  std::string str() const;
  /// Up to 8 rows, an MMA multiplies codes of two slices, and a thread has half
  /// the accumulators: such kernels of codes are others. Those of 16 bits take
  /// the time of their bytes.
  std::string form() const {
    return hasCodes() ? std::to_string(StageRows) + " rows" : std::string();
  }
};

/// Microseconds that a schedule is expected to take, by its parts.
struct GemvCost {
  GemvSchedule Schedule;
  double Stream = 0;   ///< all bytes of the weights through memory
  double Fullest = 1;  ///< what uneven shares of multiprocessors cost
  double Overhead = 0; ///< start, partial sums and the rows' part of the cache
  double Total = 0;
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no mma.sync of
/// 16-bit floats.
std::vector<GemvCost> rankGemvSchedules(const GemvShape &Shape,
                                        const target::Target &T);

/// Whether the second cache may well hold the weights from one run of a model
/// to the next.
bool fitsCache(const GemvShape &Shape, const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_GEMVSCHEDULE_H
