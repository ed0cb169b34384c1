//===- InspectControls.cpp - Loops and branches of a plan -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/InspectControls.h"
#include "runtime/format/Container.h"
#include "tools/kpc/Say.h"
#include "tools/kpc/TextTable.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

/// "step 3", "steps 3 to 5".
static std::string stepsText(size_t First, size_t End) {
  return First + 1 == End ? fmt::format("step {}", First)
                          : fmt::format("steps {} to {}", First, End - 1);
}

/// A loop without a trip count.
static bool onlyDataEnds(const ControlFacts &C) {
  return C.IsLoop && !C.Condition.empty() && C.Count == format::MostIterations;
}

/// How a GPU learns of a condition.
static std::string decisionText(const TargetFacts &T, const ControlFacts &C) {
  if (!T.Gpu || C.Condition.empty())
    return "";
  return C.ReadBack ? fmt::format("read back: {}", C.ReadBack)
                    : "node of the graph";
}

void printControls(const TargetFacts &T) {
  fmt::print("loops and branches of {}:\n", T.Name);
  bool Decides = T.Gpu && std::any_of(T.Controls.begin(), T.Controls.end(),
                                      [](const ControlFacts &C) {
                                        return !C.Condition.empty();
                                      });
  TextTable Table(Decides ? "lll" : "ll");
  for (const ControlFacts &C : T.Controls) {
    std::string What;
    if (C.IsLoop && !C.Condition.empty())
      What = fmt::format(
          "run while {}{}{}", printable(C.Condition, 60),
          onlyDataEnds(C) ? "" : fmt::format(", at most {} times", C.CountText),
          C.Else == C.End ? "" : "; then " + stepsText(C.Else, C.End));
    else if (C.IsLoop)
      What = C.Count && std::to_string(*C.Count) != C.CountText
                 ? fmt::format("run {} = {} times", C.CountText, *C.Count)
                 : fmt::format("run {} times", C.CountText);
    else if (C.First == C.Else)
      What = fmt::format("run unless {}", printable(C.Condition, 60));
    else if (C.Else == C.End)
      What = fmt::format("run if {}", printable(C.Condition, 60));
    else
      What = fmt::format("if {} {}, else {}", printable(C.Condition, 60),
                         stepsText(C.First, C.Else), stepsText(C.Else, C.End));
    size_t Behind = C.IsLoop && !C.Condition.empty() ? C.Else : C.End;
    std::vector<std::string> Row = {stepsText(C.First, Behind), What};
    if (Decides)
      Row.push_back(decisionText(T, C));
    Table.row(Row);
  }
  fmt::print("{}", Table.text());
  if (Decides)
    fmt::print("nodes of the graph take a driver for CUDA 12.3, no time limit "
               "and at most 4096 steps; else conditions are read back\n");
}

Json controlJson(const TargetFacts &T, const ControlFacts &C) {
  Json J = {{"kind", C.IsLoop ? "loop" : "if"},
            {"first_step", C.First},
            {"end_step", C.End}};
  if (std::string How = decisionText(T, C); !How.empty())
    J["decided"] = How;
  if (!C.IsLoop) {
    J["else_step"] = C.Else;
    J["condition"] = C.Condition;
    return J;
  }
  if (!C.Condition.empty()) {
    J["condition"] = C.Condition;
    J["behind_step"] = C.Else;
  }
  if (onlyDataEnds(C))
    return J;
  J["count_for"] = C.CountText;
  if (C.Count)
    J["count"] = *C.Count;
  return J;
}

} // namespace kpc::cli
