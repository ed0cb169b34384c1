//===- CompileCommand.cpp - kpc compile -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"
#include "compiler/target/Target.h"
#include "compiler/workers/WorkerPool.h"
#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/AutoPrecision.h"
#include "tools/kpc/CompileJson.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/Limits.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/PrecisionPlan.h"
#include "tools/kpc/Progress.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Say.h"
#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct CompileArguments {
  CompileOptions Options;
  AutoArguments Auto;
  CacheOption Cache;
  /// Of --jobs; none: one per core.
  int64_t Jobs = -1;
  int64_t Variants = 4, Optimization = 2;
  bool Quiet = false, PrintPipeline = false, Timing = false;
  bool Explain = false, Json = false;
  ProgressStyle Style = ProgressStyle::Auto;
  std::string Remarks; ///< a regular expression; empty: not asked for
  std::string RemarksFile;
};
} // namespace

/// "models/bert.graph.mlir" -> "bert".
static std::string stemOf(const std::string &Path) {
  std::string Name = Path.substr(Path.rfind('/') + 1);
  for (std::string_view Ending : {".graph.mlir", ".plan.mlir", ".mlir", ".onnx",
                                  ".pt2", ".pt", ".jit", ".ts"})
    if (Name.size() > Ending.size() && Name.ends_with(Ending))
      return Name.substr(0, Name.size() - Ending.size());
  return Name;
}

static void printReport(const CompileArguments &Arguments,
                        const CompileReport &Report, double Seconds) {
  for (const TargetReport &T : Report.Targets) {
    // Without ptxas, and for portable targets, there is PTX alone.
    std::string Code =
        T.CodeBytes ? bytesText(T.CodeBytes) + " of code" : "PTX";
    fmt::print("  {:<16} {} {}, {} {}, {}", T.Name, T.Kernels,
               T.Kernels == 1 ? "kernel" : "kernels", T.Launches,
               T.Launches == 1 ? "launch" : "launches", Code);
    // What a further target costs in the file beside its code.
    if (&T != &Report.Targets.front() && !Arguments.Options.Emit)
      fmt::print(", {} of weights added", bytesText(T.AddedWeightBytes));
    if (T.CacheHits)
      fmt::print(", {} from the cache", T.CacheHits);
    fmt::print("\n");
  }
  if (!Arguments.Options.Emit)
    fmt::print("wrote {} ({}, {} of it weights) in {}; peak memory {}\n",
               Arguments.Options.Output, bytesText(Report.ArtifactBytes),
               bytesText(Report.WeightBytes), secondsText(Seconds),
               bytesText(Report.PeakMemoryBytes));
}

static void printTiming(std::FILE *To, const CompileReport &Report,
                        double Seconds) {
  fmt::print(To, "time by phase:\n");
  for (const auto &[Phase, Spent] : Report.Timing)
    fmt::print(To, "  {:<24} {:>9.1f} ms {:>5.1f} %\n", Phase, Spent * 1e3,
               Seconds > 0 ? Spent / Seconds * 100 : 0);
  fmt::print(To, "  {:<24} {:>9.1f} ms\n", "in all", Seconds * 1e3);
}

/// What builders had to choose from. The one that was taken is marked.
static void printSchedules(std::FILE *To, const CompileReport &Report) {
  for (const KernelSchedules &K : Report.Schedules) {
    bool At = !K.Costs.empty() && !K.At.empty();
    fmt::print(To, "{} on {}{}{}{}:\n", printable(K.Kernel), K.Target,
               K.Forced ? ", by --schedule" : "",
               K.Where.empty() ? "" : ", where " + printable(K.Where, 400),
               At ? ", costs at " + printable(K.At, 400) : "");
    for (const std::string &Cost : K.Costs)
      fmt::print(To, "  {} {}\n", Cost.starts_with(K.Chosen + ":") ? '*' : ' ',
                 Cost);
    if (K.Costs.empty())
      fmt::print(To, "  * {}\n", K.Chosen);
  }
  if (Report.Schedules.empty())
    fmt::print(To, "no kernel's schedule was chosen by its cost\n");
}

