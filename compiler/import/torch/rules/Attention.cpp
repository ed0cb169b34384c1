//===- Attention.cpp - Import of scaled dot product attention -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

/// [heads of q] from [heads of k]: each serves as many queries' heads.
static Value asFour(NodeImport &N, Value X) {
  while (X && N.rank(X) < 4)
    X = N.unsqueeze(X, {0});
  return X;
}

/// Leading dimensions beyond two as one batch.
static Value joined(NodeImport &N, Value X) {
  if (!X || N.rank(X) <= 4)
    return asFour(N, X);
  Dims Sizes(N.dims(X)), Four(Sizes.end() - 3, Sizes.end());
  Expr Batch(1);
  for (size_t I = 0; I + 3 < Sizes.size(); ++I)
    Batch = Batch * Sizes[I];
  Four.insert(Four.begin(), Batch);
  return N.reshape(X, Four);
}

static void attention(NodeImport &N) {
  Value Q = N.tensor("query"), K = N.tensor("key"), V = N.tensor("value"),
        Mask = N.optionalTensor(N.has("attn_bias") ? "attn_bias" : "attn_mask");
  if (N.bad())
    return;
  if (N.real("dropout_p", 0) != 0) {
    N.unsupported("drops out elements, which is training: export the program "
                  "after model.eval()");
    return;
  }
  std::optional<Dims> Sizes = N.declaredSizes();
  int64_t Rank = N.rank(Q);
  if (!Sizes || Rank < 2 || N.rank(K) != Rank || N.rank(V) != Rank)
    return N.give();
  if (Mask && N.rank(Mask) > 4) {
    Dims Whole(Sizes->begin(), Sizes->end() - 2);
    Whole.append({N.dims(Mask)[N.dims(Mask).size() - 2], N.dims(Mask).back()});
    Mask = N.broadcast(Mask, Whole);
  }
  Q = joined(N, Q), K = joined(N, K), V = joined(N, V), Mask = joined(N, Mask);
  if (!Q || !K || !V)
    return N.give();
  std::optional<int64_t> Head = N.dims(Q)[3].asConstant();
  if (!Head && !N.has("scale")) {
    N.unsupported("the size of a head must be a number");
    return;
  }
  double Scale = N.real("scale", 1 / std::sqrt(double(Head.value_or(1))));
  // Batches of one serve all.
  for (Value *X : {&K, &V})
    if (N.dims(*X)[0] != N.dims(Q)[0]) {
      Dims Wide(N.dims(*X));
      Wide[0] = N.dims(Q)[0];
      *X = N.broadcast(*X, Wide);
    }
  if (!K || !V)
    return N.give();
  // PyTorch does not compare the lengths of keys and values when it exports.
  if (Expr Keys = N.dims(K)[2], Values = N.dims(V)[2];
      Keys != Values && !N.unify(Keys, Values))
    return (void)N.fail(Code::ImportShape,
                        Keys.str() + " keys, but " + Values.str() + " values");
  bool Bools = Mask && isBool(N.element(Mask));
  if (Mask && !Bools)
    Mask = N.cast(Mask, N.element(Q));
  mlir::Builder &B = N.builder();
  SmallVector<mlir::NamedAttribute> Attributes = {
      B.getNamedAttr("scale", B.getF64FloatAttr(Scale)),
      B.getNamedAttr("operandSegmentSizes",
                     B.getDenseI32ArrayAttr(
                         {1, 1, 1, Mask && !Bools ? 1 : 0, Bools ? 1 : 0}))};
  if (N.flag("is_causal", false))
    Attributes.push_back(B.getNamedAttr(
        "causal", graph::DimsAttr::get(B.getContext(), {Expr(0)})));
  SmallVector<Value> Operands = {Q, K, V};
  if (Mask)
    Operands.push_back(Mask);
  Value Y = N.build(AttentionOp::getOperationName(), Operands, Attributes);
  N.result(N.reshape(Y, *Sizes));
  // What training keeps of it, and states of generators.
  for (size_t I = 1; I < N.resultCount(); ++I)
    N.undefined(I);
}

static Value project(NodeImport &N, Value X, Value W, Value Bias) {
  return N.add(N.matmul(X, N.transpose(W, {1, 0})), Bias);
}

static Value exactGelu(NodeImport &N, Value X) {
  if (!X)
    return {};
  Value Gate = N.unary<ErfOp>(N.mulScalar(X, std::sqrt(0.5)));
  return N.mul(N.mulScalar(X, 0.5), N.addScalar(Gate, 1));
}

