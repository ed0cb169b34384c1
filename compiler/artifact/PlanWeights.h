//===- PlanWeights.h - A plan's weights as the artifact's -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_PLANWEIGHTS_H
#define KPC_COMPILER_ARTIFACT_PLANWEIGHTS_H

#include "codegen/artifact/Contents.h"
#include "compiler/import/WeightStore.h"
#include "dialects/plan/Plan.h"
#include "llvm/Support/Error.h"

#include <map>

namespace kpc {

/// As the artifact calls the element type of a tensor between kernels and of a
/// weight, where elements of 2 and 4 bits take a byte each; Undefined where a
/// kernel could not read what the artifact holds.
ElementType elementTypeOf(mlir::Type Element);
/// The same of an input or output, where such elements are packed.
ElementType portTypeOf(mlir::Type Element);

/// The weight that a plan or a graph names, prepared. Fails where the models
/// have none of that name, or where it has other sizes or another type than
/// `Ty`.
llvm::Expected<artifact::Weight> preparedWeight(llvm::StringRef Source,
                                                mlir::ArrayAttr Recipe,
                                                graph::SymbolicTensorType Ty,
                                                const WeightStore &Weights);

/// The elements of a constant.
artifact::Weight constantWeight(std::string Name, mlir::ElementsAttr Value);

/// The weights of an artifact: those of all its plans, each once. Two plans
/// share a weight where both prepare the same source by the same recipe, and a
/// constant where type, dims and bytes are equal.
class WeightTable {
public:
  /// Fills `Into`. Both must outlive it.
  WeightTable(const WeightStore &Weights, std::vector<artifact::Weight> &Into)
      : Weights(Weights), All(Into) {}

  /// The place of a weight in the table.
  llvm::Expected<uint32_t> add(plan::WeightOp Op);
  uint32_t add(plan::ConstantOp Op);
  const std::string &nameOf(uint32_t Index) const { return All[Index].Name; }

private:
  const WeightStore &Weights;
  std::vector<artifact::Weight> &All;
  std::map<std::string, uint32_t> BySourceAndRecipe;
  llvm::DenseMap<mlir::Attribute, uint32_t> ByValue;
};

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_PLANWEIGHTS_H
