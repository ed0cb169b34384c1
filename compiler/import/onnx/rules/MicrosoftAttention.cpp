//===- MicrosoftAttention.cpp - Import of com.microsoft's attention -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B batch, H heads, S queries, T keys with the past ones, P past keys, D the
// size of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Attention.h"
#include "compiler/import/onnx/rules/Quantization.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

/// Refuses the inputs from `First` on that are there.
static bool refuseInputs(NodeImport &N, size_t First, std::string_view Why) {
  for (size_t I = First; I < N.inputCount(); ++I)
    if (N.hasInput(I)) {
      N.unsupported("input " + std::to_string(I) + " " + std::string(Why));
      return true;
    }
  return false;
}

/// [B, S, heads*D] to [B, heads, S, D].
static Value headsFirst(NodeImport &N, Value X, int64_t Heads) {
  return N.transpose(splitHeads(N, X, Heads), {0, 2, 1, 3});
}

/// What a padding mask adds to the scores: `Filler` where a key is padding. One
/// number a batch is the number of keys, two its end and its start.
static Value paddingBias(NodeImport &N, Value Mask, const Expr &Batch,
                         const Expr &Keys, double Filler, Type Element) {
  Value Kept;
  int64_t Rank = N.rank(Mask);
  Dims Sizes(N.dims(Mask));
  Value Place = N.iota({Keys}, 0, N.i64());
  auto Edge = [&](const Expr &Start) {
    Value V = N.sliceAxis(N.cast(Mask, N.i64()), 0, Start, Batch);
    return N.reshape(V, {Batch, Expr(1), Expr(1), Expr(1)});
  };
  if (Rank == 1 && N.unify(Sizes[0], Batch)) {
    Kept = N.compare(Predicate::lt, Place, Edge(0));
  } else if (Rank == 1 && Sizes[0] == Batch * 2) {
    Kept = N.binary<AndOp>(N.compare(Predicate::lt, Place, Edge(0)),
                           N.compare(Predicate::ge, Place, Edge(Batch)));
  } else if (Rank == 2 || Rank == 3) {
    Kept = N.compare(Predicate::ne, Mask, N.like(0, Mask));
    Kept = Rank == 2 ? N.unsqueeze(Kept, {1, 2}) : N.unsqueeze(Kept, {1});
  } else {
    return N.unsupported("a mask of " + dimsText(Sizes) +
                         "; kpc takes one of rank 1 (B or 2 B), 2 or 3");
  }
  return N.select(Kept, N.scalar(0, Element), N.scalar(Filler, Element));
}

static void addMask(NodeImport &N, Attention &A, Value Bias) {
  if (Bias)
    A.Mask = A.Mask ? N.add(A.Mask, N.cast(Bias, N.element(A.Q))) : Bias;
}

/// [B, H, S, D] to [B, S, H*D] as output 0.
static void giveOutput(NodeImport &N, Value Y) {
  if (!Y)
    return N.result(0, Y);
  Y = N.transpose(Y, {0, 2, 1, 3});
  N.result(0, N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1],
                            N.dims(Y)[2] * N.dims(Y)[3]}));
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Part `I` of [B, S, H, parts, D] as [B, S, H*D].
static Value packedPart(NodeImport &N, Value X, int64_t I) {
  Dims Sizes(N.dims(X));
  return N.reshape(N.sliceAxis(X, 3, I, 1),
                   {Sizes[0], Sizes[1], Sizes[2] * Sizes[4]});
}

