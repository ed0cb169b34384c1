//===- InspectProgram.cpp - What PyTorch's archives take and give ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/InspectModel.h"

#include "compiler/import/torch/Program.h"
#include "compiler/import/torchscript/ImportScript.h"
#include "tools/kpc/Command.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/TextTable.h"

#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct Port {
  std::string Name, Type;
  std::vector<std::string> Sizes;
};
} // namespace

static Port
portOf(const torch::Program &P, const std::string &Name,
       const std::string &Shown,
       const std::map<std::string, shape::Expr, std::less<>> &Dims) {
  Port Of{Shown, "", {}};
  auto It = P.Main.Tensors.find(Name);
  if (It == P.Main.Tensors.end())
    return Of;
  Of.Type = torch::typeName(It->second.Type);
  for (const torch::Size &S : It->second.Sizes) {
    std::optional<shape::Expr> E =
        S.Text.empty() ? shape::Expr(S.Number) : torch::parseSize(S.Text, Dims);
    Of.Sizes.push_back(E ? E->str() : "?");
  }
  return Of;
}

static void printPorts(const char *Title, const std::vector<Port> &Ports) {
  TextTable Table("ll");
  for (const Port &Of : Ports)
    Table.row({printable(Of.Name),
               fmt::format("{}[{}]", Of.Type, fmt::join(Of.Sizes, ","))});
  if (!Table.empty())
    fmt::print("{}:\n{}", Title, Table.text());
}

static Json portsJson(const std::vector<Port> &Ports) {
  Json All = Json::array();
  for (const Port &Of : Ports)
    All.push_back({{"name", Of.Name}, {"type", Of.Type}, {"dims", Of.Sizes}});
  return All;
}

int inspectProgram(const std::string &Path, bool AsJson) {
  Diagnostics Diags;
  Diags.setFile(Path);
  std::optional<torch::Program> P = torch::readProgram(Path, Diags);
  if (!P)
    return finish(Diags);
  std::map<std::string, shape::Expr, std::less<>> Dims;
  for (const torch::NamedSymbol &N : torch::namedSymbols(*P))
    Dims.emplace(N.Symbol, shape::Expr::symbol(N.Name));
  std::vector<Port> Inputs, Outputs;
  for (const torch::InputSpec &S : P->Inputs)
    if (torch::isTensorInput(S))
      Inputs.push_back(portOf(*P, S.Value.Values[0], S.Value.Values[0], Dims));
  size_t Place = 0;
  for (const torch::OutputSpec &S : P->Outputs)
    if (S.Is == torch::OutputSpec::Kind::User) {
      std::string Name = torch::outputName(*P, Place++);
      if (S.Value.Is == torch::Argument::Kind::Tensor)
        Outputs.push_back(portOf(*P, S.Value.Values[0], Name, Dims));
    }
  uint64_t Bytes = 0;
  for (const auto &[Name, Data] : P->Payloads)
    Bytes += Data.Bytes.size();
  if (AsJson) {
    printJsonText(
        {{"file", Path},
         {"torch_version", P->TorchVersion},
         {"inputs", portsJson(Inputs)},
         {"outputs", portsJson(Outputs)},
         {"nodes", P->Main.Nodes.size()},
         {"weights", {{"tensors", P->Payloads.size()}, {"bytes", Bytes}}}});
    return finish(Diags);
  }
  fmt::print("{}: program of torch.export, PyTorch {}\n", Path,
             printable(P->TorchVersion, 60));
  fmt::print("{} nodes, {} of weights in {} tensors\n", P->Main.Nodes.size(),
             bytesText(Bytes), P->Payloads.size());
  printPorts("inputs", Inputs);
  printPorts("outputs", Outputs);
  return finish(Diags);
}

int inspectScript(const std::string &Path, bool AsJson) {
  Diagnostics Diags;
  Diags.setFile(Path);
  std::optional<torchscript::ScriptFacts> Facts =
      torchscript::readFacts(Path, Diags);
  if (!Facts)
    return finish(Diags);
  if (AsJson) {
    printJsonText(
        {{"file", Path}, {"class", Facts->Class}, {"methods", Facts->Methods}});
    return finish(Diags);
  }
  fmt::print("{}: TorchScript, a module of class {}\nmethods:\n", Path,
             printable(Facts->Class));
  for (const std::string &Method : Facts->Methods)
    fmt::print("  {}\n", Method);
  return finish(Diags);
}

} // namespace kpc::cli
