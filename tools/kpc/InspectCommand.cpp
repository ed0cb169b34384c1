//===- InspectCommand.cpp - kpc inspect -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Zip.h"
#include "compiler/import/torchscript/Archive.h"
#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/Inputs.h"
#include "tools/kpc/InspectControls.h"
#include "tools/kpc/InspectModel.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Signing.h"
#include "tools/kpc/TextTable.h"
#include "tools/kpc/report/LaunchName.h"
#include "tools/kpc/report/Report.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct InspectArguments {
  std::string SignedBy; ///< a file with a public key
  std::string Artifact;
  std::map<std::string, int64_t> Dims;
  std::string Report, Times, Target;
  bool Json = false, Kernels = true, VerifyWeights = false, Remarks = false;
  bool Quiet = false, Weights = false, Precision = false;
};
} // namespace

static void printTargets(const Model &M, const ArtifactFacts &Facts) {
  TextTable Table("lrrrl");
  std::vector<kpc_target> Targets = M.targets();
  for (size_t I = 0; I < Targets.size(); ++I) {
    const TargetFacts &T = Facts.Targets[I];
    std::string Code = bytesText(T.ImageBytes);
    if (T.PtxBytes)
      Code += fmt::format(" + {} PTX", bytesText(T.PtxBytes));
    Table.row({T.Name,
               fmt::format("{} {}", T.Kernels.size(),
                           T.Kernels.size() == 1 ? "kernel" : "kernels"),
               fmt::format("{} steps", T.Steps), Code,
               fmt::format("runs on: {}", Targets[I].runs_on)});
  }
  fmt::print("targets:\n{}", Table.text());
}

static void printMemory(const ArtifactFacts &Facts, const shape::Bindings &Dims,
                        bool Verified) {
  std::string At = dimsText(Dims);
  fmt::print("memory{}:\n", At.empty() ? "" : " (" + At + ")");
  TextTable Table("lrl");
  Table.row({"file", bytesText(Facts.FileBytes)});
  Table.row({"weights", bytesText(Facts.WeightBytes),
             fmt::format("{} tensors{}", Facts.Weights,
                         Verified ? ", as their digest says" : "")});
  for (const auto &[Name, Bytes] : Facts.Libraries)
    Table.row({"custom code", Bytes ? bytesText(Bytes) : "-",
               printable(Name) + (Bytes ? "" : ", found when it is loaded") +
                   ", for the host; needs --allow-custom-code"});
  for (const TargetFacts &T : Facts.Targets)
    if (T.LiveBytes)
      Table.row({"workspace", bytesText(*T.LiveBytes),
                 fmt::format("{}, at least; {} without reuse", T.Name,
                             bytesText(*T.ValueBytes))});
  fmt::print("{}", Table.text());
}

/// What was computed when compiling is no tensor of the model's.
static std::string originOf(const WeightFacts &W) {
  return W.Name.find("folded#") == std::string::npos
             ? "of the model"
             : "computed when compiling";
}

static void printWeights(const ArtifactFacts &Facts) {
  TextTable Table("rlll");
  for (const WeightFacts &W : Facts.WeightList)
    Table.row(
        {bytesText(W.Bytes), W.Type, originOf(W), printable(W.Name, 100)});
  fmt::print("weights:\n{}", Table.text());
}

/// Up to four nodes by name.
static std::string nodesText(const KernelFacts &K) {
  constexpr size_t Shown = 4;
  std::string Out;
  for (size_t I = 0; I < K.Nodes.size() && I < Shown; ++I)
    Out += (I ? ", " : "") + printable(K.Nodes[I], 60);
  if (K.Nodes.size() > Shown)
    Out += fmt::format(" and {} more", K.Nodes.size() - Shown);
  return Out;
}

static std::string numberOrDash(int Number) {
  return Number < 0 ? "-" : std::to_string(Number);
}

/// "1.2M"; "-" where it is not known.
static std::string countText(std::optional<int64_t> Count) {
  if (!Count)
    return "-";
  auto Value = static_cast<double>(*Count);
  for (const char *Unit : {"", "K", "M", "G"}) {
    if (Value < 1000)
      return *Unit ? fmt::format("{:.3g}{}", Value, Unit)
                   : std::to_string(*Count);
    Value /= 1000;
  }
  return fmt::format("{:.4g}T", Value);
}

/// What all launches of a kernel take together; none where one is not known.
static std::optional<int64_t> sumOver(const TargetFacts &T, size_t Kernel,
                                      std::optional<int64_t> LaunchFacts::*Of) {
  int64_t All = 0;
  for (const LaunchFacts &L : T.Launches)
    if (L.Kernel == Kernel && !L.LeftOut &&
        (!(L.*Of) || __builtin_add_overflow(All, *(L.*Of), &All)))
      return std::nullopt;
  return All;
}