static void importMultiHeadAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  double Filler = N.floatAttribute("mask_filter_value", -10000);
  Attention A{N};
  A.Causal = N.flagAttribute("unidirectional");
  N.expectInputs(1, 10);
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        Bias = N.optionalInput(3), Padding = N.optionalInput(4),
        Scores = N.optionalInput(5);
  A.PastKey = N.optionalInput(6);
  A.PastValue = N.optionalInput(7);
  if (N.bad() || refuseInputs(N, 8, "is for buffers that calls share"))
    return;
  if (Heads < 1 || !A.PastKey != !A.PastValue) {
    N.fail(
        Code::ImportAttributeValue,
        "num_heads should be positive, and past keys and values go together");
    return;
  }
  if (N.rank(Q) == 5 && !K && !V) {
    K = packedPart(N, Q, 1);
    V = packedPart(N, Q, 2);
    Q = packedPart(N, Q, 0);
  } else if (K && N.rank(K) == 5 && !V) {
    V = packedPart(N, K, 1);
    K = packedPart(N, K, 0);
  }
  if (!K || !V || N.rank(Q) != 3) {
    N.fail(Code::ImportRank, "queries, keys and values should have rank 3, or "
                             "be packed in rank 5");
    return;
  }
  // Keys of rank 4 have been projected before.
  bool Projected = N.rank(K) == 4;
  if (N.rank(V) != N.rank(K) || (!Projected && N.rank(K) != 3) ||
      (Bias && N.rank(Bias) != 1)) {
    N.fail(Code::ImportRank, "keys and values should both have rank 3 or 4, "
                             "and a bias 1");
    return;
  }
  if (Bias) {
    Expr Width = N.dims(Q)[2], ValueWidth = N.dims(Bias)[0] - Width * 2;
    auto PartOf = [&](const Expr &At, const Expr &Count) {
      return N.sliceAxis(Bias, 0, At, Count);
    };
    Q = N.add(Q, PartOf(0, Width));
    if (!Projected) {
      K = N.add(K, PartOf(Width, Width));
      V = N.add(V, PartOf(Width * 2, ValueWidth));
    }
  }
  A.Q = headsFirst(N, Q, Heads);
  A.K = Projected ? K : headsFirst(N, K, Heads);
  A.V = Projected ? V : headsFirst(N, V, Heads);
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  Expr Keys = N.dims(A.K)[2];
  if (A.PastKey && N.rank(A.PastKey) == 4)
    Keys = Keys + N.dims(A.PastKey)[2];
  addMask(N, A, Scores);
  if (Padding)
    addMask(
        N, A,
        paddingBias(N, Padding, N.dims(A.Q)[0], Keys, Filler, N.element(A.Q)));
  if (N.bad())
    return;
  giveOutput(N, A.compute());
  if (N.bad())
    return;
  N.result(1, A.K);
  N.result(2, A.V);
  if (A.Shown)
    N.result(3, A.Shown);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Queries, keys and values in one tensor [B, S, widths].
static void attendProjected(NodeImport &N, Attention &A, Value Y, int64_t Heads,
                            const std::optional<Ints> &Widths, Value Padding,
                            Value Past, Value Scores, double Filler) {
  if (!Y)
    return N.result(0, Y);
  Expr Third = N.dims(Y)[2].floorDiv(3), At(0);
  Value *Parts[] = {&A.Q, &A.K, &A.V};
  for (size_t I = 0; I < 3; ++I) {
    Expr Width = Widths && (*Widths)[I] > 0 ? Expr((*Widths)[I]) : Third;
    *Parts[I] = headsFirst(N, N.sliceAxis(Y, 2, At, Width), Heads);
    At = At + Width;
  }
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  Expr Keys = N.dims(A.K)[2];
  if (Past) {
    auto PartOf = [&](int64_t I) {
      return N.reshape(N.sliceAxis(Past, 0, I, 1), N.dims(Past).drop_front());
    };
    A.PastKey = PartOf(0);
    A.PastValue = PartOf(1);
    Keys = Keys + N.dims(Past)[3];
  }
  addMask(N, A, Scores);
  if (Padding)
    addMask(
        N, A,
        paddingBias(N, Padding, N.dims(Y)[0], Keys, Filler, N.element(A.Q)));
  if (N.bad())
    return;
  giveOutput(N, A.compute());
  if (N.wants(1) && !N.bad())
    N.result(1, N.concat({N.unsqueeze(A.K, {0}), N.unsqueeze(A.V, {0})}, 0));
}

static void importAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  double Filler = N.floatAttribute("mask_filter_value", -10000);
  std::optional<Ints> Widths = N.intsAttribute("qkv_hidden_sizes");
  bool Rotates = N.flagAttribute("do_rotary");
  bool Shares = N.flagAttribute("past_present_share_buffer");
  N.ignoreAttribute("rotary_embedding_dim");
  Attention A{N};
  A.Causal = N.flagAttribute("unidirectional");
  N.expectInputs(2, 7);
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2),
        Padding = N.optionalInput(3), Past = N.optionalInput(4),
        Scores = N.optionalInput(5);
  if (N.bad() || refuseInputs(N, 6, "is for buffers that calls share"))
    return;
  if (Rotates || Shares) {
    N.unsupported("do_rotary and past_present_share_buffer are not supported");
    return;
  }
  if (N.rank(X) != 3 || N.rank(W) != 2 || Heads < 1 ||
      (Widths && Widths->size() != 3) || (Past && N.rank(Past) != 5)) {
    N.fail(Code::ImportRank, "the input should have rank 3, the weights 2, the "
                             "past 5, and num_heads be positive");
    return;
  }
  Value Y = N.matmul(X, W);
  attendProjected(N, A, Bias ? N.add(Y, Bias) : Y, Heads, Widths, Padding, Past,
                  Scores, Filler);
}

