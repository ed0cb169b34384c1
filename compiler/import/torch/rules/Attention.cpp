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
        Mask = N.optionalTensor("attn_mask");
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
}

ArrayRef<Rule> attentionRules() {
  static const Rule Rows[] = {
      {"scaled_dot_product_attention.default", attention, InPlace::No,
       "the size of a head must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::torch
