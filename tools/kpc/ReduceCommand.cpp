//===- ReduceCommand.cpp - kpc reduce -------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/workers/Subprocess.h"
#include "runtime/format/Sha256.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Interrupt.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Progress.h"
#include "tools/kpc/Reduce.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Say.h"

#include <chrono>
#include <filesystem>
#include <regex>

namespace kpc::cli {

using ::onnx::ModelProto;
using Clock = std::chrono::steady_clock;

namespace {
struct ReduceArguments {
  std::string Model, Output, Check, Match;
  double Seconds = 300, CheckSeconds = 60;
  bool Quiet = false;
};

/// How the command ended, as far as it must stay so.
struct Outcome {
  std::string End;  ///< "exit code 1", "signal 11 (…)"
  std::string Code; ///< the first error code of kpc's that it printed
  bool Matches = false;
  bool operator==(const Outcome &) const = default;
};

class Checker {
public:
  Checker(const ReduceArguments &Arguments, const std::string &Folder)
      : Arguments(Arguments),
        Path(Folder + "/" +
             std::filesystem::path(Arguments.Model).filename().string()) {}

  std::optional<Outcome> run(const ModelProto &Model, Diagnostics &Diags);
  /// Whether a model ends the command as the first one did.
  bool endsAlike(const ModelProto &Model);

  Outcome First;
  size_t Runs = 0;
  std::string Output; ///< of the last run

private:
  const ReduceArguments &Arguments;
  std::string Path;
  std::map<std::string, bool> Known; ///< by the model's digest
};
} // namespace

/// `{}` is the model; without one, it is the last argument.
static std::string commandFor(const std::string &Check,
                              const std::string &Path) {
  std::string Command = Check, Quoted = shellQuoted(Path);
  size_t At = Command.find("{}");
  if (At == std::string::npos)
    return Command + " " + Quoted;
  for (; At != std::string::npos; At = Command.find("{}", At + Quoted.size()))
    Command.replace(At, 2, Quoted);
  return Command;
}

std::optional<Outcome> Checker::run(const ModelProto &Model,
                                    Diagnostics &Diags) {
  std::string Error;
  if (!writeOnnx(Model, Path, Error)) {
    Diags.error(Code::OutputUnwritable).message(Error);
    return std::nullopt;
  }
  ++Runs;
  ProcessResult R =
      runProcess({"/bin/sh", "-c", commandFor(Arguments.Check, Path)}, {},
                 {Arguments.CheckSeconds, 0});
  Outcome O;
  O.End = R.describe();
  Output = R.Err + R.Out;
  static const std::regex Codes("error\\[(KPC-[A-Z][0-9]{4})\\]");
  if (std::smatch Found; std::regex_search(Output, Found, Codes))
    O.Code = Found[1];
  O.Matches = Output.find(Arguments.Match) != std::string::npos;
  return O;
}

bool Checker::endsAlike(const ModelProto &Model) {
  std::string Bytes;
  if (!Model.SerializePartialToString(&Bytes))
    return false;
  std::string Digest =
      format::toHex(format::Sha256::of(Bytes.data(), Bytes.size())).data();
  if (auto It = Known.find(Digest); It != Known.end())
    return It->second;
  Diagnostics Ignored;
  std::optional<Outcome> O = run(Model, Ignored);
  return Known[Digest] = O && *O == First;
}

/// As a model declares it.
static ::onnx::ValueInfoProto protoOf(const onnx::ValueInfo &V) {
  ::onnx::ValueInfoProto Info;
  Info.set_name(V.Name);
  auto &Type = *Info.mutable_type()->mutable_tensor_type();
  Type.set_elem_type(static_cast<int32_t>(V.Type));
  if (!V.Shape)
    return Info;
  auto &Shape = *Type.mutable_shape();
  for (const onnx::Dim &D : *V.Shape) {
    auto &Dim = *Shape.add_dim();
    if (const auto *Number = std::get_if<int64_t>(&D))
      Dim.set_dim_value(*Number);
    else if (const auto *Name = std::get_if<std::string>(&D))
      Dim.set_dim_param(*Name);
  }
  return Info;
}

/// What kpc's import finds out, where the model does not say it.
static OnnxParts::Values typesOf(const ModelProto &Model,
                                 const std::string &Path) {
  OnnxParts::Values Types;
  std::string Error;
  CompileOptions Options;
  Options.Model = Path;
  if (!writeOnnx(Model, Path, Error))
    return Types;
  for (const auto &[Name, V] : valueTypes(Options))
    Types.emplace(Name, protoOf(V));
  return Types;
}

static std::string nodesText(const ModelProto &Model) {
  int Nodes = Model.graph().node_size();
  return fmt::format("{} {}, {}", Nodes, Nodes == 1 ? "node" : "nodes",
                     bytesText(Model.ByteSizeLong()));
}

static std::string defaultOutput(const std::string &Model) {
  std::filesystem::path Path(Model);
  return (Path.parent_path() / (Path.stem().string() + ".reduced.onnx"))
      .string();
}

static int reduceCommand(ReduceArguments &Arguments) {
  needFile(Arguments.Model, "reduce", "model");
  if (Arguments.Check.empty())
    throw UsageError(Code::UsageMissing,
                     "kpc reduce needs a command that tells what fails",
                     "give --check 'kpc check {}', where {} is the model");
  ModelFile Source = lookAtModel(Arguments.Model);
  if (Source.Kind != ModelFile::Model || torch::isZipFile(Arguments.Model))
    throw UsageError(Code::UsageNotAvailable,
                     fmt::format("kpc reduce: '{}' is no ONNX model",
                                 printable(Arguments.Model)),
                     "export the model to ONNX to make it smaller");
  if (Arguments.Output.empty())
    Arguments.Output = defaultOutput(Arguments.Model);
  keepInputs(Source, "--output", Arguments.Output);
  reproduceWith(Source);
  crashForTesting(/*InWorker=*/false);

  Diagnostics Diags;
  Diags.setFile(Arguments.Model);
  std::optional<ModelProto> Model = readOnnx(Arguments.Model, Diags);
  TemporaryFolder Folder;
  if (Folder.path().empty())
    Diags.error(Code::OutputUnwritable).message(Folder.error());
  if (!Model || Diags.hasErrors() ||
      !takeDataIn(*Model, folderOf(Arguments.Model), Diags))
    return finish(Diags);

  PolledInterrupts Polled;
  auto End =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(Arguments.Seconds));
  Checker Check(Arguments, Folder.path());
  std::optional<Outcome> First = Check.run(*Model, Diags);
  if (!First)
    return finish(Diags);
  Check.First = *First;
  if (First->End == "exit code 127" || !First->Matches) {
    Diags.error(Code::ReduceCheck)
        .message(First->Matches
                     ? fmt::format("--check: a command was not found: {}",
                                   printable(Check.Output, 200))
                     : fmt::format("--match: what the command prints on the "
                                   "model itself does not hold '{}'",
                                   printable(Arguments.Match)));
    return finish(Diags);
  }
  std::string Before = nodesText(*Model);
  Progress Bar(Arguments.Quiet);
  size_t Nodes = size_t(Model->graph().node_size());
  bool OutOfTime = false;
  Reduction How;
  How.Fails = [&](const ModelProto &Candidate) {
    bool Alike = Check.endsAlike(Candidate);
    if (Alike)
      Bar.show("nodes gone",
               Nodes - std::min(Nodes, size_t(Candidate.graph().node_size())),
               Nodes);
    return Alike;
  };
  std::string Probe = Folder.path() + "/types.onnx";
  How.TypesOf = [&](const ModelProto &M) { return typesOf(M, Probe); };
  How.Stop = [&] {
    OutOfTime = OutOfTime || Clock::now() >= End;
    return OutOfTime || interrupted();
  };
  ModelProto Small = reduced(std::move(*Model), How);
  Bar.clear();

