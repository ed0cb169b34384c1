//===- ChosenAxes.h - Axes that only the run knows --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Axes that are an input of the model. Where every choice that is possible
/// gives the same sizes, all are computed and the data picks one. That is a
/// composition of graph ops, so each target can do it, and nothing is read
/// back.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_CHOSENAXES_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_CHOSENAXES_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// More results than these are not computed to keep one of them.
inline constexpr size_t MostChosenAxes = 8;

/// The sum of 2^a for the axes a that `Axes` names, as a scalar. Axes may count
/// from the end.
Value axesMask(NodeImport &N, Value Axes, int64_t Rank);

/// The results that `Make` gives for each entry of `Choices`, and of these the
/// one whose axes input `Input` names.
Value chosenByAxes(NodeImport &N, size_t Input, int64_t Rank,
                   ArrayRef<Ints> Choices,
                   llvm::function_ref<Value(ArrayRef<int64_t>)> Make);

/// Reports that input `Input` decides the sizes of output 0.
void failOpenAxes(NodeImport &N, size_t Input, std::string_view What);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_CHOSENAXES_H
