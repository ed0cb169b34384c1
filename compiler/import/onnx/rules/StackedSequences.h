//===- StackedSequences.h - Sequences whose length the run knows *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_STACKEDSEQUENCES_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_STACKEDSEQUENCES_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

Entry stackOf(Value V);
/// The elements along the first axis, where only the run knows their number;
/// null of all other inputs.
Value stackInput(NodeImport &N, size_t I);

/// The element at input 1, which data may say.
Value itemOfStack(NodeImport &N, Value Stack);
void eraseFromStack(NodeImport &N, Value Stack);
void insertIntoStack(NodeImport &N, Value Stack);
/// The elements one after another along `Axis` of theirs, or along a new one.
Value joinedStack(NodeImport &N, Value Stack, int64_t Axis, bool New);
/// An axis in parts of one size, whose number is not known; null, without a
/// report, where that is not how it is split.
Value splitIntoStack(NodeImport &N, Value X, int64_t Axis, bool Keep);
/// A loop over the elements, whose results are stacked as well.
void mapStack(NodeImport &N, const Graph &Body, Value Stack);

/// A `Loop` that does nothing with the sequences that it carries but append to
/// them; false of others. `ImportLoop` imports one without sequences.
bool importAppendingLoop(NodeImport &N, const Graph &Body,
                         llvm::function_ref<void(NodeImport &)> ImportLoop);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_STACKEDSEQUENCES_H
