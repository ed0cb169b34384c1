//===- Compiler.cpp - From a model to an artifact -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "codegen/artifact/ArtifactWriter.h"
#include "compiler/Compilation.h"
#include "compiler/GraphPipeline.h"
#include "compiler/Listing.h"
#include "compiler/ModelDigest.h"
#include "compiler/PrecisionPatterns.h"
#include "compiler/SharedMemory.h"
#include "compiler/TakenDims.h"
#include "compiler/TextModel.h"
#include "compiler/Version.h"
#include "compiler/artifact/KernelRecords.h"
#include "compiler/artifact/PlanToContents.h"
#include "compiler/fold/FoldConstants.h"
#include "compiler/kernels/PlanEstimate.h"
#include "compiler/kernels/SlowPaths.h"
#include "compiler/workers/WorkerPool.h"
#include "dialects/graph/Graph.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <set>
#include <sys/resource.h>

using namespace kpc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

bool Compilation::chooseTargets() {
  if (Options.Targets.empty()) {
    Options.Targets = targetNames(Options);
    Report.Notes.push_back(
        Options.Targets.front() == "native"
            ? "no --arch given: compiling for this machine's GPU"
            : "no --arch given and no GPU found: compiling "
              "for this machine's CPU");
  }
  for (const std::string &Name : Options.Targets) {
    target::Lookup Found = target::lookup(Name);
    if (!Found) {
      Diags.error(Code::TargetUnknown).message(Found.Error);
      continue;
    }
    if (!Found.Note.empty() && !llvm::is_contained(Report.Notes, Found.Note))
      Report.Notes.push_back(Found.Note);
    for (const target::Target *T : Found.Targets)
      if (!llvm::is_contained(Targets, T))
        Targets.push_back(T);
  }
  return !Diags.hasErrors();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// For --ir-dump-dir: a folder for each pass manager, whose files are counted
/// from 0.
bool Compilation::dumpInto(PassManager &Passes, StringRef Room) {
  llvm::SmallString<128> Folder(Options.IrDumpFolder);
  llvm::sys::path::append(Folder, Room);
  if (std::error_code Why = llvm::sys::fs::create_directories(Folder)) {
    Diags.error(Code::OutputUnwritable)
        .message("cannot make the folder '" + Folder.str().str() +
                 "' for --ir-dump-dir: " + Why.message());
    return false;
  }
  Passes.enableIRPrintingToFileTree([](Pass *, Operation *) { return false; },
                                    [](Pass *, Operation *) { return true; },
                                    /*printModuleScope=*/true,
                                    /*printAfterOnlyOnChange=*/true,
                                    /*printAfterOnlyOnFailure=*/false, Folder);
  return true;
}

bool Compilation::runPasses(StringRef Room, ModuleOp On,
                            llvm::function_ref<void(OpPassManager &)> Add) {
  PassManager Passes(&Context);
  Passes.enableVerifier(Options.VerifyEach);
  if (!Options.IrDumpFolder.empty() && !dumpInto(Passes, Room))
    return false;
  Add(Passes);
  return succeeded(Passes.run(On)) && !Diags.hasErrors();
}

bool Compilation::makePlan(ClassPlan &Plan, const PlanTools &Tools) {
  Plan.Module = Module->clone();
  std::string Room = "2-plan";
  if (Plans.size() > 1)
    Room += "-" + Plan.For.name();
  std::vector<Remark> OfGraph = std::exchange(Report.Remarks, {});
  bool Good = runPasses(Room, *Plan.Module, [&](OpPassManager &Passes) {
    addPlanPasses(Passes, Options, Plan.For, Tools);
  });
  Plan.Remarks = std::exchange(Report.Remarks, std::move(OfGraph));
  return Good && checkAliases(*Plan.Module, Options, Diags);
}

/// A plan for each class of targets, from the graph of all. Where no target is
/// known, faults of the model are those that a processor's plan shows.
bool Compilation::plan(bool Folds) {
  if (IsPlan)
    return true;
  std::vector<target::TargetClass> Classes = target::classesOf(Targets);
  if (Classes.empty())
    Classes = target::classesOf(target::lookup("host").Targets);
  for (target::TargetClass &For : Classes)
    Plans.push_back({std::move(For), {}, {}});
  ConstantFolding Folding(
      Weights,
      [&](ModuleOp Constants, TargetKernels &Into) {
        return Kernels.compileForNow(Constants, Into);
      },
      Options.Limits.FoldedBytes);
  PlanTools Tools;
  Tools.Read = [&](Value V) { return weightNumbers(V, Weights); };
  Tools.Bytes = [&](graph::WeightOp Op) -> std::optional<ArrayRef<uint8_t>> {
    const Weight *Found = Weights.find(Op.getSource());
    if (!Found)
      return std::nullopt;
    return ArrayRef(Found->Bytes.data(), Found->Bytes.size());
  };
  Tools.Moments = [&](StringRef Node) { return Moments.of(Node); };
  // A plan that is written as text computes its constants when it runs: their
  // bytes would be in no file that it could name.
  if (Folds && Options.Emit != Phase::Plan)
    Tools.Fold = [&](ModuleOp Graph) {
      // Kernels that run now are none of the model's.
      size_t Remarks = Report.Remarks.size();
      LogicalResult Folded = Folding.run(Graph);
      Report.Remarks.resize(Remarks);
      return Folded;
    };
  if (Tools.Fold)
    Tools.Write = [&](graph::SymbolicTensorType Ty, std::vector<uint8_t> Of) {
      return addComputed(Ty, std::move(Of), Weights);
    };
  for (ClassPlan &Plan : Plans)
    if (!makePlan(Plan, Tools))
      return false;
  if (Plans.size() == 1) {
    llvm::move(Plans.front().Remarks, std::back_inserter(Report.Remarks));
  } else {
    std::vector<std::pair<std::string, std::vector<Remark>>> Remarks;
    for (ClassPlan &Plan : llvm::reverse(Plans))
      Remarks.emplace_back(Plan.For.name(), std::move(Plan.Remarks));
    llvm::append_range(Report.Remarks, mergedRemarks(Remarks));
  }
  warnOfIdlePatterns(Report.Remarks, Diags);
  Report.Switches = switchedNodes(*Plans.front().Module);
  // Regions are formed from the end of the model; people read from its start.
  std::reverse(Report.Remarks.begin(), Report.Remarks.end());
  return true;
}

ModuleOp Compilation::planOf(const target::Target &T) {
  for (ClassPlan &Plan : Plans)
    if (Plan.For.contains(T))
      return *Plan.Module;
  return *Module;
}

/// What nobody asked for is told.
void Compilation::tellOfTf32() {
  auto Rounds = [](const TargetKernels &Of) {
    ModuleOp Plan = Of.Plan;
    return llvm::any_of(Of.Kernels, [&](const auto &K) {
      auto Kernel = Plan.lookupSymbol<func::FuncOp>(K.first);
      return Kernel && roundsToTf32(Kernel, K.second);
    });
  };
  if (Options.Compute == Precision::Model && llvm::any_of(Compiled, Rounds))
    Report.Notes.push_back(
        "Tensor Cores multiply this model's fp32 matrices in tf32, whose 11 "
        "bits of mantissa leave an RMS error of about 3e-4 a layer; "
        "--precision fp32 has the error of fp32 arithmetic, at a fraction of "
        "the speed");
}

/// A target whose kernels do not do what was asked.
void Compilation::tellOfCodes() {
  bool HasNone = tellOfNoCodes();
  auto Blocks = [&](StringRef Name, StringRef Error) {
    Report.Notes.push_back(
        ("GEMMs with weights multiply numbers of " + Name +
         ": products of random matrices have an RMS error of about " + Error +
         "; Tensor Cores of Blackwell multiply the codes, other "
         "targets multiply in 16 bits")
            .str());
  };
  auto Asks = [&](Precision P) {
    return Options.Compute == P ||
           llvm::any_of(Options.PrecisionFor,
                        [&](const auto &F) { return F.second == P; });
  };
  if (!HasNone && Asks(Precision::Mxfp8))
    Blocks("MXFP8", "4 %");
  if (!HasNone && Asks(Precision::Mxfp4))
    Blocks("MXFP4", "18 %");
  if (!HasNone && Asks(Precision::Nvfp4))
    Blocks("NVFP4", "13 %");
  if (!HasNone && asksForWeightCodes(Options))
    Report.Notes.push_back(
        "weights of GEMMs are codes of 4 bits, and are multiplied in the type "
        "of what they meet; GEMMs of typically more than 16 rows have them "
        "dequantised in front, but on sm_90a");
  auto Note = [&](bool Asked, auto Multiplies, StringRef Text) {
    SmallVector<std::string> Without;
    for (const target::Target *T : Targets)
      if (Asked && T->isGpu() && !Multiplies(*T))
        Without.emplace_back(T->Name);
    if (!Without.empty())
      Report.Notes.push_back(Text.str() + llvm::join(Without, ", "));
  };
  Note(Asks(Precision::Fp8), target::multipliesFp8,
       "--precision fp8 multiplies FP8 on sm_89, sm_90a and all of Blackwell; "
       "GEMMs multiply fp16, with weights of FP8 where rows are few, on ");
  Note(Asks(Precision::Int8), target::prefersInt8,
       "--precision int8 multiplies 8-bit integers on GPUs with fast Tensor "
       "Cores for them alone; GEMMs stay in fp16 on ");
  if (asksForCodes(Options) &&
      llvm::any_of(Targets,
                   [](const target::Target *T) { return T->isHost(); }))
    Report.Notes.push_back(
        "the host rounds to codes as GPUs do, and multiplies them as "
        "floats: it shows the error, not the speed");
}

bool Compilation::tellOfNoCodes() {
  if (!quantises(Options.Compute))
    return false;
  constexpr StringLiteral Because = ", because ";
  std::map<std::string, size_t> Reasons;
  size_t Refused = 0;
  for (const Remark &R : Report.Remarks) {
    if (R.Category != "quantisation")
      continue;
    if (R.Passed)
      return false;
    if (auto [Of, Why] = StringRef(R.Text).split(Because); !Why.empty()) {
      ++Reasons[Why.rtrim('.').str()];
      ++Refused;
    }
  }
  std::string Text = "nothing is quantised: the model has no GEMM or "
                     "convolution with a weight that could be";
  if (auto Most = llvm::max_element(Reasons, llvm::less_second());
      Most != Reasons.end())
    Text = "nothing is quantised; the reason of " +
           std::to_string(Most->second) + " of " + std::to_string(Refused) +
           " nodes: " + Most->first + " (--remarks=quantisation lists them)";
  Report.Notes.push_back(Text);
  return true;
}

void Compilation::warnOfSlowPaths() {
  for (const target::Target *T : Targets)
    for (const SlowPath &P : expectedSlowPaths(planOf(*T), *T, Options))
      Diags.warning(Code::TargetSlow).message(P.text()).hint(P.WayOut);
}

ModelNeeds Compilation::needs() {
  return needsOf(*Module, Plans.empty() ? *Module : *Plans.front().Module);
}

void Compilation::estimate() {
  for (const target::Target *T : Targets)
    if (T->isGpu())
      llvm::append_range(Report.Estimates, estimateLaunches(planOf(*T), *T));
}

SmallVector<KernelPhase::TargetPlan> Compilation::ownPlans() {
  return SmallVector<KernelPhase::TargetPlan>(
      llvm::map_range(Targets, [&](const target::Target *T) {
        return KernelPhase::TargetPlan{T, planOf(*T)};
      }));
}

bool Compilation::compileKernels() {
  auto All = Kernels.compile(ownPlans());
  if (!All)
    return false;
  Compiled = std::move(*All);
  tellOfTf32();
  tellOfCodes();
  for (const TargetKernels &Of : Compiled)
    for (const SlowPath &P : slowPaths(Of, Options)) {
      Diags.warning(Code::TargetSlow).message(P.text()).hint(P.WayOut);
      Report.SlowPaths.push_back(P.text() + " What to do: " + P.WayOut + ".");
    }
  return !Diags.hasErrors();
}

bool Compilation::emitted(Phase P) {
  if (Options.Emit != P)
    return false;
  auto Add = [&](ModuleOp Of, const std::string &Suffix) {
    std::string Text;
    if (P == Phase::Linalg) {
      Text = kernelsText(Of);
    } else {
      keepNodeNamesOnly(Of);
      if (!StringRef(Options.Model).ends_with(".mlir"))
        noteModel(Of, llvm::sys::path::filename(Options.Model),
                  modelDigest(Options.Model));
      Text = moduleText(Of, /*Locations=*/P == Phase::Graph);
    }
    Report.Emitted.emplace_back(
        listingStem(Options) + Suffix + "." + phaseName(P) + ".mlir", Text);
  };
  if (Plans.empty())
    Add(*Module, "");
  for (ClassPlan &Plan : Plans)
    Add(*Plan.Module, Plans.size() > 1 ? "." + Plan.For.name() : "");
  return true;
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

/// What each target adds to the weights of those in front of it.
static void countWeights(const artifact::Contents &Contents,
                         std::vector<TargetReport> &Targets) {
  std::set<uint32_t> Counted;
  for (auto [Of, Into] : llvm::zip_equal(Contents.Targets, Targets))
    for (const artifact::Buffer &B : Of.Buffers)
      if (B.Kind == artifact::BufferKind::Weight &&
          Counted.insert(B.Index).second)
        Into.AddedWeightBytes += Contents.Weights[B.Index].Length;
}

bool Compilation::writeArtifact() {
  auto Contents = planToContents(Weights, Compiled, Options.Strip);
  if (!Contents) {
    Diags.error(Code::ArtifactContents)
        .message(llvm::toString(Contents.takeError()));
    return false;
  }
  Contents->Provenance.KpcVersion = Version;
  Contents->Provenance.ModelName =
      llvm::sys::path::filename(Options.Model).str();
  Contents->Provenance.ModelDigest = modelDigest(Options.Model);
  Contents->Provenance.Options = Options.CommandLine;
  if (!Options.Strip)
    Contents->Provenance.Properties = remarksAsProperties(Report.Remarks);
  if (!Report.SlowPaths.empty())
    Contents->Provenance.Properties.emplace_back(
        "slow_paths", llvm::join(Report.SlowPaths, " "));
  if (!Options.PrecisionTable.empty())
    Contents->Provenance.Properties.emplace_back(PrecisionTableKey,
                                                 Options.PrecisionTable);
  for (const auto &[Key, Value] : Metadata)
    Contents->Provenance.Properties.emplace_back(
        std::string(MetadataPrefix) + Key, Value);
  for (const auto &[Name, Size] : graph::takenDims(*Module))
    Contents->Provenance.Properties.emplace_back(
        std::string(TakenDimPrefix) + Name, Size.str());
  int Threads = Options.Jobs ? std::max(Options.Jobs, 1) : availableCores();
  if (auto Error = artifact::write(*Contents, Options.Output, Threads)) {
    // The writer refuses what a reader would: then no folder is at fault.
    bool Invalid = StringRef(*Error).starts_with("the artifact would not be");
    Diags.error(Invalid ? Code::ArtifactContents : Code::ArtifactWrite)
        .message(*Error);
    return false;
  }
  countWeights(*Contents, Report.Targets);
  for (const artifact::Weight &W : Contents->Weights)
    Report.WeightBytes += W.Length;
  uint64_t Size = 0;
  if (!llvm::sys::fs::file_size(Options.Output, Size))
    Report.ArtifactBytes = Size;
  return true;
}

static uint64_t peakMemory() {
  uint64_t Kilobytes = 0;
  for (int Who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage Usage{};
    if (getrusage(Who, &Usage) == 0)
      Kilobytes += Usage.ru_maxrss;
  }
  return Kilobytes * 1024;
}

static bool runPhases(Compilation &C) {
  if (!C.timed("targets", [&] { return C.chooseTargets(); }) ||
      !C.timed("import", [&] { return C.load(); }))
    return false;
  if (C.emitted(Phase::Graph))
    return true;
  if (!C.timed("plan", [&] { return C.plan(/*Folds=*/true); }))
    return false;
  if (C.emitted(Phase::Linalg) || C.emitted(Phase::Plan))
    return true;
  if (!C.timed("kernels", [&] { return C.compileKernels(); }))
    return false;
  if (!C.Report.Emitted.empty())
    return true;
  return C.timed("artifact", [&] { return C.writeArtifact(); });
}

CompileReport kpc::compile(const CompileOptions &Options, Diagnostics &Diags) {
  Compilation C(Options, Diags);
  C.Report.Ok = runPhases(C) && !Diags.hasErrors();
  C.Report.PeakMemoryBytes = peakMemory();
  return std::move(C.Report);
}

bool kpc::check(const CompileOptions &Options, Diagnostics &Diags,
                ModelNeeds *Needs) {
  Compilation C(Options, Diags);
  // Every fault of the model is told even where a tool is missing.
  bool Ready = C.chooseTargets() && C.findTools();
  if (!C.load() || !C.plan(/*Folds=*/false) || !Ready || Diags.hasErrors())
    return false;
  if (!C.findCompilers())
    return false;
  C.warnOfSlowPaths();
  if (Needs)
    *Needs = C.needs();
  return !Diags.hasErrors();
}

CompileReport kpc::estimate(const CompileOptions &Options, Diagnostics &Diags) {
  Compilation C(Options, Diags);
  C.Report.Ok = C.chooseTargets() && C.load() && C.plan(/*Folds=*/true) &&
                !Diags.hasErrors();
  if (C.Report.Ok)
    C.estimate();
  return std::move(C.Report);
}
