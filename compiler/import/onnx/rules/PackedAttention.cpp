//===- PackedAttention.cpp - Attention of tokens without padding ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of com.microsoft. T tokens of B sequences of at most S stand in one row, the
// padding left out. They are put in their places [B, S] for the attention,
// which knows the lengths, and taken out again.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/KeyCache.h"
#include "compiler/import/onnx/rules/TokenRows.h"

using namespace kpc::graph;

namespace kpc::onnx {

Value scatterRows(NodeImport &N, Value Onto, Value At, Value Rows) {
  if (!Onto || !At || !Rows)
    return {};
  if (N.rank(At) == 1)
    At = N.unsqueeze(At, {1});
  mlir::Builder &B = N.builder();
  return N.build(
      ScatterNdOp::getOperationName(), {Onto, At, Rows},
      {B.getNamedAttr(
          "kind", ScatterKindAttr::get(B.getContext(), ScatterKind::none))});
}

namespace {
/// Where tokens stand.
struct TokenPlaces {
  NodeImport &N;
  Expr Batch = {}, Length = {}, Count = {};
  Value Places = {}; ///< [T], i64: of B*S

  bool read(Value Offsets, const Expr &Tokens);
  /// [T, W] to [B, S, W], zeros where there is padding.
  Value spread(Value Rows) const;
  /// [B, S, W] to [T, W].
  Value collect(Value Padded) const;
};
} // namespace

bool TokenPlaces::read(Value Offsets, const Expr &Tokens) {
  if (N.rank(Offsets) != 2) {
    N.fail(Code::ImportRank, "token_offset should have rank 2");
    return false;
  }
  Batch = N.dims(Offsets)[0];
  Length = N.dims(Offsets)[1];
  Count = Tokens;
  // Those of tokens come first, then those of padding.
  Value Flat = N.reshape(N.cast(Offsets, N.i64()), {Batch * Length});
  Places = N.gather(Flat, N.iota({Tokens}, 0, N.i64()), 0);
  return !N.bad() && Places;
}

Value TokenPlaces::spread(Value Rows) const {
  if (!Rows)
    return {};
  if (N.rank(Rows) != 2)
    return N.fail(Code::ImportRank, "tokens should have rank 2");
  Expr Width = N.dims(Rows)[1];
  Value Zeros = N.full(0, {Batch * Length, Width}, N.element(Rows));
  return N.reshape(scatterRows(N, Zeros, Places, Rows), {Batch, Length, Width});
}

Value TokenPlaces::collect(Value Padded) const {
  if (!Padded)
    return {};
  Expr Width = N.dims(Padded)[2];
  return N.gather(N.reshape(Padded, {Batch * Length, Width}), Places, 0);
}

/// [B, H, S, D] to [B, S, H*D].
static Value headsLast(NodeImport &N, Value Y) {
  Y = N.transpose(Y, {0, 2, 1, 3});
  return Y ? N.reshape(
                 Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2] * N.dims(Y)[3]})
           : Y;
}

/// Lengths [B] from the sums before each sequence and the last one's, [B + 1].
static Value lengthsOf(NodeImport &N, Value Sums, const Expr &Batch) {
  if (N.rank(Sums) != 1 || !N.unify(N.dims(Sums)[0], Batch + 1))
    return N.fail(Code::ImportShape,
                  "cumulative_sequence_length is " + dimsText(N.dims(Sums)) +
                      ", expected one more than there are sequences");
  Sums = N.cast(Sums, N.i64());
  return N.sub(N.sliceAxis(Sums, 0, 1, Batch), N.sliceAxis(Sums, 0, 0, Batch));
}

/// Queries, keys and values [T, W], of `Heads` heads.
static void attendPacked(NodeImport &N, Value Q, Value K, Value V,
                         int64_t Heads, Value Offsets, Value Sums, Value Bias) {
  if (N.bad() || !Q || !K || !V)
    return;
  TokenPlaces At{N};
  if (!At.read(Offsets, N.dims(Q)[0]))
    return;
  Attention A{N};
  A.Q = headsFirst(N, At.spread(Q), Heads);
  A.K = headsFirst(N, At.spread(K), Heads);
  A.V = headsFirst(N, At.spread(V), Heads);
  A.Valid = lengthsOf(N, Sums, At.Batch);
  A.Mask = Bias;
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  N.result(0, At.collect(headsLast(N, A.compute())));
}

void importPackedAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  std::optional<Ints> Widths = N.intsAttribute("qkv_hidden_sizes");
  N.expectInputs(5, 6);
  Value X = N.input(0), W = N.input(1), Bias = N.input(2), Offsets = N.input(3),
        Sums = N.input(4), Scores = N.optionalInput(5);
  if (N.bad())
    return;
  if (N.rank(X) != 2 || N.rank(W) != 2 || Heads < 1 ||
      (Widths && Widths->size() != 3)) {
    N.fail(Code::ImportRank, "the input and the weights should have rank 2, "
                             "and num_heads be positive");
    return;
  }
  Value Y = N.add(N.matmul(X, W), Bias);
  if (!Y)
    return;
  Expr Third = N.dims(Y)[1].floorDiv(3), At(0);
  Value Parts[3];
  for (size_t I = 0; I < 3; ++I) {
    Expr Width = Widths && (*Widths)[I] > 0 ? Expr((*Widths)[I]) : Third;
    Parts[I] = N.sliceAxis(Y, 1, At, Width);
    At = At + Width;
  }
  attendPacked(N, Parts[0], Parts[1], Parts[2], Heads, Offsets, Sums, Scores);
}

