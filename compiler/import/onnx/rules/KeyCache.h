//===- KeyCache.h - Past keys in attention of com.microsoft -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_KEYCACHE_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_KEYCACHE_H

#include "compiler/import/onnx/rules/Attention.h"

namespace kpc::onnx {

/// [B, S, heads*D] to [B, heads, S, D].
Value headsFirst(NodeImport &N, Value X, int64_t Heads);
/// [B, H, S, D] to [B, S, H*D] as output 0.
void giveOutput(NodeImport &N, Value Y);

/// Rows [B, G, S, D] written into a cache from a row on that each batch has.
struct KeyCache {
  NodeImport &N;
  Value First; ///< [B], i64
  Expr Rows;   ///< of the present one

  Value write(Value Past, Value New) const;
};

/// For a past that has the size of the present and of which `Past` rows count,
/// an integer that the run knows: the keys and values of `A` become the present
/// ones. False after a report.
bool writeToBuffers(NodeImport &N, Attention &A, Value Past);
/// What has a column for each key that counts, with one for each of `Keys`.
Value withColumns(NodeImport &N, Value Mask, const Expr &Keys);

/// Rows [B, H, M, D] of a buffer as a search sees them: which beam each of the
/// `Past` first ones comes from, says `Beams` [searches, width, M]. Null after
/// a report.
Value followBeams(NodeImport &N, Value Rows, Value Beams, Value Past);

/// Rules that stand in GroupQueryAttention.cpp.
void importRotatedHeads(NodeImport &N);
void importGroupQueryAttention(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_KEYCACHE_H
