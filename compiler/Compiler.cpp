//===- Compiler.cpp - From a model to an artifact -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "codegen/artifact/ArtifactWriter.h"
#include "compiler/DiagnosticBridge.h"
#include "compiler/GraphPipeline.h"
#include "compiler/Listing.h"
#include "compiler/PrecisionPatterns.h"
#include "compiler/TakenDims.h"
#include "compiler/TextModel.h"
#include "compiler/Version.h"
#include "compiler/artifact/PlanToContents.h"
#include "compiler/fold/FoldConstants.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/kernels/KernelPhase.h"
#include "compiler/target/Target.h"
#include "compiler/workers/WorkerPool.h"
#include "dialects/RegisterDialects.h"
#include "dialects/graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <sys/resource.h>

using namespace kpc;
using namespace mlir;

namespace {

/// One run of the compiler: what the phases hand on.
class Compilation {
public:
  Compilation(const CompileOptions &Options, Diagnostics &Diags)
      : Options(Options), Diags(Diags),
        Context(registry(), MLIRContext::Threading::DISABLED),
        Bridge(Context, Diags, Code::GraphRefused),
        Kernels(this->Options, Diags, Report) {
    Diags.setFile(Options.Model);
    Diags.setStrict(Options.Strict);
  }

  /// Each returns false after an error.
  bool chooseTargets();
  bool findTools() { return Kernels.findTools(Targets); }
  bool load();
  bool fold();
  bool toKernels();
  bool compileKernels();
  bool writeArtifact();

  /// Whether the phase is what --emit asked for; then the work ends.
  bool emitted(Phase P);
  template <typename Step> bool timed(std::string_view Name, Step Run);

  CompileReport Report;

private:
  static DialectRegistry registry() {
    DialectRegistry R;
    registerDialects(R);
    return R;
  }
  bool runPasses(StringRef Room,
                 void (*Add)(OpPassManager &, const CompileOptions &));
  bool dumpInto(PassManager &Passes, StringRef Room);
  bool loadOnnx(const std::string &Path);
  bool loadText();

