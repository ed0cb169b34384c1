//===- Rules.cpp - The table of what imports ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/ImportOnnx.h"

#include <map>

namespace kpc::onnx {

static std::vector<const Rule *> collectRules() {
  std::vector<const Rule *> All;
  for (ArrayRef<Rule> Family : {elementwiseRules(),
                                activationRules(),
                                logicalRules(),
                                castRules(),
                                constantRules(),
                                shapeRules(),
                                movementRules(),
                                indexingRules(),
                                selectionRules(),
                                sequenceRules(),
                                reductionRules(),
                                normalizationRules(),
                                convolutionRules(),
                                poolingRules(),
                                matmulRules(),
                                quantizationRules(),
                                lossRules(),
                                resizeRules(),
                                controlRules(),
                                recurrentRules(),
                                samplingRules(),
                                linearRules(),
                                attentionRules(),
                                carriedStateRules(),
                                randomRules(),
                                patchRules(),
                                regionRules(),
                                linearAttentionRules(),
                                featureRules(),
                                microsoftFusedRules(),
                                microsoftQuantizedRules(),
                                tensorRtRules(),
                                matMulNBitsRules(),
                                microsoftAttentionRules(),
                                treeRules(),
                                classifierRules(),
                                preparationRules(),
                                stringRules(),
                                supportVectorRules(),
                                expertRules(),
                                experimentalRules(),
                                trainingRules()})
    for (const Rule &R : Family)
      All.push_back(&R);
  llvm::sort(All, [](const Rule *A, const Rule *B) {
    return std::tie(A->Domain, A->Op, A->Since) <
           std::tie(B->Domain, B->Op, B->Since);
  });
  return All;
}

const std::vector<const Rule *> &allRules() {
  static const std::vector<const Rule *> All = collectRules();
  return All;
}

std::vector<const Rule *> rowsOf(std::string_view Domain, std::string_view Op) {
  const std::vector<const Rule *> &All = allRules();
  auto Key = std::tie(Domain, Op);
  auto It = llvm::lower_bound(All, Key, [](const Rule *R, const auto &K) {
    return std::tie(R->Domain, R->Op) < K;
  });
  std::vector<const Rule *> Rows;
  for (; It != All.end() && (*It)->Domain == Domain && (*It)->Op == Op; ++It)
    Rows.push_back(*It);
  return Rows;
}

const Rule *findRule(std::string_view Domain, std::string_view Op,
                     int64_t Opset) {
  for (const Rule *R : rowsOf(Domain, Op))
    if (R->Since <= Opset && Opset <= R->Until)
      return R;
  return nullptr;
}

std::vector<OperatorInfo> supportedOperators() {
  std::vector<OperatorInfo> Result;
  for (const Rule *R : allRules())
    Result.push_back({R->Domain, R->Op, R->Since, R->Until, R->Limits});
  return Result;
}

} // namespace kpc::onnx
