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
#include "compiler/import/onnx/rules/KeyCache.h"
#include "compiler/import/onnx/rules/Quantization.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

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

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Part `I` of [B, S, H, parts, D] as [B, S, H*D].
static Value packedPart(NodeImport &N, Value X, int64_t I) {
  Dims Sizes(N.dims(X));
  return N.reshape(N.sliceAxis(X, 3, I, 1),
                   {Sizes[0], Sizes[1], Sizes[2] * Sizes[4]});
}

/// Queries, keys and values as they stand in the inputs; rank 4 for keys that
/// have been projected before.
struct Projected {
  Value Q, K, V;
};

/// Takes packed operands apart and adds the bias; false after a report.
static bool unpack(NodeImport &N, Projected &P, Value Bias) {
  if (N.rank(P.Q) == 5 && !P.K && !P.V) {
    P.K = packedPart(N, P.Q, 1);
    P.V = packedPart(N, P.Q, 2);
    P.Q = packedPart(N, P.Q, 0);
  } else if (P.K && N.rank(P.K) == 5 && !P.V) {
    P.V = packedPart(N, P.K, 1);
    P.K = packedPart(N, P.K, 0);
  }
  if (!P.K || !P.V || N.rank(P.Q) != 3) {
    N.fail(Code::ImportRank, "queries, keys and values should have rank 3, or "
                             "be packed in rank 5");
    return false;
  }
  bool Before = N.rank(P.K) == 4;
  if (N.rank(P.V) != N.rank(P.K) || (!Before && N.rank(P.K) != 3) ||
      (Bias && N.rank(Bias) != 1)) {
    N.fail(Code::ImportRank, "keys and values should both have rank 3 or 4, "
                             "and a bias 1");
    return false;
  }
  if (!Bias)
    return true;
  Expr Width = N.dims(P.Q)[2], ValueWidth = N.dims(Bias)[0] - Width * 2;
  auto PartOf = [&](const Expr &At, const Expr &Count) {
    return N.sliceAxis(Bias, 0, At, Count);
  };
  P.Q = N.add(P.Q, PartOf(0, Width));
  if (!Before) {
    P.K = N.add(P.K, PartOf(Width, Width));
    P.V = N.add(P.V, PartOf(Width * 2, ValueWidth));
  }
  return !N.bad();
}

namespace {
/// Past keys and values in the caller's buffers.
struct Buffers {
  Value Length = {}; ///< so many rows count; null where there are none
  Value Beams = {};  ///< which beam each row comes from; null: its own
};
} // namespace

static void attendHeads(NodeImport &N, Attention &A, const Projected &P,
                        int64_t Heads, Value Scores, Value Padding,
                        const Buffers &Held, double Filler) {
  bool Before = N.rank(P.K) == 4;
  A.Q = headsFirst(N, P.Q, Heads);
  A.K = Before ? P.K : headsFirst(N, P.K, Heads);
  A.V = Before ? P.V : headsFirst(N, P.V, Heads);
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  if (Held.Length && A.PastKey && !writeToBuffers(N, A, Held.Length))
    return;
  Value PresentKey = A.K, PresentValue = A.V;
  if (Held.Beams) {
    A.K = followBeams(N, A.K, Held.Beams, Held.Length);
    A.V = followBeams(N, A.V, Held.Beams, Held.Length);
  }
  if (!A.K || !A.V)
    return;
  Expr Keys = N.dims(A.K)[2];
  if (A.PastKey && N.rank(A.PastKey) == 4)
    Keys = Keys + N.dims(A.PastKey)[2];
  if (A.Valid) {
    Scores = withColumns(N, Scores, Keys);
    if (Padding && N.rank(Padding) > 1)
      Padding = withColumns(N, Padding, Keys);
  }
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
  bool Kept = Held.Length && PresentKey;
  N.result(1, Kept ? PresentKey : A.K);
  N.result(2, Kept ? PresentValue : A.V);
  if (A.Shown)
    N.result(3, A.Shown);
}

static bool headsAreGood(NodeImport &N, int64_t Heads, const Attention &A) {
  if (Heads >= 1 && !A.PastKey == !A.PastValue)
    return true;
  N.fail(Code::ImportAttributeValue,
         "num_heads should be positive, and past keys and values go together");
  return false;
}