static void printKernels(const TargetFacts &T, const shape::Bindings &Dims) {
  auto Any = [&](auto Has) {
    return std::any_of(T.Kernels.begin(), T.Kernels.end(), Has);
  };
  bool Types = Any([](const KernelFacts &K) { return !K.Precision.empty(); });
  bool Registers = Any([](const KernelFacts &K) { return K.Registers >= 0; });
  bool Parts = Any([](const KernelFacts &K) { return !K.Where.empty(); });
  std::string At = dimsText(Dims);
  fmt::print("kernels of {}{}:\n", T.Name, At.empty() ? "" : " (" + At + ")");
  std::string Sides = "ll";
  std::vector<std::string> Head = {"kernel", "family"};
  auto Column = [&](char Side, const char *Title) {
    Sides += Side;
    Head.push_back(Title);
  };
  if (Types)
    Column('l', "type");
  Column('r', "launches");
  Column('r', "FLOP");
  Column('r', "bytes");
  if (Registers) {
    Column('r', "registers");
    Column('r', "spilled");
  }
  if (Parts)
    Column('l', "where");
  Column('l', "nodes");
  TextTable Table(Sides);
  Table.row(Head);
  for (size_t I = 0; I < T.Kernels.size(); ++I) {
    const KernelFacts &K = T.Kernels[I];
    std::vector<std::string> Row = {printable(K.Name, 60), K.Family};
    if (Types)
      Row.push_back(K.Precision);
    Row.push_back(std::to_string(K.Launches));
    Row.push_back(countText(sumOver(T, I, &LaunchFacts::Flops)));
    Row.push_back(countText(sumOver(T, I, &LaunchFacts::Bytes)));
    if (Registers) {
      Row.push_back(numberOrDash(K.Registers));
      Row.push_back(numberOrDash(K.SpillBytes));
    }
    if (Parts)
      Row.push_back(printable(K.Where));
    Row.push_back(nodesText(K));
    Table.row(Row);
  }
  fmt::print("{}", Table.text());
}

static void printRemarks(const RemarkFacts &R, bool All) {
  auto Print = [&](const char *Title, const std::vector<std::string> &List) {
    fmt::print("{}:\n", Title);
    for (const std::string &Text : List)
      fmt::print("  {}\n", printable(Text, 400));
  };
  if (!All)
    fmt::print("remarks: {} of what was done, {} of what was not (--remarks "
               "lists them)\n",
               R.Made.size(), R.Refused.size());
  if (All && !R.Made.empty())
    Print("done", R.Made);
  if (All && !R.Refused.empty())
    Print("not done", R.Refused);
}

static void printPrecision(const std::string &Table, bool All) {
  if (All)
    fmt::print("precision of layers:\n{}",
               Table.empty() ? "  not chosen by --precision auto\n" : Table);
  else if (!Table.empty())
    fmt::print("precision of layers: chosen by --precision auto (--precision "
               "prints the table)\n");
}

static void printText(const InspectArguments &Arguments, const Model &M,
                      const ArtifactFacts &Facts, const shape::Bindings &Dims) {
  fmt::print("{}: kpc artifact, format {}.{}, {}\n", Arguments.Artifact,
             Facts.FormatMajor, Facts.FormatMinor, bytesText(Facts.FileBytes));
  if (!Facts.SignedBy.empty())
    fmt::print("signed with the key {}{}\n", Facts.SignedBy,
               Arguments.SignedBy.empty() ? ", which --signed-by verifies"
                                          : ", as asked for");
  TextTable Made("ll");
  for (const auto &[Key, Value] : Facts.Provenance)
    Made.row({Key, printable(Value, 400)});
  if (!Made.empty())
    fmt::print("made from:\n{}", Made.text());
  fmt::print("{}", signatureText(M));
  TextTable Taken("ll");
  for (const auto &[Name, Size] : Facts.TakenDims)
    Taken.row({printable(Name), printable(Size)});
  if (!Taken.empty())
    fmt::print("dims that are settled:\n{}", Taken.text());
  TextTable Reasons("ll");
  for (const auto &[Name, Why] : Facts.Reasons)
    Reasons.row({printable(Name), printable(Why, 400)});
  if (!Reasons.empty())
    fmt::print("why dims must be as they are:\n{}", Reasons.text());
  printMetadata(Facts.Metadata);
  printTargets(M, Facts);
  printMemory(Facts, Dims, Arguments.VerifyWeights);
  if (Arguments.Weights)
    printWeights(Facts);
  for (const TargetFacts &T : Facts.Targets)
    if (!T.Controls.empty())
      printControls(T);
  if (Arguments.Kernels)
    for (const TargetFacts &T : Facts.Targets)
      printKernels(T, Dims);
  if (!Facts.Remarks.Made.empty() || !Facts.Remarks.Refused.empty())
    printRemarks(Facts.Remarks, Arguments.Remarks);
  printPrecision(Facts.PrecisionTable, Arguments.Precision);
}