  std::string Bytes;
  FileSet Files(Diags);
  if (!Small.SerializePartialToString(&Bytes) ||
      !Files.add(Arguments.Output, Bytes) || !Files.keep())
    return finish(Diags);
  if (!Arguments.Quiet) {
    if (OutOfTime)
      say(fmt::format("note: {} are over; a longer --timeout may find a "
                      "smaller one\n",
                      secondsText(Arguments.Seconds)));
    fmt::print("{} became {}, in {} runs of the command\n", Before,
               nodesText(Small), Check.Runs);
    fmt::print("each ends with {}{}\n", First->End,
               First->Code.empty() ? "" : " and " + First->Code);
    fmt::print("wrote {}\n", Arguments.Output);
  }
  int Result = finish(Diags);
  return interrupted() ? int(Interrupted) : Result;
}

void addReduceCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<ReduceArguments>();
  ReduceArguments *A = Arguments.get();
  CLI::App &App = *Main.add_subcommand(
      "reduce", "make an ONNX model smaller while a command still fails on it");
  addFile(App, A->Model, "model", "model.onnx");
  addText(App, "--check", "COMMAND",
          "for the shell, {} is the model: a smaller one must end it with the "
          "same exit code, and the same first error code of kpc's",
          [A](const std::string &Text) { A->Check = Text; });
  addText(App, "--match", "TEXT", "what the command prints must hold this, too",
          [A](const std::string &Text) { A->Match = Text; });
  addText(App, "-o,--output", "FILE",
          "what to write (default: the model's name with .reduced.onnx)",
          [A](const std::string &Text) { A->Output = Text; });
  addSeconds(App, "--timeout", A->Seconds,
             "end the search after this time with what was found (default: "
             "300)");
  addSeconds(App, "--check-timeout", A->CheckSeconds,
             "end a command that takes longer, which is an ending as well "
             "(default: 60)");
  App.add_flag("-q,--quiet", A->Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return reduceCommand(*Arguments); };
  });
}

} // namespace kpc::cli