/// The same where input and weights are 8-bit codes.
static void importQuantisedAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  double Filler = N.floatAttribute("mask_filter_value", -10000);
  bool Rotates = N.flagAttribute("do_rotary");
  bool Shares = N.flagAttribute("past_present_share_buffer");
  Attention A{N};
  A.Causal = N.flagAttribute("unidirectional");
  N.expectInputs(5, 9);
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2),
        ScaleX = N.input(3), ScaleW = N.input(4), Padding = N.optionalInput(5),
        ZeroX = N.optionalInput(6), ZeroW = N.optionalInput(7),
        Past = N.optionalInput(8);
  if (N.bad())
    return;
  if (Rotates || Shares) {
    N.unsupported("do_rotary and past_present_share_buffer are not supported");
    return;
  }
  if (N.rank(X) != 3 || N.rank(W) != 2 || Heads < 1 ||
      (Past && N.rank(Past) != 5)) {
    N.fail(Code::ImportRank, "the input should have rank 3, the weights 2, the "
                             "past 5, and num_heads be positive");
    return;
  }
  Value Sum = N.matmul(centred(N, X, ZeroX, -1), centred(N, W, ZeroW, -1));
  if (!Sum)
    return N.result(0, Sum);
  Value Factor = N.mul(alongAxis(N, N.cast(ScaleX, N.f32()), -1, 3),
                       alongAxis(N, N.cast(ScaleW, N.f32()), -1, 3));
  Value Y = N.mul(N.cast(Sum, N.f32()), Factor);
  attendProjected(N, A, Bias ? N.add(Y, Bias) : Y, Heads, std::nullopt, Padding,
                  Past, {}, Filler);
}

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

static void importRotaryEmbedding(NodeImport &N) {
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

namespace {
/// Rows [B, G, S, D] written into a cache from a row on that each batch has.
struct Cache {
  NodeImport &N;
  Value First; ///< [B], i64
  Expr Rows;   ///< of the present one

  Value write(Value Past, Value New) const;
};
} // namespace

Value Cache::write(Value Past, Value New) const {
  if (!Past || !New)
    return {};
  Dims Sizes(N.dims(New));
  Expr Have = N.dims(Past)[2], Count = Sizes[2];
  Sizes[2] = Rows;
  Value Row = N.iota({Rows, Expr(1)}, 0, N.i64());
  Value Start = N.reshape(First, {Sizes[0], Expr(1), Expr(1), Expr(1)});
  Value Zero = N.scalarInt(0, N.i64());
  auto RowsOf = [&](Value From, Value Index, const Expr &Limit) {
    Value Last = N.sizeScalar(Limit - 1, N.i64());
    Index = N.min(N.max(Index, Zero), Last);
    return N.gatherElements(From, N.broadcast(Index, Sizes), 2);
  };
  // A cache as long as the new one stays as it is where nothing is written.
  Value Old = Have == Rows ? Past : RowsOf(Past, Row, Have);
  Value At = N.sub(Row, Start);
  Value Fresh = N.binary<AndOp>(
      N.compare(Predicate::ge, At, Zero),
      N.compare(Predicate::lt, At, N.sizeScalar(Count, N.i64())));
  return N.select(Fresh, RowsOf(New, At, Count), Old);
}

static bool plainForm(NodeImport &N) {
  auto IsNone = [&](const char *Name) {
    return N.stringAttribute(Name, "NONE") == "NONE";
  };
  bool Plain = IsNone("k_quant_type") && IsNone("v_quant_type");
  Plain &= N.intAttribute("kv_cache_bit_width", 0) == 0;
  Plain &= N.intAttribute("smooth_softmax", 0) <= 0;
  Plain &= N.intAttribute("qk_output", 0) == 0;
  Plain &= !N.flagAttribute("sliding_window_cache");
  N.ignoreAttribute("qk_norm_epsilon");
  if (!Plain)
    N.unsupported("quantised or windowed caches, a smoothed softmax and scores "
                  "as an output are not supported");
  return Plain && !refuseInputs(N, 11,
                                "(a sink, a cache's scale or a norm) is "
                                "not supported");
}

static void importGroupQueryAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  int64_t Groups = N.requiredInt("kv_num_heads");
  int64_t Window = N.intAttribute("local_window_size", -1);
  bool Rotates = N.flagAttribute("do_rotary");
  bool Interleaved = N.flagAttribute("rotary_interleaved");
  Attention A{N};
  A.Causal = N.flagAttribute("causal", true);
  A.Softcap = N.floatAttribute("softcap", 0);
  N.expectInputs(7, 16);
  if (!plainForm(N))
    return;
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        PastKey = N.optionalInput(3), PastValue = N.optionalInput(4),
        Lengths = N.input(5), Cos = N.optionalInput(7),
        Sin = N.optionalInput(8), Positions = N.optionalInput(9),
        Bias = N.optionalInput(10);
  if (N.bad())
    return;
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
    Cache Writer{N, First, Shared ? Past : Past + Length};
    A.K = Writer.write(PastKey, A.K);
    A.V = Writer.write(PastValue, A.V);
    A.Valid = N.add(First, N.sizeScalar(Length, N.i64()));
  } else if (!A.Causal) {
    A.Valid = Total;
  }
  A.Left = Window > 0 ? Window - 1 : -1;
  A.Mask = Bias;
  if (N.bad() || !A.Q || !A.K || !A.V)
    return;
  giveOutput(N, A.compute());
  if (N.bad())
    return;
  N.result(1, A.K);
  N.result(2, A.V);
}

