//===- Provenance.cpp - The options that made an artifact, as text ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Options.h"

#include "compiler/ModelDigest.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

static std::string dimFactsText(const shape::SymbolFacts &F) {
  std::string Out = std::to_string(F.Min);
  if (F.Max == shape::Interval::Unbounded)
    Out += "..";
  else if (F.Max != F.Min)
    Out += fmt::format("..{}", F.Max);
  if (F.Optimum)
    Out += fmt::format(":opt={}", *F.Optimum);
  if (F.Divisor != 1)
    Out += fmt::format(":div={}", F.Divisor);
  return Out;
}

/// "rules.txt,sha256=1f2e3d4c5b6a": the name says what to look for, the digest
/// which rules they were. Blanks would end the option.
static std::string namedFileText(const std::string &Path) {
  std::string Text = Path.substr(Path.rfind('/') + 1); // npos + 1 is 0
  std::replace_if(
      Text.begin(), Text.end(),
      [](char C) { return !llvm::isAlnum(C) && C != '.' && C != '_'; }, '-');
  // What a pipe holds is read once, by the compiler.
  std::error_code Ignored;
  if (std::filesystem::is_regular_file(Path, Ignored))
    Text += ",sha256=" + fileDigest(Path).substr(0, 12);
  return Text;
}

std::string provenanceText(const CompileOptions &Options) {
  std::vector<std::string> Words = precisionWords();
  auto Word = [&](Precision P) { return Words[static_cast<size_t>(P)]; };
  std::vector<std::string> Parts;
  if (!Options.Targets.empty())
    Parts.push_back(fmt::format("--arch={}", fmt::join(Options.Targets, ",")));
  for (const auto &[Name, Facts] : Options.Dims)
    Parts.push_back(fmt::format("--dim={}={}", Name, dimFactsText(Facts)));
  for (const auto &[Name, Given] : Options.Places) {
    std::vector<std::string> Sizes;
    for (const shape::SymbolFacts &F : Given)
      Sizes.push_back(F == shape::SymbolFacts() ? "?" : dimFactsText(F));
    Parts.push_back(fmt::format("--dim={}={}", Name, fmt::join(Sizes, ",")));
  }
  for (const auto &[Name, Text] : Options.Values)
    Parts.push_back(fmt::format("--value={}={}", Name, Text));
  for (const auto &[Name, Input] : Options.Aliases)
    Parts.push_back(fmt::format("--alias={}={}", Name, Input));
  for (const auto &[Name, Sizes] : Options.InputShapes)
    Parts.push_back(
        fmt::format("--input-shape={}={}", Name, fmt::join(Sizes, ",")));
  for (const auto &[Name, Type] : Options.InputTypes)
    Parts.push_back(fmt::format("--input-type={}={}", Name, Type));
  if (!Options.Method.empty())
    Parts.push_back("--method=" + Options.Method);
  if (Options.ExplicitState)
    Parts.push_back("--state=explicit");
  if (Options.Compute != Precision::Model)
    Parts.push_back("--precision=" + Word(Options.Compute));
  if (Options.Io != Precision::Model)
    Parts.push_back("--io-precision=" + Word(Options.Io));
  for (const auto &[Pattern, P] : Options.PrecisionFor)
    Parts.push_back(fmt::format("--precision-for={}={}", Pattern, Word(P)));
  for (const std::string &Manifest : Options.Operators)
    Parts.push_back("--operator=" + namedFileText(Manifest));
  if (!Options.Calibration.empty())
    Parts.push_back("--calibration=" + namedFileText(Options.Calibration));
  if (!Options.SmoothChannels)
    Parts.push_back("--no-smooth-channels");
  if (!Options.CorrectBias)
    Parts.push_back("--no-correct-bias");
  if (!Options.ResidualsOfCodes)
    Parts.push_back("--no-residuals-of-codes");
  if (!Options.LoopKernels)
    Parts.push_back("--no-loop-kernels");
  if (!Options.ScaleWeights)
    Parts.push_back("--no-scale-weights");
  if (!Options.RoundByFeedback)
    Parts.push_back("--no-round-by-feedback");
  if (Options.WeightGroup != CompileOptions().WeightGroup)
    Parts.push_back(fmt::format("--weight-group={}", Options.WeightGroup));
  if (Options.Strip)
    Parts.push_back("--strip");
  if (Options.LineInfo)
    Parts.push_back("--line-info");
  if (Options.HostOptimization != CompileOptions().HostOptimization)
    Parts.push_back(fmt::format("-O{}", Options.HostOptimization));
  if (Options.Variants != CompileOptions().Variants)
    Parts.push_back(fmt::format("--variants={}", Options.Variants));
  if (!Options.ScheduleFile.empty())
    Parts.push_back("--schedule=" + namedFileText(Options.ScheduleFile));
  return fmt::format("{}", fmt::join(Parts, " "));
}

} // namespace kpc::cli
