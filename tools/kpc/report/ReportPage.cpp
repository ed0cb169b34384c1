//===- ReportPage.cpp - A report as one page of HTML ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/Report.h"
#include "tools/kpc/report/ReportFiles.inc"

namespace kpc::cli {

static void replace(std::string &Text, std::string_view Mark,
                    std::string_view By) {
  if (size_t At = Text.find(Mark); At != std::string::npos)
    Text.replace(At, Mark.size(), By);
}

/// JSON within a script element: a name of the model's must not end it.
static std::string embeddable(const Json &Data) {
  std::string Out;
  for (char C : jsonText(Data))
    if (C == '<')
      Out += "\\u003c";
    else
      Out += C;
  return Out;
}

static std::string escaped(const std::string &Text) {
  std::string Out;
  for (char C : printable(Text, 400))
    Out += C == '<'   ? "&lt;"
           : C == '>' ? "&gt;"
           : C == '&' ? "&amp;"
                      : std::string(1, C);
  return Out;
}

std::string reportPage(const std::vector<ReportSide> &Sides) {
  std::string Out(report_files::PageHtml);
  replace(Out, "@STYLE@", report_files::StyleCss);
  replace(Out, "@SCRIPT@", report_files::Scripts);
  // Names may look like marks: what is in front is replaced last.
  replace(Out, "@DATA@", embeddable(reportData(Sides)));
  replace(Out, "@TITLE@", escaped(Sides.front().Artifact));
  return Out;
}

std::vector<std::string> slowPathsOf(const ArtifactFacts &Facts,
                                     const std::string &Target) {
  std::vector<std::string> Out;
  for (const auto &[Key, Text] : Facts.Provenance) {
    if (Key != "slow_paths")
      continue;
    std::vector<size_t> Begins;
    for (const TargetFacts &T : Facts.Targets)
      for (size_t At = Text.find(T.Name + ": "); At != std::string::npos;
           At = Text.find(T.Name + ": ", At + 1))
        if (At == 0 || Text[At - 1] == ' ')
          Begins.push_back(At);
    std::sort(Begins.begin(), Begins.end());
    Begins.push_back(Text.size());
    for (size_t I = 0; I + 1 < Begins.size(); ++I)
      if (Text.compare(Begins[I], Target.size() + 2, Target + ": ") == 0)
        Out.push_back(
            Text.substr(Begins[I] + Target.size() + 2,
                        Begins[I + 1] - Begins[I] - Target.size() - 2));
  }
  return Out;
}

/// Those that are not of another target's plan alone: "sm_90a: …".
static RemarkFacts remarksFor(const ArtifactFacts &Facts,
                              const std::string &Target) {
  auto IsOfAnother = [&](const std::string &Text) {
    return std::any_of(
        Facts.Targets.begin(), Facts.Targets.end(), [&](const TargetFacts &T) {
          std::string Plan = T.Name;
          std::replace(Plan.begin(), Plan.end(), ':', '-');
          return T.Name != Target && Text.starts_with(Plan + ": ");
        });
  };
  RemarkFacts Out = Facts.Remarks;
  std::erase_if(Out.Made, IsOfAnother);
  std::erase_if(Out.Refused, IsOfAnother);
  return Out;
}

std::optional<ReportSide> reportSide(const std::string &Artifact,
                                     BenchResult Result, Diagnostics &Diags) {
  std::optional<ArtifactFacts> Facts = readFacts(Artifact, Result.Dims, Diags);
  if (!Facts)
    return std::nullopt;
  ReportSide Out;
  Out.Artifact = Artifact;
  Result.SlowPaths = slowPathsOf(*Facts, Result.Target);
  Out.Remarks = remarksFor(*Facts, Result.Target);
  for (TargetFacts &T : Facts->Targets)
    if (T.Name == Result.Target)
      Out.Facts = std::move(T);
  Out.Source = Result.Emulated ? TimeSource::Emulated : TimeSource::Measured;
  if (!Result.Emulated)
    Out.Best = peaksOf(Result.Target);
  Out.Result = std::move(Result);
  return Out;
}

} // namespace kpc::cli