  CompileOptions Options;
  Diagnostics &Diags;
  MLIRContext Context;
  DiagnosticBridge Bridge;
  std::vector<const target::Target *> Targets;
  WeightStore Weights;
  std::vector<std::pair<std::string, std::string>> Metadata;
  OwningOpRef<ModuleOp> Module;
  KernelPhase Kernels;
  std::vector<TargetKernels> Compiled;
  /// What the input file was: later phases are skipped over.
  bool IsPlan = false;
};

template <typename Step>
bool Compilation::timed(std::string_view Name, Step Run) {
  auto Start = std::chrono::steady_clock::now();
  bool Ok = Run();
  std::chrono::duration<double> Took = std::chrono::steady_clock::now() - Start;
  Report.Timing.emplace_back(Name, Took.count());
  return Ok;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

bool Compilation::chooseTargets() {
  std::vector<std::string> Names = Options.Targets;
  if (Names.empty()) {
    target::Machine Here = target::thisMachine();
    bool Gpu = Here.GpuCompute().has_value();
    Names.push_back(Gpu ? "native" : "host");
    Report.Notes.push_back(
        Gpu ? "no --arch given: compiling for this machine's GPU"
            : "no --arch given and no GPU found: compiling "
              "for this machine's CPU");
    Options.Targets = Names; // passes ask for them
  }
  for (const std::string &Name : Names) {
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
// Reading
//===----------------------------------------------------------------------===//

bool Compilation::loadOnnx(const std::string &Path) {
  onnx::ImportOptions Import;
  for (const auto &[Name, Facts] : Options.Dims)
    Import.Dims.emplace(Name, Facts);
  Import.Places.insert(Options.Places.begin(), Options.Places.end());
  Import.Values.insert(Options.Values.begin(), Options.Values.end());
  std::vector<onnx::NamedDim> Named;
  Import.Named = &Named;
  Import.Metadata = &Metadata;
  Module = onnx::importModel(Context, Path, Import, Weights, Diags);
  for (const onnx::NamedDim &D : Named)
    Report.Notes.push_back(
        "dim " + std::to_string(D.Axis) + " of input '" + printable(D.Input) +
        "' has no name in the model; it is called '" + printable(D.Name) +
        "', as in --dim " + printable(D.Name) + "=8");
  return static_cast<bool>(Module) && !Diags.hasErrors();
}

/// A file that --emit wrote. Its weights are in the model it names.
bool Compilation::loadText() {
  Bridge.setCode(Code::GraphText);
  auto Buffer = llvm::MemoryBuffer::getFile(Options.Model);
  if (!Buffer) {
    Diags.error(Code::ImportUnreadable)
        .message("cannot read '" + Options.Model +
                 "': " + Buffer.getError().message());
    return false;
  }
  if (std::string Why = reasonAgainstText((*Buffer)->getBuffer());
      !Why.empty()) {
    Diags.error(Code::GraphText).message(Why);
    return false;
  }
  Module = parseSourceFile<ModuleOp>(Options.Model, &Context);
  if (!Module || !checkTextModel(*Module, Diags))
    return false;
  IsPlan = !Module->getOps<plan::ProgramOp>().empty();
  if (IsPlan) {
    PassManager Passes(&Context);
    Passes.addPass(graph::createVerifyLaunchSizes());
    if (failed(Passes.run(*Module)))
      return false;
  }
  Bridge.setCode(Code::GraphRefused);
  return reloadWeights(*Module, Options.Model, Weights, Diags) &&
         checkNamedWeights(*Module, Weights, Diags);
}

bool Compilation::load() {
  collectRemarks(Context, Report.Remarks);
  if (StringRef(Options.Model).ends_with(".mlir"))
    return loadText() && checkPrecisionPatterns(*Module, Options, Diags);
  return loadOnnx(Options.Model) &&
         checkPrecisionPatterns(*Module, Options, Diags) &&
         runPasses("1-graph", addGraphPasses);
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

bool Compilation::runPasses(StringRef Room,
                            void (*Add)(OpPassManager &,
                                        const CompileOptions &)) {
  PassManager Passes(&Context);
  Passes.enableVerifier(Options.VerifyEach);
  if (!Options.IrDumpFolder.empty() && !dumpInto(Passes, Room))
    return false;
  Add(Passes, Options);
  return succeeded(Passes.run(*Module)) && !Diags.hasErrors();
}

bool Compilation::fold() {
  // A plan that is written as text computes its constants when it runs: their
  // bytes would be in no file that it could name.
  if (IsPlan || Options.Emit == Phase::Plan)
    return true;
  auto Compile = [&](ModuleOp Constants, TargetKernels &Into) {
    return Kernels.compileForNow(Constants, Into);
  };
  // Kernels that run now are none of the model's.
  size_t Remarks = Report.Remarks.size();
  LogicalResult Folded = foldConstants(*Module, Weights, Compile);
  Report.Remarks.resize(Remarks);
  if (failed(Folded))
    return false;
  PassManager Passes(&Context);
  Passes.addPass(createCanonicalizerPass());
  return succeeded(Passes.run(*Module));
}

bool Compilation::toKernels() {
  if (IsPlan)
    return true;
  Options.Rows =
      llvm::all_of(Targets, [](const target::Target *T) { return T->isGpu(); });
  bool Good = runPasses("2-kernels", addKernelPasses);
  warnOfIdlePatterns(Report.Remarks, Diags);
  // Regions are formed from the end of the model; people read from its start.
  std::reverse(Report.Remarks.begin(), Report.Remarks.end());
  return Good;
}

bool Compilation::compileKernels() {
  auto All = Kernels.compile(*Module, Targets);
  if (!All)
    return false;
  Compiled = std::move(*All);
  return true;
}

bool Compilation::emitted(Phase P) {
  if (Options.Emit != P)
    return false;
  std::string Text;
  if (P == Phase::Linalg) {
    Text = kernelsText(*Module);
  } else {
    keepNodeNamesOnly(*Module);
    if (!StringRef(Options.Model).ends_with(".mlir"))
      noteModel(*Module, llvm::sys::path::filename(Options.Model),
                fileDigest(Options.Model));
    Text = moduleText(*Module, /*Locations=*/P == Phase::Graph);
  }
  Report.Emitted.emplace_back(
      listingStem(Options) + "." + phaseName(P) + ".mlir", Text);
  return true;
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

bool Compilation::writeArtifact() {
  auto Contents = planToContents(*Module, Weights, Compiled, Options.Strip);
  if (!Contents) {
    Diags.error(Code::ArtifactContents)
        .message(llvm::toString(Contents.takeError()));
    return false;
  }
  Contents->Provenance.KpcVersion = Version;
  Contents->Provenance.ModelName =
      llvm::sys::path::filename(Options.Model).str();
  Contents->Provenance.ModelDigest = fileDigest(Options.Model);
  Contents->Provenance.Options = Options.CommandLine;
  if (!Options.Strip)
    Contents->Provenance.Properties = remarksAsProperties(Report.Remarks);
  for (const auto &[Key, Value] : Metadata)
    Contents->Provenance.Properties.emplace_back(
        std::string(MetadataPrefix) + Key, Value);
  for (const auto &[Name, Size] : graph::takenDims(*Module))
    Contents->Provenance.Properties.emplace_back(
        std::string(TakenDimPrefix) + Name, Size.str());
  int Threads = Options.Jobs ? Options.Jobs : availableCores();
  if (auto Error = artifact::write(*Contents, Options.Output, Threads)) {
    // The writer refuses what a reader would: then no folder is at fault.
    bool Invalid = StringRef(*Error).starts_with("the artifact would not be");
    Diags.error(Invalid ? Code::ArtifactContents : Code::ArtifactWrite)
        .message(*Error);
    return false;
  }
  for (const artifact::Weight &W : Contents->Weights)
    Report.WeightBytes += W.Length;
  uint64_t Size = 0;
  if (!llvm::sys::fs::file_size(Options.Output, Size))
    Report.ArtifactBytes = Size;
  return true;
}

uint64_t peakMemory() {
  uint64_t Kilobytes = 0;
  for (int Who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage Usage{};
    if (getrusage(Who, &Usage) == 0)
      Kilobytes += Usage.ru_maxrss;
  }
  return Kilobytes * 1024;
}

bool runPhases(Compilation &C) {
  if (!C.timed("targets", [&] { return C.chooseTargets(); }) ||
      !C.timed("import", [&] { return C.load(); }))
    return false;
  if (C.emitted(Phase::Graph))
    return true;
  if (!C.timed("fold", [&] { return C.fold(); }) ||
      !C.timed("graph", [&] { return C.toKernels(); }))
    return false;
  if (C.emitted(Phase::Linalg) || C.emitted(Phase::Plan))
    return true;
  if (!C.timed("kernels", [&] { return C.compileKernels(); }))
    return false;
  if (!C.Report.Emitted.empty())
    return true;
  return C.timed("artifact", [&] { return C.writeArtifact(); });
}

} // namespace

CompileReport kpc::compile(const CompileOptions &Options, Diagnostics &Diags) {
  Compilation C(Options, Diags);
  C.Report.Ok = runPhases(C) && !Diags.hasErrors();
  C.Report.PeakMemoryBytes = peakMemory();
  return std::move(C.Report);
}

bool kpc::check(const CompileOptions &Options, Diagnostics &Diags) {
  Compilation C(Options, Diags);
  // Every fault of the model is told even where a tool is missing.
  bool Ready = C.chooseTargets() && C.findTools();
  return C.load() && C.toKernels() && Ready && !Diags.hasErrors();
}
