//===- ScheduleChoice.cpp - Which schedule a kernel is built by -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/ScheduleChoice.h"

using namespace mlir;

namespace kpc::kernels {

/// So many are told of, with the parts of their cost.
static constexpr size_t ToldSchedules = 3;

StringRef forcedSchedule(func::FuncOp Func) {
  auto Forced = Func->getAttrOfType<StringAttr>(ForcedScheduleAttr);
  return Forced ? Forced.getValue() : StringRef();
}

std::optional<size_t> choosePlace(func::FuncOp Func,
                                  ArrayRef<ScheduleText> Ranked,
                                  GpuLaunch &Launch) {
  if (Launch.Ranking) {
    for (const ScheduleText &One : Ranked)
      Launch.Ranking->push_back({One.Schedule, One.Microseconds});
    return std::nullopt;
  }
  StringRef Forced = forcedSchedule(Func);
  std::optional<size_t> Place;
  for (auto [I, One] : llvm::enumerate(Ranked)) {
    Launch.Legal.push_back(One.Schedule);
    if (I < ToldSchedules)
      Launch.Costs.push_back(One.Cost);
    if (!Place && (Forced.empty() || Forced == One.Schedule))
      Place = I;
  }
  if (!Place)
    return std::nullopt;
  // What is taken is told of, too.
  if (*Place >= ToldSchedules)
    Launch.Costs.push_back(Ranked[*Place].Cost);
  Launch.Schedule = Ranked[*Place].Schedule;
  return Place;
}

} // namespace kpc::kernels
