//===- ScheduleChoice.h - Which schedule a kernel is built by ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a builder takes one of its family's schedules, so that what it had to
/// choose from is told (`kpc compile --explain`) and the user's word counts
/// (`--schedule FILE`, as the attribute `kpc.forced_schedule` of the kernel):
///
///   std::vector<GemmCost> Ranked = rankGemmSchedules(Shape, T);
///   const GemmCost *Chosen = chooseSchedule(Form, Ranked, Launch);
///   if (!Chosen)
///     return false;  // none is legal, or another family's is asked for
///   emit(Chosen->Schedule);
///
/// A family's cost has a `Schedule` with `str()`, the text of `kpc.schedule`,
/// and a `str()` of its own that begins with that text and goes on with the
/// parts of the cost.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_SCHEDULECHOICE_H
#define KPC_PASSES_KERNELS_GPU_SCHEDULECHOICE_H

#include "passes/kernels/form/FusedKernel.h"
#include "passes/kernels/gpu/GpuLaunch.h"

#include <optional>

namespace kpc::kernels {

/// The user's schedule for a kernel, in words.
inline constexpr llvm::StringLiteral ForcedScheduleAttr = "kpc.forced_schedule";

/// What the user asks for; empty: nothing.
llvm::StringRef forcedSchedule(mlir::func::FuncOp Func);

/// A schedule and its cost as they are printed.
struct ScheduleText {
  std::string Schedule, Cost;
  double Microseconds = 0;
};

/// The place of the schedule to take in `Ranked`, the best first: 0, or that
/// of the forced one. None where there is none, or the forced one is not among
/// them, or only the ranking is asked for. Sets `Launch.Schedule`, `Costs` and
/// `Legal`.
std::optional<size_t> choosePlace(mlir::func::FuncOp Func,
                                  llvm::ArrayRef<ScheduleText> Ranked,
                                  GpuLaunch &Launch);

/// The text of a cost's schedule; a family that shares another's struct gives
/// it a `name()` of its own.
template <typename Cost> std::string nameOfSchedule(const Cost &One) {
  if constexpr (requires { One.name(); })
    return One.name();
  else
    return One.Schedule.str();
}

/// Null where choosePlace has none.
template <typename Cost>
const Cost *chooseSchedule(const FusedKernel &Form,
                           const std::vector<Cost> &Ranked, GpuLaunch &Launch) {
  llvm::SmallVector<ScheduleText> Texts;
  for (const Cost &One : Ranked)
    Texts.push_back({nameOfSchedule(One), One.str(), One.Total});
  std::optional<size_t> Place = choosePlace(Form.Func, Texts, Launch);
  return Place ? &Ranked[*Place] : nullptr;
}

/// The same for a family whose schedules have more legal values than are
/// ranked: `Read` gives the cost of a schedule's text, none where it is no
/// legal schedule of the family for this kernel.
template <typename Cost, typename ReadText>
const Cost *chooseSchedule(const FusedKernel &Form, std::vector<Cost> &Ranked,
                           GpuLaunch &Launch, ReadText Read) {
  llvm::StringRef Forced = forcedSchedule(Form.Func);
  bool Listed = llvm::any_of(
      Ranked, [&](const Cost &One) { return Forced == nameOfSchedule(One); });
  if (!Forced.empty() && !Listed)
    if (std::optional<Cost> One = Read(Forced))
      Ranked.push_back(*One);
  return chooseSchedule(Form, std::as_const(Ranked), Launch);
}

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_SCHEDULECHOICE_H
