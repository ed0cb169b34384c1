//===- Training.cpp - Import of optimisers' steps -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
/// Learning rate, number of the step, and for each tensor that is trained its
/// values, gradient and states: all values first, then all gradients.
struct Step {
  Value Rate, Number;
  size_t Tensors = 0;
};
} // namespace

static std::optional<Step> readStep(NodeImport &N, size_t Kinds) {
  size_t Rest = N.inputCount() < 2 ? 0 : N.inputCount() - 2;
  if (Rest == 0 || Rest % Kinds != 0) {
    N.fail(Code::ImportArity, "has " + std::to_string(N.inputCount()) +
                                  " inputs, but takes R, T and " +
                                  std::to_string(Kinds) + " for each tensor");
    return std::nullopt;
  }
  Step S{N.input(0), N.input(1), Rest / Kinds};
  if (N.bad())
    return std::nullopt;
  return S;
}

/// Input `Kind` of tensor `I`.
static Value part(NodeImport &N, const Step &S, size_t Kind, size_t I) {
  return N.input(2 + Kind * S.Tensors + I);
}

/// The gradient with that of the norm's square.
static Value gradient(NodeImport &N, const Step &S, size_t I, double Norm) {
  Value X = part(N, S, 0, I), G = part(N, S, 1, I);
  return N.add(N.mulScalar(X, Norm), G);
}

/// A scalar in the type of x.
static Value scalarLike(NodeImport &N, Value V, Value X) {
  return X && V ? N.reshape(N.cast(V, N.element(X)), {}) : Value();
}

static void importAdagrad(NodeImport &N) {
  double Norm = N.floatAttribute("norm_coefficient", 0);
  double Epsilon = N.floatAttribute("epsilon", 1e-6F);
  double Decay = N.floatAttribute("decay_factor", 0);
  std::optional<Step> S = readStep(N, 3);
  if (!S)
    return;
  for (size_t I = 0; I < S->Tensors && !N.bad(); ++I) {
    Value X = part(N, *S, 0, I), H = part(N, *S, 2, I);
    Value G = gradient(N, *S, I, Norm);
    Value Slower =
        N.addScalar(N.mulScalar(scalarLike(N, S->Number, X), Decay), 1);
    Value Rate = N.div(scalarLike(N, S->Rate, X), Slower);
    H = N.add(H, N.mul(G, G));
    Value Root = N.addScalar(N.sqrt(H), Epsilon);
    N.result(I, N.sub(X, N.div(N.mul(Rate, G), Root)));
    N.result(S->Tensors + I, H);
  }
}

static void importAdam(NodeImport &N) {
  double Norm = N.floatAttribute("norm_coefficient", 0);
  double NormAfter = N.floatAttribute("norm_coefficient_post", 0);
  double Alpha = N.floatAttribute("alpha", 0.9F);
  double Beta = N.floatAttribute("beta", 0.999F);
  double Epsilon = N.floatAttribute("epsilon", 1e-6F);
  std::optional<Step> S = readStep(N, 4);
  if (!S)
    return;
  for (size_t I = 0; I < S->Tensors && !N.bad(); ++I) {
    Value X = part(N, *S, 0, I), V = part(N, *S, 2, I), H = part(N, *S, 3, I);
    Value G = gradient(N, *S, I, Norm);
    V = N.add(N.mulScalar(V, Alpha), N.mulScalar(G, 1 - Alpha));
    H = N.add(N.mulScalar(H, Beta), N.mulScalar(N.mul(G, G), 1 - Beta));
    // From the first step on the moments' bias to zero is taken off.
    Value T = scalarLike(N, S->Number, X), Rate = scalarLike(N, S->Rate, X);
    auto Missing = [&](double Factor) {
      return N.sub(N.like(1, X), N.binary<PowOp>(N.like(Factor, X), T));
    };
    Value Adjusted = N.div(N.mul(Rate, N.sqrt(Missing(Beta))), Missing(Alpha));
    Value Later = T ? N.compare(Predicate::gt, T, N.like(0, T)) : T;
    Rate = N.select(Later, Adjusted, Rate);
    Value Root = N.addScalar(N.sqrt(H), Epsilon);
    Value New = N.sub(X, N.mul(Rate, N.div(V, Root)));
    N.result(I, NormAfter == 0 ? New : N.mulScalar(New, 1 - NormAfter));
    N.result(S->Tensors + I, V);
    N.result(2 * S->Tensors + I, H);
  }
}

static void importMomentum(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "standard");
  double Norm = N.floatAttribute("norm_coefficient", 0);
  double Alpha = N.floatAttribute("alpha", 0.9F);
  double Beta = N.floatAttribute("beta", 1);
  std::optional<Step> S = readStep(N, 3);
  if (!S)
    return;
  if (Mode != "standard" && Mode != "nesterov") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'mode' is '" + printable(Mode) + "'");
    return;
  }
  for (size_t I = 0; I < S->Tensors && !N.bad(); ++I) {
    Value X = part(N, *S, 0, I), V = part(N, *S, 2, I);
    Value G = gradient(N, *S, I, Norm);
    // The first gradient counts in full.
    Value T = scalarLike(N, S->Number, X);
    Value Later = T ? N.compare(Predicate::gt, T, N.like(0, T)) : T;
    Value Share = N.select(Later, N.like(Beta, X), N.like(1, X));
    V = N.add(N.mulScalar(V, Alpha), N.mul(Share, G));
    Value Move = Mode == "nesterov" ? N.add(G, N.mulScalar(V, Alpha)) : V;
    N.result(I, N.sub(X, N.mul(scalarLike(N, S->Rate, X), Move)));
    N.result(S->Tensors + I, V);
  }
}

ArrayRef<Rule> trainingRules() {
  static constexpr std::string_view Domain = "ai.onnx.preview.training";
  static const Rule Rows[] = {
      {Domain, "Adagrad", 1, 1, importAdagrad},
      {Domain, "Adam", 1, 1, importAdam},
      {Domain, "Momentum", 1, 1, importMomentum},
  };
  return Rows;
}

} // namespace kpc::onnx