static Json tensorMapJson(const TensorMapFacts &Map) {
  Json J = {{"buffer", Map.Buffer},      {"mode", Map.Mode},
            {"element", Map.Element},    {"dims", Map.Dims},
            {"strides", Map.Strides},    {"swizzle", Map.Swizzle},
            {"promotion", Map.Promotion}};
  if (!Map.Traversal.empty())
    J["traversal"] = Map.Traversal;
  if (Map.Lower.empty()) {
    J["box"] = Map.Box;
  } else {
    J["lower"] = Map.Lower;
    J["upper"] = Map.Upper;
    J["channels"] = Map.Channels;
    J["pixels"] = Map.Pixels;
  }
  return J;
}

static Json targetJson(const kpc_target &Target, const TargetFacts &T,
                       const shape::Bindings &Dims) {
  Json J;
  J["name"] = T.Name;
  J["runs_on"] = Target.runs_on;
  J["device"] = T.Gpu ? "cuda" : "host";
  if (T.Gpu)
    J["least_driver"] = Target.least_driver;
  J["code_bytes"] = T.ImageBytes;
  J["ptx_bytes"] = T.PtxBytes;
  J["weight_bytes"] = T.WeightBytes;
  if (T.LiveBytes) {
    J["least_workspace_bytes"] = *T.LiveBytes;
    J["value_bytes"] = *T.ValueBytes;
  }
  J["steps"] = T.Steps;
  J["copies"] = T.Copies;
  J["kernels"] = Json::array();
  for (const KernelFacts &K : T.Kernels) {
    Json Kernel = {{"symbol", K.Symbol},     {"name", K.Name},
                   {"family", K.Family},     {"precision", K.Precision},
                   {"launches", K.Launches}, {"nodes", K.Nodes}};
    if (K.Registers >= 0)
      Kernel["registers"] = K.Registers;
    if (!K.Where.empty())
      Kernel["where"] = K.Where;
    if (K.SpillBytes >= 0)
      Kernel["spill_bytes"] = K.SpillBytes;
    for (const TensorMapFacts &Map : K.TensorMaps)
      Kernel["tensor_maps"].push_back(tensorMapJson(Map));
    J["kernels"].push_back(std::move(Kernel));
  }
  for (const ControlFacts &C : T.Controls)
    J["controls"].push_back(controlJson(T, C));
  J["launches"] = Json::array();
  for (const LaunchFacts &L : T.Launches) {
    Json Launch = {{"kernel", T.Kernels[L.Kernel].Symbol},
                   {"name", L.Name},
                   {"nodes", L.Nodes}};
    if (!L.Title.empty()) {
      Launch["kind"] = L.Kind;
      Launch["title"] = titleAt(L.Title, Dims);
      Launch["module"] = L.Scope;
    }
    if (L.LeftOut)
      Launch["left_out"] = true;
    if (!L.FlopsText.empty())
      Launch["flops_for"] = L.FlopsText;
    if (L.Flops)
      Launch["flops"] = *L.Flops;
    if (L.Bytes)
      Launch["bytes"] = *L.Bytes;
    J["launches"].push_back(std::move(Launch));
  }
  return J;
}

static Json portsJson(const std::vector<kpc_port> &Ports) {
  Json All = Json::array();
  for (const kpc_port &P : Ports) {
    Json Dims = Json::array();
    for (int32_t I = 0; I < P.rank; ++I) {
      if (P.dims[I] >= 0)
        Dims.push_back(P.dims[I]);
      else
        Dims.push_back(P.dim_texts[I]);
    }
    Json Port = {{"name", P.name},
                 {"type", kpc_element_name(P.type)},
                 {"dims", std::move(Dims)}};
    if (P.alias >= 0)
      Port["may_take_input"] = P.alias;
    All.push_back(std::move(Port));
  }
  return All;
}

