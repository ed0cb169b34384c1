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

namespace {
struct Family {
  std::string_view Name; ///< for `kpc ops --json`
  ArrayRef<Rule> Rules;
};
} // namespace

static std::vector<Family> families() {
  return {{"elementwise", elementwiseRules()},
          {"activation", activationRules()},
          {"logical", logicalRules()},
          {"cast", castRules()},
          {"constant", constantRules()},
          {"shape", shapeRules()},
          {"movement", movementRules()},
          {"indexing", indexingRules()},
          {"selection", selectionRules()},
          {"sequence", sequenceRules()},
          {"reduction", reductionRules()},
          {"normalization", normalizationRules()},
          {"convolution", convolutionRules()},
          {"pooling", poolingRules()},
          {"matmul", matmulRules()},
          {"quantization", quantizationRules()},
          {"loss", lossRules()},
          {"resize", resizeRules()},
          {"control", controlRules()},
          {"recurrent", recurrentRules()},
          {"sampling", samplingRules()},
          {"linear", linearRules()},
          {"attention", attentionRules()},
          {"carried-state", carriedStateRules()},
          {"random", randomRules()},
          {"patch", patchRules()},
          {"region", regionRules()},
          {"linear-attention", linearAttentionRules()},
          {"feature", featureRules()},
          {"microsoft-fused", microsoftFusedRules()},
          {"microsoft-branch", microsoftBranchRules()},
          {"microsoft-rare", microsoftRareRules()},
          {"microsoft-quantized", microsoftQuantizedRules()},
          {"tensorrt", tensorRtRules()},
          {"matmul-nbits", matMulNBitsRules()},
          {"microsoft-attention", microsoftAttentionRules()},
          {"tree", treeRules()},
          {"classifier", classifierRules()},
          {"preparation", preparationRules()},
          {"string", stringRules()},
          {"map", mapRules()},
          {"support-vector", supportVectorRules()},
          {"expert", expertRules()},
          {"experimental", experimentalRules()},
          {"training", trainingRules()}};
}

static std::vector<const Rule *> collectRules() {
  std::vector<const Rule *> All;
  for (const Family &F : families())
    for (const Rule &R : F.Rules)
      All.push_back(&R);
  llvm::sort(All, [](const Rule *A, const Rule *B) {
    return std::tie(A->Domain, A->Op, A->Since) <
           std::tie(B->Domain, B->Op, B->Since);
  });
  return All;
}

static std::string_view familyOf(const Rule *R) {
  for (const Family &F : families())
    if (R >= F.Rules.begin() && R < F.Rules.end())
      return F.Name;
  return {};
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
    Result.push_back(
        {R->Domain, R->Op, R->Since, R->Until, R->Limits, familyOf(R)});
  return Result;
}

} // namespace kpc::onnx
