//===- Models.h - The models that a text was written from -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A graph or a plan as text names weights of a model's file. The module says
/// which file that was, by its SHA-256:
///
///   module attributes {graph.models = {digits.onnx = "4ef0…"}}
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_MODELS_H
#define KPC_DIALECTS_GRAPH_MODELS_H

#include "llvm/ADT/StringRef.h"

namespace kpc::graph {

inline constexpr llvm::StringLiteral ModelsName = "graph.models";

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_MODELS_H