static void printJson(const InspectArguments &Arguments, const Model &M,
                      const ArtifactFacts &Facts, const shape::Bindings &Dims) {
  Json Out;
  Out["file"] = Arguments.Artifact;
  Out["format"] = fmt::format("{}.{}", Facts.FormatMajor, Facts.FormatMinor);
  Out["bytes"] = Facts.FileBytes;
  Out["signed_by"] = Facts.SignedBy.empty() ? Json() : Json(Facts.SignedBy);
  Out["provenance"] = Json::object();
  for (const auto &[Key, Value] : Facts.Provenance)
    Out["provenance"][Key] = Value;
  if (!Facts.Metadata.empty())
    Out["metadata"] = Facts.Metadata;
  Out["inputs"] = portsJson(M.inputs());
  Out["outputs"] = portsJson(M.outputs());
  Out["dims"] = Json::array();
  for (const kpc_symbol &S : M.symbols()) {
    Json J = {{"name", S.name}, {"min", S.min}};
    J["max"] = S.max == INT64_MAX ? Json() : Json(S.max);
    J["divisor"] = S.divisor;
    if (S.optimum >= 0)
      J["optimum"] = S.optimum;
    for (const auto &[Name, Why] : Facts.Reasons)
      if (Name == S.name)
        J["reason"] = Why;
    Out["dims"].push_back(std::move(J));
  }
  Out["requirements"] = Json::array();
  for (const kpc_requirement &R : M.requirements())
    Out["requirements"].push_back(
        {{"left", R.left_text},
         {"relation", R.equal ? "equal to" : "at most"},
         {"right", R.right_text},
         {"reason", R.reason}});
  Out["input_values"] = Json::array();
  for (const kpc_input_value &V : M.inputValues())
    Out["input_values"].push_back({{"name", V.name},
                                   {"input", V.input},
                                   {"element", V.element},
                                   {"size", V.size_text}});
  Out["settled_dims"] = Json::object();
  for (const auto &[Name, Size] : Facts.TakenDims)
    Out["settled_dims"][Name] = Size;
  Out["weights"] = {{"tensors", Facts.Weights}, {"bytes", Facts.WeightBytes}};
  if (Arguments.VerifyWeights)
    Out["weights"]["verified"] = true;
  for (const WeightFacts &W : Facts.WeightList)
    if (Arguments.Weights)
      Out["weights"]["list"].push_back({{"name", W.Name},
                                        {"type", W.Type},
                                        {"bytes", W.Bytes},
                                        {"origin", originOf(W)}});
  Out["custom_code"] = Json::array();
  for (const auto &[Name, Bytes] : Facts.Libraries)
    Out["custom_code"].push_back({{"name", Name}, {"bytes", Bytes}});
  Out["memory_for"] = Json::object();
  for (const auto &[Name, Value] : Dims)
    Out["memory_for"][Name] = Value;
  Out["targets"] = Json::array();
  std::vector<kpc_target> Targets = M.targets();
  for (size_t I = 0; I < Targets.size(); ++I)
    Out["targets"].push_back(targetJson(Targets[I], Facts.Targets[I], Dims));
  Out["remarks"] = {{"made", Facts.Remarks.Made},
                    {"refused", Facts.Remarks.Refused}};
  if (!Facts.PrecisionTable.empty())
    Out["precision_table"] = Facts.PrecisionTable;
  printJsonText(Out);
}

/// The target that a report is of: the one asked for, that of the times, or the
/// first GPU's. What the times lack is said where they are read.
static const TargetFacts *reportTarget(const InspectArguments &Arguments,
                                       const ArtifactFacts &Facts,
                                       Diagnostics &Diags) {
  std::string Wanted = Arguments.Target;
  if (Wanted.empty() && !Arguments.Times.empty())
    Wanted = targetOfTimes(Arguments.Times);
  for (const TargetFacts &T : Facts.Targets)
    if (Wanted.empty() ? T.Gpu : T.Name == Wanted)
      return &T;
  if (Arguments.Target.empty() && !Facts.Targets.empty())
    return &Facts.Targets.front(); // which says what it lacks
  std::string Names;
  for (const TargetFacts &T : Facts.Targets)
    Names += (Names.empty() ? "" : ", ") + T.Name;
  Diags.error(Code::UsageValue)
      .message(fmt::format("--target: expected a target of the artifact, got "
                           "'{}'",
                           printable(Arguments.Target)))
      .hint("it has: " + Names);
  return nullptr;
}

