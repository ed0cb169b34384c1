//===- WeightRecipe.h - Prepares weights for the artifact -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executes the recipe of a `plan.weight` while the artifact is written: bytes
/// come from the model's mapped file and are permuted and cast piece by piece,
/// as the writer asks for them. Memory use does not grow with the weight.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WEIGHTS_WEIGHTRECIPE_H
#define KPC_COMPILER_WEIGHTS_WEIGHTRECIPE_H

#include "codegen/artifact/Contents.h"
#include "compiler/import/WeightStore.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// The weight as the artifact's writer takes it. `Source` must live until the
/// artifact is written. Fails where a step does not fit the tensor.
llvm::Expected<artifact::Weight>
prepareWeight(std::string Name, const Weight &Source, mlir::ArrayAttr Recipe);

/// Equal text for equal results: the same bytes under the same recipe.
std::string recipeText(mlir::ArrayAttr Recipe);

} // namespace kpc

#endif // KPC_COMPILER_WEIGHTS_WEIGHTRECIPE_H
