//===- KernelPhase.cpp - All kernels of a plan, for all targets -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelPhase.h"
#include "compiler/Listing.h"
#include "compiler/kernels/CompileCustom.h"
#include "compiler/kernels/KernelBatch.h"
#include "compiler/kernels/KernelText.h"
#include "compiler/kernels/KernelUses.h"
#include "compiler/kernels/KernelVariants.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace kpc;
using namespace mlir;

/// Cubins need ptxas, and nvdisasm to be read; portable targets are PTX and do
/// without, as do the texts above machine code.
bool KernelPhase::findTools(Targets For) {
  if (Options.Emit)
    for (const target::Target *T : For)
      if (std::string Why = reasonAgainstListing(*Options.Emit, *T);
          !Why.empty())
        Diags.error(Code::TargetNoListing).target(T->Name).message(Why);
  bool ToCubin = !Options.Emit || Options.Emit == Phase::Sass;
  auto NeedsPtxas = [](const target::Target *T) {
    return T->TheKind == target::Kind::Gpu;
  };
  if (Diags.hasErrors() || !ToCubin || llvm::none_of(For, NeedsPtxas))
    return !Diags.hasErrors();
  Ptxas = nvptx::findPtxas(Options.Ptxas);
  if (!Ptxas)
    Diags.error(Code::TargetNoPtxas).message(Ptxas.Missing);
  if (Options.Emit == Phase::Sass) {
    Nvdisasm = nvptx::findNvdisasm(Ptxas.Path);
    if (!Nvdisasm)
      Diags.error(Code::TargetNoTool).message(Nvdisasm.Missing);
  }
  return !Diags.hasErrors();
}