static bool writeReport(const InspectArguments &Arguments,
                        const ArtifactFacts &Facts, const shape::Bindings &Dims,
                        Diagnostics &Diags) {
  const TargetFacts *T = reportTarget(Arguments, Facts, Diags);
  if (!T)
    return false;
  bool Recorded = !Arguments.Times.empty();
  std::optional<BenchResult> R =
      Recorded ? recordedTimes(Arguments.Times, *T, Dims, Diags)
               : modelledTimes(*T, Dims, Diags);
  if (!R)
    return false;
  std::optional<ReportSide> Side =
      reportSide(Arguments.Artifact, std::move(*R), Diags);
  if (!Side)
    return false;
  Side->Source = Recorded ? TimeSource::Recorded : TimeSource::Modelled;
  Side->RecordedIn = Arguments.Times;
  FileSet Files(Diags);
  return Files.add(Arguments.Report, reportPage({std::move(*Side)})) &&
         Files.keep();
}

static int inspectCommand(const InspectArguments &Arguments) {
  needFile(Arguments.Artifact, "inspect", "kpc artifact");
  reproduceWith(Arguments.Artifact);
  crashForTesting(/*InWorker=*/false);
  Diagnostics Diags;
  for (const std::string *Option : {&Arguments.Times, &Arguments.Target})
    if (Arguments.Report.empty() && !Option->empty())
      throw UsageError(Code::UsageMissing,
                       Option == &Arguments.Times
                           ? "--times is for a --report"
                           : "--target is for a --report",
                       "give --report FILE");
  if (!Arguments.Report.empty()) {
    keepInput(Arguments.Artifact, "the artifact itself", "--report",
              Arguments.Report);
    keepInput(Arguments.Times, "the times", "--report", Arguments.Report);
  }
  if (Arguments.Artifact.ends_with(".onnx"))
    return inspectModel(Arguments.Artifact, Arguments.Json);
  if (torchscript::isScript(Arguments.Artifact))
    return inspectScript(Arguments.Artifact, Arguments.Json);
  if (torch::isZipFile(Arguments.Artifact))
    return inspectProgram(Arguments.Artifact, Arguments.Json);
  std::optional<Model> M =
      openModel(Arguments.Artifact, Diags, 0, Arguments.SignedBy);
  if (!M)
    return finish(Diags);
  std::optional<shape::Bindings> Dims = chooseDims(*M, Arguments.Dims, Diags);
  if (!Dims) {
    int Result = finish(Diags);
    fmt::print(stderr, "{}", signatureText(*M));
    return Result;
  }
  std::optional<ArtifactFacts> Facts =
      readFacts(Arguments.Artifact, *Dims, Diags);
  if (!Facts)
    return finish(Diags);
  if (Arguments.VerifyWeights)
    if (Result<void> Good = M->verifyWeights(); !Good) {
      report(Good.error(), Diags);
      return finish(Diags);
    }
  if (!Arguments.Report.empty())
    writeReport(Arguments, *Facts, *Dims, Diags);
  else if (Arguments.Json)
    printJson(Arguments, *M, *Facts, *Dims);
  else if (!Arguments.Quiet)
    printText(Arguments, *M, *Facts, *Dims);
  return finish(Diags);
}

void addInspectCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<InspectArguments>();
  CLI::App &App =
      *Main.add_subcommand("inspect", "say what is in an artifact or a model");
  addFile(
      App, Arguments->Artifact, "artifact",
      "the file that compile wrote, or a model.onnx, model.pt2 or model.pt");
  addDimValues(App, Arguments->Dims);
  App.add_flag("--verify-weights", Arguments->VerifyWeights,
               "read all weights and compare them with their digest (the rest "
               "of the file is compared whenever it is loaded)");
  addSignedBy(App, Arguments->SignedBy);
  App.add_flag("--weights", Arguments->Weights,
               "list the weights, the largest first, and where each is from");
  App.add_flag("--remarks", Arguments->Remarks,
               "list what was fused when compiling, and what was not and why");
  App.add_flag("--precision", Arguments->Precision,
               "print what --precision auto chose for each layer, what it "
               "gains and its error");
  addText(App, "--report", "FILE",
          "write a page of HTML instead, with the times that the cost models "
          "expect, or those of --times; nothing is run",
          [A = Arguments.get()](const std::string &Text) { A->Report = Text; });
  addText(App, "--times", "FILE",
          "times for the report, which bench --json wrote",
          [A = Arguments.get()](const std::string &Text) { A->Times = Text; });
  addText(App, "--target", "NAME",
          "the target that the report is of (default: the first GPU)",
          [A = Arguments.get()](const std::string &Text) { A->Target = Text; });
  App.add_flag("--json", Arguments->Json, "print JSON");
  App.add_flag_callback(
      "--no-kernels",
      [Arguments = Arguments.get()] { Arguments->Kernels = false; },
      "leave the list of kernels out");
  App.add_flag("-q,--quiet", Arguments->Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return inspectCommand(*Arguments); };
  });
}

} // namespace kpc::cli
