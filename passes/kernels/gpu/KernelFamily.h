//===- KernelFamily.h - The registry of kernel families ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel family is one way to write a kind of kernel: the GEMM of wgmma, the
/// GEMM of mma.sync, attention of few queries. The registry asks each family
/// one question: which schedules can this kernel have on this target, and what
/// will each cost, or why none. The answer writes no IR:
///
///   FamilyAnswer queryGemmHopper(FusedKernel &Form, const target::Target &T) {
///     if (!T.Can.Wgmma)
///       return FamilyAnswer::refuse(RefusalKind::Target, "… has no wgmma");
///     …
///     return FamilyAnswer::offer(rankGemmSchedules(Shape, T), Emit);
///   }
///
/// Schedules of all families compete by estimated microseconds. `Emit` then
/// builds the chosen schedule, and decides nothing.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_KERNELFAMILY_H
#define KPC_PASSES_KERNELS_GPU_KERNELFAMILY_H

#include "compiler/target/Target.h"
#include "passes/kernels/form/FusedKernel.h"
#include "passes/kernels/gpu/GpuLaunch.h"
#include "passes/schedule/Refusal.h"
#include "passes/schedule/Variants.h"

#include <functional>
#include <optional>

namespace kpc::kernels {

using schedule::RefusalKind;

/// What a family says of a kernel on a target: schedules, or a refusal.
class FamilyAnswer {
public:
  /// Writes the kernel by the schedule of that place. Code goes in front of the
  /// function's terminator; shared memory is memref.alloc in the workgroup
  /// address space. Fails after a diagnostic.
  using EmitFn = std::function<mlir::LogicalResult(size_t, GpuLaunch &)>;

  static FamilyAnswer refuse(RefusalKind Kind, const llvm::Twine &Reason) {
    FamilyAnswer A;
    A.Why = {/*Family=*/"", Kind, Reason.str()};
    return A;
  }

  static FamilyAnswer refuse(const schedule::Refusal &No) {
    return refuse(No.Kind, No.Reason);
  }

  /// The only schedule of a family without a cost model.
  /// `Emit`: LogicalResult(GpuLaunch &).
  template <typename EmitT>
  static FamilyAnswer offer(std::string Schedule, EmitT Emit) {
    FamilyAnswer A;
    A.Schedules.push_back({std::move(Schedule), 0});
    A.Emit = [Emit = std::move(Emit)](size_t, GpuLaunch &Launch) {
      return Emit(Launch);
    };
    return A;
  }

  /// Schedules with their costs, the best first. A cost has a `Schedule` with
  /// `str()`, microseconds in `Total`, and a `str()` of its own: the schedule's
  /// text, then the parts of the cost. A schedule may have a `form()`.
  /// `Emit`: LogicalResult(const ScheduleT &, GpuLaunch &).
  template <typename Cost, typename EmitT>
  static FamilyAnswer offer(std::vector<Cost> Ranked, EmitT Emit) {
    return offer(std::move(Ranked), std::move(Emit),
                 [](llvm::StringRef) { return std::optional<Cost>(); });
  }

  /// The same for a family that has more legal schedules than it ranks. `Read`:
  /// std::optional<Cost>(StringRef), the cost of a schedule's text.
  template <typename Cost, typename EmitT, typename ReadT>
  static FamilyAnswer offer(std::vector<Cost> Ranked, EmitT Emit, ReadT Read) {
    if (Ranked.empty())
      return refuse(RefusalKind::Target,
                    "none of its schedules fits the target");
    FamilyAnswer A;
    A.IsRanked = true;
    for (const Cost &One : Ranked)
      A.Schedules.push_back({textOf(One), One.Total, formOf(One)});
    auto Costs = std::make_shared<std::vector<Cost>>(std::move(Ranked));
    A.CostText = [Costs](size_t I) { return (*Costs)[I].str(); };
    A.Emit = [Costs, Emit = std::move(Emit)](size_t I, GpuLaunch &Launch) {
      return Emit((*Costs)[I].Schedule, Launch);
    };
    A.ReadSchedule = [Costs, Read = std::move(Read)](llvm::StringRef Text) {
      std::optional<Cost> One = Read(Text);
      std::optional<schedule::RankedSchedule> Known;
      if (One && textOf(*One) == Text) {
        Known = {textOf(*One), One->Total, formOf(*One)};
        Costs->push_back(std::move(*One));
      }
      return Known;
    };
    return A;
  }

