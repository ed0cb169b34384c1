//===- InputDims.h - Names of the dims of a model's inputs ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each dynamic dim of an input has one name, by which options, messages and
/// the artifact know it: the model's, or where the model gives none the
/// input's, followed by the axis (`x_2`).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_INPUTDIMS_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_INPUTDIMS_H

#include "compiler/import/onnx/model/Model.h"

namespace kpc::onnx {

/// By input and axis; dims that are numbers have no entry.
using DimNames = std::map<std::pair<std::string, size_t>, std::string>;

/// Whether the model gives the dim a name. Exporters write "?" and "" for one
/// that has none.
bool hasName(const Dim &D);

/// Letters, digits and '_' alone, the first no digit.
std::string plainName(const std::string &Wanted);

DimNames inputDims(const Graph &G);

/// "x float [batch, 3, x_2], mask int64 [batch]", for messages.
std::string inputsText(const Graph &G, const DimNames &Names);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_INPUTDIMS_H
