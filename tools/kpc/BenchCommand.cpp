//===- BenchCommand.cpp - kpc bench ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Bench.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/report/Report.h"

#include <charconv>

namespace kpc::cli {

namespace {
struct BenchArguments {
  BenchOptions Options;
  int64_t Threads = 0;
  bool Json = false;
  std::string Baseline, TraceFile;
  std::string Report, Beside;
  std::optional<double> FailAbove; ///< percent
};
} // namespace

static double parsePercent(const std::string &Text) {
  std::string_view Number = Text;
  if (Number.ends_with("%"))
    Number.remove_suffix(1);
  double Value = 0;
  auto [End, Code] =
      std::from_chars(Number.data(), Number.data() + Number.size(), Value);
  if (Code != std::errc() || End != Number.data() + Number.size() ||
      !(Value >= 0 && Value <= 1e6))
    throw UsageError(
        kpc::Code::UsageValue,
        fmt::format("--fail-above: '{}' is not a percentage", printable(Text)),
        "write for instance 5%");
  return Value;
}

/// Says how it compares; true if it is too slow.
static bool tooSlow(const BenchArguments &Arguments, const Comparison &C,
                    Diagnostics &Diags) {
  double Slower = C.slowerPercent();
  std::string Text = fmt::format(
      "p50 is {:.4g} ms, in the baseline {:.4g} ms: {:.1f} % {}", C.New, C.Old,
      std::abs(Slower), Slower > 0 ? "slower" : "faster");
  if (!Arguments.FailAbove || Slower <= *Arguments.FailAbove) {
    if (!Arguments.Options.Choice.Quiet)
      fmt::print(stderr, "{}\n", Text);
    return false;
  }
  Diags.error(Code::BenchSlower)
      .message(fmt::format("{} ({} % is allowed)", Text, *Arguments.FailAbove));
  return true;
}

/// Nothing is measured for a file that cannot be written.
static bool checkOutput(const BenchArguments &Arguments, const char *Option,
                        const std::string &Path, Diagnostics &Diags) {
  if (Path.empty())
    return true;
  keepInput(Arguments.Options.Artifact, "the artifact itself", Option, Path);
  keepInput(Arguments.Baseline, "the baseline", Option, Path);
  keepInput(Arguments.Beside, "the other artifact", Option, Path);
  for (const InputOptions::Given &G : Arguments.Options.In.List)
    keepInput(G.File, "an input", Option, Path);
  // It is dropped again, and what was there stays.
  return FileSet(Diags).add(Path, "");
}

/// Measures the artifact that stands beside, and writes the page.
static bool writePage(const BenchArguments &Arguments, const BenchResult &R,
                      Diagnostics &Diags) {
  std::vector<ReportSide> Sides;
  std::optional<ReportSide> First =
      reportSide(Arguments.Options.Artifact, R, Diags);
  if (!First)
    return false;
  Sides.push_back(std::move(*First));
  if (!Arguments.Beside.empty()) {
    BenchOptions Other = Arguments.Options;
    Other.Artifact = Arguments.Beside;
    std::optional<Model> M =
        openModel(Other.Artifact, Diags, loadFlags(Other.Choice));
    if (!M)
      return false;
    std::optional<BenchResult> Found = measure(*M, Other, Diags);
    if (!Found)
      return false;
    std::optional<ReportSide> Second =
        reportSide(Other.Artifact, std::move(*Found), Diags);
    if (!Second)
      return false;
    Sides.push_back(std::move(*Second));
  }
  if (R.Device == "host") {
    Peaks Host = measureHostPeaks(Arguments.Options.Choice.Threads);
    for (ReportSide &S : Sides)
      S.Best = Host;
  }
  FileSet Files(Diags);
  return Files.add(Arguments.Report, reportPage(Sides)) && Files.keep();
}

/// The host's tensors are where they are computed on anyway.
static void warnOfIdleTransfers(const BenchOptions &Options,
                                const BenchResult &R, Diagnostics &Diags) {
  if (!Options.Transfers && R.Device == "host")
    Diags.warning(Code::UsageNoEffect)
        .message("--no-transfers: nothing is copied on the host")
        .hint("leave it out, or choose a GPU with --device");
}

static int benchCommand(BenchArguments &Arguments) {
  BenchOptions &Options = Arguments.Options;
  needFile(Options.Artifact, "bench", "kpc artifact");
  reproduceWith(Options.Artifact);
  crashForTesting(/*InWorker=*/false);
  if (Arguments.FailAbove && Arguments.Baseline.empty())
    throw UsageError(Code::UsageMissing,
                     "--fail-above needs a --baseline to compare with",
                     "give --baseline FILE, written by kpc bench --json");
  if (Arguments.Report.empty() && !Arguments.Beside.empty())
    throw UsageError(Code::UsageMissing, "--beside is for a --report",
                     "give --report FILE");
  if (Options.In.List.empty() && !Options.In.Others)
    Options.In.Others = Filling::Random;
  Options.Choice.Threads = static_cast<int>(Arguments.Threads);
  Diagnostics Diags;
  std::optional<Model> M =
      openModel(Options.Artifact, Diags, loadFlags(Options.Choice));
  if (!M)
    return finish(Diags);
  Options.ModelDigest = M->provenance("model_digest");
  std::optional<Json> Old;
  if (!Arguments.Baseline.empty()) {
    Old = readBaseline(Arguments.Baseline, Options, Diags);
    if (!Old)
      return finish(Diags);
  }
  if (!checkOutput(Arguments, "--trace", Arguments.TraceFile, Diags) ||
      !checkOutput(Arguments, "--report", Arguments.Report, Diags))
    return finish(Diags);
  // Nor is anything measured where one of the two cannot be.
  if (!Arguments.Beside.empty() && !openModel(Arguments.Beside, Diags))
    return finish(Diags);
  // Nor what the baseline cannot be compared with.
  std::function<bool(const BenchResult &)> Comparable;
  if (Old)
    Comparable = [&](const BenchResult &Soon) {
      return isComparable(Arguments.Baseline, *Old, benchJson(Options, Soon),
                          Diags);
    };
  std::optional<BenchResult> R = measure(*M, Options, Diags, Comparable);
  if (!R)
    return finish(Diags);
  warnOfIdleTransfers(Options, *R, Diags);
  if (std::optional<ArtifactFacts> Facts =
          readFacts(Options.Artifact, R->Dims, Diags)) {
    R->SlowPaths = slowPathsOf(*Facts, R->Target);
    setRooflines(*R, *Facts);
  }
  Json Found = benchJson(Options, *R);
  if (Arguments.Json)
    printJsonText(Found);
  else if (!Options.Choice.Quiet)
    fmt::print("{}", benchText(Options, *R));
  if (!Arguments.TraceFile.empty()) {
    FileSet Files(Diags);
    if (!Files.add(Arguments.TraceFile, R->Trace) || !Files.keep())
      return finish(Diags);
  }
  if (!Arguments.Report.empty() && !writePage(Arguments, *R, Diags))
    return finish(Diags);
  if (!Old || !tooSlow(Arguments, compareTimes(*Old, Found), Diags))
    return finish(Diags);
  finish(Diags);
  return BenchRegression;
}

void addBenchCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<BenchArguments>();
  BenchArguments *A = Arguments.get();
  BenchOptions &Options = A->Options;
  CLI::App &App = *Main.add_subcommand("bench", "measure an artifact");
  addFile(App, Options.Artifact, "artifact", "the file that compile wrote");
  addInputs(App, Options.In);
  addDevice(App, Options.Choice.Device);
  addNumber(App, "--warmup", Options.Warmup, 0, 1000000000,
            "runs before times are taken (default: 10)");
  addNumber(App, "--iterations", Options.Iterations, 1, 1000000000,
            "runs of each stream (default: as many as fit into --duration)");
  addSeconds(App, "--duration", Options.Seconds,
             "how long to measure (default: 3; 10 runs at least)");
  addNumber(App, "--streams", Options.Streams, 1, 256,
            "sessions that run side by side (default: 1)");
  App.add_flag_callback(
      "--no-transfers", [A] { A->Options.Transfers = false; },
      "GPU: inputs and outputs stay on the device");
  addNumber(App, "--threads", A->Threads, 1, 4096,
            "host: threads of each session (default: one per core)");
  addNvtx(App, Options.Choice);
  addCustomCode(App, Options.Choice);
  addText(App, "--baseline", "FILE",
          "compare with what bench --json wrote before",
          [A](const std::string &Text) { A->Baseline = Text; });
  addText(App, "--fail-above", "PERCENT",
          "exit code 3 if p50 is more than this slower than the baseline",
          [A](const std::string &Text) { A->FailAbove = parsePercent(Text); });
  addText(App, "--trace", "FILE",
          "write one run as Chrome trace events, for Perfetto",
          [A](const std::string &Text) { A->TraceFile = Text; });
  addText(App, "--report", "FILE", "write what was found as one page of HTML",
          [A](const std::string &Text) { A->Report = Text; });
  addText(App, "--beside", "ARTIFACT",
          "measure another artifact too, for the page",
          [A](const std::string &Text) { A->Beside = Text; });
  App.add_flag("--json", A->Json, "print JSON");
  App.add_flag("-q,--quiet", Options.Choice.Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return benchCommand(*Arguments); };
  });
}

} // namespace kpc::cli