static bool beamsHaveBuffers(NodeImport &N, const Attention &A,
                             const Buffers &Held) {
  if (!Held.Beams || (Held.Length && A.PastKey))
    return true;
  N.fail(Code::ImportArity, "'cache_indirection' goes with past keys in "
                            "buffers and their length");
  return false;
}

static void importMultiHeadAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  double Filler = N.floatAttribute("mask_filter_value", -10000);
  Attention A{N};
  A.Causal = N.flagAttribute("unidirectional");
  N.expectInputs(1, 10);
  Projected P{N.input(0), N.optionalInput(1), N.optionalInput(2)};
  Value Bias = N.optionalInput(3), Padding = N.optionalInput(4),
        Scores = N.optionalInput(5), Length = N.optionalInput(8),
        Beams = N.optionalInput(9);
  A.PastKey = N.optionalInput(6);
  A.PastValue = N.optionalInput(7);
  if (N.bad() || !beamsHaveBuffers(N, A, {Length, Beams}) ||
      !headsAreGood(N, Heads, A) || !unpack(N, P, Bias))
    return;
  attendHeads(N, A, P, Heads, Scores, Padding, {Length, Beams}, Filler);
}

/// One query. Without past keys it attends to keys that have been projected
/// before.
static void importDecoderAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  double Filler = N.floatAttribute("mask_filter_value", -10000);
  bool Shares = N.flagAttribute("past_present_share_buffer");
  bool Shows = N.flagAttribute("output_qk");
  Attention A{N};
  N.expectInputs(1, 11);
  Projected P{N.input(0), N.optionalInput(1), N.optionalInput(2)};
  Value Padding = N.optionalInput(3), Scores = N.optionalInput(4),
        Length = N.optionalInput(7), Bias = N.optionalInput(10);
  A.PastKey = N.optionalInput(5);
  A.PastValue = N.optionalInput(6);
  if (N.bad())
    return;
  N.optionalInput(8); // the width of the search: input 9 has it as a size
  Value Beams = N.optionalInput(9);
  if (Shows) {
    N.unsupported("scores as an output are not supported");
    return;
  }
  if (!beamsHaveBuffers(N, A, {Shares ? Length : Value(), Beams}) ||
      !headsAreGood(N, Heads, A))
    return;
  if (Shares && A.PastKey && !Length) {
    N.fail(Code::ImportArity, "past_present_share_buffer asks for the input "
                              "'past_sequence_length'");
    return;
  }
  if (!P.K && !P.V && N.rank(P.Q) == 3) {
    Expr Width = N.dims(P.Q)[2].floorDiv(3);
    Value Packed = P.Q;
    P.Q = N.sliceAxis(Packed, 2, 0, Width);
    P.K = N.sliceAxis(Packed, 2, Width, Width);
    P.V = N.sliceAxis(Packed, 2, Width * 2, N.dims(Packed)[2] - Width * 2);
  }
  if (N.bad() || !unpack(N, P, Bias))
    return;
  attendHeads(N, A, P, Heads, Scores, Padding,
              Shares ? Buffers{Length, Beams} : Buffers(), Filler);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Rotates halves of the heads of queries and keys, as do_rotary asks: rows
