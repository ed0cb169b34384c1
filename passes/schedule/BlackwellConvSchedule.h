//===- BlackwellConvSchedule.h - Convolutions on tcgen05 --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a convolution is tiled for tensor cores with a memory of their own: as
/// the GEMM that it is, whose K is cut tap by tap into slices of channels.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_BLACKWELLCONVSCHEDULE_H
#define KPC_PASSES_SCHEDULE_BLACKWELLCONVSCHEDULE_H

#include "passes/schedule/BlackwellSchedule.h"
#include "passes/schedule/ConvSchedule.h"

namespace kpc::schedule {

/// That of the GEMM. `TileK`: channels of a slice. Printed: `conv 128x128x64
/// stages 6 group_m 8`.
struct BlackwellConvCost : BlackwellCost {
  std::string name() const;
  // The family's own words; nobody asks for them through the base.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  std::string str() const;
};

/// Legal schedules, the best first; none where the target has no tensor memory.
std::vector<BlackwellConvCost>
rankBlackwellConvSchedules(const ConvShape &Shape, const target::Target &T);

/// The cost of the schedule that `name()` prints so; none where it is not
/// legal.
std::optional<BlackwellConvCost>
readBlackwellConvSchedule(const std::string &Text, const ConvShape &Shape,
                          const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_BLACKWELLCONVSCHEDULE_H
