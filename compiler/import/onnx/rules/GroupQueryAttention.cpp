//===- GroupQueryAttention.cpp - Grouped heads and RoPE -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of com.microsoft, as ONNX Runtime's model builder writes decoders. B batch, H
// heads of queries, G heads of keys, S queries, D the size of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/KeyCache.h"

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// The angles of positions [B, S], or of one position [1] and its successors,
/// from a table of each position's.
static Value anglesAt(NodeImport &N, Value Table, Value Positions,
                      const Expr &Batch, const Expr &Length) {
  Positions = N.cast(Positions, N.i64());
  if (!Positions || !Table)
    return {};
  if (N.rank(Positions) <= 1)
    Positions = N.add(N.reshape(Positions, {Expr(1), Expr(1)}),
                      N.iota({Expr(1), Length}, 1, N.i64()));
  return N.gather(Table, N.broadcast(Positions, {Batch, Length}), 0);
}

void importRotatedHeads(NodeImport &N) {
  bool Interleaved = N.flagAttribute("interleaved");
  int64_t Rotated = N.intAttribute("rotary_embedding_dim", 0);
  int64_t Heads = N.intAttribute("num_heads", 0);
  N.floatAttribute("scale", 1);
  N.ignoreAttribute("is_packed_batching");
  N.expectInputs(4, 4);
  Value X = N.input(0), Positions = N.input(1), Cos = N.input(2),
        Sin = N.input(3);
  if (N.bad())
    return;
  bool Flat = N.rank(X) == 3;
  if ((!Flat && N.rank(X) != 4) || N.rank(Positions) > 2 || N.rank(Cos) != 2 ||
      N.rank(Sin) != 2) {
    N.fail(Code::ImportRank, "the input should have rank 3 or 4, positions at "
                             "most 2, and the tables 2");
    return;
  }
  std::optional<int64_t> Half = N.dims(Cos)[1].asConstant();
  if (!Half || *Half < 1) {
    N.unsupportedOn("rotates heads", N.dims(Cos)[1]);
    return;
  }
  if (Rotated == 0)
    Rotated = 2 * *Half;
  if (Flat) {
    std::optional<int64_t> Width = N.dims(X)[2].asConstant();
    if (Heads == 0 && Width)
      Heads = *Width / (2 * *Half);
    X = splitHeads(N, X, Heads);
  }
  std::optional<int64_t> Size = X ? N.dims(X)[3].asConstant() : std::nullopt;
  if (!Size || Rotated != 2 * *Half || Rotated > *Size) {
    N.fail(Code::ImportShape, "the tables have " + std::to_string(*Half) +
                                  " angles, which do not fit the heads");
    return;
  }
  Expr Batch = N.dims(X)[0], Length = N.dims(X)[Flat ? 1 : 2];
  Value Y = rotateHeads(N, X, anglesAt(N, Cos, Positions, Batch, Length),
                        anglesAt(N, Sin, Positions, Batch, Length),
                        Flat ? 2 : 1, Rotated, Interleaved);
  if (Flat && Y)
    Y = N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2] * N.dims(Y)[3]});
  N.result(0, Y);
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Refuses what is not there; false after a report.
static bool plainForm(NodeImport &N) {
  auto IsNone = [&](const char *Name) {
    return N.stringAttribute(Name, "NONE") == "NONE";
  };
  bool Plain = IsNone("k_quant_type") && IsNone("v_quant_type");
  Plain &= N.intAttribute("kv_cache_bit_width", 0) == 0;
  Plain &= !N.flagAttribute("sliding_window_cache");
  Plain &= !N.hasInput(12) && !N.hasInput(13);
  if (!Plain)
    N.unsupported("quantised or windowed caches are not supported");
  return Plain;
}

/// Each head [.., D] divided by the root of its mean square, in f32.
static Value normaliseHeads(NodeImport &N, Value X, Value Gamma,
                            double Epsilon) {
  if (!X || !Gamma)
    return X;
  Value Wide = N.cast(X, N.f32());
  Value Square = N.mean(N.mul(Wide, Wide), {3}, /*KeepDims=*/true);
  Value Factor = N.unary<RsqrtOp>(N.addScalar(Square, Epsilon));
  return N.cast(N.mul(N.mul(Wide, Factor), N.cast(Gamma, N.f32())),
                N.element(X));
}

void importGroupQueryAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  int64_t Groups = N.requiredInt("kv_num_heads");
  int64_t Window = N.intAttribute("local_window_size", -1);
  bool Rotates = N.flagAttribute("do_rotary");
  bool Interleaved = N.flagAttribute("rotary_interleaved");
  Attention A{N};
  A.Causal = N.flagAttribute("causal", true);
  A.Softcap = N.floatAttribute("softcap", 0);
  A.HasSink = N.intAttribute("smooth_softmax", 0) == 1;
  double Epsilon = N.floatAttribute("qk_norm_epsilon", 1e-6F);
  int64_t Shows = N.intAttribute("qk_output", 0);
  N.expectInputs(7, 16);
  if (!plainForm(N))
    return;
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        PastKey = N.optionalInput(3), PastValue = N.optionalInput(4),
        Lengths = N.input(5), Cos = N.optionalInput(7),
        Sin = N.optionalInput(8), Positions = N.optionalInput(9),
        Bias = N.optionalInput(10), GammaQ = N.optionalInput(14),
        GammaK = N.optionalInput(15);
  A.Sink = N.optionalInput(11);
  A.HasSink |= !!A.Sink;
  if (N.bad())
    return;
  if (Shows < 0 || Shows > 2 || (A.Sink && N.rank(A.Sink) != 1) ||
      !GammaQ != !GammaK) {
    N.fail(Code::ImportAttributeValue,
           "qk_output should be 0, 1 or 2, a sink have rank 1, and norms of "
           "queries and keys go together");
    return;
  }
  if (Heads < 1 || Groups < 1 || Heads % Groups != 0 || !K != !V ||
      !PastKey != !PastValue || (Rotates && (!Cos || !Sin)) || N.rank(Q) != 3) {
    N.fail(
        Code::ImportAttributeValue,
        "num_heads should be a multiple of kv_num_heads, queries have rank 3, "
        "and keys and values, past ones and angles go together");
    return;
  }
  if (!K) {
    // Packed: the heads of Q, then those of K, then those of V.
    Expr Size = N.dims(Q)[2].floorDiv(Heads + 2 * Groups);
    Value Packed = Q;
    Q = N.sliceAxis(Packed, 2, 0, Size * Heads);
    K = N.sliceAxis(Packed, 2, Size * Heads, Size * Groups);
    V = N.sliceAxis(Packed, 2, Size * (Heads + Groups), Size * Groups);
  }
  A.Q = headsFirst(N, Q, Heads);
  A.K = headsFirst(N, K, Groups);
  A.V = headsFirst(N, V, Groups);
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  A.Q = normaliseHeads(N, A.Q, GammaQ, Epsilon);
  A.K = normaliseHeads(N, A.K, GammaK, Epsilon);
  if (N.bad() || !A.Q || !A.K)
    return;
  Expr Batch = N.dims(A.Q)[0], Length = N.dims(A.Q)[2];
  // seqlens_k is the number of keys less one; a prompt may have padding behind.
  Value Total = N.addScalar(N.reshape(N.cast(Lengths, N.i64()), {Batch}), 1);
  Value First = N.max(N.sub(Total, N.sizeScalar(Length, N.i64())),
                      N.scalarInt(0, N.i64()));
  if (Rotates) {
    Value At = Positions ? Positions
                         : N.add(N.unsqueeze(First, {1}),
                                 N.iota({Batch, Length}, 1, N.i64()));
    Value C = anglesAt(N, Cos, At, Batch, Length);
    Value S = anglesAt(N, Sin, At, Batch, Length);
    if (N.rank(Cos) != 2 || N.rank(Sin) != 2) {
      N.fail(Code::ImportRank, "the tables of angles should have rank 2");
      return;
    }
    std::optional<int64_t> Half = N.dims(Cos)[1].asConstant();
    if (!Half) {
      N.unsupportedOn("rotates heads", N.dims(Cos)[1]);
      return;
    }
    A.Q = rotateHeads(N, A.Q, C, S, 1, 2 * *Half, Interleaved);
    A.K = rotateHeads(N, A.K, C, S, 1, 2 * *Half, Interleaved);
  }
  bool HasPast =
      PastKey && N.rank(PastKey) == 4 && N.dims(PastKey)[2] != Expr(0);
  if (HasPast && A.K && A.V) {
    Expr Past = N.dims(PastKey)[2];
    // The caller's buffer where the result is declared as long as the past.
    std::optional<Dims> Declared = N.declaredSizes(1);
    bool Shared = Declared && Declared->size() == 4 && (*Declared)[2] == Past;
    KeyCache Writer{N, First, Shared ? Past : Past + Length};
    A.K = Writer.write(PastKey, A.K);
    A.V = Writer.write(PastValue, A.V);
    A.Valid = N.add(First, N.sizeScalar(Length, N.i64()));
  } else if (!A.Causal) {
    A.Valid = Total;
  }
  A.Left = Window > 0 ? Window - 1 : -1;
  A.Mask = Bias;
  A.Mode = Shows == 2 ? 3 : 2; // behind the softmax, or what goes into it
  if (N.bad() || !A.Q || !A.K || !A.V)
    return;
  giveOutput(N, A.compute());
  if (N.bad())
    return;
  N.result(1, A.K);
  N.result(2, A.V);
  if (A.Shown)
    N.result(3, A.Shown);
}

} // namespace kpc::onnx
