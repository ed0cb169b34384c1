//===- AutoOptions.cpp - Options of --precision auto ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/AutoPrecision.h"

#include <fmt/format.h>

namespace kpc::cli {

void addAutoOptions(CLI::App &App, AutoArguments &Arguments) {
  const char *Group = "Precision by layer";
  addText(App, "--accuracy-budget", "MEASURE=VALUE",
          "for --precision auto: what outputs may be off, against fp32: "
          "sqnr=30dB, cosine=0.999, rmse=0.01 or max=0.02",
          [&Arguments](const std::string &Text) {
            Arguments.Budget = parseBudget(Text);
          })
      ->group(Group);
  addText(App, "--accuracy-check", "COMMAND",
          "for --precision auto: a command that exits with 0 where the "
          "artifact, whose path is its last argument, is good enough",
          [&Arguments](const std::string &Text) { Arguments.Check = Text; })
      ->group(Group);
  addText(App, "--data", "FOLDER|FILE.npz",
          "for --precision auto: samples that errors are measured with, as "
          "kpc calibrate takes them (default: random numbers)",
          [&Arguments](const std::string &Text) { Arguments.Data = Text; })
      ->group(Group);
  addNumber(App, "--layer-samples", Arguments.LayerSamples, 1, INT64_MAX,
            "for --precision auto: samples that the error of each layer alone "
            "is measured with (default: 8)")
      ->group(Group);
  addText(App, "--precision-plan-out", "FILE",
          "for --precision auto: write the type of each layer there, to be "
          "edited and given back",
          [&Arguments](const std::string &Text) { Arguments.PlanOut = Text; })
      ->group(Group);
  addText(App, "--precision-plan", "FILE",
          "take the types that the file gives layers: lines of LAYER TYPE, and "
          "* TYPE for what values are stored in",
          [&Arguments](const std::string &Text) { Arguments.Plan = Text; })
      ->group(Group);
}

void needAutoOptions(const AutoArguments &A, const CompileOptions &Options) {
  if (!A.Asked) {
    for (const auto &[Option, Given] :
         {std::pair("--accuracy-budget", !A.Budget.Text.empty()),
          std::pair("--accuracy-check", !A.Check.empty()),
          std::pair("--data", !A.Data.empty()),
          std::pair("--precision-plan-out", !A.PlanOut.empty())})
      if (Given)
        throw UsageError(Code::UsageMissing,
                         fmt::format("{} is for --precision auto", Option),
                         "give --precision auto, or leave it out");
    return;
  }
  if (A.Budget.Text.empty() && A.Check.empty())
    throw UsageError(Code::UsageMissing,
                     "--precision auto needs to know how exact is exact enough",
                     "give --accuracy-budget sqnr=30dB, or --accuracy-check "
                     "'command'");
  if (!A.Plan.empty())
    throw UsageError(Code::UsageConflict,
                     "--precision auto makes a plan, and --precision-plan "
                     "gives one",
                     "leave one of the two out");
  if (Options.Emit)
    throw UsageError(Code::UsageNotAvailable,
                     "--emit writes no artifact, and --precision auto measures "
                     "with artifacts",
                     "write a plan with --precision-plan-out first, and give "
                     "--emit with --precision-plan");
}

} // namespace kpc::cli
