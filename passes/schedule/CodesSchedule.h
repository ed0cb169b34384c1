//===- CodesSchedule.h - Tiles of a GEMM whose weights are codes *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a GEMM on wgmma whose weights are codes of 4 or 8 bits:
/// plain data, chosen by a cost whose parts can be printed.
///
///   for (const CodesCost &One : rankCodesSchedules(Shape, T))
///     puts(One.str().c_str());
///   // codes int4 256x128x128 stages 4 group_m 6: 41.2 us = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_CODESSCHEDULE_H
#define KPC_PASSES_SCHEDULE_CODESSCHEDULE_H

#include "passes/schedule/GemmSchedule.h"

#include <numeric>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct CodesShape {
  int64_t M = 0, N = 0, K = 0; ///< N of one GEMM
  int64_t Products = 1;        ///< of the same rows: a gated MLP has two
  int64_t Bits = 4;
  /// RoPE: a column also reads the one that is so many from it; 0: no RoPE.
  int64_t RotateHalf = 0;
  bool HasFloatCodes = false; ///< of FP8
  int64_t Block = 128;        ///< elements of K that share a scale
  /// Bytes of a scale and of a zero point that a stage has; 0: none.
  int64_t ScaleBytes = 2, ZeroBytes = 0;
  int64_t ResultBytes = 2;
  double EpilogueOperations = 0;
  int64_t EpilogueBytes = 0; ///< that the epilogue reads for each result
  bool HasFactors = false;   ///< of a tile's rows, a number each
};

/// `TileN` has the columns of all products, `TileK` those of a stage of codes.
/// A stage of x has `DepthOfRows` of K, and `Stages` counts these.
struct CodesSchedule : GemmSchedule {
  static constexpr int64_t DepthOfCodes = 128, DepthOfRows = 64;
  int64_t CodeStages = 3;
  int64_t Products = 1;
  int64_t Bits = 4;
  bool HasFloatCodes = false;

  /// Warpgroups that multiply, 64 columns of each product a group.
  int64_t groups() const { return TileN / (64 * Products); }
  /// The family's own; nobody asks for it through the base.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  int64_t threads() const { return 128 * (1 + groups()); }
  /// Rows that one block stores, and those of one store.
  int64_t storedRows() const { return TileM / SplitK; }
  int64_t partRows() const {
    return std::gcd(storedRows(), int64_t(StagingColumns));
  }
  int64_t rowStageBytes() const { return TileM * DepthOfRows * 2; }
  int64_t codeStageBytes(const CodesShape &Shape) const;
  int64_t sharedBytes(const CodesShape &Shape) const;
  /// The same.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  std::string str() const;
};

using CodesCost = TensorCoreCost<CodesSchedule>;

/// Legal schedules, the best first; none where the target has no wgmma.
std::vector<CodesCost> rankCodesSchedules(const CodesShape &Shape,
                                          const target::Target &T);

/// The cost of the schedule that `Text` prints, which may be one that is not
/// ranked; none where it is no schedule or the target has no room for it.
std::optional<CodesCost> readCodesSchedule(const std::string &Text,
                                           const CodesShape &Shape,
                                           const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_CODESSCHEDULE_H
