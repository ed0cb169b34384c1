//===- InspectCommand.cpp - kpc inspect -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Inputs.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/TextTable.h"

#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct InspectArguments {
  std::string Artifact;
  std::map<std::string, int64_t> Dims;
  bool Json = false, Kernels = true;
};
} // namespace

static std::string cudaText(uint32_t Version) {
  return fmt::format("CUDA {}.{}", Version / 1000, Version % 1000 / 10);
}

static void printTargets(const Model &M, const ArtifactFacts &Facts) {
  TextTable Table("llrrrl");
  std::vector<kpc_target> Targets = M.targets();
  for (size_t I = 0; I < Targets.size(); ++I) {
    const TargetFacts &T = Facts.Targets[I];
    std::string Code = bytesText(T.ImageBytes);
    if (T.PtxBytes)
      Code += fmt::format(" + {} PTX", bytesText(T.PtxBytes));
    Table.row({T.Name, fmt::format("runs on: {}", Targets[I].runs_on),
               fmt::format("{} kernels", T.Kernels.size()),
               fmt::format("{} steps", T.Steps), Code,
               Targets[I].least_driver
                   ? fmt::format("driver for {} or newer",
                                 cudaText(Targets[I].least_driver))
                   : ""});
  }
  fmt::print("targets:\n{}", Table.text());
}

static void printMemory(const ArtifactFacts &Facts,
                        const shape::Bindings &Dims) {
  std::string At = dimsText(Dims);
  fmt::print("memory{}:\n", At.empty() ? "" : " (" + At + ")");
  TextTable Table("lrl");
  Table.row({"file", bytesText(Facts.FileBytes)});
  Table.row({"weights", bytesText(Facts.WeightBytes),
             fmt::format("{} tensors", Facts.Weights)});
  for (const TargetFacts &T : Facts.Targets)
    if (T.LiveBytes)
      Table.row({"workspace", bytesText(*T.LiveBytes),
                 fmt::format("{}, at least; {} without reuse", T.Name,
                             bytesText(*T.ValueBytes))});
  fmt::print("{}", Table.text());
}

static void printKernels(const TargetFacts &T) {
  fmt::print("kernels of {}:\n", T.Name);
  TextTable Table(T.Gpu ? "lllrrrl" : "lllrl");
  std::vector<std::string> Head = {"kernel", "family", "type", "launches"};
  if (T.Gpu)
    Head.insert(Head.end(), {"registers", "spilled"});
  Head.push_back("nodes");
  Table.row(Head);
  for (const KernelFacts &K : T.Kernels) {
    std::vector<std::string> Row = {printable(K.Name, 60), K.Family,
                                    K.Precision, std::to_string(K.Launches)};
    if (T.Gpu)
      for (int Number : {K.Registers, K.SpillBytes})
        Row.push_back(Number < 0 ? "-" : std::to_string(Number));
    constexpr size_t Shown = 4;
    std::string Nodes;
    for (size_t I = 0; I < K.Nodes.size() && I < Shown; ++I)
      Nodes += (I ? ", " : "") + printable(K.Nodes[I], 60);
    if (K.Nodes.size() > Shown)
      Nodes += fmt::format(" and {} more", K.Nodes.size() - Shown);
    Row.push_back(Nodes);
    Table.row(Row);
  }
  fmt::print("{}", Table.text());
}

static void printText(const InspectArguments &Arguments, const Model &M,
                      const ArtifactFacts &Facts, const shape::Bindings &Dims) {
  fmt::print("{}: kpc artifact, format {}.{}, {}\n", Arguments.Artifact,
             Facts.FormatMajor, Facts.FormatMinor, bytesText(Facts.FileBytes));
  TextTable Made("ll");
  for (const auto &[Key, Value] : Facts.Provenance)
    Made.row({Key, printable(Value, 400)});
  if (!Made.empty())
    fmt::print("made from:\n{}", Made.text());
  fmt::print("{}", signatureText(M));
  printTargets(M, Facts);
  printMemory(Facts, Dims);
  if (Arguments.Kernels)
    for (const TargetFacts &T : Facts.Targets)
      printKernels(T);
}

static Json targetJson(const kpc_target &Target, const TargetFacts &T) {
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
    if (K.SpillBytes >= 0)
      Kernel["spill_bytes"] = K.SpillBytes;
    J["kernels"].push_back(std::move(Kernel));
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
    All.push_back({{"name", P.name},
                   {"type", kpc_element_name(P.type)},
                   {"dims", std::move(Dims)}});
  }
  return All;
}

static void printJson(const InspectArguments &Arguments, const Model &M,
                      const ArtifactFacts &Facts, const shape::Bindings &Dims) {
  Json Out;
  Out["file"] = Arguments.Artifact;
  Out["format"] = fmt::format("{}.{}", Facts.FormatMajor, Facts.FormatMinor);
  Out["bytes"] = Facts.FileBytes;
  Out["provenance"] = Json::object();
  for (const auto &[Key, Value] : Facts.Provenance)
    Out["provenance"][Key] = Value;
  Out["inputs"] = portsJson(M.inputs());
  Out["outputs"] = portsJson(M.outputs());
  Out["dims"] = Json::array();
  for (const kpc_symbol &S : M.symbols()) {
    Json J = {{"name", S.name}, {"min", S.min}};
    J["max"] = S.max == INT64_MAX ? Json() : Json(S.max);
    J["divisor"] = S.divisor;
    if (S.optimum >= 0)
      J["optimum"] = S.optimum;
    Out["dims"].push_back(std::move(J));
  }
  Out["weights"] = {{"tensors", Facts.Weights}, {"bytes", Facts.WeightBytes}};
  Out["memory_for"] = Json::object();
  for (const auto &[Name, Value] : Dims)
    Out["memory_for"][Name] = Value;
  Out["targets"] = Json::array();
  std::vector<kpc_target> Targets = M.targets();
  for (size_t I = 0; I < Targets.size(); ++I)
    Out["targets"].push_back(targetJson(Targets[I], Facts.Targets[I]));
  printJsonText(Out);
}

static int inspectCommand(const InspectArguments &Arguments) {
  needFile(Arguments.Artifact, "inspect", "kpc artifact");
  Diagnostics Diags;
  std::optional<Model> M = openModel(Arguments.Artifact, Diags);
  if (!M)
    return finish(Diags);
  std::optional<shape::Bindings> Dims = chooseDims(*M, Arguments.Dims, Diags);
  if (!Dims)
    return finish(Diags);
  std::optional<ArtifactFacts> Facts =
      readFacts(Arguments.Artifact, *Dims, Diags);
  if (!Facts)
    return finish(Diags);
  if (Arguments.Json)
    printJson(Arguments, *M, *Facts, *Dims);
  else
    printText(Arguments, *M, *Facts, *Dims);
  return finish(Diags);
}

void addInspectCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<InspectArguments>();
  CLI::App &App = *Main.add_subcommand("inspect", "say what is in an artifact");
  addFile(App, Arguments->Artifact, "artifact", "the file that compile wrote");
  addDimValues(App, Arguments->Dims);
  App.add_flag("--json", Arguments->Json, "print JSON");
  App.add_flag_callback(
      "--no-kernels",
      [Arguments = Arguments.get()] { Arguments->Kernels = false; },
      "leave the list of kernels out");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return inspectCommand(*Arguments); };
  });
}

} // namespace kpc::cli
