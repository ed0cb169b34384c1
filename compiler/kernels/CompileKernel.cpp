//===- CompileKernel.cpp - A worker's job, done --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/CompileKernel.h"
#include "codegen/host/HostCodegen.h"
#include "codegen/nvptx/CompileKernel.h"
#include "codegen/nvptx/Nvdisasm.h"
#include "codegen/nvptx/Nvptx.h"
#include "codegen/nvptx/Ptxas.h"
#include "compiler/kernels/CompileCustom.h"
#include "compiler/target/Target.h"
#include "compiler/workers/WorkerPool.h"
#include "dialects/RegisterDialects.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "passes/kernels/gpu/GpuBuilder.h"

using namespace kpc;
using llvm::createStringError;
using llvm::Expected;

static Expected<CompiledKernel> compileForHost(const KernelJob &Job,
                                               const target::Target &T) {
  auto Options = codegen::HostTargetOptions::fromName(T.LlvmChip);
  if (!Options)
    return Options.takeError();
  Options->Optimization = Job.HostOptimization;
  CompiledKernel Kernel;
  codegen::HostListings Listings;
  if (Job.Listing == "llvm")
    Listings.Llvm = &Kernel.Listing;
  auto Built = codegen::buildAndCompileHostKernel(llvm::StringRef(Job.Text),
                                                  *Options, Listings);
  if (!Built)
    return Built.takeError();
  if (Built->Launches.size() != 1)
    return createStringError("kernel '" + Job.Symbol + "' became " +
                             std::to_string(Built->Launches.size()) +
                             " functions");
  codegen::HostLaunch &Launch = Built->Launches.front();
  Kernel.Code = std::move(Built->Object);
  Kernel.Work = Launch.Work;
  Kernel.Grain = Launch.Grain;
  Kernel.Schedule = Launch.Schedule;
  return Kernel;
}

/// One for all kernels of a worker, or of the thread that compiles without one:
/// making its dialects known and forgetting them takes as long as lowering a
/// small kernel. It keeps the types and attributes of all of them.
static mlir::MLIRContext &contextForGpu() {
  static thread_local mlir::MLIRContext Context(
      [] {
        mlir::DialectRegistry Registry;
        registerDialects(Registry);
        nvptx::registerTranslations(Registry);
        return Registry;
      }(),
      mlir::MLIRContext::Threading::DISABLED);
  return Context;
}

/// From the linalg form to PTX; what MLIR says on the way is the error.
static Expected<nvptx::CompiledKernel>
compileToPtx(const KernelJob &Job, const target::Target &T,
             const nvptx::GpuListings &Listings) {
  mlir::MLIRContext &Context = contextForGpu();
  std::string Said;
  mlir::ScopedDiagnosticHandler Handler(&Context, [&](mlir::Diagnostic &D) {
    if (D.getSeverity() == mlir::DiagnosticSeverity::Error)
      Said += (Said.empty() ? "" : "; ") + D.str();
    return mlir::success();
  });
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(Job.Text, &Context);
  if (Module && !Job.Schedule.empty())
    for (auto Kernel : Module->getOps<mlir::func::FuncOp>())
      Kernel->setAttr(
          kernel::KernelDialect::ForcedScheduleAttrHelper::getNameStr(),
          kernel::ScheduleAttr::get(&Context, Job.Schedule));
  if (Module)
    if (auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T, Listings);
        mlir::succeeded(Kernel))
      return *Kernel;
  return createStringError("kernel '" + Job.Symbol + "': " + Said);
}

/// findPtxas, which starts the program, asked once by each thread of a worker.
static const nvptx::Ptxas &ptxasAt(const std::string &Path) {
  thread_local std::string Asked;
  thread_local nvptx::Ptxas Found;
  if (!Found || Asked != Path) {
    Found = nvptx::findPtxas(Path);
    Asked = Path;
  }
  return Found;
}

static Expected<CompiledKernel> compileOneForGpu(const KernelJob &Job,
                                                 const target::Target &T) {
  CompiledKernel Kernel;
  nvptx::GpuListings Listings;
  Listings.InPtx = Job.LineInfo;
  if (Job.Listing == "tile")
    Listings.Tile = &Kernel.Listing;
  else if (Job.Listing == "nvvm")
    Listings.Nvvm = &Kernel.Listing;
  else if (Job.Listing == "llvm")
    Listings.Llvm = &Kernel.Listing;
  auto Built = compileToPtx(Job, T, Listings);
  if (!Built)
    return Built.takeError();
  Kernel.Ptx = std::move(Built->Ptx);
  Kernel.Schedule = Built->Schedule;
  Kernel.ScheduleCosts = std::move(Built->ScheduleCosts);
  Kernel.Grid = Built->Grid;
  Kernel.NoEarlyStart = Built->NoEarlyStart;
  Kernel.Cooperative = Built->Cooperative;
  Kernel.Unread = std::move(Built->Unread);
  for (unsigned I = 0; I < 3; ++I)
    Kernel.Block[I] = Built->Block[I];
  Kernel.Shared = std::to_string(Built->SharedBytes);
  Kernel.LeastDriver = T.LeastDriver;
  Kernel.TensorMaps = std::move(Built->TensorMaps);
  if (Job.Ptxas.empty() || T.TheKind == target::Kind::Portable)
    return Kernel;
  const nvptx::Ptxas &Program = ptxasAt(Job.Ptxas);
  if (!Program)
    return createStringError(Program.Missing);
  nvptx::Assembly Assembled = nvptx::assemblePtx(Program, Kernel.Ptx, T);
  if (!Assembled.ok())
    return createStringError("ptxas refuses kernel '" + Job.Symbol +
                             "': " + Assembled.Error);
  Kernel.Code = std::move(Assembled.Cubin);
  Kernel.LeastDriver = target::leastDriver(T, Program.Version);
  if (!Assembled.Kernels.empty()) {
    const nvptx::KernelUsage &Usage = Assembled.Kernels.front();
    Kernel.Registers = Usage.Registers;
    Kernel.SpillBytes = Usage.SpillStoreBytes;
  }
  Kernel.Slowed = Assembled.slowdown();
  if (Job.Listing != "sass")
    return Kernel;
  nvptx::Disassembly Text =
      nvptx::disassemble({Job.Nvdisasm, {}, {}}, Kernel.Code);
  if (!Text.ok())
    return createStringError("no text of kernel '" + Job.Symbol +
                             "': " + Text.Error);
  Kernel.Listing = "// " + Job.Symbol + "\n" + Text.Text;
  return Kernel;
}

