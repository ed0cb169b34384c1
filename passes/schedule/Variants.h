//===- Variants.h - Few schedules for a range of sizes ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// No schedule is best for all sizes that an artifact serves. From rankings at
/// samples of the sizes, few schedules are chosen of which one is good at each,
/// and for each of them bounds of the sizes that it is for, cheap to look at
/// when a shape is bound:
///
///   gemv 32x64 …          where rows <= 16
///   gemm 64x64x64 …       where 16 < rows <= 256
///   gemm 128x192x64 …     else (the default)
///
/// Plain data; docs/kernels/variants.md says why it is so.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_VARIANTS_H
#define KPC_PASSES_SCHEDULE_VARIANTS_H

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::schedule {

/// A schedule and what it is expected to take.
struct RankedSchedule {
  std::string Schedule;
  double Microseconds = 0;
  /// What else of the kernel follows from the greatest sizes that it is for:
  /// "8 rows". Kernels of one schedule and two forms are two variants.
  std::string Form = {};

  std::string name() const {
    return Form.empty() ? Schedule : Schedule + ", " + Form;
  }
};

/// What a kernel's builder chooses from at one choice of the kernel's sizes.
struct SizedRanking {
  std::vector<int64_t> Sizes;
  /// The best first; none where the builder for these sizes has no costs.
  std::vector<RankedSchedule> Ranking;
};

/// Least <= product of some of the sizes <= Most.
struct SizeBound {
  static constexpr int64_t Unbounded = std::numeric_limits<int64_t>::max();
  std::vector<unsigned> Sizes;
  int64_t Least = 0, Most = Unbounded;
  friend bool operator==(const SizeBound &, const SizeBound &) = default;
};
/// All of them hold.
using SizeBounds = std::vector<SizeBound>;

struct Variant {
  std::string Schedule; ///< its name; "" for that of a builder without costs
  std::vector<SizeBounds> Where; ///< one of these holds
  std::vector<int64_t> Sizes;    ///< where it is the best
};

/// At most `Most` schedules besides the one named `Default`, which serves all
/// sizes that no variant is for. The first sample is the optimum, which has its
/// best. A sample is served well by what costs at most 5 % more than the best
/// there.
std::vector<Variant> chooseVariants(std::span<const SizedRanking> Samples,
                                    std::string_view Default, size_t Most);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_VARIANTS_H
