//===- RunCommand.cpp - kpc run -------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Inputs.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Signing.h"
#include "tools/kpc/TextTable.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace kpc::cli {

namespace {
struct RunArguments {
  std::string Artifact, OutputFolder;
  std::string SignedBy; ///< a file with a public key
  InputOptions In;
  DeviceChoice Choice;
  int64_t Threads = 0;
  bool VerifyWeights = false;
  double Timeout = 0;
};
} // namespace

static std::span<const uint8_t> bytesOf(const Tensor &T) {
  return {static_cast<const uint8_t *>(T.data()),
          static_cast<size_t>(std::max<int64_t>(T.bytes(), 0))};
}

static int64_t countOf(const Tensor &T) {
  int64_t Count = 1;
  for (int64_t D : T.dims())
    Count *= D;
  return Count;
}

static bool writeOutputs(const Outputs &Out, const RunArguments &Arguments,
                         Diagnostics &Diags) {
  const std::string &Folder = Arguments.OutputFolder;
  FileSet Files(Diags);
  if (!Files.makeFolder(Folder))
    return false;
  std::set<std::string> Names;
  for (const NamedTensor &T : Out) {
    auto Type = static_cast<ElementType>(T.Value.type());
    std::string Name = tensorfile::fileNameFor(T.Name) + ".npy";
    if (!Names.insert(Name).second) {
      Diags.error(Code::OutputUnwritable)
          .message(fmt::format("two outputs would both be written to '{}'",
                               printable(Name)))
          .hint("rename one of them in the model");
      return false;
    }
    std::string Path = Folder + "/" + Name;
    keepInput(Arguments.Artifact, "the artifact itself", "--output-dir", Path);
    for (const InputOptions::Given &G : Arguments.In.List)
      keepInput(G.File, "an input", "--output-dir", Path);
    std::vector<uint8_t> Unpacked;
    std::span<const uint8_t> Elements = tensorfile::npyElements(
        Type, countOf(T.Value), bytesOf(T.Value), Unpacked);
    if (!Files.add(Path, tensorfile::npyHeader(Type, T.Value.dims()), Elements))
      return false;
  }
  return Files.keep();
}

/// Whole numbers in full, as far as a double holds them.
static std::string numberText(double V) {
  bool Whole = std::fabs(V) < 0x1p53 && V == std::trunc(V);
  return Whole ? fmt::format("{:.0f}", V) : fmt::format("{:.6g}", V);
}

/// What a person wants to see first: all of a few numbers, else their range.
static std::string summaryOf(const Tensor &T) {
  constexpr size_t Few = 10;
  auto Values = tensorfile::toDoubles(static_cast<ElementType>(T.type()),
                                      bytesOf(T), countOf(T));
  if (!Values)
    return "";
  if (Values->size() <= Few) {
    std::string Out;
    for (double V : *Values)
      Out += (Out.empty() ? "" : " ") + numberText(V);
    return Out;
  }
  double Least = INFINITY, Most = -INFINITY, Sum = 0;
  size_t Nans = 0;
  for (double V : *Values) {
    if (std::isnan(V)) {
      ++Nans;
      continue;
    }
    Least = std::min(Least, V);
    Most = std::max(Most, V);
    Sum += V;
  }
  std::string Out;
  if (Nans < Values->size())
    Out = fmt::format("{} .. {}, mean {:.6g}", numberText(Least),
                      numberText(Most),
                      Sum / static_cast<double>(Values->size() - Nans));
  if (Nans)
    Out += fmt::format("{}{} NaN", Out.empty() ? "" : ", ", Nans);
  return Out;
}

static void printOutputs(const Outputs &Out) {
  TextTable Table("lll");
  for (const NamedTensor &T : Out)
    Table.row({printable(T.Name),
               tensorfile::typeAndDims(static_cast<ElementType>(T.Value.type()),
                                       T.Value.dims()),
               summaryOf(T.Value)});
  fmt::print("{}", Table.text());
}

