//===- OpsCommand.cpp - kpc ops -------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/custom/Manifest.h"
#include "compiler/import/onnx/Operators.h"
#include "compiler/import/torch/Operators.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/TextTable.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace kpc::cli {

using onnx::OperatorInfo;

namespace {
struct OpsArguments {
  std::string Only; ///< empty: all
  std::string Domain = "onnx";
  std::vector<std::string> Manifests; ///< of custom operators, listed alone
  bool Json = false;
};
} // namespace

static std::string nameOf(const OperatorInfo &Op) {
  return Op.Domain.empty() ? std::string(Op.Name)
                           : fmt::format("{}.{}", Op.Domain, Op.Name);
}

static bool sameName(llvm::StringRef A, llvm::StringRef B) {
  return A.equals_insensitive(B);
}

static void printText(const std::vector<OperatorInfo> &Ops) {
  int64_t Newest = 0; // of all: one operator alone may have ended earlier
  for (const OperatorInfo &Op : onnx::supportedOperators())
    Newest = std::max(Newest, Op.Domain.empty() ? Op.Until : 0);
  std::set<std::string> Names;
  for (const OperatorInfo &Op : Ops)
    Names.insert(nameOf(Op));
  TextTable Table("lll", 0);
  Table.row({"operator", "opset", "does not compile"});
  for (const OperatorInfo &Op : Ops) {
    bool Last = Op.Domain.empty() ? Op.Until >= Newest : Op.Until > 1000;
    std::string Range = Last ? fmt::format("{}-", Op.Since)
                        : Op.Since == Op.Until
                            ? fmt::format("{}", Op.Since)
                            : fmt::format("{}-{}", Op.Since, Op.Until);
    Table.row({nameOf(Op), Range, std::string(Op.Limits)});
  }
  fmt::print("{}{} {}, up to ONNX opset {}\n", Table.text(), Names.size(),
             Names.size() == 1 ? "operator" : "operators", Newest);
}

static void printJson(const std::vector<OperatorInfo> &Ops) {
  Json All = Json::array();
  for (const OperatorInfo &Op : Ops)
    All.push_back({{"domain", Op.Domain},
                   {"name", Op.Name},
                   {"since", Op.Since},
                   {"until", Op.Until},
                   {"compiles", true},
                   {"limits", Op.Limits},
                   {"family", Op.Family}});
  printJsonText(All);
}

/// For a name that no operator has: those that hold it ("norm"), in whatever
/// case; empty where none does.
static std::string namesWith(const std::string &Word,
                             const std::vector<std::string> &Known) {
  constexpr size_t Shown = 8;
  std::set<std::string> Found;
  if (Word.size() < 3) // in too many
    return {};
  for (const std::string &Name : Known)
    if (llvm::StringRef(Name).contains_insensitive(Word))
      Found.insert(Name);
  std::string Text;
  size_t Count = 0;
  for (const std::string &Name : Found)
    if (Count++ < Shown)
      Text += (Text.empty() ? "" : ", ") + Name;
  if (Count > Shown)
    Text += fmt::format(" and {} more", Count - Shown);
  return Text;
}

[[noreturn]] static void
unknownOperator(const std::string &Name,
                const std::vector<std::string> &Known) {
  std::string Message =
      fmt::format("no operator '{}' imports", printable(Name));
  if (std::string Names = namesWith(Name, Known); !Names.empty())
    throw UsageError(Code::UsageValue, Message,
                     "with this in their names: " + Names);
  std::vector<std::string_view> Views(Known.begin(), Known.end());
  std::string_view Near = nearest(Name, Views);
  throw UsageError(Code::UsageValue, Message,
                   Near.empty() ? "`kpc ops` lists all that do"
                                : fmt::format("did you mean '{}'?", Near));
}

/// Whether an operator of PyTorch has this name, as listAten takes them.
static bool isAten(const torch::OperatorInfo &Op, const std::string &Wanted) {
  llvm::StringRef Name(Op.Name), Plain = Name.split('.').second;
  return sameName(Name, Wanted) || sameName(Plain, Wanted) ||
         sameName(Plain.split('.').first, Wanted);
}

static bool isOfAten(const std::string &Wanted) {
  for (const torch::OperatorInfo &Op : torch::supportedOperators())
    if (isAten(Op, Wanted))
      return true;
  return false;
}

/// Those of a domain; "ai.onnx" is ONNX's own.
static bool isOfDomain(const OperatorInfo &Op, const std::string &Domain) {
  return Domain == "onnx" ||
         Op.Domain == (Domain == "ai.onnx" ? std::string() : Domain);
}

/// Operators of PyTorch; one by its name with or without "aten." and overload.
static int listAten(const OpsArguments &Arguments) {
  std::vector<torch::OperatorInfo> Ops = torch::supportedOperators();
  // Programs of PyTorch use the operators of all of these.
  if (Arguments.Domain != "aten")
    std::erase_if(Ops, [&](const torch::OperatorInfo &Op) {
      return Op.domain() != Arguments.Domain;
    });
  if (!Arguments.Only.empty()) {
    std::vector<std::string> Known;
    for (const torch::OperatorInfo &Op : Ops)
      Known.push_back(Op.Name);
    std::erase_if(Ops, [&](const torch::OperatorInfo &Op) {
      return !isAten(Op, Arguments.Only);
    });
    if (Ops.empty())
      unknownOperator(Arguments.Only, Known);
  }
  if (Arguments.Json) {
    Json All = Json::array();
    for (const torch::OperatorInfo &Op : Ops)
      All.push_back({{"name", Op.Name},
                     {"domain", Op.domain()},
                     {"compiles", !Op.isRefused()},
                     {"limits", Op.Limits}});
    printJsonText(All);
    return Done;
  }
  auto Print = [&](bool Refused, const char *Column, const char *Behind) {
    TextTable Table("ll", 0);
    Table.row({"operator", Column});
    size_t Count = 0;
    for (const torch::OperatorInfo &Op : Ops)
      if (Op.isRefused() == Refused) {
        Table.row({Op.Name, std::string(Op.Limits.substr(Refused ? 9 : 0))});
        ++Count;
      }
    if (Count != 0)
      fmt::print("{}{} {}{}\n", Table.text(), Count,
                 Count == 1 ? "operator" : "operators", Behind);
  };
  Print(false, "does not compile", "");
  Print(true, "do this instead", " refused");
  return Done;
}