/// T5's bias: distances of keys in buckets, small ones exactly and large ones
/// by their logarithm.
static void importRelativeBias(NodeImport &N) {
  int64_t Farthest = N.intAttribute("max_distance", 128);
  bool BothWays = N.flagAttribute("is_bidirectional");
  N.expectInputs(3, 3);
  Value Table = N.input(0);
  auto Queries = N.knownSizes(1, "query_length"),
       Keys = N.knownSizes(2, "key_length");
  if (N.bad() || !Queries || !Keys)
    return;
  std::optional<int64_t> Buckets =
      N.rank(Table) == 2 ? N.dims(Table)[0].asConstant() : std::nullopt;
  int64_t Each = Buckets.value_or(0) / (BothWays ? 2 : 1), Exact = Each / 2;
  if (Queries->size() != 1 || Keys->size() != 1 || Exact < 1 ||
      Farthest <= Exact) {
    N.fail(Code::ImportShape,
           "the table should have rank 2 and a known number of buckets, the "
           "lengths one element, and max_distance exceed half the buckets");
    return;
  }
  Value Zero = N.scalarInt(0, N.i64());
  Value Off = N.sub(N.iota({Expr(1), Keys->front()}, 1, N.i64()),
                    N.iota({Queries->front(), Expr(1)}, 0, N.i64()));
  Value Base = Zero;
  if (BothWays) {
    Base = N.mul(N.cast(N.compare(Predicate::gt, Off, Zero), N.i64()),
                 N.scalarInt(Each, N.i64()));
    Off = N.unary<AbsOp>(Off);
  } else {
    Off = N.neg(N.min(Off, Zero));
  }
  double Span = std::log(static_cast<double>(Farthest) / double(Exact));
  Value Ratio = N.log(N.mulScalar(N.cast(Off, N.f32()), 1.0 / double(Exact)));
  Value Far = N.mulScalar(N.mulScalar(Ratio, 1 / Span), double(Each - Exact));
  Far = N.add(N.cast(Far, N.i64()), N.scalarInt(Exact, N.i64()));
  Far = N.min(Far, N.scalarInt(Each - 1, N.i64()));
  Value Near = N.compare(Predicate::lt, Off, N.scalarInt(Exact, N.i64()));
  Value Bucket = N.add(Base, N.select(Near, Off, Far));
  Value Bias = N.transpose(N.gather(Table, Bucket, 0), {2, 0, 1});
  N.result(0, Bias ? N.unsqueeze(Bias, {0}) : Bias);
}

ArrayRef<Rule> microsoftAttentionRules() {
  static constexpr std::string_view HeadSize =
      "the size of a head must be known when compiling; no shared buffers";
  static const Rule Rows[] = {
      {Microsoft, "Attention", 1, 1, importAttention, HeadSize},
      {Microsoft, "QAttention", 1, 1, importQuantisedAttention, HeadSize},
      {Microsoft, "MultiHeadAttention", 1, 1, importMultiHeadAttention,
       HeadSize},
      {Microsoft, "GroupQueryAttention", 1, 1, importGroupQueryAttention,
       "the size of a head must be known when compiling; no quantised or "
       "windowed cache, sink, smoothed softmax, norm or output of scores; a "
       "cache is the caller's buffer where past and present are declared "
       "equal"},
      {Microsoft, "RelativePositionBias", 1, 1, importRelativeBias},
      {Microsoft, "RotaryEmbedding", 1, 1, importRotaryEmbedding,
       "the number of angles must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
