//===- Attention.h - Parts of attention that rules share --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_ATTENTION_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_ATTENTION_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// [B, S, heads*D] to [B, S, heads, D].
Value splitHeads(NodeImport &N, Value X, int64_t Heads);

struct PackedHeads {
  Value Q, K, V;
};
/// Of one tensor whose last dimension has the heads of queries, then those of
/// keys, then those of values.
PackedHeads unpackHeads(NodeImport &N, Value Packed, int64_t Heads,
                        int64_t Groups);

/// X [B, H, S, D] or [B, S, H, D] with the first `Rotated` elements of each
/// head rotated by the angles of [B, S, Rotated/2]. `HeadAxis` is 1 or 2.
/// `Interleaved`: RoPE rotates neighbouring elements, not halves of a head.
Value rotateHeads(NodeImport &N, Value X, Value Cos, Value Sin,
                  int64_t HeadAxis, int64_t Rotated, bool Interleaved);

void importRotaryEmbedding(NodeImport &N); ///< RotaryEmbedding.cpp

/// What attention works on: operands as [B, heads, sequence, D], and how.
struct Attention {
  NodeImport &N;
  Value Q = {}, K = {}, V = {}, Mask = {}, PastKey = {}, PastValue = {};
  Value Valid = {}; ///< the keys that count, for each batch
  /// A key that all queries see, of no value: its score, one for each head; 0
  /// where it is null. What a smoothed softmax adds to the sum of its row.
  bool HasSink = false;
  Value Sink = {};
  bool Flat = false; ///< the inputs had rank 3
  bool Causal = false;
  int64_t Left = -1, Right = -1, Mode = 0;
  double Scale = 0, Softcap = 0;
  mlir::Type SoftmaxType = {};
  Value Shown = {};   ///< what output 3 is, where it is wanted
  int64_t Before = 0; ///< keys in front that are none of the operands'

  /// From the inputs and attributes of ONNX's Attention.
  bool read();
  /// Sets `Scale` from the attribute, or from the size of a head.
  bool readScale();
  /// [B, heads, sequence, D]; null after a report. Past keys and values are
  /// joined to `K` and `V`.
  Value compute();
  /// Gives the output, in the form of the inputs, and keys and values.
  void finish(Value Y);
  bool readSoftmaxType();
  /// The product of queries and keys, scaled.
  Value scores();
  /// The product of A [B, H, S, x] and C [B, G, x, y]; each head of C serves
  /// H/G heads of A.
  Value perGroup(Value A, Value C);

private:
  Value attend();
  bool addSink();
  bool isTriangle() const;
  Value oneOp();
  bool sizesAgree();
  Value fourSizes(Value Tensor);
  Value bias();
  Value allowed();
  Value paddedMask(const Expr &Keys);
  Value probabilities(Value Logits, Value Bias);
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_ATTENTION_H