  bool takes() const { return !Schedules.empty(); }
  /// Whether the schedules have costs to be compared with other families'.
  bool isRanked() const { return IsRanked; }
  /// The best first.
  llvm::ArrayRef<schedule::RankedSchedule> schedules() const {
    return Schedules;
  }
  const schedule::Refusal &refusal() const { return Why; }
  /// A schedule with the parts of its cost; empty without a cost model.
  std::string costText(size_t I) const {
    return CostText ? CostText(I) : std::string();
  }
  mlir::LogicalResult emit(size_t I, GpuLaunch &Launch) const {
    return Emit(I, Launch);
  }
  /// The place of the schedule that `Text` names, which may be one that is not
  /// ranked; none if the family has no such schedule for the kernel.
  std::optional<size_t> find(llvm::StringRef Text);

private:
  /// A family that shares another's struct gives its costs a `name()`.
  template <typename Cost> static std::string textOf(const Cost &One) {
    if constexpr (requires { One.name(); })
      return One.name();
    else
      return One.Schedule.str();
  }

  template <typename Cost> static std::string formOf(const Cost &One) {
    if constexpr (requires { One.Schedule.form(); })
      return One.Schedule.form();
    else
      return {};
  }

  std::vector<schedule::RankedSchedule> Schedules;
  bool IsRanked = false;
  std::function<std::string(size_t)> CostText;
  EmitFn Emit;
  std::function<std::optional<schedule::RankedSchedule>(llvm::StringRef)>
      ReadSchedule;
  schedule::Refusal Why;
};

/// The question: pure, for any kernel in linalg form and any GPU. What is
/// returned may refer to `Form`, which must outlive it.
using FamilyQuery = FamilyAnswer(FusedKernel &Form, const target::Target &T);

/// What families are for. Costs compare within a class: those of a GEMM count
/// its arithmetic, those of rows the bytes of a row. GEMMs of few rows are a
/// class of their own: by costs, wgmma took some of them on an H200, 5 % faster
/// at best and 10 % slower at worst. Weights of codes are that class's for any
/// number of rows.
enum class FamilyClass {
  Sort,
  Scan,
  Attention,
  Transpose,
  FewRowGemm,
  Gemm,
  Rows,
  Window,
  Loops
};

struct KernelFamily {
  const char *Name; ///< what reports call it: "GEMM (wgmma)"
  FamilyClass Class;
  FamilyQuery *Query;
};

/// All families, class by class; a kernel is of the first class that takes it.
/// Within a class, one without a cost model takes what none in front of it
/// takes. The last one takes every kernel whose sizes have expressions.
llvm::ArrayRef<KernelFamily> gpuFamilies();

FamilyQuery queryGpuSortRuns, queryGpuDigits, queryGpuScan,
    queryAttentionDecode, queryAttentionHopper, queryAttentionBlackwell,
    queryAttentionMmaSync, queryGpuTranspose, queryGpuGemv,
    queryGemmHopperCodes, queryGemmHopper, queryGemmHopperScaled,
    queryGemmBlackwell, queryConvHopper, queryConvBlackwell, queryConvMmaSync,
    queryConvHalo, queryGemmMmaSync, queryGemmMmaScaled,
    queryGemmBlackwellScaled, queryGpuContraction, queryGpuRows,
    queryGpuColumns, queryGpuRowReduction, queryGpuColumnReduction,
    queryGpuWindowTile, queryGpuWindow, queryGpuMap;

/// What the registry says of one kernel on one target.
class KernelOffers {
public:
  /// Asks the families; with `All`, those of every class.
  KernelOffers(FusedKernel &Form, const target::Target &T, bool All = false);

  struct Place {
    size_t Family, Schedule;
  };
  /// The schedule that costs least; none where no family takes the kernel.
  std::optional<Place> best() const;
  /// The schedule that `Text` names.
  std::optional<Place> find(llvm::StringRef Text);
  /// Of all families that compete, the best first; empty without costs.
  std::vector<schedule::RankedSchedule> ranking() const;
  /// The texts of all schedules, the best first.
  std::vector<std::string> texts() const;
  /// The best `Most` with the parts of their costs, and that of `Chosen`.
  std::vector<std::string> costs(Place Chosen, size_t Most) const;
  /// Why families do not take the kernel, in the order of the registry.
  llvm::ArrayRef<schedule::Refusal> refusals() const { return Refusals; }

  const FamilyAnswer &answer(Place At) const { return Answers[At.Family]; }
  const KernelFamily &family(Place At) const { return *Takers[At.Family]; }
  const schedule::RankedSchedule &schedule(Place At) const {
    return answer(At).schedules()[At.Schedule];
  }

private:
  std::vector<Place> places() const;

  std::vector<FamilyAnswer> Answers; ///< of families that take the kernel
  std::vector<const KernelFamily *> Takers; ///< those families
  std::vector<schedule::Refusal> Refusals;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_KERNELFAMILY_H