static Value normalised(NodeImport &N, Value X, std::string_view Scale,
                        std::string_view Bias) {
  if (!X)
    return {};
  Type Stored = N.element(X), Wide = N.wide(X);
  X = N.cast(X, Wide);
  Ints Last = {N.rank(X) - 1};
  Value Centred = N.sub(X, N.mean(X, Last, true));
  Value Var = N.mean(N.mul(Centred, Centred), Last, true);
  Value Each =
      N.unary<RsqrtOp>(Var ? N.addScalar(Var, N.real("eps", 1e-5)) : Var);
  Value Y = N.add(N.mul(N.mul(Centred, Each), N.cast(N.tensor(Scale), Wide)),
                  N.cast(N.tensor(Bias), Wide));
  return N.cast(Y, Stored);
}

/// [batch, heads, length, features of a head] of queries, keys and values, each
/// [batch, length, features], by one weight for all three.
static SmallVector<Value> projectedHeads(NodeImport &N, ArrayRef<Value> Of,
                                         int64_t Width, int64_t Heads) {
  Value W = N.tensor("qkv_weight"), Bias = N.tensor("qkv_bias");
  if (!W || !Bias)
    return {};
  Expr Rows = Expr(3) * Expr(Width);
  if (N.rank(W) != 2 || N.rank(Bias) != 1 || !N.unify(N.dims(W)[0], Rows) ||
      !N.unify(N.dims(Bias)[0], Rows)) {
    N.fail(Code::ImportShape, "expected a weight of queries, keys and values "
                              "with " +
                                  Rows.str() + " rows");
    return {};
  }
  SmallVector<Value> Parts;
  if (Of[0] == Of[1] && Of[1] == Of[2]) {
    Expr Batch = N.dims(Of[0])[0], Length = N.dims(Of[0])[1];
    Value All =
        N.reshape(project(N, Of[0], W, Bias),
                  {Batch, Length, Expr(3), Expr(Heads), Expr(Width / Heads)});
    All = N.transpose(All, {2, 0, 3, 1, 4});
    for (int64_t I = 0; I < 3 && All; ++I)
      Parts.push_back(
          N.reshape(N.sliceAxis(All, 0, I, 1), N.dims(All).drop_front()));
    return Parts;
  }
  for (int64_t I = 0; I < 3; ++I) {
    Value X = Of[static_cast<size_t>(I)];
    Expr Batch = N.dims(X)[0], Length = N.dims(X)[1];
    Value Y = project(N, X, N.sliceAxis(W, 0, I * Width, Width),
                      N.sliceAxis(Bias, 0, I * Width, Width));
    Y = N.reshape(Y, {Batch, Length, Expr(Heads), Expr(Width / Heads)});
    Parts.push_back(N.transpose(Y, {0, 2, 1, 3}));
  }
  return Parts;
}

/// The keys that are hidden, in four dimensions: nn.MultiheadAttention says by
/// `mask_type` what the mask's dimensions are. A mask of reals, which would be
/// added, hides where it is not 0.
static Value hiddenKeys(NodeImport &N) {
  Value Mask = N.optionalTensor("mask");
  if (!Mask)
    return {};
  if (!isBool(N.element(Mask)))
    Mask = N.compare(Predicate::ne, Mask, N.like(0, Mask));
  constexpr int64_t OfQueriesAndKeys = 0, OfBatchAndKeys = 1, Whole = 2;
  int64_t Kind = N.integer("mask_type", Whole), Rank = Mask ? N.rank(Mask) : 0;
  if (Kind == OfQueriesAndKeys && Rank == 2)
    return N.unsqueeze(Mask, {0, 1});
  if (Kind == OfBatchAndKeys && Rank == 2)
    return N.unsqueeze(Mask, {1, 2});
  if (Kind == Whole && Rank == 4)
    return Mask;
  return Mask ? N.fail(Code::ImportRank,
                       "the mask is " + dimsText(N.dims(Mask)) +
                           ", which is none of type " + std::to_string(Kind))
              : Mask;
}

