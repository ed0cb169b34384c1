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
#include "dialects/graph/Graph.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// As the artifact calls the element type of a tensor of the graph; Undefined
/// where a kernel could not read what the artifact holds.
ElementType elementTypeOf(mlir::Type Element);

/// The weight that a plan or a graph names, prepared. Fails where the models
/// have none of that name, or where it has other sizes or another type than
/// `Ty`.
llvm::Expected<artifact::Weight> preparedWeight(llvm::StringRef Source,
                                                mlir::ArrayAttr Recipe,
                                                graph::SymbolicTensorType Ty,
                                                const WeightStore &Weights);

/// The elements of a constant.
artifact::Weight constantWeight(std::string Name, mlir::ElementsAttr Value);

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_PLANWEIGHTS_H