static int runCommand(RunArguments &Arguments) {
  needFile(Arguments.Artifact, "run", "kpc artifact");
  reproduceWith(Arguments.Artifact);
  crashForTesting(/*InWorker=*/false);
  Arguments.Choice.Threads = static_cast<int>(Arguments.Threads);
  Diagnostics Diags;
  uint32_t Checks = 0;
  if (Arguments.VerifyWeights)
    Checks |= KPC_LOAD_VERIFY_WEIGHTS;
  Checks |= loadFlags(Arguments.Choice);
  std::optional<Model> M =
      openModel(Arguments.Artifact, Diags, Checks, Arguments.SignedBy);
  if (!M)
    return finish(Diags);
  std::optional<Inputs> In = makeInputs(*M, Arguments.In, Diags);
  if (!In) {
    int Result = finish(Diags);
    fmt::print(stderr, "{}", signatureText(*M));
    return Result;
  }
  std::optional<Session> S = openSession(*M, Arguments.Choice, Diags);
  if (!S)
    return finish(Diags);
  auto Start = std::chrono::steady_clock::now();
  std::optional<TimeLimit> Limit;
  Limit.emplace(Arguments.Timeout,
                "stopped: the run has taken as long as --timeout allows\n");
  Result<Outputs> Out = S->run(asRuntimeTensors(*In));
  Limit.reset();
  std::chrono::duration<double> Seconds =
      std::chrono::steady_clock::now() - Start;
  if (!Out) {
    report(Out.error(), Diags);
    return finish(Diags);
  }
  if (!Arguments.OutputFolder.empty() && !writeOutputs(*Out, Arguments, Diags))
    return finish(Diags);
  if (Arguments.Choice.Quiet)
    return finish(Diags);
  std::string Dims = dimsText(In->Dims);
  fmt::print("ran on {}{} in {}\n", S->target(),
             Dims.empty() ? "" : " with " + Dims, secondsText(Seconds.count()));
  printOutputs(*Out);
  if (!Arguments.OutputFolder.empty())
    fmt::print("wrote {} {} to {}\n", Out->size(),
               Out->size() == 1 ? "file" : "files", Arguments.OutputFolder);
  return finish(Diags);
}

void addRunCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<RunArguments>();
  CLI::App &App = *Main.add_subcommand("run", "run an artifact on inputs");
  addFile(App, Arguments->Artifact, "artifact", "the file that compile wrote");
  addInputs(App, Arguments->In);
  addText(App, "-o,--output-dir", "FOLDER",
          "write each output there as NAME.npy ('/' becomes '_')",
          [Arguments = Arguments.get()](const std::string &Text) {
            if (Text.empty())
              throw UsageError(Code::UsageValue, "--output-dir names no folder",
                               "give --output-dir FOLDER");
            Arguments->OutputFolder = Text;
          });
  addDevice(App, Arguments->Choice.Device);
  addNumber(App, "--threads", Arguments->Threads, 1, 4096,
            "host: threads (default: one per core)");
  addNvtx(App, Arguments->Choice);
  App.add_flag("--no-host-code", Arguments->Choice.NoHostCode,
               "never run native host code of the artifact, which may do "
               "whatever kpc may: for files of unknown makers");
  addCustomCode(App, Arguments->Choice);
  App.add_flag("--verify-weights", Arguments->VerifyWeights,
               "read all weights and compare them with their digest (the rest "
               "of the file is compared whenever it is loaded)");
  addSignedBy(App, Arguments->SignedBy);
  addSeconds(App, "--timeout", Arguments->Timeout,
             "end a run that takes longer, with exit code 1");
  addNumber(App, "--max-iterations", Arguments->Choice.MaxIterations, 1,
            INT32_MAX,
            "fail where the data has not ended a loop without a trip count by "
            "then (default: 10000000)");
  App.add_flag("-q,--quiet", Arguments->Choice.Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return runCommand(*Arguments); };
  });
}

} // namespace kpc::cli