/// follow the past, and a pair turns by its place / 10000^(2i/Rotated).
static void rotate(NodeImport &N, Attention &A, int64_t Rotated, Value Past,
                   Value Length) {
  std::optional<int64_t> Size = N.dims(A.Q)[3].asConstant();
  Rotated = Rotated > 0 ? Rotated : Size.value_or(0);
  if (!Size || Rotated < 2 || Rotated % 2 != 0 || Rotated > *Size ||
      N.dims(A.K)[3] != Expr(*Size)) {
    N.fail(Code::ImportAttributeValue,
           "rotates " + std::to_string(Rotated) + " elements of heads of " +
               N.dims(A.Q)[3].str() + ", expected an even number from 2 to " +
               N.dims(A.Q)[3].str());
    return;
  }
  std::vector<double> Speeds;
  for (int64_t I = 0; I < Rotated; I += 2)
    Speeds.push_back(std::pow(10000.0, -double(I) / double(Rotated)));
  Value Place = N.iota({Expr(1), N.dims(A.Q)[2], Expr(1)}, 1, N.i64());
  if (Past)
    Place = N.add(Place, Length ? N.reshape(N.cast(Length, N.i64()), {})
                                : N.sizeScalar(N.dims(Past)[3], N.i64()));
  Value Angle = N.mul(N.cast(Place, N.f32()), N.floatVector(Speeds, N.f32()));
  Value Cos = N.cast(N.unary<CosOp>(Angle), N.element(A.Q));
  Value Sin = N.cast(N.unary<SinOp>(Angle), N.element(A.Q));
  for (Value *X : {&A.Q, &A.K})
    *X = rotateHeads(N, *X, Cos, Sin, 1, Rotated, /*Interleaved=*/false);
}

/// Queries, keys and values in one tensor [B, S, widths]. `Rotated` elements of
/// each head are rotated; 0: all of them, and none where there is no number.
static void attendProjected(NodeImport &N, Attention &A, Value Y, int64_t Heads,
                            const std::optional<Ints> &Widths, Value Padding,
                            Value Past, Value Length, Value Scores,
                            double Filler,
                            std::optional<int64_t> Rotated = std::nullopt) {
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
  if (Rotated)
    rotate(N, A, *Rotated, Past, Length);
  if (N.bad() || !A.Q || !A.K)
    return;
  Expr Keys = N.dims(A.K)[2];
  if (Past) {
    auto PartOf = [&](int64_t I) {
      return N.reshape(N.sliceAxis(Past, 0, I, 1), N.dims(Past).drop_front());
    };
    A.PastKey = PartOf(0);
    A.PastValue = PartOf(1);
    Keys = Length ? N.dims(Past)[3] : Keys + N.dims(Past)[3];
  }
  if (Past && Length) {
    if (!writeToBuffers(N, A, Length))
      return;
    Scores = withColumns(N, Scores, Keys);
    if (Padding && N.rank(Padding) > 1)
      Padding = withColumns(N, Padding, Keys);
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
  int64_t Rotated = N.intAttribute("rotary_embedding_dim", 0);
  Attention A{N};
  A.Causal = N.flagAttribute("unidirectional");
  // DecoderMaskedSelfAttention has a width of a search and its beams as well.
  N.expectInputs(2, 9);
  if (N.hasInput(8)) {
    N.unsupported("'cache_indirection' is not supported");
    return;
  }
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2),
        Padding = N.optionalInput(3), Past = N.optionalInput(4),
        Scores = N.optionalInput(5), Length = N.optionalInput(6);
  if (N.bad())
    return;
  if (Shares && Past && !Length) {
    N.fail(Code::ImportArity, "past_present_share_buffer asks for the input "
                              "'past_sequence_length'");
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
                  Shares ? Length : Value(), Scores, Filler,
                  Rotates ? std::optional(Rotated) : std::nullopt);
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
                  Past, {}, {}, Filler);
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
  static const Rule Rows[] = {
      {Microsoft, "Attention", 1, 1, importAttention,
       "the size of a head must be known when compiling"},
      {Microsoft, "DecoderMaskedSelfAttention", 1, 1, importAttention,
       "the size of a head must be known when compiling; no beams"},
      {Microsoft, "QAttention", 1, 1, importQuantisedAttention,
       "the size of a head must be known when compiling; no shared buffers"},
      {Microsoft, "MultiHeadAttention", 1, 1, importMultiHeadAttention,
       "the size of a head must be known when compiling"},
      {Microsoft, "DecoderMaskedMultiHeadAttention", 1, 1,
       importDecoderAttention,
       "the size of a head must be known when compiling; no output of scores"},
      {Microsoft, "GroupQueryAttention", 1, 1, importGroupQueryAttention,
       "the size of a head must be known when compiling; a cache is the "
       "caller's buffer where past and present are declared equal"},
      {Microsoft, "RelativePositionBias", 1, 1, importRelativeBias},
      {Microsoft, "RotaryEmbedding", 1, 1, importRotatedHeads,
       "the number of angles must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