static std::string tensorsText(const std::vector<custom::Tensor> &Tensors) {
  std::string Text;
  for (const custom::Tensor &T : Tensors) {
    Text += (Text.empty() ? "" : ", ") + T.Name + ": " + T.Type + "[";
    for (size_t I = 0; I < T.Shape.size(); ++I)
      Text += (I ? ", " : "") + (T.Shape[I].IsRest ? "*" + T.Shape[I].Name
                                                   : T.Shape[I].Size.str());
    Text += "]";
  }
  return Text;
}

/// What the manifests say.
static int listCustom(const OpsArguments &Arguments) {
  Diagnostics Diags;
  custom::Operators Operators;
  if (!Operators.read(Arguments.Manifests, Diags))
    return finish(Diags);
  Json All = Json::array();
  TextTable Table("lll", 0);
  Table.row({"operator", "code", "inputs -> outputs"});
  for (const custom::Operator &Op : Operators.all()) {
    std::string Code = Op.Cuda ? Op.Host ? "CUDA, host" : "CUDA" : "host";
    std::string In = tensorsText(Op.Inputs), Out = tensorsText(Op.Outputs);
    Table.row({printable(Op.fullName()), Code, In + " -> " + Out});
    All.push_back({{"domain", Op.Domain},
                   {"name", Op.Name},
                   {"code", Code},
                   {"inputs", In},
                   {"outputs", Out},
                   {"manifest", Op.Manifest}});
  }
  if (Arguments.Json)
    printJsonText(All);
  else
    fmt::print("{}", Table.text());
  return finish(Diags);
}

/// Reports a domain that no operator has.
static bool isAtenDomain(const std::string &Domain) {
  std::set<std::string> Onnx{"onnx", "ai.onnx"}, Torch;
  for (const OperatorInfo &Op : onnx::supportedOperators())
    if (!Op.Domain.empty())
      Onnx.insert(std::string(Op.Domain));
  for (const torch::OperatorInfo &Op : torch::supportedOperators())
    Torch.insert(Op.domain());
  if (Torch.count(Domain) || Onnx.count(Domain))
    return Torch.count(Domain) != 0;
  throw UsageError(Code::UsageValue,
                   fmt::format("--domain: no operator is of the domain '{}'",
                               printable(Domain)),
                   fmt::format("of ONNX models: {}; of PyTorch's: {}",
                               fmt::join(Onnx, ", "), fmt::join(Torch, ", ")));
}

static int opsCommand(const OpsArguments &Arguments) {
  if (!Arguments.Manifests.empty())
    return listCustom(Arguments);
  if (isAtenDomain(Arguments.Domain))
    return listAten(Arguments);
  std::vector<OperatorInfo> Ops = onnx::supportedOperators();
  std::erase_if(Ops, [&](const OperatorInfo &Op) {
    return !isOfDomain(Op, Arguments.Domain);
  });
  if (!Arguments.Only.empty()) {
    std::vector<std::string> Known;
    Known.reserve(Ops.size());
    for (const OperatorInfo &Op : Ops)
      Known.push_back(nameOf(Op));
    std::erase_if(Ops, [&](const OperatorInfo &Op) {
      return !sameName(nameOf(Op), Arguments.Only) &&
             !sameName(Op.Name, Arguments.Only);
    });
    if (Ops.empty() && namesWith(Arguments.Only, Known).empty() &&
        isOfAten(Arguments.Only))
      throw UsageError(Code::UsageValue,
                       fmt::format("no operator '{}' of ONNX imports",
                                   printable(Arguments.Only)),
                       "PyTorch programs have one: kpc ops --domain aten " +
                           printable(Arguments.Only));
    if (Ops.empty())
      unknownOperator(Arguments.Only, Known);
  }
  Arguments.Json ? printJson(Ops) : printText(Ops);
  return Done;
}

void addOpsCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<OpsArguments>();
  CLI::App &App = *Main.add_subcommand("ops", "list the operators that import");
  App.add_option_function<std::string>(
         "name",
         [Arguments = Arguments.get()](const std::string &Text) {
           Arguments->Only = Text;
         },
         "this operator alone")
      ->type_name("OPERATOR");
  App.add_option("--domain", Arguments->Domain,
                 "whose operators: onnx (all of ONNX models), aten (all of "
                 "PyTorch's), or one domain, as ai.onnx.ml or torchvision")
      ->type_name("DOMAIN");
  addText(App, "--operator", "FILE",
          "list what the manifest of a custom operator says; repeatable",
          [Arguments = Arguments.get()](const std::string &Text) {
            Arguments->Manifests.push_back(Text);
          });
  App.add_flag("--json", Arguments->Json, "print JSON");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return opsCommand(*Arguments); };
  });
}

} // namespace kpc::cli
