//===- Rules.cpp - Import rules by aten operator --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/OperatorAliases.h"
#include "compiler/import/torch/Operators.h"

#include "llvm/ADT/StringMap.h"

#include <deque>
#include <set>

namespace kpc::torch {

/// Rules of names that are aliases of others, where no table has one.
static void appendAliases(std::vector<const Rule *> &Rows) {
  // Rows hold views of names, and pointers to rows stay.
  static std::deque<std::pair<std::string, Rule>> Own;
  std::set<std::string_view> Known;
  for (const Rule *R : Rows)
    Known.insert(R->Target);
  std::vector<const Rule *> More;
  for (const OperatorAlias &A : OperatorAliases)
    for (const Rule *R : Rows) {
      auto [Operator, Overload] = llvm::StringRef(R->Target).split('.');
      std::string Name = std::string(A.Alias) + "." + Overload.str();
      if (Operator != llvm::StringRef(A.Of) || Known.count(Name))
        continue;
      Own.emplace_back(Name, *R);
      Own.back().second.Target = Own.back().first;
      More.push_back(&Own.back().second);
    }
  Rows.insert(Rows.end(), More.begin(), More.end());
}

const std::vector<const Rule *> &allRules() {
  static const std::vector<const Rule *> All = [] {
    std::vector<const Rule *> Rows;
    for (ArrayRef<Rule> Table :
         {elementwiseRules(),   activationRules(),     castRules(),
          creationRules(),      viewRules(),           movementRules(),
          indexingRules(),      reductionRules(),      normalizationRules(),
          linearRules(),        attentionRules(),      convolutionRules(),
          poolingRules(),       resizeRules(),         recurrentRules(),
          controlRules(),       selectionRules(),      complexRules(),
          quantizationRules(),  specialRules(),        lossRules(),
          statisticsRules(),    compositionRules(),    spectralRules(),
          expertRules(),        patchRules(),          matrixRules(),
          factorizationRules(), ctcLossRules(),        scatterRules(),
          triangularRules(),    matrixFunctionRules(), windowRules()})
      for (const Rule &R : Table)
        Rows.push_back(&R);
    appendAliases(Rows);
    return Rows;
  }();
  return All;
}

/// "aten.add.Tensor", and "torchvision.nms.default" as it is.
static std::string wholeTarget(const Rule &R) {
  bool Other = llvm::StringRef(R.Target).count('.') > 1 ||
               llvm::StringRef(R.Target).starts_with("higher_order.");
  return (Other ? "" : "aten.") + std::string(R.Target);
}

/// "aten.add_.Tensor"
static std::string writingTarget(const Rule &R) {
  auto [Op, Overload] = llvm::StringRef(R.Target).split('.');
  return ("aten." + Op + "_." + Overload).str();
}

const Rule *findRule(std::string_view Target, InPlace &Form) {
  static const llvm::StringMap<std::pair<const Rule *, InPlace>> ByTarget = [] {
    llvm::StringMap<std::pair<const Rule *, InPlace>> Map;
    for (const Rule *R : allRules()) {
      Map[wholeTarget(*R)] = {R, InPlace::No};
      if (R->Form != InPlace::No)
        Map[writingTarget(*R)] = {R, R->Form};
    }
    return Map;
  }();
  auto It = ByTarget.find(Target);
  if (It == ByTarget.end())
    return nullptr;
  Form = It->second.second;
  return It->second.first;
}

std::vector<OperatorInfo> supportedOperators() {
  std::vector<OperatorInfo> Ops;
  for (const Rule *R : allRules()) {
    Ops.push_back({wholeTarget(*R), R->Limits});
    if (R->Form != InPlace::No)
      Ops.push_back({writingTarget(*R), R->Limits});
  }
  llvm::sort(Ops, [](const OperatorInfo &A, const OperatorInfo &B) {
    return A.Name < B.Name;
  });
  return Ops;
}

} // namespace kpc::torch
