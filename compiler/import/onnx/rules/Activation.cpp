//===- Activation.cpp - Import of activation functions --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

/// A rule that is one function of x and the node.
template <Value (*Function)(NodeImport &, Value)>
static void importFunction(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  Value Y = Function(N, X);
  if (!N.bad())
    N.result(0, Y);
}

static Value where(NodeImport &N, Predicate P, Value X, double Limit, Value A,
                   Value C) {
  return N.select(N.compare(P, X, N.like(Limit, X)), A, C);
}

static Value relu(NodeImport &N, Value X) { return N.unary<ReluOp>(X); }
static Value sigmoid(NodeImport &N, Value X) { return N.unary<SigmoidOp>(X); }

static Value leakyRelu(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 0.01F);
  return where(N, Predicate::lt, X, 0, N.mulScalar(X, Alpha), X);
}

static Value elu(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 1);
  Value Low = N.mulScalar(N.unary<Expm1Op>(X), Alpha);
  return where(N, Predicate::lt, X, 0, Low, X);
}

static Value selu(NodeImport &N, Value X) {
  // The defaults of opset 1 were rounded.
  bool First = N.opset() < 6;
  double Alpha =
      N.floatAttribute("alpha", First ? 1.6732F : 1.67326319217681884765625F);
  double Gamma =
      N.floatAttribute("gamma", First ? 1.0507F : 1.05070102214813232421875F);
  Value Low = N.mulScalar(N.unary<Expm1Op>(X), Alpha);
  return N.mulScalar(where(N, Predicate::le, X, 0, Low, X), Gamma);
}

static Value celu(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 1);
  if (Alpha == 0)
    return N.fail(Code::ImportAttributeValue, "attribute 'alpha' is 0");
  Value Low = N.mulScalar(N.unary<Expm1Op>(N.div(X, N.like(Alpha, X))), Alpha);
  return N.add(N.max(X, N.like(0, X)), N.min(Low, N.like(0, X)));
}

static Value thresholdedRelu(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 1);
  return where(N, Predicate::gt, X, Alpha, X, N.like(0, X));
}

static Value clamp(NodeImport &N, Value X, double Low, double High) {
  return N.min(N.max(X, N.like(Low, X)), N.like(High, X));
}

static Value hardSigmoid(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 0.2F);
  double Beta = N.floatAttribute("beta", 0.5F);
  return clamp(N, N.addScalar(N.mulScalar(X, Alpha), Beta), 0, 1);
}

static Value hardSwish(NodeImport &N, Value X) {
  Value Gate = N.addScalar(N.mulScalar(X, 1.0 / 6.0), 0.5);
  return N.mul(X, clamp(N, Gate, 0, 1));
}

/// max(x, 0) + log1p(exp(-|x|)) does not overflow.
static Value softplus(NodeImport &N, Value X) {
  Value Tail = N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(X))));
  return N.add(N.max(X, N.like(0, X)), Tail);
}

static Value softsign(NodeImport &N, Value X) {
  return N.div(X, N.addScalar(N.unary<AbsOp>(X), 1));
}

static Value mish(NodeImport &N, Value X) {
  return N.mul(X, N.unary<TanhOp>(softplus(N, X)));
}

static Value swish(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 1);
  return N.mul(X, sigmoid(N, Alpha == 1 ? X : N.mulScalar(X, Alpha)));
}

static void importSwiGlu(NodeImport &N) {
  N.expectInputs(2, 2);
  Value Gate = N.input(0), X = N.input(1);
  if (N.bad())
    return;
  Value Y = N.mul(swish(N, Gate), X);
  if (!N.bad())
    N.result(0, Y);
}

static Value gelu(NodeImport &N, Value X) {
  std::string Kind = N.stringAttribute("approximate", "none");
  Value Gate;
  if (Kind == "none") {
    Gate = N.unary<ErfOp>(N.mulScalar(X, std::sqrt(0.5)));
  } else if (Kind == "tanh") {
    // tanh(sqrt(2/pi) * (x + 0.044715 x^3))
    Value Cube = N.mul(N.mul(X, X), X);
    Value Inner = N.add(X, N.mulScalar(Cube, 0.044715));
    Gate = N.unary<TanhOp>(N.mulScalar(Inner, std::sqrt(2 / M_PI)));
  } else {
    return N.fail(Code::ImportAttributeValue, "attribute 'approximate' is '" +
                                                  printable(Kind) +
                                                  "', but should be none or "
                                                  "tanh");
  }
  return N.mul(N.mulScalar(X, 0.5), N.addScalar(Gate, 1));
}

