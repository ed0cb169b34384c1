//===- MicrosoftFused.h - Parts of com.microsoft's operators ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_MICROSOFTFUSED_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_MICROSOFTFUSED_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

Value gelu(NodeImport &N, Value X);

struct Normalised {
  Value Y, Mean, Scale;
};
/// Over the axes from `Axis` on; without a mean where `Simplified`.
Normalised normalise(NodeImport &N, Value X, Value Gamma, Value Beta,
                     int64_t Axis, double Epsilon, bool Simplified);

/// What the first layer of BERT is made of; tables are floats.
struct Embeddings {
  Value Ids, Segments, Words, Places, SegmentTable, Gamma, Beta, Mask,
      Positions;
  double Epsilon = 0;
};
/// Gives the normalised sum of rows, the lengths of sequences and the sum.
void embed(NodeImport &N, const Embeddings &E);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_MICROSOFTFUSED_H
