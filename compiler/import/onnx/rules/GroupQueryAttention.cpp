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
#include "compiler/import/onnx/rules/Convert.h"
#include "compiler/import/onnx/rules/KeyCache.h"
#include "compiler/import/onnx/rules/Quantization.h"
#include "compiler/import/onnx/rules/TokenRows.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

Value anglesAt(NodeImport &N, Value Table, Value Positions, const Expr &Batch,
               const Expr &Length) {
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

namespace {
/// How a cache keeps keys or values: as they are, as codes of 4 or 8 bits, or
/// as floats of 8 bits.
struct CacheCodes {
  int64_t Bits = 0; ///< 0: as they are
  Type Float = {};  ///< f8E4M3FN; null where codes are integers
  Value Scale = {}; ///< broadcasts to [B, G, S, D]

  bool read(NodeImport &N, const char *Attribute, size_t Input, Value Rows,
            Value Past);
  Value encode(NodeImport &N, Value X) const;
  Value decode(NodeImport &N, Value Codes, Type To) const;
};
} // namespace

/// `Rows` are [B, G, S, D]. False after a report.
bool CacheCodes::read(NodeImport &N, const char *Attribute, size_t Input,
                      Value Rows, Value Past) {
  std::string Kind = N.stringAttribute(Attribute, "NONE");
  int64_t Width = N.intAttribute("kv_cache_bit_width", 0);
  Value Given = N.optionalInput(Input);
  if (N.bad() || Kind == "NONE")
    return !N.bad();
  Bits = Width ? Width : 8;
  if (Past && mlir::isa<mlir::Float8E4M3FNType>(N.element(Past)))
    Float = N.element(Past);
  bool PerTensor = Kind == "PER_TENSOR";
  if ((Bits != 4 && Bits != 8) || !Given ||
      (!PerTensor && Kind != "PER_CHANNEL")) {
    N.fail(Code::ImportAttributeValue, "a cache has codes of 4 or 8 bits, or "
                                       "f8E4M3FN, with scales PER_TENSOR or "
                                       "PER_CHANNEL, which are an input");
    return false;
  }
  Dims Sizes = {Expr(1), PerTensor ? Expr(1) : N.dims(Rows)[1], Expr(1),
                PerTensor ? Expr(1) : N.dims(Rows)[3]};
  Scale = N.reshape(N.cast(Given, N.f32()), Sizes);
  return !N.bad() && Scale;
}

/// Codes of 4 bits are numbers from 0 on, 8 for zero, and the first of two is
/// the lower half of a byte.
Value CacheCodes::encode(NodeImport &N, Value X) const {
  if (!Bits || !X)
    return X;
  Value Steps = N.div(N.cast(X, N.f32()), Scale);
  if (Float)
    return convert(N, Steps, Float, Rounding());
  if (Bits == 8)
    return saturate(N, Steps, {}, N.builder().getIntegerType(8));
  Type Byte = N.builder().getIntegerType(8, /*isSigned=*/false);
  Steps = N.min(N.max(Steps, N.like(-8, Steps)), N.like(7, Steps));
  Value Codes = N.add(N.unary<RoundOp>(Steps), N.like(8, Steps));
  Dims Sizes(N.dims(X));
  Sizes[3] = Sizes[3].floorDiv(2);
  Sizes.push_back(Expr(2));
  Codes = N.mul(N.reshape(Codes, Sizes), N.floatVector({1, 16}, N.f32()));
  return N.cast(N.reduce(ReduceKind::sum, Codes, {4}), Byte);
}

Value CacheCodes::decode(NodeImport &N, Value Codes, Type To) const {
  if (!Bits || !Codes)
    return Codes;
  Value Numbers = N.cast(Codes, N.f32());
  if (Bits == 4) {
    Value Whole = N.cast(Codes, N.i32());
    Value High = N.binary<ShrOp>(Whole, N.scalarInt(4, N.i32()));
    Value Low = N.bitAnd(Whole, N.scalarInt(15, N.i32()));
    Dims Sizes(N.dims(Codes));
    Sizes[3] = Sizes[3] * 2;
    Numbers = N.concat({N.unsqueeze(Low, {4}), N.unsqueeze(High, {4})}, 4);
    Numbers = N.addScalar(N.cast(N.reshape(Numbers, Sizes), N.f32()), -8);
  }
  return N.cast(N.mul(Numbers, Scale), To);
}

namespace {
/// A cache of C rows for a window. Its first rows are the latest positions, and
/// it drops several at once where it has more rows than the window: how many it
/// holds follows from how many there have been, `residents`. The new rows stand
/// behind those of the past when keys are read.
struct WindowCache {
  NodeImport &N;
  int64_t Window;
  Expr Rows; ///< C
  Value First,
      Total; ///< [B], i64: positions before the new ones, and with them

  Value residents(Value Count) const;
  Value keep(Value Staged) const;
  Value bias(Value Given, const Expr &Queries, Type Element) const;

private:
  Value whole(const Expr &E) const { return N.sizeScalar(E, N.i64()); }
};
} // namespace

Value WindowCache::residents(Value Count) const {
  Value Each = whole(Rows - Window + 1);
  Value Over = N.sub(Count, whole(Rows));
  Value Drops = N.div(N.sub(N.add(Over, Each), whole(Expr(1))), Each);
  return N.select(N.compare(Predicate::le, Count, whole(Rows)), Count,
                  N.sub(Count, N.mul(Each, Drops)));
}

/// The present rows, of the past and the new ones [B, G, C + S, D].
Value WindowCache::keep(Value Staged) const {
  if (!Staged || !First || !Total)
    return {};
  Dims Sizes(N.dims(Staged));
  Value Held = N.unsqueeze(residents(First), {1});
  Value Before = N.unsqueeze(First, {1});
  Value Oldest = N.unsqueeze(N.sub(Total, residents(Total)), {1});
  Value Position = N.add(Oldest, N.iota({Expr(1), Rows}, 1, N.i64()));
  Value Behind = N.sub(Position, Before);
  Value From = N.select(N.compare(Predicate::ge, Position, Before),
                        N.add(Behind, whole(Rows)), N.add(Behind, Held));
  From = N.min(N.max(From, N.scalarInt(0, N.i64())), whole(Sizes[2] - 1));
  if (!From)
    return {};
  Sizes[2] = Rows;
  From = N.reshape(From, {Sizes[0], Expr(1), Rows, Expr(1)});
  return N.gatherElements(Staged, N.broadcast(From, Sizes), 2);
}

/// What is added to scores of all those rows. Columns of what is given are
/// positions.
Value WindowCache::bias(Value Given, const Expr &Queries, Type Element) const {
  if (!First)
    return {};
  Expr Batch = N.dims(First)[0], Keys = Rows + Queries;
  auto Across = [&](Value V) {
    return N.reshape(V, {Batch, Expr(1), Expr(1), Expr(1)});
  };
  Value Before = Across(First), Held = Across(residents(First));
  Value Row = N.iota({Expr(1), Expr(1), Expr(1), Keys}, 3, N.i64());
  Value IsNew = N.compare(Predicate::ge, Row, whole(Rows));
  Value Position =
      N.add(Before, N.select(IsNew, N.sub(Row, whole(Rows)), N.sub(Row, Held)));
  Value Query =
      N.add(Before, N.iota({Expr(1), Expr(1), Queries, Expr(1)}, 2, N.i64()));
  Value Behind = N.sub(Query, Position);
  Value Seen =
      N.bitAnd(N.compare(Predicate::ge, Behind, N.scalarInt(0, N.i64())),
               N.compare(Predicate::lt, Behind, N.scalarInt(Window, N.i64())));
  Seen = N.bitAnd(Seen, N.select(IsNew, N.scalarInt(1, N.i1()),
                                 N.compare(Predicate::lt, Row, Held)));
  if (!Seen || !Position)
    return {};
  Value Hidden =
      N.select(Seen, N.scalar(0, Element), N.scalar(-INFINITY, Element));
  if (!Given)
    return Hidden;
  if (N.rank(Given) != 4)
    return N.fail(Code::ImportRank, "attention_bias should have rank 4");
  Dims Sizes(N.dims(Given));
  Value Last = whole(Sizes[3] - 1);
  Sizes[0] = Batch;
  Sizes[2] = Queries;
  Value Whole = N.broadcast(Given, Sizes);
  Sizes[3] = Keys;
  Value Column = N.min(N.max(Position, N.scalarInt(0, N.i64())), Last);
  return N.add(N.gatherElements(Whole, N.broadcast(Column, Sizes), 3), Hidden);
}

Value normaliseHeads(NodeImport &N, Value X, Value Gamma, double Epsilon) {
  if (!X || !Gamma)
    return X;
  Value Wide = N.cast(X, N.f32());
  Value Square = N.mean(N.mul(Wide, Wide), {3}, /*KeepDims=*/true);
  Value Factor = N.unary<RsqrtOp>(N.addScalar(Square, Epsilon));
  return N.cast(N.mul(N.mul(Wide, Factor), N.cast(Gamma, N.f32())),
                N.element(X));
}

/// Whether new rows have the type of past ones; reports if not.
static bool fitsCache(NodeImport &N, Value Past, Value New) {
  if (N.element(Past) == N.element(New))
    return true;
  N.fail(Code::ImportElementType, "past keys or values are " +
                                      typeText(N.element(Past)) +
                                      ", expected " + typeText(N.element(New)));
  return false;
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
  bool Windowed = N.flagAttribute("sliding_window_cache");
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
    PackedHeads All = unpackHeads(N, Q, Heads, Groups);
    Q = All.Q, K = All.K, V = All.V;
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
  CacheCodes KeyCodes, ValueCodes;
  if (!A.K || !A.V || !KeyCodes.read(N, "k_quant_type", 12, A.K, PastKey) ||
      !ValueCodes.read(N, "v_quant_type", 13, A.V, PastValue))
    return;
  Type Element = N.element(A.K);
  Value PresentKey = KeyCodes.encode(N, A.K);
  Value PresentValue = ValueCodes.encode(N, A.V);
  bool HasPast =
      PastKey && N.rank(PastKey) == 4 && N.dims(PastKey)[2] != Expr(0);
  if (HasPast &&
      (!PresentKey || !PresentValue || !fitsCache(N, PastKey, PresentKey) ||
       !fitsCache(N, PastValue, PresentValue)))
    return;
  if (Windowed) {
    if (!HasPast || Shows || Window < 1 || !A.Causal) {
      N.fail(Code::ImportAttributeValue,
             "sliding_window_cache asks for past keys and values, a causal "
             "mask and local_window_size, and takes no qk_output");
      return;
    }
    Expr Rows = N.dims(PastKey)[2];
    if (std::optional<int64_t> Known = Rows.asConstant();
        Known && *Known < Window) {
      N.fail(Code::ImportShape, "a cache of " + std::to_string(*Known) +
                                    " rows does not hold a window of " +
                                    std::to_string(Window));
      return;
    }
    WindowCache Cache{N, Window, Rows, First, Total};
    A.K = N.concat({PastKey, PresentKey}, 2);
    A.V = N.concat({PastValue, PresentValue}, 2);
    PresentKey = Cache.keep(A.K);
    PresentValue = Cache.keep(A.V);
    A.K = KeyCodes.decode(N, A.K, Element);
    A.V = ValueCodes.decode(N, A.V, Element);
    A.Mask = Cache.bias(Bias, Length, N.element(A.Q));
    A.Causal = false;
  } else if (HasPast) {
    Expr Past = N.dims(PastKey)[2];
    // The caller's buffer where the result is declared as long as the past.
    std::optional<Dims> Declared = N.declaredSizes(1);
    bool Shared = Declared && Declared->size() == 4 && (*Declared)[2] == Past;
    KeyCache Writer{N, First, Shared ? Past : Past + Length};
    PresentKey = Writer.write(PastKey, PresentKey);
    PresentValue = Writer.write(PastValue, PresentValue);
    A.Valid = N.add(First, N.sizeScalar(Length, N.i64()));
  } else if (!A.Causal) {
    A.Valid = Total;
  }
  if (!Windowed) {
    A.K = KeyCodes.decode(N, PresentKey, Element);
    A.V = ValueCodes.decode(N, PresentValue, Element);
    A.Left = Window > 0 ? Window - 1 : -1;
    A.Mask = Bias;
  }
  A.Mode = Shows == 2 ? 3 : 2; // behind the softmax, or what goes into it
  if (N.bad() || !A.Q || !A.K || !A.V)
    return;
  giveOutput(N, A.compute());
  if (N.bad())
    return;
  N.result(1, PresentKey);
  N.result(2, PresentValue);
  if (A.Shown)
    N.result(3, A.Shown);
}

} // namespace kpc::onnx