/// Throws UsageError where an output would be written over an input or another
/// output.
static void checkOutput(const CompileArguments &Arguments,
                        const ModelFile &Source, const std::string &Option,
                        const std::string &Path) {
  keepInputs(Source, Option, Path);
  keepInput(Arguments.Options.ScheduleFile, "the file of schedules", Option,
            Path);
  const AutoArguments &Auto = Arguments.Auto;
  keepInput(Auto.Plan, "the plan of precisions", Option, Path);
  keepInput(Auto.Data, "the data", Option, Path);
  keepInput(Arguments.Options.Calibration, "the calibration", Option, Path);
  if (Option != "--remarks-file")
    keepApart(Option, Path, "--remarks-file", Arguments.RemarksFile);
  if (Option != "--precision-plan-out")
    keepApart(Option, Path, "--precision-plan-out", Auto.PlanOut);
}

/// One text goes where -o says (`-`: standard output), several into the folder
/// that -o names.
static bool writeEmitted(const CompileArguments &Arguments,
                         const CompileReport &Report, const ModelFile &Source,
                         bool OutputGiven, Diagnostics &Diags) {
  const std::string &Output = Arguments.Options.Output;
  if (OutputGiven && Output == "-") {
    for (const auto &[Name, Text] : Report.Emitted)
      fmt::print("{}", Text);
    return true;
  }
  FileSet Files(Diags);
  std::vector<std::string> Paths;
  bool Several = Report.Emitted.size() > 1;
  if (OutputGiven && Several && !Files.makeFolder(Output))
    return false;
  for (const auto &[Name, Text] : Report.Emitted) {
    std::string Path = !OutputGiven ? Name
                       : Several    ? Output + "/" + Name
                                    : Output;
    checkOutput(Arguments, Source, OutputGiven ? "--output" : "--emit", Path);
    if (!Files.add(Path, Text))
      return false;
    Paths.push_back(Path);
  }
  if (!Files.keep())
    return false;
  if (!Arguments.Quiet)
    for (const std::string &Path : Paths)
      fmt::print("wrote {}\n", Path);
  return true;
}

static bool tellRemarks(const CompileArguments &Arguments,
                        const CompileReport &Report, Diagnostics &Diags) {
  bool Shown = !Arguments.Remarks.empty();
  std::vector<Remark> Chosen =
      matchingRemarks(Report.Remarks, Shown ? Arguments.Remarks : ".");
  if (Shown && !Arguments.Quiet)
    for (const Remark &R : Chosen)
      say(fmt::format("remark: {} [{}]\n", printable(textOf(R), 400),
                      R.Category));
  if (Arguments.RemarksFile.empty())
    return true;
  FileSet Files(Diags);
  return Files.add(Arguments.RemarksFile, remarksAsYaml(Chosen)) &&
         Files.keep();
}

/// Drivers load no machine code of a newer ptxas than they are.
static void noteDrivers(const ArtifactFacts &Facts) {
  for (const TargetFacts &T : Facts.Targets) {
    target::Lookup Found = target::lookup(T.Name);
    if (T.Gpu && Found && T.LeastDriver > Found.Targets.front()->LeastDriver)
      say(fmt::format(
          "note: {} needs {} where it runs, because of the ptxas that "
          "was used; the target alone needs {}\n",
          T.Name, driverText(T.LeastDriver),
          driverText(Found.Targets.front()->LeastDriver)));
  }
}

/// Weights that are far more than the model's: constants that grew when they
/// were computed.
static void noteGrownWeights(const CompileReport &Report,
                             const ModelFile &Source) {
  constexpr uint64_t Times = 2, Least = uint64_t(16) << 20;
  uint64_t Model = 0;
  std::vector<std::string> Files = Source.DataFiles;
  Files.push_back(Source.Path);
  for (const std::string &File : Files) {
    std::error_code Failed;
    uint64_t Size = std::filesystem::file_size(File, Failed);
    Model += Failed ? 0 : Size;
  }
  if (Model && Report.WeightBytes > Model * Times + Least)
    fmt::print(stderr,
               "note: the weights take {}, the model {}: `kpc inspect "
               "--weights` lists them\n",
               bytesText(Report.WeightBytes), bytesText(Model));
}