static Value shrink(NodeImport &N, Value X) {
  double Bias = N.floatAttribute("bias", 0);
  double Lambda = N.floatAttribute("lambd", 0.5);
  Value High =
      where(N, Predicate::gt, X, Lambda, N.addScalar(X, -Bias), N.like(0, X));
  return where(N, Predicate::lt, X, -Lambda, N.addScalar(X, Bias), High);
}

static void importPRelu(NodeImport &N) {
  Value X = N.input(0), Slope = N.input(1);
  if (N.bad())
    return;
  // Before opset 7 the slope was a vector of channels.
  if (N.opset() < 7 && N.rank(Slope) == 1 && N.rank(X) > 1 &&
      N.dims(Slope)[0] != Expr(1)) {
    Dims Sizes(static_cast<size_t>(N.rank(X)) - 1, Expr(1));
    Sizes[0] = N.dims(Slope)[0];
    Slope = N.reshape(Slope, Sizes);
  }
  Value Low = N.mul(X, Slope);
  N.result(0, where(N, Predicate::lt, X, 0, Low, X));
}

static void importClip(NodeImport &N) {
  N.expectInputs(1, 3);
  Value X = N.input(0);
  Value Low = N.optionalInput(1), High = N.optionalInput(2);
  if (N.bad())
    return;
  // Attributes of old opsets are floats whatever x is.
  if (Low)
    X = N.max(X, N.cast(Low, N.element(X)));
  if (High && X)
    X = N.min(X, N.cast(High, N.element(X)));
  N.result(0, X);
}

/// Softmax and its kin worked on a matrix before opset 13: all axes from
/// `axis` on together.
static Ints softmaxAxes(NodeImport &N, Value X) {
  bool Old = N.opset() < 13;
  int64_t Axis = N.frontAxis(N.intAttribute("axis", Old ? 1 : -1), N.rank(X));
  Ints Axes = {Axis};
  if (Old)
    for (int64_t I = Axis + 1; I < N.rank(X); ++I)
      Axes.push_back(I);
  return Axes;
}

template <bool Logarithm> static void importSoftmax(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = softmaxAxes(N, X);
  if (!N.bad())
    N.result(0, N.softmax(X, Axes, Logarithm));
}

static void importHardmax(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = softmaxAxes(N, X);
  if (N.bad())
    return;
  Dims Whole(N.dims(X)), Flat(Whole.begin(), Whole.begin() + Axes[0]);
  Expr Count(1);
  for (int64_t A : Axes)
    Count = Count * Whole[static_cast<size_t>(A)];
  Flat.push_back(Count);
  int64_t Axis = Axes[0];
  if (Axes.size() == 1)
    Flat.append(Whole.begin() + Axis + 1, Whole.end());
  X = N.reshape(X, Flat);
  Value Top = N.unsqueeze(
      N.argReduce(ReduceKind::max, X, Axis, /*SelectLast=*/false), {Axis});
  Value Hot = N.compare(Predicate::eq, N.iota(Flat, Axis, N.i64()), Top);
  N.result(0, N.reshape(N.cast(Hot, N.element(X)), Whole));
}

ArrayRef<Rule> activationRules() {
  static const Rule Rows[] = {
      {"", "Relu", 1, Newest, importFunction<relu>},
      {"", "Sigmoid", 1, Newest, importFunction<sigmoid>},
      {"", "LeakyRelu", 1, Newest, importFunction<leakyRelu>},
      {"", "Elu", 1, Newest, importFunction<elu>},
      {"", "Selu", 1, Newest, importFunction<selu>},
      {"", "Celu", 12, Newest, importFunction<celu>},
      {"", "ThresholdedRelu", 1, Newest, importFunction<thresholdedRelu>},
      {"", "HardSigmoid", 1, Newest, importFunction<hardSigmoid>},
      {"", "HardSwish", 14, Newest, importFunction<hardSwish>},
      {"", "Softplus", 1, Newest, importFunction<softplus>},
      {"", "Softsign", 1, Newest, importFunction<softsign>},
      {"", "Mish", 18, Newest, importFunction<mish>},
      {"", "Swish", 24, Newest, importFunction<swish>},
      {"", "SwiGLU", 28, Newest, importSwiGlu},
      {"", "Gelu", 20, Newest, importFunction<gelu>},
      {"", "Shrink", 9, Newest, importFunction<shrink>},
      {"", "PRelu", 1, Newest, importPRelu},
      {"", "Clip", 1, Newest, importClip},
      {"", "Softmax", 1, Newest, importSoftmax<false>},
      {"", "LogSoftmax", 1, Newest, importSoftmax<true>},
      {"", "Hardmax", 1, Newest, importHardmax},
  };
  return Rows;
}

} // namespace kpc::onnx
