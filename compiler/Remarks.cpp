//===- Remarks.cpp - What the passes say of their choices -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"

#include "llvm/Support/Regex.h"

#include <map>
#include <set>

using namespace kpc;
using namespace llvm;

std::string kpc::reasonAgainstPattern(const std::string &Pattern) {
  std::string Why;
  llvm::Regex(Pattern).isValid(Why);
  return Why;
}

std::vector<kpc::Remark> kpc::mergedRemarks(
    const std::vector<std::pair<std::string, std::vector<Remark>>> &OfPlans) {
  std::map<Remark, size_t> PlansThatSay;
  for (const auto &[Plan, Remarks] : OfPlans)
    for (const Remark &R : std::set<Remark>(Remarks.begin(), Remarks.end()))
      ++PlansThatSay[R];
  std::vector<Remark> All;
  bool IsFirst = true;
  for (const auto &[Plan, Remarks] : OfPlans) {
    for (const Remark &R : Remarks) {
      bool IsShared = PlansThatSay[R] == OfPlans.size();
      if (IsShared && !IsFirst)
        continue;
      All.push_back(R);
      if (!IsShared)
        All.back().Plan = Plan;
    }
    IsFirst = false;
  }
  return All;
}

std::string kpc::textOf(const Remark &R) {
  return R.Plan.empty() ? R.Text : R.Plan + ": " + R.Text;
}

std::vector<kpc::Remark>
kpc::matchingRemarks(const std::vector<Remark> &Remarks,
                     const std::string &Pattern) {
  llvm::Regex Wanted(Pattern);
  std::vector<Remark> Found;
  for (const Remark &R : Remarks)
    if (Wanted.match(R.Category) || Wanted.match(textOf(R)))
      Found.push_back(R);
  return Found;
}

/// Names of nodes may hold anything; a remark is one line.
static std::string oneLine(StringRef Text) {
  std::string Out = Text.str();
  for (char &C : Out)
    if (C < ' ' && C >= 0)
      C = ' ';
  return Out;
}

std::vector<std::pair<std::string, std::string>>
kpc::remarksAsProperties(const std::vector<Remark> &Remarks) {
  // The table of an artifact is read whole whenever it is loaded.
  constexpr size_t MostKept = 1000;
  std::vector<std::pair<std::string, std::string>> Out;
  for (bool Made : {true, false}) {
    std::string Text;
    size_t Count = 0;
    for (const Remark &R : Remarks)
      if (R.Passed == Made && ++Count <= MostKept)
        Text += oneLine(textOf(R)) + " [" + R.Category + "]\n";
    if (Count > MostKept)
      Text += "and " + std::to_string(Count - MostKept) + " more\n";
    if (Count)
      Out.emplace_back(Made ? RemarksMade : RemarksRefused, Text);
  }
  return Out;
}

/// A YAML scalar in single quotes.
static std::string quoted(StringRef Text) {
  std::string Out = "'";
  for (char C : oneLine(Text))
    Out += C == '\'' ? "''" : std::string(1, C);
  return Out + "'";
}

std::string kpc::remarksAsYaml(const std::vector<Remark> &Remarks) {
  std::string Out;
  for (const Remark &R : Remarks) {
    Out += R.Passed ? "--- !Passed\n" : "--- !Missed\n";
    Out += "Pass:            " + R.Category + "\n";
    Out += "Name:            " + R.Name + "\n";
    Out += "Function:        " + (R.Plan.empty() ? "main" : R.Plan) + "\n";
    Out += "Args:\n";
    Out += "  - Node:            " + quoted(R.Node) + "\n";
    Out += "  - String:          " + quoted(": " + R.Text) + "\n...\n";
  }
  return Out;
}
