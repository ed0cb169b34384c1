//===- Rules.h - Import rules by aten operator ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each file of rules/ holds one family of operators: functions that read a
/// node's arguments by their names in the operator's schema and give its
/// results, and a table of them. A row with an in-place form needs no second
/// one: what `add.Tensor` computes, `add_.Tensor` writes to `self`.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

using RuleFunction = void (*)(NodeImport &);

/// Whether aten has a form whose name ends in '_' as well: one that writes to
/// `self`, or one that gives `self` other sizes or another order of axes.
enum class InPlace : unsigned char { No, Yes, Sizes };

struct Rule {
  std::string_view Target; ///< "add.Tensor" of aten; else with its domain
  RuleFunction Import;
  InPlace Form = InPlace::No;
  std::string_view Limits = {}; ///< what of it does not compile
};

ArrayRef<Rule> elementwiseRules();
ArrayRef<Rule> activationRules();
ArrayRef<Rule> castRules();
ArrayRef<Rule> creationRules();
ArrayRef<Rule> viewRules();
ArrayRef<Rule> movementRules();
ArrayRef<Rule> indexingRules();
ArrayRef<Rule> reductionRules();
ArrayRef<Rule> normalizationRules();
ArrayRef<Rule> linearRules();
ArrayRef<Rule> attentionRules();
ArrayRef<Rule> convolutionRules();
ArrayRef<Rule> expertRules();
ArrayRef<Rule> patchRules();
ArrayRef<Rule> poolingRules();
ArrayRef<Rule> resizeRules();
ArrayRef<Rule> recurrentRules();
ArrayRef<Rule> controlRules();
ArrayRef<Rule> selectionRules();
ArrayRef<Rule> scatterRules();
ArrayRef<Rule> complexRules();
ArrayRef<Rule> quantizationRules();
ArrayRef<Rule> specialRules();
ArrayRef<Rule> lossRules();
ArrayRef<Rule> ctcLossRules();
ArrayRef<Rule> matrixRules();
ArrayRef<Rule> factorizationRules();
ArrayRef<Rule> statisticsRules();
ArrayRef<Rule> compositionRules();
ArrayRef<Rule> spectralRules();
ArrayRef<Rule> triangularRules();
ArrayRef<Rule> matrixFunctionRules();
ArrayRef<Rule> windowRules();

/// x[..., mask], whose result is the node's: the mask covers the axes from
/// `Front` on.
void selectByMask(NodeImport &N, Value X, Value Mask, size_t Front = 0);

/// The element type of a table that an operator computes from numbers: that of
/// `dtype`; null for one that is no float.
Type tableType(NodeImport &N);

/// The rule for "aten.add_.Tensor"; `Form` says what this name does to `self`.
/// Null if there is none.
const Rule *findRule(std::string_view Target, InPlace &Form);
const std::vector<const Rule *> &allRules();

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_H
