//===- Activation.cpp - Import of activations -----------------------------===//
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

static Value where(NodeImport &N, Predicate P, Value X, double Bound, Value A,
                   Value C) {
  return N.select(N.compare(P, X, N.like(Bound, X)), A, C);
}

static Value sigmoid(NodeImport &N, Value X) { return N.unary<SigmoidOp>(X); }
static Value tanh(NodeImport &N, Value X) { return N.unary<TanhOp>(X); }
static Value relu(NodeImport &N, Value X) { return N.unary<ReluOp>(X); }
static Value silu(NodeImport &N, Value X) { return N.mul(X, sigmoid(N, X)); }

static Value clamped(NodeImport &N, Value X, double Low, double High) {
  return N.min(N.max(X, N.like(Low, X)), N.like(High, X));
}

static Value relu6(NodeImport &N, Value X) { return clamped(N, X, 0, 6); }

/// clamp(x/6 + 1/2, 0, 1)
static Value hardSigmoid(NodeImport &N, Value X) {
  return clamped(N, N.addScalar(N.mulScalar(X, 1.0 / 6), 0.5), 0, 1);
}
static Value hardSwish(NodeImport &N, Value X) {
  return N.mul(X, hardSigmoid(N, X));
}
static Value hardTanh(NodeImport &N, Value X) {
  return clamped(N, X, N.real("min_val", -1), N.real("max_val", 1));
}

static Value leakyRelu(NodeImport &N, Value X) {
  double Slope = N.real("negative_slope", 0.01);
  return where(N, Predicate::lt, X, 0, N.mulScalar(X, Slope), X);
}

static Value elu(NodeImport &N, Value X) {
  double Alpha = N.real("alpha", 1), Scale = N.real("scale", 1),
         Inner = N.real("input_scale", 1);
  Value Low = N.mulScalar(N.unary<Expm1Op>(N.mulScalar(X, Inner)), Alpha);
  Value Y = where(N, Predicate::lt, X, 0, Low, X);
  return Scale == 1 ? Y : N.mulScalar(Y, Scale);
}

static Value celu(NodeImport &N, Value X) {
  double Alpha = N.real("alpha", 1);
  Value Low = N.mulScalar(N.unary<Expm1Op>(N.mulScalar(X, 1 / Alpha)), Alpha);
  return where(N, Predicate::lt, X, 0, Low, X);
}

static Value selu(NodeImport &N, Value X) {
  constexpr double Alpha = 1.6732632423543772, Scale = 1.0507009873554805;
  Value Low = N.mulScalar(N.unary<Expm1Op>(X), Alpha);
  return N.mulScalar(where(N, Predicate::lt, X, 0, Low, X), Scale);
}

/// log(1 + e^x) without overflow.
static Value plainSoftplus(NodeImport &N, Value X) {
  Value Tail = N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(X))));
  return N.add(N.unary<ReluOp>(X), Tail);
}

static Value softplus(NodeImport &N, Value X) {
  double Beta = N.real("beta", 1), Threshold = N.real("threshold", 20);
  Value Scaled = Beta == 1 ? X : N.mulScalar(X, Beta);
  Value Y = N.mulScalar(plainSoftplus(N, Scaled), 1 / Beta);
  return where(N, Predicate::gt, Scaled, Threshold, X, Y);
}

static Value logSigmoid(NodeImport &N, Value X) {
  return N.neg(plainSoftplus(N, N.neg(X)));
}
static Value mish(NodeImport &N, Value X) {
  return N.mul(X, tanh(N, plainSoftplus(N, X)));
}
static Value softsign(NodeImport &N, Value X) {
  return N.div(X, N.addScalar(N.unary<AbsOp>(X), 1));
}

static Value gelu(NodeImport &N, Value X) {
  Value Gate;
  if (N.text("approximate", "none") == "tanh") {
    // tanh(sqrt(2/pi) * (x + 0.044715 x^3))
    Value Cube = N.mul(N.mul(X, X), X);
    Value Inner = N.add(X, N.mulScalar(Cube, 0.044715));
    Gate = N.unary<TanhOp>(N.mulScalar(Inner, std::sqrt(2 / M_PI)));
  } else {
    Gate = N.unary<ErfOp>(N.mulScalar(X, std::sqrt(0.5)));
  }
  return N.mul(N.mulScalar(X, 0.5), N.addScalar(Gate, 1));
}

static Value threshold(NodeImport &N, Value X) {
  return where(N, Predicate::gt, X, N.real("threshold", 0), X,
               N.like(N.real("value", 0), X));
}
static Value softShrink(NodeImport &N, Value X) {
  double Lambda = N.real("lambd", 0.5);
  Value High =
      where(N, Predicate::gt, X, Lambda, N.addScalar(X, -Lambda), N.like(0, X));
  return where(N, Predicate::lt, X, -Lambda, N.addScalar(X, Lambda), High);
}
static Value hardShrink(NodeImport &N, Value X) {
  double Lambda = N.real("lambd", 0.5);
  Value High = where(N, Predicate::gt, X, Lambda, X, N.like(0, X));
  return where(N, Predicate::lt, X, -Lambda, X, High);
}

