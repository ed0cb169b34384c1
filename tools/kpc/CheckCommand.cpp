//===- CheckCommand.cpp - kpc check ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Compiler.h"
#include "tools/kpc/Fault.h"
#include "tools/kpc/ModelFile.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/Runtime.h"
#include "tools/kpc/Say.h"

#include <fmt/format.h>

namespace kpc::cli {

namespace {
struct CheckArguments {
  CompileOptions Options;
  bool Json = false, Quiet = false;
};
} // namespace

static void printJson(const CheckArguments &Arguments, bool Good,
                      const Diagnostics &Diags) {
  std::string Targets;
  for (const std::string &Name : Arguments.Options.Targets)
    Targets += (Targets.empty() ? "" : ",") + jsonQuote(Name);
  fmt::print("{{\"model\":{},\n\"targets\":[{}],\n\"compiles\":{},\n"
             "\"diagnostics\":{}}}\n",
             jsonQuote(Arguments.Options.Model), Targets, Good, Diags.json());
}

static int checkCommand(const CheckArguments &Arguments) {
  needFile(Arguments.Options.Model, "check", "model");
  ModelFile Source = lookAtModel(Arguments.Options.Model);
  reproduceWith(Source);
  refuseOptions(Source, Arguments.Options);
  needPrecision(Arguments.Options);
  crashForTesting(/*InWorker=*/false);
  Diagnostics Diags;
  bool Good = !isArtifact(Source, Diags) && check(Arguments.Options, Diags) &&
              !Diags.hasErrors();
  if (Arguments.Json) {
    printJson(Arguments, Good, Diags);
    return exitCode(Good, Diags);
  }
  say(Diags.text());
  if (!Arguments.Quiet) {
    if (Good)
      fmt::print("{} compiles\n", Arguments.Options.Model);
    else
      fmt::print("{} does not compile: {} {}\n", Arguments.Options.Model,
                 Diags.errorCount(),
                 Diags.errorCount() == 1 ? "error" : "errors");
  }
  return exitCode(Good, Diags);
}

void addCheckCommand(CLI::App &Main, Action &Chosen) {
  auto Arguments = std::make_shared<CheckArguments>();
  CLI::App &App = *Main.add_subcommand(
      "check", "say everything that will not compile, without compiling");
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
