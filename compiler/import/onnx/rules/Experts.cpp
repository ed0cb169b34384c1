//===- Experts.cpp - Import of mixtures of experts ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every expert computes every row, and the chances of those that were not
/// picked are zero. R rows, H their size, E experts, I the size inside.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

/// Rounds of picking are unrolled.
static constexpr int64_t MostPicked = 64;

/// The chances of the `Picked` best experts of [R, E]; zeros elsewhere.
static Value pickExperts(NodeImport &N, Value Logits, int64_t Picked,
                         bool Normalise) {
  Value Wide = N.cast(Logits, N.f32());
  Value Chances = N.softmax(Wide, {1}, /*Logarithm=*/false);
  if (!Chances)
    return {};
  Value Place = N.iota({Expr(1), N.dims(Wide)[1]}, 1, N.i64());
  Value Left = Wide, Taken;
  for (int64_t I = 0; I < Picked && Left; ++I) {
    Value Best = N.argReduce(ReduceKind::max, Left, 1, /*SelectLast=*/false);
    Value Here = N.compare(Predicate::eq, Place, N.unsqueeze(Best, {1}));
    Taken = Taken ? N.binary<OrOp>(Taken, Here) : Here;
    Left = N.select(Here, N.like(-INFINITY, Left), Left);
  }
  Value Kept = N.select(Taken, Chances, N.like(0, Chances));
  if (!Normalise || !Kept)
    return Kept;
  return N.div(Kept, N.reduce(ReduceKind::sum, Kept, {1}, true));
}

namespace {
struct Experts {
  NodeImport &N;
  std::string Activation = {};
  bool Interleaved = false;
  double Alpha = 1, Beta = 0, Limit = 0;

  /// [E, R, I] from [E, R, x] and weights [E, I, x].
  Value product(Value X, Value W, Value Bias) {
    Value Y = N.matmul(X, N.transpose(W, {0, 2, 1}));
    return Bias ? N.add(Y, N.unsqueeze(Bias, {1})) : Y;
  }
  Value activate(Value X);
};
} // namespace

Value Experts::activate(Value X) {
  if (!X || Activation == "identity")
    return X;
  if (Activation == "relu")
    return N.max(X, N.like(0, X));
  if (Activation == "silu")
    return N.mul(X, N.unary<SigmoidOp>(X));
  if (Activation == "gelu") { // by tanh, as onnxruntime has it here
    Value Cube = N.mulScalar(N.mul(N.mul(X, X), X), 0.044715);
    Value Tanh =
        N.unary<TanhOp>(N.mulScalar(N.add(X, Cube), 0.79788456080286536));
    return N.mulScalar(N.mul(X, N.addScalar(Tanh, 1)), 0.5);
  }
  if (Activation == "swiglu") {
    int64_t Last = N.rank(X) - 1;
    Expr Half = N.dims(X)[static_cast<size_t>(Last)].floorDiv(2);
    Value Gate = N.sliceAxis(X, Last, 0, Half, Interleaved ? 2 : 1);
    Value Up = N.sliceAxis(X, Last, Interleaved ? Expr(1) : Half, Half,
                           Interleaved ? 2 : 1);
    if (Limit > 0 && Gate && Up) {
      Gate = N.min(Gate, N.like(Limit, Gate));
      Up = N.min(N.max(Up, N.like(-Limit, Up)), N.like(Limit, Up));
    }
    Value Open = N.unary<SigmoidOp>(N.mulScalar(Gate, Alpha));
    return N.mul(N.mul(Gate, Open), N.addScalar(Up, Beta));
  }
  return N.fail(Code::ImportAttributeValue, "attribute 'activation_type' is '" +
                                                printable(Activation) + "'");
}

static void importMoE(NodeImport &N) {
  Experts M{N};
  M.Activation = N.stringAttribute("activation_type", "relu");
  int64_t Picked = N.intAttribute("k", 1);
  bool Normalise = N.flagAttribute("normalize_routing_weights");
  bool Sparse = N.flagAttribute("use_sparse_mixer");
  int64_t Fusion = N.intAttribute("swiglu_fusion", 0);
  M.Alpha = N.floatAttribute("activation_alpha", 1);
  M.Beta = N.floatAttribute("activation_beta", 0);
  M.Limit = N.floatAttribute("swiglu_limit", 0);
  M.Interleaved = Fusion == 1;
  N.expectInputs(3, 8);
  Value X = N.input(0), Logits = N.input(1), Up = N.input(2),
        UpBias = N.optionalInput(3), Down = N.input(4),
        DownBias = N.optionalInput(5), Gate = N.optionalInput(6),
        GateBias = N.optionalInput(7);
  if (N.bad())
    return;
  if (Sparse || Picked < 1 || Picked > MostPicked ||
      (M.Activation == "swiglu" && Fusion == 0)) {
    N.unsupported("use_sparse_mixer, more than 64 picked experts, and swiglu "
                  "that is not fused are not supported");
    return;
  }
  if ((N.rank(X) != 2 && N.rank(X) != 3) || N.rank(Logits) != 2 ||
      N.rank(Up) != 3 || N.rank(Down) != 3 || (Gate && N.rank(Gate) != 3) ||
      (UpBias && N.rank(UpBias) != 2) || (DownBias && N.rank(DownBias) != 2) ||
      (GateBias && N.rank(GateBias) != 2)) {
    N.fail(Code::ImportRank, "the input should have rank 2 or 3, chances and "
                             "biases 2, and the weights of experts 3");
    return;
  }
  if (std::optional<int64_t> Count = N.dims(Up)[0].asConstant();
      Count && Picked > *Count) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'k' is " + std::to_string(Picked) + ", but there are " +
               std::to_string(*Count) + " experts");
    return;
  }
  Dims Sizes(N.dims(X));
  Expr Rows = N.dims(Logits)[0], Width = Sizes.back();
  Value Flat = N.reshape(X, {Rows, Width});
  Value Chances = pickExperts(N, Logits, Picked, Normalise);
  if (!Flat || !Chances)
    return N.result(0, Value());
  Value Each =
      N.broadcast(N.unsqueeze(Flat, {0}), {N.dims(Up)[0], Rows, Width});
  Value Inside = M.activate(M.product(Each, Up, UpBias));
  if (Gate)
    Inside = N.mul(Inside, M.product(Each, Gate, GateBias));
  Value Y = M.product(Inside, Down, DownBias);
  Value Share = N.unsqueeze(N.transpose(Chances, {1, 0}), {2});
  if (!Y || !Share)
    return N.result(0, Value());
  Y = N.reduce(ReduceKind::sum, N.mul(N.cast(Y, N.f32()), Share), {0});
  N.result(0, N.reshape(N.cast(Y, N.element(X)), Sizes));
}

ArrayRef<Rule> expertRules() {
  static const Rule Rows[] = {
      {"com.microsoft", "MoE", 1, 1, importMoE,
       "all experts compute all rows; no use_sparse_mixer"},
  };
  return Rows;
}

} // namespace kpc::onnx