/// What only the finished artifact shows.
static void tellOfArtifact(const CompileOptions &Options,
                           const CompileReport &Report) {
  bool Gpu = std::any_of(Report.Targets.begin(), Report.Targets.end(),
                         [](const TargetReport &T) { return T.Assembled; });
  if (Options.Emit || !Gpu)
    return;
  Diagnostics Ignored;
  if (auto Facts = readFacts(Options.Output, {}, Ignored))
    noteDrivers(*Facts);
}

/// Notes speak of the targets: of no use where none was compiled for, because
/// the model cannot be read or --emit ended the work above the kernels.
static bool concernsTargets(const CompileReport &Report,
                            const Diagnostics &Diags) {
  return !Report.Targets.empty() ||
         std::any_of(Diags.all().begin(), Diags.all().end(),
                     [](const Diagnostic &D) {
                       return !D.Target.empty() ||
                              codeInfo(D.Id).Text.starts_with("KPC-T");
                     });
}

static int printFault(const CompileReport &Report) {
  if (!Report.Reproducer.empty())
    fmt::print(stderr, "  reproducer: {}\n", Report.Reproducer);
  if (!Report.ReplayCommand.empty())
    fmt::print(stderr, "  replay: {}\n", Report.ReplayCommand);
  return InternalFault;
}

static int sayInterrupted() {
  fmt::print(stderr, "interrupted: nothing was written\n");
  return Interrupted;
}

/// What ends the work before the model is compiled.
static int tellErrors(const CompileArguments &Arguments,
                      const Diagnostics &Diags) {
  if (Arguments.Json)
    printCompileJson(Arguments.Options, CompileReport(), Diags, 0);
  else
    say(Diags.text());
  return exitCode(!Diags.hasErrors(), Diags) ? exitCode(false, Diags)
                                             : int(InputAtFault);
}

