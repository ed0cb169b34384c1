//===- Rules.h - The table of what imports ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One row for one operator in a range of opsets; `kpc ops` prints the rows. A
/// family of operators is a file in rules/.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

using RuleFunction = void (*)(NodeImport &);

struct Rule {
  std::string_view Domain; ///< "" for ONNX's own
  std::string_view Op;
  int64_t Since, Until; ///< opsets, both included
  RuleFunction Import;
  std::string_view Limits = {}; ///< what of it does not compile
};

/// The newest opset that rules were written for (ONNX 1.22).
constexpr int64_t Newest = 28;

ArrayRef<Rule> elementwiseRules();
ArrayRef<Rule> activationRules();
ArrayRef<Rule> logicalRules();
ArrayRef<Rule> castRules();
ArrayRef<Rule> constantRules();
ArrayRef<Rule> shapeRules();
ArrayRef<Rule> movementRules();
ArrayRef<Rule> indexingRules();
ArrayRef<Rule> selectionRules();
ArrayRef<Rule> sequenceRules();
ArrayRef<Rule> reductionRules();
ArrayRef<Rule> normalizationRules();
ArrayRef<Rule> convolutionRules();
ArrayRef<Rule> poolingRules();
ArrayRef<Rule> matmulRules();
ArrayRef<Rule> quantizationRules();
ArrayRef<Rule> lossRules();
ArrayRef<Rule> resizeRules();
ArrayRef<Rule> controlRules();
ArrayRef<Rule> recurrentRules();
ArrayRef<Rule> samplingRules();
ArrayRef<Rule> linearRules();
ArrayRef<Rule> attentionRules();
ArrayRef<Rule> carriedStateRules();
ArrayRef<Rule> randomRules();
ArrayRef<Rule> patchRules();
ArrayRef<Rule> regionRules();
ArrayRef<Rule> linearAttentionRules();
ArrayRef<Rule> featureRules();
ArrayRef<Rule> microsoftFusedRules();
ArrayRef<Rule> microsoftBranchRules();
ArrayRef<Rule> microsoftRareRules();
ArrayRef<Rule> microsoftQuantizedRules();
ArrayRef<Rule> tensorRtRules();
ArrayRef<Rule> matMulNBitsRules();
ArrayRef<Rule> microsoftAttentionRules();
ArrayRef<Rule> treeRules();
ArrayRef<Rule> classifierRules();
ArrayRef<Rule> preparationRules();
ArrayRef<Rule> stringRules();
ArrayRef<Rule> mapRules();
ArrayRef<Rule> supportVectorRules();
ArrayRef<Rule> expertRules();
ArrayRef<Rule> experimentalRules();
ArrayRef<Rule> trainingRules();

/// What says why an operator can never be compiled; none for others. Such
/// operators have no row.
std::optional<RuleFunction> refusalOf(std::string_view Domain,
                                      std::string_view Op);

/// Null if there is none. `Domain` is known if any row has it.
const Rule *findRule(std::string_view Domain, std::string_view Op,
                     int64_t Opset);
/// Every row of an operator, any opset.
std::vector<const Rule *> rowsOf(std::string_view Domain, std::string_view Op);
const std::vector<const Rule *> &allRules();

/// Computes outputs by contents where those of the inputs are known. True if
/// it did; then no rule runs.
bool importByContents(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_H
