//===- SizeSamples.h - Sizes to compare schedules at ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_SIZESAMPLES_H
#define KPC_PASSES_SCHEDULE_SIZESAMPLES_H

#include "dialects/shape/Facts.h"

namespace kpc::schedule {

/// Values of `Dims` to compare schedules at, the optimum first. Each dim takes
/// its bounds, its optimum, and between them powers of two and three times
/// powers of two; the more dims there are, the fewer of these. A range
/// without an end is looked at up to 4096.
///
///   batch in 1..8, opt 3  →  3, 1, 2, 4, 6, 8
std::vector<shape::Bindings>
sampleSizes(const shape::Facts &Facts,
            const std::set<std::string, std::less<>> &Dims);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_SIZESAMPLES_H