/// Attention with its projections. `Weights`, where asked for, become those of
/// each head.
static Value multiHead(NodeImport &N, ArrayRef<Value> Of, int64_t Heads,
                       Value *Weights) {
  int64_t Width = N.integer("embed_dim", 1);
  if (N.bad())
    return {};
  if (Heads < 1 || Width < 1 || Width % Heads != 0)
    return N.fail(Code::ImportAttributeValue,
                  "features do not divide into heads");
  for (Value X : Of)
    if (!N.unify(N.dims(X)[2], Expr(Width)))
      return N.fail(Code::ImportShape, "expected " + std::to_string(Width) +
                                           " features, got " +
                                           N.dims(X)[2].str());
  SmallVector<Value> Parts = projectedHeads(N, Of, Width, Heads);
  if (Parts.size() != 3 || llvm::is_contained(Parts, Value()))
    return {};
  double Scale =
      1 / std::sqrt(static_cast<double>(Width) / static_cast<double>(Heads));
  mlir::Builder &B = N.builder();
  Value Hidden = hiddenKeys(N), Y;
  if (N.bad())
    return {};
  if (Weights) {
    Type Stored = N.element(Parts[0]), Wide = N.wide(Parts[0]);
    Value Scores = N.matmul(N.mulScalar(Parts[0], Scale),
                            N.transpose(Parts[1], {0, 1, 3, 2}));
    if (Hidden)
      Scores = N.select(Hidden, N.like(-INFINITY, Scores), Scores);
    if (!Scores)
      return {};
    *Weights = N.cast(N.softmax(N.cast(Scores, Wide), {3}, false), Stored);
    Y = N.matmul(*Weights, Parts[2]);
  } else {
    if (Hidden)
      Parts.push_back(N.notOf(Hidden));
    Y = N.build(
        AttentionOp::getOperationName(), Parts,
        {B.getNamedAttr("scale", B.getF64FloatAttr(Scale)),
         B.getNamedAttr("operandSegmentSizes",
                        B.getDenseI32ArrayAttr({1, 1, 1, 0, Hidden ? 1 : 0}))});
  }
  Y = N.reshape(N.transpose(Y, {0, 2, 1, 3}),
                {N.dims(Of[0])[0], N.dims(Of[0])[1], Expr(Width)});
  return project(N, Y, N.tensor("proj_weight"), N.tensor("proj_bias"));
}

/// What nn.MultiheadAttention calls when it infers.
static void nativeAttention(NodeImport &N) {
  SmallVector<Value> Of = {N.tensor("query"), N.tensor("key"),
                           N.tensor("value")};
  if (N.bad())
    return;
  for (Value X : Of)
    if (N.rank(X) != 3) {
      N.unsupported("attention of other than [batch, length, features]: trace "
                    "or script it with "
                    "torch.backends.mha.set_fastpath_enabled(False)");
      return;
    }
  bool Asked = N.flag("need_weights", true);
  Value Weights, Y = multiHead(N, Of, N.integer("num_head", 1),
                               Asked ? &Weights : nullptr);
  N.result(0, Y);
  if (!Asked)
    N.undefined(1);
  else if (Y)
    N.result(1, N.flag("average_attn_weights", true) ? N.mean(Weights, {1})
                                                     : Weights);
}

/// What nn.TransformerEncoderLayer calls when it infers.
static void encoderLayer(NodeImport &N) {
  Value X = N.tensor("src");
  if (!X || N.bad())
    return;
  if (N.rank(X) != 3) {
    N.unsupported("an encoder layer of other than [batch, length, features]: "
                  "trace or script it with "
                  "torch.backends.mha.set_fastpath_enabled(False)");
    return;
  }
  bool First = N.flag("norm_first", false);
  auto Norm = [&](Value V, bool Here, const char *Scale, const char *Bias) {
    return Here ? normalised(N, V, Scale, Bias) : V;
  };
  Value Y = Norm(X, First, "norm_weight_1", "norm_bias_1");
  X = Y ? N.add(X, multiHead(N, {Y, Y, Y}, N.integer("num_heads", 1), nullptr))
        : Y;
  X = Norm(X, !First, "norm_weight_1", "norm_bias_1");
  Y = Norm(X, First, "norm_weight_2", "norm_bias_2");
  Y = project(N, Y, N.tensor("ffn_weight_1"), N.tensor("ffn_bias_1"));
  Y = N.flag("use_gelu", false) ? exactGelu(N, Y) : N.unary<ReluOp>(Y);
  Y = project(N, Y, N.tensor("ffn_weight_2"), N.tensor("ffn_bias_2"));
  X = N.add(X, Y);
  N.result(Norm(X, !First, "norm_weight_2", "norm_bias_2"));
}

ArrayRef<Rule> attentionRules() {
  static constexpr std::string_view Result =
      "the first result alone; the size of a head must be known";
  static const Rule Rows[] = {
      {"_native_multi_head_attention.default", nativeAttention},
      {"_transformer_encoder_layer_fwd.default", encoderLayer},
      {"_scaled_dot_product_attention_math.default", attention, InPlace::No,
       Result},
      {"_scaled_dot_product_cudnn_attention.default", attention, InPlace::No,
       Result},
      {"_scaled_dot_product_efficient_attention.default", attention,
       InPlace::No, Result},
      {"_scaled_dot_product_flash_attention.default", attention, InPlace::No,
       Result},
      {"_scaled_dot_product_flash_attention_for_cpu.default", attention,
       InPlace::No, Result},
      {"scaled_dot_product_attention.default", attention, InPlace::No,
       "the size of a head must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::torch
