//===- TokenRows.h - Rows of tokens and caches in blocks --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_TOKENROWS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_TOKENROWS_H

#include "compiler/import/onnx/Rules.h"

namespace kpc::onnx {

/// `Onto` with `Rows` [T, ..] in place of those that `At` [T] says; one outside
/// of it is left out.
Value scatterRows(NodeImport &N, Value Onto, Value At, Value Rows);

/// The angles of positions [B, S], or of one position [1] and its successors,
/// from a table of each position's.
Value anglesAt(NodeImport &N, Value Table, Value Positions, const Expr &Batch,
               const Expr &Length);
/// Each head [.., D] divided by the root of its mean square, in f32.
Value normaliseHeads(NodeImport &N, Value X, Value Gamma, double Epsilon);

void importPackedAttention(NodeImport &N);
void importPackedHeads(NodeImport &N);
void importRestorePadding(NodeImport &N);
void importRemovePadding(NodeImport &N);
void importGatedPositionBias(NodeImport &N);
void importPagedAttention(NodeImport &N);
void importSparseAttention(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_TOKENROWS_H
