//===- Strings.h - Strings that select or label -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_STRINGS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_STRINGS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

struct Rule;
using StringList = std::vector<std::string>;

/// Output `I` is strings: their numbers in `List`.
void giveStrings(NodeImport &N, size_t I, Value Codes, StringList List);
/// Imports a node that reads strings; false of one that reads none.
bool importStrings(NodeImport &N, const Rule *R);
/// Gives what says of each element which of the categories of a last axis it
/// is. Without `Zeros` a run is refused whose data is none of them.
void giveOneHot(NodeImport &N, Value Same, bool Zeros);
/// All strings that the readers of a value name.
StringList stringsReadOf(const Graph &G, const std::string &Name);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_STRINGS_H