/// What the builder of a kernel has to choose from, the best first.
static std::vector<schedule::RankedSchedule>
rankedSchedules(const KernelJob &Job, const target::Target &T) {
  mlir::DialectRegistry Registry;
  registerDialects(Registry);
  mlir::MLIRContext Context(Registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler Quiet(
      &Context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(Job.Text, &Context);
  if (Module)
    for (auto Kernel : Module->getOps<mlir::func::FuncOp>())
      return kernels::rankGpuSchedules(Kernel, T);
  return {};
}

/// Whether a few spilled registers are all that slows a kernel down.
static bool spillsFew(const CompiledKernel &Kernel) {
  return Kernel.SpillBytes <= nvptx::FewSpilledBytes &&
         Kernel.Slowed == nvptx::spillText(Kernel.SpillBytes);
}

/// The builder's first choice. Where ptxas slows that down, the next one in its
/// ranking that ptxas does not slow down. Where there is none, the first that
/// spills few registers, and then the first choice.
static Expected<CompiledKernel> compileForGpu(const KernelJob &Job,
                                              const target::Target &T) {
  Expected<CompiledKernel> First = compileOneForGpu(Job, T);
  if (!First || First->Slowed.empty() || !Job.Schedule.empty())
    return First;
  // Each try takes as long as the first did. What is estimated to take half as
  // long again is hardly faster than a kernel with some spills.
  constexpr size_t MostTries = 3;
  constexpr double MostSlower = 1.5;
  std::vector<schedule::RankedSchedule> Ranking = rankedSchedules(Job, T);
  double Most = Ranking.empty()
                    ? 0
                    : std::min(MostSlower * Ranking.front().Microseconds,
                               Job.MostMicroseconds);
  std::vector<std::string> PassedOver = {First->Schedule + ": ptxas " +
                                         First->Slowed};
  std::optional<CompiledKernel> Few;
  for (const schedule::RankedSchedule &Next : Ranking) {
    if (PassedOver.size() > MostTries || Next.Microseconds > Most)
      break;
    if (Next.Schedule == First->Schedule)
      continue;
    KernelJob Other = Job;
    Other.Schedule = Next.Schedule;
    Expected<CompiledKernel> Kernel = compileOneForGpu(Other, T);
    if (!Kernel) {
      PassedOver.push_back(Next.Schedule + ": " +
                           llvm::toString(Kernel.takeError()));
      continue;
    }
    if (Kernel->Slowed.empty()) {
      Kernel->PassedOver = std::move(PassedOver);
      return Kernel;
    }
    std::string Why = Next.Schedule + ": ptxas " + Kernel->Slowed;
    if (!Few && !spillsFew(*First) && spillsFew(*Kernel)) {
      Few = std::move(*Kernel);
      Few->PassedOver = PassedOver;
    }
    PassedOver.push_back(std::move(Why));
  }
  if (spillsFew(*First))
    First->Slowed.clear();
  if (!Few)
    return First;
  Few->Slowed.clear();
  return std::move(*Few);
}

static constexpr llvm::StringLiteral CustomOpName = "kernel.custom \"";

static Expected<CompiledKernel> compileCustomText(const KernelJob &Job,
                                                  const target::Target &T) {
  mlir::DialectRegistry Registry;
  registerDialects(Registry);
  mlir::MLIRContext Context(Registry, mlir::MLIRContext::Threading::DISABLED);
  std::string Said;
  mlir::ScopedDiagnosticHandler Handler(&Context, [&](mlir::Diagnostic &D) {
    Said += (Said.empty() ? "" : "; ") + D.str();
    return mlir::success();
  });
  auto Module = mlir::parseSourceString<mlir::ModuleOp>(Job.Text, &Context);
  if (Module)
    for (auto Kernel : Module->getOps<mlir::func::FuncOp>())
      if (kernel::CustomOp Custom = customIn(Kernel))
        return compileCustom(Job, T, Custom);
  return createStringError("kernel '" + Job.Symbol + "': " + Said);
}

Expected<CompiledKernel> kpc::compileKernel(const KernelJob &Job) {
  const target::Target *T = target::findTarget(Job.Target);
  if (!T)
    return createStringError("unknown target '" + Job.Target + "'");
  if (llvm::StringRef(Job.Text).contains(CustomOpName))
    return compileCustomText(Job, *T);
  return T->isHost() ? compileForHost(Job, *T) : compileForGpu(Job, *T);
}

JobReply kpc::compileKernelJob(std::string_view Bytes) {
  std::optional<KernelJob> Job = KernelJob::decode(Bytes);
  if (!Job)
    return {false, "the job is malformed"};
  Expected<CompiledKernel> Kernel = compileKernel(*Job);
  if (!Kernel)
    return {false, llvm::toString(Kernel.takeError())};
  return {true, Kernel->encode()};
}