void importPackedHeads(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  // Padding is no key at all.
  N.ignoreAttribute("mask_filter_value");
  N.expectInputs(6, 7);
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        Bias = N.optionalInput(3), Offsets = N.input(4), Sums = N.input(5),
        Scores = N.optionalInput(6);
  if (N.bad())
    return;
  bool Joined = N.rank(Q) == 4 && !K && !V;
  if (Heads < 1 || (!Joined && (!K || !V || N.rank(Q) != 2 || N.rank(K) != 2 ||
                                N.rank(V) != 2))) {
    N.fail(Code::ImportRank, "queries, keys and values should have rank 2, or "
                             "be joined in rank 4");
    return;
  }
  if (Joined) {
    // [T, H, 3, D]
    Value All = Q;
    auto PartOf = [&](int64_t I) {
      Dims Sizes(N.dims(All));
      return N.reshape(N.sliceAxis(All, 2, I, 1),
                       {Sizes[0], Sizes[1] * Sizes[3]});
    };
    Q = PartOf(0);
    K = PartOf(1);
    V = PartOf(2);
  }
  if (Bias && Q && V) {
    Expr Width = N.dims(Q)[1];
    Q = N.add(Q, N.sliceAxis(Bias, 0, 0, Width));
    K = N.add(K, N.sliceAxis(Bias, 0, Width, Width));
    V = N.add(V, N.sliceAxis(Bias, 0, Width * 2, N.dims(V)[1]));
  }
  attendPacked(N, Q, K, V, Heads, Offsets, Sums, Scores);
}

void importRestorePadding(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.input(0), Offsets = N.input(1);
  if (N.bad())
    return;
  if (N.rank(X) != 2) {
    N.fail(Code::ImportRank, "the tokens should have rank 2");
    return;
  }
  TokenPlaces At{N};
  if (At.read(Offsets, N.dims(X)[0]))
    N.result(0, At.spread(X));
}

void importRemovePadding(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.input(0), Counts = N.input(1);
  if (N.bad())
    return;
  if (N.rank(X) != 3 || N.rank(Counts) != 1) {
    N.fail(Code::ImportRank, "the input should have rank 3, and the numbers of "
                             "tokens rank 1");
    return;
  }
  Type Index = N.i64(), Given = N.element(Counts);
  Dims Sizes(N.dims(X));
  Expr All = Sizes[0] * Sizes[1];
  Counts = N.cast(Counts, Index);
  Value Flags =
      N.cast(N.compare(Predicate::lt, N.iota({Sizes[0], Sizes[1]}, 1, Index),
                       N.unsqueeze(Counts, {1})),
             Index);
  Value Total = N.reduce(ReduceKind::sum, Flags, {0, 1});
  Flags = N.reshape(Flags, {All});
  // The place in the order: tokens first, then padding.
  Value Before = N.cumsum(Flags, 0, /*Exclusive=*/true, /*Reverse=*/false);
  Value Own = N.iota({All}, 0, Index);
  Value To = N.select(N.compare(Predicate::ne, Flags, N.like(0, Flags)), Before,
                      N.add(Total, N.sub(Own, Before)));
  Value Order = scatterRows(N, N.full(0, {All}, Index), To, Own);
  if (N.bad() || !Order)
    return;
  std::optional<Dims> Declared = N.declaredSizes(0);
  std::optional<Expr> Count = Declared && Declared->size() == 2
                                  ? std::optional((*Declared)[0])
                                  : N.decideSize(Total, All, 0);
  if (!Count)
    return;
  Value First = N.gather(Order, N.iota({*Count}, 0, Index), 0);
  N.result(0, N.gather(N.reshape(X, {All, Sizes[2]}), First, 0));
  N.result(1, N.cast(N.reshape(Order, {Sizes[0], Sizes[1]}), Given));
  Value Sums = N.cumsum(Counts, 0, false, false);
  N.result(2, N.cast(N.concat({N.full(0, {Expr(1)}, Index), Sums}, 0), Given));
  N.result(3, N.cast(N.reduce(ReduceKind::max, Counts, {0}, true), Given));
}

void importGatedPositionBias(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  N.expectInputs(6, 7);
  Value Q = N.input(0), QueryBias = N.input(1), Positions = N.input(2),
        W = N.input(3), Bias = N.input(4), Eco = N.input(5),
        Offsets = N.optionalInput(6);
  if (N.bad())
    return;
  if (Offsets) {
    TokenPlaces At{N};
    // A place of padding has no bias of its own.
    Q = N.add(Q, QueryBias);
    if (!Q || !At.read(Offsets, N.dims(Q)[0]))
      return;
    Q = At.spread(Q);
  } else {
    Q = N.add(Q, QueryBias);
  }
  if (Q && N.rank(Q) != 3) {
    N.fail(Code::ImportRank, "queries should have rank 3");
    return;
  }
  Q = headsFirst(N, Q, Heads);
  if (N.bad() || !Q)
    return;
  Value Gates = N.add(N.matmul(Q, W), Bias);
  if (!Gates)
    return;
  Dims Sizes(N.dims(Gates));
  Expr Half = Sizes.back().floorDiv(2);
  Sizes.back() = Expr(2);
  Sizes.push_back(Half);
  Gates = N.unary<SigmoidOp>(
      N.reduce(ReduceKind::sum, N.reshape(Gates, Sizes), {4}));
  Value U = N.sliceAxis(Gates, 3, 0, 1), R = N.sliceAxis(Gates, 3, 1, 1);
  Value Gate = N.addScalar(N.mul(U, N.addScalar(N.mul(R, Eco), -1)), 2);
  N.result(0, N.mul(Gate, Positions));
}

} // namespace kpc::onnx
