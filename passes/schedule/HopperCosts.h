//===- HopperCosts.h - What things take on Hopper ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the schedules of products and convolutions on tensor cores (wgmma,
/// TMA) count with, beside the target's descriptor: cycles and rates of one
/// multiprocessor, measured on an H200 (132 of them), and each figure's source.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_HOPPERCOSTS_H
#define KPC_PASSES_SCHEDULE_HOPPERCOSTS_H

#include "compiler/target/Target.h"

#include <algorithm>

namespace kpc::schedule::hopper {

/// Operations (a multiply-add is two) of 16-bit numbers per cycle and
/// multiprocessor of sm_90a; of tf32 half as many.
inline constexpr double OperationsPerCycle = 4096;
/// Bytes per cycle and multiprocessor from the second cache, as stages of 32
/// KiB reached (tiles of 128×128, 8192³: 763 TFLOP/s).
inline constexpr double CacheBytesPerCycle = 61;
/// Lines per cycle and multiprocessor that the second cache looks up: 3000³,
/// whose rows do not begin at lines, with tiles of 128×192 and 192×192 alone
/// and in clusters of two. Without clusters its counters say 80 % busy.
inline constexpr double LinesPerCycle = 0.54;
/// A line of the second cache, and the longest that copies swizzle.
inline constexpr int64_t LineBytes = 128;
/// Bytes per cycle from other blocks' shared memory, and cycles until a cluster
/// has met twice: 512×768×3072 and 128×4096×4096, split in 2 and 4.
inline constexpr double PeerBytesPerCycle = 10, MeetCycles = 600;
/// Cycles from a launch to its first product, and of the epilogue of each 64
/// columns of 128 rows: what 4096×3072×768 took beyond its products, with tiles
/// of 128, 192 and 256 columns. Warpgroups share what stores take.
inline constexpr double LaunchCycles = 3000, EpilogueCycles = 950;
/// Instructions of an epilogue per cycle and multiprocessor, in threads:
/// 4096×3072×768 with GELU beside the same without.
inline constexpr double LanesPerCycle = 128;
/// How much longer a tile's end takes where one warpgroup works beside the
/// products of another: the same GELU in tiles of 128×128.
inline constexpr double AloneFactor = 2;
/// Bytes per cycle that tensor cores and copies have of shared memory, and how
/// much longer one warpgroup's products of 64 rows take than those of 128,
/// which are two chains: the same GELU in tiles of 64 rows.
inline constexpr double SharedBytesPerCycle = 128, OneChainFactor = 1.15;
/// Cycles from the end of a warpgroup's products to its first addition of them
/// and from the last to its next product (an estimate).
inline constexpr double PromoteCycles = 100;
/// Bytes for barriers and the rounding of places.
inline constexpr int64_t BarrierRoom = 1024;
/// Bytes until the next place of swizzled tiles, after the barriers of a ring.
inline constexpr int64_t SecondRingRoom = 1024;
/// More stages than this hide nothing more; with fewer than two, copies and
/// products take turns.
inline constexpr int64_t MaxStages = 14, MinStages = 2;
/// Stages that are worth more than a second tile's residual, and without which
/// a tile is none beside its residual (an estimate).
inline constexpr int64_t EnoughStages = 4;
/// Three warpgroups multiply, 64 rows each; wgmma has 256 columns.
inline constexpr int64_t MaxM = 192, MaxN = 256;
/// Three warpgroups have 160 registers a thread: sums of 192 columns fit.
inline constexpr int64_t MaxNOfThree = 192;

/// Cycles of a microsecond: 10^12 operations a second, over those of a cycle,
/// give the clock at peak.
inline double cyclesPerMicrosecond(const target::Target &T) {
  return T.Cost.Fp16 * 1e6 / (double(T.Cost.SmCount) * OperationsPerCycle);
}

/// Clusters of so many blocks that run at once. Those of more than two do not
/// fill every part of the chip: 24 of four took one wave and 32 took two.
inline int64_t clustersAtOnce(int64_t Blocks, const target::Target &T) {
  int64_t Most = T.Cost.SmCount / Blocks;
  return std::max<int64_t>(Blocks > 2 ? Most * 9 / 10 : Most, 1);
}

} // namespace kpc::schedule::hopper

#endif // KPC_PASSES_SCHEDULE_HOPPERCOSTS_H
