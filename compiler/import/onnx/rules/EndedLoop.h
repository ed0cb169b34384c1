//===- EndedLoop.h - Loops that their own data ends -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_ENDEDLOOP_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_ENDEDLOOP_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// One scalar that is known by its size.
Contents scalarContents(ElementType Type, const Expr &E);
/// Whether no node, no output and no subgraph names a value (Importer.cpp).
bool isUnread(const Graph &G, const std::string &Name);
/// Whether a loop's body needs the number of its iteration for no size and no
/// place in a tensor, so that it may be data of the device.
bool isDataAlone(const Graph &Body, const std::string &Number);
/// A `Loop` whose condition its body changes.
void importEndedLoop(NodeImport &N, const Graph &Body);
/// The iterations of such a `Loop` one after another, if constants say when it
/// ends, and they are few.
bool unrollKnownLoop(NodeImport &N, const Graph &Body);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_ENDEDLOOP_H
