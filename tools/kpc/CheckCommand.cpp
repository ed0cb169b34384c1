//===- CheckCommand.cpp - kpc check ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"
#include "runtime/format/Container.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Limits.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Say.h"
#include "tools/kpc/TextTable.h"

#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct CheckArguments {
  CompileOptions Options;
  bool Json = false, Quiet = false;
};
} // namespace

/// A loop without a trip count.
static bool onlyDataEnds(const ModelNeeds::Control &C) {
  return C.DataEnds && C.Count == std::to_string(format::MostIterations);
}

static std::string jsonOf(const ModelNeeds &Needs) {
  Json J;
  J["dims"] = Json::array();
  for (const ModelNeeds::Dim &D : Needs.Dims) {
    Json Dim{{"name", D.Name}, {"min", D.Facts.Min}};
    if (D.Facts.Max != shape::Interval::Unbounded)
      Dim["max"] = D.Facts.Max;
    if (D.Facts.Divisor != 1)
      Dim["divisor"] = D.Facts.Divisor;
    if (D.Facts.Optimum)
      Dim["optimum"] = *D.Facts.Optimum;
    if (!D.Reason.empty())
      Dim["reason"] = D.Reason;
    J["dims"].push_back(Dim);
  }
  J["settled_dims"] = Json::object();
  for (const auto &[Name, Size] : Needs.Settled)
    J["settled_dims"][Name] = Size;
  J["requirements"] = Json::array();
  for (const ModelNeeds::Requirement &R : Needs.Requirements)
    J["requirements"].push_back({{"left", R.Left},
                                 {"right", R.Right},
                                 {"equal", R.Equal},
                                 {"reason", R.Reason}});
  J["input_values"] = Json::array();
  for (const auto &[Name, Size] : Needs.InputValues)
    J["input_values"].push_back({{"name", Name}, {"size", Size}});
  J["data_sizes"] = Json::array();
  for (const auto &[Size, AtMost] : Needs.DataSizes)
    J["data_sizes"].push_back({{"size", Size}, {"at_most", AtMost}});
  J["controls"] = Json::array();
  for (const ModelNeeds::Control &C : Needs.Controls) {
    Json Control{{"kind", C.IsLoop ? "loop" : "branch"}, {"node", C.Node}};
    if (!C.IsLoop || C.DataEnds)
      Control["on_gpus"] =
          C.ReadBack.empty() ? "node of the graph" : "read back: " + C.ReadBack;
    if (C.IsLoop) {
      if (!onlyDataEnds(C))
        Control["count"] = C.Count;
      Control["data_ends"] = C.DataEnds;
    }
    J["controls"].push_back(Control);
  }
  J["custom_operators"] = Json::array();
  for (const ModelNeeds::Custom &C : Needs.Operators)
    J["custom_operators"].push_back(
        {{"node", C.Node}, {"operator", C.Operator}, {"code", C.Code}});
  return jsonText(J);
}