/// 16-bit floats are computed in f32, as PyTorch does; integers become reals
/// but for relu.
template <Value (*F)(NodeImport &, Value)> static void function(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X)
    return;
  Type Stored = N.element(X);
  N.result(N.cast(F(N, N.cast(X, N.wide(X))), Stored));
}

static void importRelu(NodeImport &N) { N.result(relu(N, N.tensor("self"))); }
static void importRelu6(NodeImport &N) {
  Value X = N.tensor("self");
  if (X)
    N.result(relu6(N, X));
}

static void prelu(NodeImport &N) {
  Value X = N.tensor("self"), Slope = N.tensor("weight");
  if (!X || !Slope)
    return;
  // One slope a channel, which is the second dimension.
  if (N.dims(Slope) != ArrayRef<Expr>{Expr(1)} && N.rank(X) > 1) {
    Dims Sizes(static_cast<size_t>(N.rank(X)) - 1, Expr(1));
    Sizes[0] = N.dims(Slope).back();
    Slope = N.reshape(Slope, Sizes);
  }
  N.result(where(N, Predicate::lt, X, 0, N.mul(X, Slope), X));
}

static void glu(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(X));
  if (N.bad() || N.rank(X) == 0)
    return N.give();
  Expr Half = N.dims(X)[static_cast<size_t>(Axis)].floorDiv(2);
  N.result(N.mul(N.sliceAxis(X, Axis, 0, Half),
                 sigmoid(N, N.sliceAxis(X, Axis, Half, Half))));
}

template <bool Logarithm> static void softmax(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (Type T = N.type("dtype"))
    X = N.cast(X, T);
  X = N.asFloat(X);
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(X));
  if (N.bad())
    return;
  if (N.rank(X) == 0)
    return N.result(N.full(Logarithm ? 0 : 1, {}, N.element(X)));
  N.result(N.cast(N.softmax(X, {Axis}, Logarithm), N.declaredType()));
}

/// In inference the slope is the mean of its bounds.
static void randomisedRelu(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (N.flag("training", false))
    return (void)N.unsupported("draws slopes at random; export the program "
                               "after model.eval()");
  double Slope = (N.real("lower", 1.0 / 8) + N.real("upper", 1.0 / 3)) / 2;
  N.result(N.select(N.compare(Predicate::lt, X, N.like(0, X)),
                    N.mulScalar(X, Slope), X));
}

/// Rows of minus infinity alone give zeros.
static void safeSoftmax(NodeImport &N) {
  Value X = N.tensor("self");
  if (Type T = N.type("dtype"); T && X)
    X = N.cast(X, T);
  X = N.asFloat(X);
  int64_t Axis = X ? N.axis(N.integer("dim", -1), N.rank(X)) : 0;
  if (!X || N.bad() || N.rank(X) == 0)
    return N.give();
  Value Most = N.reduce(ReduceKind::max, X, {Axis}, /*KeepDims=*/true);
  Value None = N.compare(Predicate::eq, Most, N.like(-INFINITY, X));
  Value Y = N.softmax(X, {Axis}, /*Logarithm=*/false);
  N.result(N.cast(N.select(None, N.like(0, X), Y), N.declaredType()));
}

ArrayRef<Rule> activationRules() {
  constexpr InPlace Too = InPlace::Yes;
  static const Rule Rows[] = {
      {"_log_softmax.default", softmax<true>},
      {"_safe_softmax.default", safeSoftmax},
      {"_softmax.default", softmax<false>},
      {"celu.default", function<celu>, Too},
      {"elu.default", function<elu>, Too},
      {"gelu.default", function<gelu>, Too},
      {"glu.default", glu},
      {"hardshrink.default", function<hardShrink>},
      {"hardsigmoid.default", function<hardSigmoid>, Too},
      {"hardswish.default", function<hardSwish>, Too},
      {"hardtanh.default", function<hardTanh>, Too},
      {"leaky_relu.default", function<leakyRelu>, Too},
      {"log_sigmoid.default", function<logSigmoid>},
      {"log_softmax.int", softmax<true>},
      {"mish.default", function<mish>, Too},
      {"prelu.default", prelu},
      {"_prelu_kernel.default", prelu},
      {"relu.default", importRelu, Too},
      {"relu6.default", importRelu6, Too},
      {"rrelu.default", randomisedRelu, InPlace::Yes, "in inference"},
      {"selu.default", function<selu>, Too},
      {"sigmoid.default", function<sigmoid>, Too},
      {"silu.default", function<silu>, Too},
      {"softmax.int", softmax<false>},
      {"softplus.default", function<softplus>},
      {"softshrink.default", function<softShrink>},
      {"softsign.default", function<softsign>},
      {"special_expit.default", function<sigmoid>},
      {"special_log_softmax.default", softmax<true>},
      {"special_softmax.default", softmax<false>},
      {"tanh.default", function<tanh>, Too},
      {"threshold.default", function<threshold>, Too},
  };
  return Rows;
}

} // namespace kpc::torch