static int compileCommand(CompileArguments &Arguments) {
  CompileOptions &Options = Arguments.Options;
  if (Arguments.PrintPipeline) {
    fmt::print("{}\n", pipelineText(Options));
    return Done;
  }
  needFile(Options.Model, "compile", "model");
  if (std::string Why = Arguments.Remarks.empty()
                            ? ""
                            : reasonAgainstPattern(Arguments.Remarks);
      !Why.empty())
    throw UsageError(Code::UsageValue,
                     fmt::format("--remarks: '{}' is not a regular expression",
                                 printable(Arguments.Remarks)),
                     Why);
  bool OutputGiven = !Options.Output.empty();
  if (!OutputGiven)
    Options.Output = stemOf(Options.Model) + ".kpc";
  if (Options.Output == "-" && !Options.Emit)
    throw UsageError(Code::UsageNotAvailable,
                     "--output: an artifact cannot be written to the standard "
                     "output: its digest, at the start, is written last",
                     "name a file; with --emit, -o - prints text");
  if (Arguments.Json && Options.Emit)
    throw UsageError(Code::UsageNotAvailable,
                     "--json: it describes an artifact, and --emit writes none",
                     "leave one of the two out");
  ModelFile Source = lookAtModel(Options.Model);
  reproduceWith(Source);
  refuseOptions(Source, Options);
  needAutoOptions(Arguments.Auto, Options);
  Diagnostics Diags;
  if (!Arguments.Auto.Plan.empty() &&
      !usePrecisionPlan(Arguments.Auto.Plan, Options, Diags))
    return tellErrors(Arguments, Diags);
  if (Arguments.Auto.Asked)
    Options.Compute = Precision::Fp16; // what is chosen among, for checks
  needPrecision(Options);
  checkOutput(Arguments, Source, "--output", Options.Output);
  checkOutput(Arguments, Source, "--remarks-file", Arguments.RemarksFile);
  checkOutput(Arguments, Source, "--precision-plan-out",
              Arguments.Auto.PlanOut);
  Options.Jobs = Arguments.Jobs < 0    ? 0
                 : Arguments.Jobs == 0 ? CompileOptions::InThisProcess
                                       : static_cast<int>(Arguments.Jobs);
  if (Options.Jobs) // else a thread for each core
    llvm::parallel::strategy =
        llvm::hardware_concurrency(unsigned(std::max(Options.Jobs, 1)));
  Options.Variants = static_cast<unsigned>(Arguments.Variants);
  Options.HostOptimization = static_cast<unsigned>(Arguments.Optimization);
  Options.CacheFolder = Arguments.Cache.folder();
  Options.ReproducerFolder = reproducerFolder();
  Options.WorkerCommand = {thisExecutable(), std::string(WorkerArgument)};
  Options.Cancelled = interrupted;

  PolledInterrupts Polled;
  crashForTesting(/*InWorker=*/false);
  auto Start = std::chrono::steady_clock::now();
  if (isArtifact(Source, Diags))
    return tellErrors(Arguments, Diags);
  std::vector<std::string> Notes;
  if (Arguments.Auto.Asked) {
    EnforcedLimits Enforced(Options.Limits);
    bool Fault = false;
    Diags.setFile(Options.Model);
    if (!chooseAuto(Arguments.Auto, Options, Arguments.Quiet || Arguments.Json,
                    Diags, Notes, Fault)) {
      if (interrupted())
        return sayInterrupted();
      int Code = tellErrors(Arguments, Diags);
      return Fault ? int(InternalFault) : Code;
    }
  }
  Options.CommandLine = provenanceText(Options);
  Progress Bar(Arguments.Quiet, Arguments.Style);
  Options.Progress = [&Bar](std::string_view What, size_t Done, size_t Total) {
    Bar.show(What, Done, Total);
  };
  CompileReport Report;
  {
    EnforcedLimits Enforced(Options.Limits);
    Report = compile(Options, Diags);
  }
  Report.Notes.insert(Report.Notes.begin(), Notes.begin(), Notes.end());
  std::chrono::duration<double> Seconds =
      std::chrono::steady_clock::now() - Start;
  Bar.clear();
  if (!Report.Ok && interrupted())
    return sayInterrupted();
  bool Good = Report.Ok;
  if (Good && Options.Emit)
    Good = writeEmitted(Arguments, Report, Source, OutputGiven, Diags);
  if (Good)
    Good = tellRemarks(Arguments, Report, Diags);
  if (Arguments.Json) {
    printCompileJson(Options, Report, Diags, Seconds.count());
    return Report.Internal ? int(InternalFault) : exitCode(Good, Diags);
  }
  say(Diags.text());
  if (!Arguments.Quiet && concernsTargets(Report, Diags))
    for (const std::string &Note : Report.Notes)
      say(fmt::format("note: {}\n", Note));
  if (Report.Internal)
    return printFault(Report);
  if (!Good)
    return exitCode(Good, Diags);
  if (!Arguments.Quiet) {
    tellOfArtifact(Options, Report);
    if (Source.Kind == ModelFile::Model)
      noteGrownWeights(Report, Source);
  }
  // What goes to standard output must not get between lines of IR.
  bool TextOnOutput = Options.Emit && OutputGiven && Options.Output == "-";
  if (!Arguments.Quiet && !TextOnOutput)
    printReport(Arguments, Report, Seconds.count());
  if (Arguments.Explain)
    printSchedules(TextOnOutput ? stderr : stdout, Report);
  if (Arguments.Timing)
    printTiming(TextOnOutput ? stderr : stdout, Report, Seconds.count());
  return Done;
}

static void addRemarkOptions(CLI::App &App, CompileArguments &Arguments,
                             const char *Group) {
  // A flag with a value, so that the model's name behind it is not taken for
  // one.
  App.add_flag("--remarks{.}", Arguments.Remarks,
               "print what was fused, what was not, and why; --remarks=REGEX: "
               "those that match")
      ->group(Group);
  addText(
      App, "--remarks-file", "FILE",
      "write the remarks as YAML, in the form of LLVM's optimisation "
      "records",
      [&Arguments](const std::string &Text) { Arguments.RemarksFile = Text; })
      ->group(Group);
}