static void printJson(const CheckArguments &Arguments, bool Good,
                      const ModelNeeds &Needs, const Diagnostics &Diags) {
  std::string Targets;
  for (const std::string &Name : Arguments.Options.Targets)
    Targets += (Targets.empty() ? "" : ",") + jsonQuote(Name);
  fmt::print("{{\"model\":{},\n\"targets\":[{}],\n\"compiles\":{},\n"
             "\"needs\":{},\n\"diagnostics\":{}}}\n",
             jsonQuote(Arguments.Options.Model), Targets, Good,
             Good ? jsonOf(Needs) : "null", Diags.json());
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

static void
printRows(const char *Title,
          const std::vector<std::pair<std::string, std::string>> &Rows,
          const char *Before = "") {
  TextTable Table("ll");
  for (const auto &[Name, Text] : Rows)
    Table.row({printable(Name), Before + printable(Text, 400)});
  if (!Rows.empty())
    fmt::print("{}:\n{}", Title, Table.text());
}

/// What must be known before the model is run.
static void printNeeds(const ModelNeeds &Needs) {
  std::vector<std::pair<std::string, std::string>> Rows;
  Rows.reserve(Needs.Dims.size());
  for (const ModelNeeds::Dim &D : Needs.Dims)
    Rows.emplace_back(D.Name, factsText(D.Facts) +
                                  (D.Reason.empty() ? "" : ": " + D.Reason));
  printRows("dims", Rows);
  printRows("settled dims", Needs.Settled);
  Rows.clear();
  for (const ModelNeeds::Requirement &R : Needs.Requirements)
    Rows.emplace_back(fmt::format("{} must be {} {}", R.Left,
                                  R.Equal ? "equal to" : "at most", R.Right),
                      R.Reason);
  printRows("required of sizes", Rows);
  printRows("read before each run (from a GPU by a copy that is waited for)",
            Needs.InputValues);
  printRows("decided by data in each run (from a GPU by a copy that is waited "
            "for)",
            Needs.DataSizes, "at most ");
  Rows.clear();
  for (const ModelNeeds::Control &C : Needs.Controls) {
    std::string Decides = C.ReadBack.empty() ? "a node of a GPU's graph"
                          : C.IsLoop
                              ? "a GPU is waited for in each: " + C.ReadBack
                              : "a GPU is waited for: " + C.ReadBack;
    std::string What = ": " + Decides;
    if (C.IsLoop)
      What = !C.DataEnds       ? ": " + C.Count + " iterations"
             : onlyDataEnds(C) ? ": until data ends it; " + Decides
                               : ": until data ends it, at most " + C.Count +
                                     " iterations; " + Decides;
    Rows.emplace_back(C.IsLoop ? "loop" : "branch", C.Node + What);
  }
  printRows("loops and branches", Rows);
  Rows.clear();
  for (const ModelNeeds::Custom &C : Needs.Operators)
    Rows.emplace_back(C.Node, C.Operator + ", with code for " + C.Code);
  printRows("custom operators", Rows);
}

static int checkCommand(const CheckArguments &Arguments) {
  needFile(Arguments.Options.Model, "check", "model");
  ModelFile Source = lookAtModel(Arguments.Options.Model);
  reproduceWith(Source);
  refuseOptions(Source, Arguments.Options);
  needPrecision(Arguments.Options);
  crashForTesting(/*InWorker=*/false);
  Diagnostics Diags;
  ModelNeeds Needs;
  EnforcedLimits Enforced(Arguments.Options.Limits);
  bool Good = !isArtifact(Source, Diags) &&
              check(Arguments.Options, Diags, &Needs) && !Diags.hasErrors();
  if (Arguments.Json) {
    printJson(Arguments, Good, Needs, Diags);
    return exitCode(Good, Diags);
  }
  say(Diags.text());
  if (!Arguments.Quiet) {
    if (Good) {
      printNeeds(Needs);
      fmt::print("{} compiles\n", Arguments.Options.Model);
    } else {
      fmt::print("{} does not compile: {} {}\n", Arguments.Options.Model,
                 Diags.errorCount(),
                 Diags.errorCount() == 1 ? "error" : "errors");
    }
  }
  return exitCode(Good, Diags);
}

void addCheckCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<CheckArguments>();
  CLI::App &App = *Main.add_subcommand(
      "check", "say everything that will not compile, and what the model needs "
               "of sizes and runs, without compiling");
  addFile(App, Arguments->Options.Model, "model",
          "model.onnx, model.pt2, or model.pt of TorchScript");
  addModelOptions(App, Arguments->Options);
  App.add_flag("--json", Arguments->Json, "print JSON");
  App.add_flag("-q,--quiet", Arguments->Quiet, "print errors only");
  App.callback([Arguments, &Chosen] {
    Chosen = [Arguments] { return checkCommand(*Arguments); };
  });
}

} // namespace kpc::cli
