//===- DataBounds.h - Numbers of a node that data decides --------*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_DATABOUNDS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_DATABOUNDS_H

#include "compiler/import/onnx/Rules.h"

namespace kpc::onnx {

/// Element `I` of a vector, a scalar: of the part that has it where the vector
/// was joined, so that what is known of it stays known.
Value elementAt(NodeImport &N, Value Vector, int64_t I);

/// Whether no element is negative, by what computes them: counts, places, sums
/// of such.
bool isNeverNegative(Value V);

void importPad(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_DATABOUNDS_H
