//===- DecodeGraph.h - From JSON to a program -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_DECODEGRAPH_H
#define KPC_COMPILER_IMPORT_TORCH_DECODEGRAPH_H

#include "compiler/import/torch/Program.h"
#include "llvm/Support/JSON.h"

namespace kpc::torch {

/// Each is false where the JSON is not what the schema says.
bool decodeMeta(const llvm::json::Object &O, TensorMeta &M);
/// All but the payloads; `Why` says what is wrong.
bool decodeProgram(const llvm::json::Object &O, Program &P, std::string &Why);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_DECODEGRAPH_H