static void addScheduleOptions(CLI::App &App, CompileArguments &Arguments,
                               const char *Group) {
  App.add_flag("--explain", Arguments.Explain,
               "print the best schedules of each GPU kernel that is built by "
               "costs, with the parts of these")
      ->group(Group);
  addText(App, "--schedule", "FILE",
          "take the schedules that the file gives kernels: lines of KERNEL = "
          "SCHEDULE, as --explain prints them",
          [&Arguments](const std::string &Text) {
            Arguments.Options.ScheduleFile = Text;
          })
      ->group(Group);
  addNumber(App, "--variants", Arguments.Variants, 1, 16,
            "kernels that a region may have on a GPU, each for a part of the "
            "dynamic sizes (default: 4; 1: the one for the optimum serves all)")
      ->group(Group);
}

static void addDebugOptions(CLI::App &App, CompileArguments &Arguments) {
  CompileOptions &Options = Arguments.Options;
  const char *Group = "Looking inside";
  addChoice(
      App, "--emit", phaseNames(),
      "write this level as text instead of an artifact; -o - prints it",
      [&Options](const std::string &Word) { Options.Emit = phaseByName(Word); })
      ->group(Group);
  App.add_flag("--print-pipeline", Arguments.PrintPipeline,
               "print the passes of each phase, as kpc-opt takes them")
      ->group(Group);
  addText(App, "--ir-dump-dir", "FOLDER", "write the IR after each pass there",
          [&Options](const std::string &Text) { Options.IrDumpFolder = Text; })
      ->group(Group);
  App.add_flag("--verify-each", Options.VerifyEach,
               "verify the IR after each pass")
      ->group(Group);
  App.add_flag("--timing", Arguments.Timing, "print the time of each phase")
      ->group(Group);
  addRemarkOptions(App, Arguments, Group);
  addScheduleOptions(App, Arguments, Group);
}

void addCompileCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<CompileArguments>();
  CompileOptions &Options = Arguments->Options;
  CLI::App &App =
      *Main.add_subcommand("compile", "compile a model into one file");
  addFile(App, Options.Model, "model",
          "model.onnx, model.pt2, model.pt of TorchScript, or a .graph.mlir or "
          ".plan.mlir that --emit "
          "wrote");
  addText(App, "-o,--output", "FILE",
          "what to write (default: the model's name with .kpc)",
          [&Options](const std::string &Text) { Options.Output = Text; });
  addModelOptions(App, Options, &Arguments->Auto.Asked);
  addAutoOptions(App, Arguments->Auto);
  addText(App, "--alias", "OUTPUT=INPUT",
          "compile only if the output may take the memory of the input, as a "
          "cache whose new rows are written in their places; repeatable",
          [&Options](const std::string &Text) { takeAlias(Text, Options); });
  addChoice(App, "--fallback", {"error", "host"},
            "what a target cannot do is an error (the default); host is not "
            "there yet",
            [](const std::string &Word) {
              if (Word == "host")
                throw UsageError(
                    Code::UsageNotAvailable,
                    "--fallback=host: this version has no host fallback",
                    "compile for the host with --arch host, or leave the "
                    "option out to see what the target lacks");
            });
  addNumber(App, "-j,--jobs", Arguments->Jobs, 0, 1024,
            "worker processes (default: one per core; 0: none, this process "
            "compiles the kernels)");
  addNumber(App, "-O,--optimize", Arguments->Optimization, 0, 2,
            "how far LLVM optimises code for the host (default: 2): 0 compiles "
            "fastest");
  addCache(App, Arguments->Cache);
  App.add_flag("--strip", Options.Strip, "leave PTX text out of the artifact");
  App.add_flag("--line-info", Options.LineInfo,
               "PTX names the lines of the kernels that --emit tile or nvvm "
               "writes (.loc)");
  App.add_flag("-q,--quiet", Arguments->Quiet, "print errors only");
  App.add_flag("--json", Arguments->Json,
               "print what came of it, and all diagnostics, as JSON");
  addChoice(App, "--progress", progressStyleNames(),
            "how to say what is done now: a bar, lines of text, or a JSON "
            "object a line (default: auto, a bar on a terminal, else lines)",
            [Arguments](const std::string &Word) {
              Arguments->Style = progressStyleByName(Word);
            });
  addDebugOptions(App, *Arguments);
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return compileCommand(*Arguments); };
  });
}

} // namespace kpc::cli
