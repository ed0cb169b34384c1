//===- Passes.h - Steps from a decoded model to one ready to import *- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each step reports what it finds and leaves the model in a state in which
/// the next can run; a step that fails returns false.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_PASSES_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_PASSES_H

#include "compiler/import/onnx/model/Model.h"

namespace kpc::onnx {

/// Replaces calls of local functions by their bodies, also inside subgraphs.
/// Names inside become unique with the call's name in front.
bool inlineFunctions(Model &M, Diagnostics &Diags);

/// Puts nodes behind what they read (also what their subgraphs read), keeping
/// the file's order where it can; finds cycles, undefined values and values
/// defined twice.
bool orderNodes(Graph &G, Diagnostics &Diags);

/// Rewrites what opsets below the newest spell differently without meaning
/// anything else: attributes that became inputs, renamed or dropped ones.
void rewriteOldForms(Graph &G, Diagnostics &Diags);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_PASSES_H
