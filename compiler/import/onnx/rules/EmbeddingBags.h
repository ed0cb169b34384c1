//===- EmbeddingBags.h - Loops that sum the rows of bags --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_EMBEDDINGBAGS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_EMBEDDINGBAGS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// Imports a loop that sums rows of a table between two offsets, all rows at
/// once. False, and nothing is built, where it is no such loop.
bool importEmbeddingBags(NodeImport &N, const Graph &Body);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_EMBEDDINGBAGS_H