bool KernelPhase::findCompilers(ArrayRef<TargetPlan> Plans) {
  bool ForGpu = false, ForHost = false;
  for (const TargetPlan &Plan : Plans) {
    ModuleOp Module = Plan.Module;
    for (auto Kernel : Module.getOps<func::FuncOp>())
      if (kernel::CustomOp Custom = customIn(Kernel)) {
        ForGpu |= Plan.Target->isGpu();
        ForHost |= Plan.Target->isHost() && Custom.getCode().contains("source");
      }
  }
  if (ForGpu && !Nvrtc) {
    Nvrtc = nvptx::findNvrtc(Options.Nvrtc);
    if (!Nvrtc)
      Diags.error(Code::TargetNoNvrtc).message(Nvrtc.Missing);
  }
  if (ForHost && !Cxx) {
    Cxx = codegen::findSystemCompiler(Options.Cxx);
    if (!Cxx)
      Diags.error(Code::TargetNoCxx).message(Cxx.Missing);
  }
  return !Diags.hasErrors();
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

/// The user's schedules, which must be for kernels that one of the plans has.
bool KernelPhase::readSchedules(ArrayRef<TargetPlan> Plans) {
  std::optional<ScheduleFile> File =
      ScheduleFile::read(Options.ScheduleFile, Diags);
  if (!File)
    return false;
  std::vector<std::string> Names;
  std::set<std::string> Seen;
  std::map<std::string, std::string> AnySymbolOf;
  for (const TargetPlan &Plan : Plans) {
    ModuleOp Module = Plan.Module;
    auto [Own, IsNew] = Schedules.try_emplace(Module, *File);
    if (!IsNew)
      continue;
    for (auto Kernel : Module.getOps<func::FuncOp>())
      if (Seen.insert(Kernel.getSymName().str()).second)
        Names.push_back(Kernel.getSymName().str());
    std::map<std::string, std::string> SymbolOf;
    for (auto Program : Module.getOps<plan::ProgramOp>())
      for (const auto &[Symbol, Use] : kernelUses(Program))
        SymbolOf.emplace(Use.Name, Symbol);
    Own->second.useSymbols(SymbolOf);
    AnySymbolOf.insert(SymbolOf.begin(), SymbolOf.end());
  }
  File->useSymbols(AnySymbolOf);
  return File->checkNames(Names, Diags);
}

std::vector<KernelJob> KernelPhase::jobsFor(ModuleOp Module,
                                            const target::Target &T,
                                            const std::string &Listing) {
  llvm::StringMap<plan::LaunchOp> FirstLaunch;
  Module.walk([&](plan::LaunchOp Launch) {
    FirstLaunch.try_emplace(Launch.getKernel(), Launch);
  });
  std::vector<KernelJob> Jobs;
  for (auto Kernel : Module.getOps<func::FuncOp>()) {
    KernelJob Job;
    Job.Symbol = Kernel.getSymName().str();
    Job.Target = T.Name;
    Job.Ptxas = T.isGpu() ? Ptxas.Path : std::string();
    Job.Nvdisasm = Nvdisasm.Path;
    if (kernel::CustomOp Custom = customIn(Kernel)) {
      Job.Operator = Custom.getOperatorName().str();
      Job.Nvrtc = Nvrtc.Path;
      Job.Cxx = Cxx.Path;
    }
    if (T.isGpu())
      Job.Releases = Ptxas.Release + Nvdisasm.Release;
    if (!Job.Operator.empty())
      Job.Releases +=
          T.isGpu() ? "nvrtc " + std::to_string(Nvrtc.Version) : Cxx.Release;
    Job.Listing = Listing;
    Job.LineInfo = T.isGpu() && Options.LineInfo;
    if (T.isHost())
      Job.HostOptimization = Options.HostOptimization;
    if (auto Rules = Schedules.find(Module); Rules != Schedules.end())
      Job.Schedule = Rules->second.find(T, Job.Symbol);
    plan::LaunchOp Launch = FirstLaunch.lookup(Job.Symbol);
    if (Launch && Job.Operator.empty())
      Job.ChosenFor = chosenFor(Kernel, Launch);
    if (Launch)
      Job.Node = Launch.getName().value_or("").str();
    setText(Job, Kernel, Launch);
    Jobs.push_back(std::move(Job));
  }
  return Jobs;
}

/// Behind each of the model's kernels its variants. A schedule of the user's is
/// for all sizes.
void KernelPhase::addVariants(ModuleOp Module, const target::Target &T,
                              std::vector<KernelJob> &Jobs) {
  if (Options.Variants < 2 || !T.isGpu())
    return;
  VariantFinder Finder(Module, T, Options.Variants - 1);
  std::vector<KernelJob> All;
  for (KernelJob &Job : Jobs) {
    std::vector<KernelJob> Variants =
        Job.Schedule.empty() ? Finder.jobsFor(Job) : std::vector<KernelJob>();
    All.push_back(std::move(Job));
    llvm::append_range(All, std::move(Variants));
  }
  Jobs = std::move(All);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Builders estimate registers; the assembler knows. A variant none of whose
/// schedules keeps its registers is no gain over the kernel for all sizes,
/// which serves its sizes then.
static bool isWorthKeeping(const KernelJob &Job, const CompiledKernel &Kernel) {
  return Job.VariantOf.empty() || Kernel.SpillBytes <= nvptx::FewSpilledBytes;
}

static void count(TargetReport &Summary, const target::Target &T,
                  const CompiledKernel &Kernel, bool WasCached) {
  ++Summary.Kernels;
  Summary.CacheHits += WasCached;
  Summary.Assembled += T.isGpu() && !Kernel.Code.empty();
  Summary.CodeBytes += Kernel.Code.size();
}

/// What ptxas made the builder's choice, where it is not as it should be.
static void tellAssembler(const KernelJob &Job, const CompiledKernel &Kernel,
                          Diagnostics &Diags, CompileReport &Report) {
  if (!Kernel.PassedOver.empty()) {
    std::string Text =
        "kernel '" + Job.Symbol + "' for " + Job.Target +
        " has the schedule '" + Kernel.Schedule + "', because ptxas slows " +
        (Kernel.PassedOver.size() == 1 ? "the one" : "those") +
        " ranked above down: " + llvm::join(Kernel.PassedOver, "; ");
    Report.Notes.push_back(Text);
    Report.Remarks.push_back(
        {/*Passed=*/false, "schedule", "next", Job.Symbol, Text, {}});
  }
  if (Kernel.Slowed.empty())
    return;
  ModelPlace Place;
  Place.Node = Job.Symbol;
  Diags.warning(Code::TargetKernelSlowed)
      .at(Place)
      .target(Job.Target)
      .message("ptxas " + Kernel.Slowed + " in the kernel" +
               (Kernel.Schedule.empty()
                    ? ""
                    : " with the schedule '" + Kernel.Schedule + "'"));
}

/// That sizes have a kernel that is not the best for them.
static void tellLeftOut(const KernelJob &Job, const CompiledKernel &Kernel,
                        CompileReport &Report) {
  std::string Text =
      llvm::formatv("kernel '{0}' for {1} is left out, so that '{2}' serves "
                    "where {3}: ptxas spills {4} bytes of registers with the "
                    "schedule '{5}', and more than {6} with the next ones",
                    Job.Symbol, Job.Target, Job.VariantOf, Job.WhereText,
                    Kernel.SpillBytes, Kernel.Schedule, nvptx::FewSpilledBytes);
  Report.Notes.push_back(Text);
  Report.Remarks.push_back(
      {/*Passed=*/false, "schedule", "variant", Job.Symbol, Text, {}});
}

void KernelPhase::tellSchedule(const KernelJob &Job,
                               const CompiledKernel &Kernel, bool Kept) {
  bool Forced = !Job.Schedule.empty();
  if (Kernel.ScheduleCosts.empty() && !Forced)
    return;
  std::string Where = Job.WhereText;
  if (!Kept)
    Where += llvm::formatv(" (not kept: {0} bytes of registers spill)",
                           Kernel.SpillBytes)
                 .str();
  Report.Schedules.push_back({Job.Target, Job.Symbol, Kernel.Schedule, Forced,
                              std::move(Where), Job.ChosenFor,
                              Kernel.ScheduleCosts});
}

/// Of the target's jobs, from `First` to `End`.
TargetKernels KernelPhase::take(const TargetPlan &Plan, Batch &All,
                                size_t First, size_t End) {
  const target::Target &T = *Plan.Target;
  TargetKernels Kernels;
  Kernels.Target = &T;
  Kernels.Plan = Plan.Module;
  TargetReport Summary;
  Summary.Name = T.Name;
  Plan.Module->walk([&](plan::LaunchOp) { ++Summary.Launches; });
  std::string Listing;
  for (size_t I = First; I < End; ++I) {
    const KernelJob &Job = All.Jobs[I];
    CompiledKernel &Kernel = *All.Results[I];
    bool Kept = isWorthKeeping(Job, Kernel);
    tellSchedule(Job, Kernel, Kept);
    if (!Kept) {
      tellLeftOut(Job, Kernel, Report);
      continue;
    }
    tellAssembler(Job, Kernel, Diags, Report);
    count(Summary, T, Kernel, All.Hits[I]);
    if (Options.Emit)
      appendListing(Listing, *Options.Emit,
                    Options.Emit == Phase::Ptx ? Kernel.Ptx : Kernel.Listing);
    if (Job.VariantOf.empty())
      Kernels.Kernels.emplace(Job.Symbol, std::move(Kernel));
    else
      Kernels.Variants[Job.VariantOf].push_back(
          {Job.Symbol, Job.Where, std::move(Kernel)});
  }
  if (Options.Emit == Phase::Tile && Listing.empty())
    Listing = "// no kernel of this target is in the tile dialect\n";
  if (Options.Emit)
    Report.Emitted.emplace_back(listingStem(Options) +
                                    listingSuffix(*Options.Emit, T),
                                std::move(Listing));
  Report.Targets.push_back(std::move(Summary));
  return Kernels;
}

std::optional<std::vector<TargetKernels>>
KernelPhase::compile(ArrayRef<TargetPlan> Plans) {
  auto All = llvm::map_to_vector(
      Plans, [](const TargetPlan &Plan) { return Plan.Target; });
  if (!findTools(All) || !findCompilers(Plans) || !readSchedules(Plans))
    return std::nullopt;
  Batch Jobs;
  std::vector<size_t> Ends; ///< of each target's jobs
  for (const TargetPlan &Plan : Plans) {
    std::vector<KernelJob> Own =
        jobsFor(Plan.Module, *Plan.Target, listingWord(Options.Emit));
    addVariants(Plan.Module, *Plan.Target, Own);
    llvm::append_range(Jobs.Jobs, std::move(Own));
    Ends.push_back(Jobs.Jobs.size());
  }
  Jobs.Results = compileBatch(Jobs.Jobs, Options, Diags, Report, Jobs.Hits);
  if (Diags.hasErrors())
    return std::nullopt;
  std::vector<TargetKernels> Kernels;
  size_t First = 0;
  for (auto [Plan, End] : llvm::zip_equal(Plans, Ends)) {
    Kernels.push_back(take(Plan, Jobs, First, End));
    First = End;
  }
  return Kernels;
}

bool KernelPhase::compileForNow(ModuleOp Module, TargetKernels &Into) {
  Into.Target = target::lookup("host").Targets.front();
  Into.Plan = Module;
  Batch All;
  All.Jobs = jobsFor(Module, *Into.Target, /*Listing=*/{});
  All.Results = compileBatch(All.Jobs, Options, Diags, Report, All.Hits);
  if (Diags.hasErrors())
    return false;
  for (size_t I = 0; I < All.Jobs.size(); ++I)
    Into.Kernels.emplace(All.Jobs[I].Symbol, std::move(*All.Results[I]));
  return true;
}
