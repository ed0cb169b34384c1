//===- Loss.cpp - Import of losses ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

static Ints allAxes(Value X) {
  return llvm::to_vector<6>(llvm::seq<int64_t>(0, Emitter::rank(X)));
}

/// at::Reduction: 0 none, 1 the mean, 2 the sum.
static void reduced(NodeImport &N, Value Loss) {
  if (!Loss)
    return N.give();
  int64_t How = N.integer("reduction", 1);
  N.result(How == 0   ? Loss
           : How == 1 ? N.mean(Loss, allAxes(Loss))
                      : N.reduce(ReduceKind::sum, Loss, allAxes(Loss)));
}

namespace {
struct Pair {
  Value X, Target;
};
} // namespace

/// Both operands in one type of reals.
static Pair operands(NodeImport &N) {
  Type T = N.promoted("self", "target");
  if (!T)
    return {};
  T = isFloat(T) ? T : N.f32();
  return {N.operand("self", T), N.operand("target", T)};
}

static Value above0(NodeImport &N, Value X) { return N.unary<ReluOp>(X); }

static void squaredError(NodeImport &N) {
  auto [X, Y] = operands(N);
  Value D = N.sub(X, Y);
  reduced(N, N.mul(D, D));
}

static void absoluteError(NodeImport &N) {
  auto [X, Y] = operands(N);
  reduced(N, N.unary<AbsOp>(N.sub(X, Y)));
}

/// A parabola near 0, lines elsewhere. Huber's has `delta` times the values of
/// the smooth one.
template <bool Huber> static void smoothError(NodeImport &N) {
  auto [X, Y] = operands(N);
  double Bend = N.real(Huber ? "delta" : "beta", 1);
  Value D = N.unary<AbsOp>(N.sub(X, Y));
  if (!D)
    return N.give();
  if (Bend == 0)
    return reduced(N, D);
  Value Near = N.mulScalar(N.mul(D, D), Huber ? 0.5 : 0.5 / Bend);
  Value Far = N.mulScalar(N.addScalar(D, -0.5 * Bend), Huber ? Bend : 1);
  reduced(N, N.select(N.compare(Predicate::lt, D, N.like(Bend, D)), Near, Far));
}

static Value weighted(NodeImport &N, Value Loss) {
  Value W = N.optionalTensor("weight");
  return W && Loss ? N.mul(Loss, N.cast(W, N.element(Loss))) : Loss;
}

/// Logarithms below -100 are -100, as PyTorch has it.
static void crossEntropyOfTwo(NodeImport &N) {
  auto [P, Y] = operands(N);
  if (!P || !Y)
    return N.give();
  auto Log = [&](Value V) { return N.max(N.log(V), N.like(-100, V)); };
  Value One = N.like(1, P);
  Value Sum = N.add(N.mul(Y, Log(P)), N.mul(N.sub(One, Y), Log(N.sub(One, P))));
  reduced(N, weighted(N, N.neg(Sum)));
}

/// (1 - y) x + (1 + (w - 1) y) (log(1 + e^-|x|) + max(-x, 0))
static void crossEntropyOfLogits(NodeImport &N) {
  auto [X, Y] = operands(N);
  Value PositiveWeight = N.optionalTensor("pos_weight");
  if (!X || !Y || N.bad())
    return N.give();
  Value One = N.like(1, X);
  Value Soft = N.add(N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(X)))),
                     above0(N, N.neg(X)));
  if (PositiveWeight) {
    Value W = N.cast(PositiveWeight, N.element(X));
    Soft = N.mul(N.add(N.mul(N.sub(W, One), Y), One), Soft);
  }
  reduced(N, weighted(N, N.add(N.mul(N.sub(One, Y), X), Soft)));
}

static void divergence(NodeImport &N) {
  auto [X, Y] = operands(N);
  if (!X || !Y)
    return N.give();
  if (N.flag("log_target", false))
    return reduced(N, N.mul(N.exp(Y), N.sub(Y, X)));
  Value Own = N.mul(Y, N.log(Y));
  Own = N.select(N.compare(Predicate::eq, Y, N.like(0, Y)), N.like(0, Y), Own);
  reduced(N, N.sub(Own, N.mul(Y, X)));
}

static void softMargin(NodeImport &N) {
  auto [X, Y] = operands(N);
  // log(1 + e^z) of z = -y x, without an overflow.
  Value Z = N.neg(N.mul(X, Y));
  if (Z)
    reduced(N, N.add(N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(Z)))),
                     above0(N, Z)));
}

/// x where y is 1, max(margin - x, 0) where it is -1, and both elsewhere.
static void hingeEmbedding(NodeImport &N) {
  auto [X, Y] = operands(N);
  if (!X || !Y)
    return N.give();
  Value Zero = N.like(0, X);
  Value Hinge = above0(N, N.sub(N.like(N.real("margin", 1), X), X));
  auto Not = [&](double V, Value Part) {
    return N.select(N.compare(Predicate::ne, Y, N.like(V, Y)), Part, Zero);
  };
  reduced(N, N.add(Not(1, Hinge), Not(-1, X)));
}

/// max(0, -y (x1 - x2) + margin)
static void marginRanking(NodeImport &N) {
  Value A = N.tensor("input1"), C = N.tensor("input2"), Y = N.tensor("target");
  if (!A || !C || !Y)
    return;
  Value Z = N.neg(N.mul(N.cast(Y, N.element(A)), N.sub(A, C)));
  if (Z)
    reduced(N, above0(N, N.addScalar(Z, N.real("margin", 0))));
}

static void cosineEmbedding(NodeImport &N) {
  Value A = N.tensor("input1"), C = N.tensor("input2"), Y = N.tensor("target");
  if (!A || !C || !Y)
    return;
  Ints Last = {N.rank(A) - 1};
  auto Dot = [&](Value P, Value Q) {
    return N.reduce(ReduceKind::sum, N.mul(P, Q), Last);
  };
  // The term that PyTorch adds to squares of lengths.
  constexpr double Epsilon = 1e-12;
  Value Lengths =
      N.mul(N.addScalar(Dot(A, A), Epsilon), N.addScalar(Dot(C, C), Epsilon));
  Value Cosine = N.div(Dot(A, C), N.sqrt(Lengths));
  if (!Cosine)
    return N.give();
  Y = N.cast(Y, N.element(Cosine));
  Value Zero = N.like(0, Cosine);
  Value Apart = N.sub(N.like(1, Cosine), Cosine);
  Value Near = above0(N, N.addScalar(Cosine, -N.real("margin", 0)));
  auto Is = [&](double V, Value Part) {
    return N.select(N.compare(Predicate::eq, Y, N.like(V, Y)), Part, Zero);
  };
  reduced(N, N.add(Is(1, Apart), Is(-1, Near)));
}

/// e^x - y x, or x - y log(x + eps); with `full` Stirling's term of y > 1.
static void poisson(NodeImport &N) {
  Value X = N.tensor("input"), Y = N.tensor("target");
  if (!X || !Y)
    return;
  Y = N.cast(Y, N.element(X));
  Value Loss =
      N.flag("log_input", true)
          ? N.sub(N.exp(X), N.mul(Y, X))
          : N.sub(X, N.mul(Y, N.log(N.addScalar(X, N.real("eps", 1e-8)))));
  if (N.flag("full", false) && Y) {
    constexpr double Pi = 3.14159265358979323846;
    Value Stirling = N.add(N.sub(N.mul(Y, N.log(Y)), Y),
                           N.mulScalar(N.log(N.mulScalar(Y, 2 * Pi)), 0.5));
    Value Above = N.compare(Predicate::gt, Y, N.like(1, Y));
    Loss = N.add(Loss, N.select(Above, Stirling, N.like(0, Y)));
  }
  reduced(N, Loss);
}

/// The distance of two rows, each difference with `Epsilon` added.
static Value apart(NodeImport &N, Value A, Value C, double P, double Epsilon) {
  Value D = N.unary<AbsOp>(N.addScalar(N.sub(A, C), Epsilon));
  if (!D)
    return {};
  Ints Last = {N.rank(D) - 1};
  if (std::isinf(P))
    return N.reduce(ReduceKind::max, D, Last);
  if (P == 1)
    return N.reduce(ReduceKind::sum, D, Last);
  if (P == 2)
    return N.sqrt(N.reduce(ReduceKind::sum, N.mul(D, D), Last));
  Value Sum = N.reduce(ReduceKind::sum, N.binary<PowOp>(D, N.like(P, D)), Last);
  return N.binary<PowOp>(Sum, N.like(1 / P, Sum));
}

/// max(0, d(anchor, positive) - d(anchor, negative) + margin); with `swap` the
/// negative's distance from the positive counts where it is less.
static void tripletMargin(NodeImport &N) {
  Value A = N.tensor("anchor"), Near = N.tensor("positive"),
        Far = N.tensor("negative");
  double P = N.real("p", 2), Epsilon = N.real("eps", 1e-6);
  if (!A || !Near || !Far || N.bad())
    return N.give();
  if (N.rank(A) == 0 || P <= 0)
    return (void)N.unsupported("a distance of scalars, or of an order that is "
                               "not above 0");
  Value Other = apart(N, A, Far, P, Epsilon);
  if (N.flag("swap", false))
    Other = N.min(Other, apart(N, Near, Far, P, Epsilon));
  Value D = N.sub(apart(N, A, Near, P, Epsilon), Other);
  if (D)
    reduced(N, above0(N, N.addScalar(D, N.real("margin", 1))));
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Of log-probabilities [N, C, d…] those of the targets [N, d…], negated. The
/// weights' sum is the second result where the operator has one.
static void logLikelihood(NodeImport &N, Value X, Value Target,
                          double Smoothing) {
  Value Weight = N.optionalTensor("weight");
  int64_t Ignored = N.integer("ignore_index", -100);
  if (!X || !Target || N.bad())
    return N.give();
  int64_t Classes = N.rank(X) == 1 ? 0 : 1;
  if (N.rank(Target) != N.rank(X) - 1)
    return (void)N.fail(Code::ImportRank, "scores are " + dimsText(N.dims(X)) +
                                              " and targets " +
                                              dimsText(N.dims(Target)));
  Type T = N.element(X);
  Value Skip =
      N.compare(Predicate::eq, Target, N.scalarInt(Ignored, N.element(Target)));
  // An index that is skipped may be outside the classes.
  Target = N.cast(N.select(Skip, N.scalarInt(0, N.element(Target)), Target),
                  N.i64());
  Value Picked = N.gatherElements(X, N.unsqueeze(Target, {Classes}), Classes);
  if (!Picked)
    return N.give();
  Value Zero = N.scalar(0, T);
  Value Scale = Weight ? N.cast(N.gather(Weight, Target, 0), T)
                       : N.full(1, N.dims(Target), T);
  Scale = N.select(Skip, Zero, Scale);
  Value Loss = N.neg(N.mul(N.reshape(Picked, N.dims(Target)), Scale));
  if (Smoothing > 0) {
    Value Each = X;
    if (Weight) {
      Dims Column(N.dims(X).size(), Expr(1));
      Column[static_cast<size_t>(Classes)] = N.dims(Weight)[0];
      Each = N.mul(X, N.reshape(N.cast(Weight, T), Column));
    }
    Value Smooth = N.neg(N.mean(Each, {Classes}));
    Smooth = N.select(Skip, Zero, Smooth);
    Loss =
        N.add(N.mulScalar(Loss, 1 - Smoothing), N.mulScalar(Smooth, Smoothing));
  }
  int64_t How = N.integer("reduction", 1);
  Value Total = N.reduce(ReduceKind::sum, Scale, allAxes(Scale));
  if (How == 0) {
    N.result(0, Loss);
  } else {
    Value Sum = N.reduce(ReduceKind::sum, Loss, allAxes(Loss));
    N.result(0, How == 1 ? N.div(Sum, Total) : Sum);
  }
  if (N.resultCount() > 1)
    N.result(1, How == 0 ? Zero : Total);
}

static void logLikelihoodLoss(NodeImport &N) {
  logLikelihood(N, N.tensor("self"), N.tensor("target"), 0);
}

static void crossEntropy(NodeImport &N) {
  Value X = N.tensor("self"), Target = N.tensor("target");
  double Smoothing = N.real("label_smoothing", 0);
  if (!X || !Target)
    return;
  int64_t Classes = N.rank(X) == 1 ? 0 : 1;
  Value Log = N.softmax(X, {Classes}, /*Logarithm=*/true);
  if (!N.isFloat(Target))
    return logLikelihood(N, Log, Target, Smoothing);
  // Probabilities of classes.
  Value Weight = N.optionalTensor("weight");
  Target = N.cast(Target, N.element(X));
  if (Smoothing > 0) {
    Value Count =
        N.sizeScalar(N.dims(X)[static_cast<size_t>(Classes)], N.element(X));
    Target = N.add(N.mulScalar(Target, 1 - Smoothing),
                   N.div(N.like(Smoothing, X), Count));
  }
  Value Products = N.mul(Log, Target);
  if (Weight) {
    Dims Column(N.dims(X).size(), Expr(1));
    Column[static_cast<size_t>(Classes)] = N.dims(Weight)[0];
    Products = N.mul(Products, N.reshape(N.cast(Weight, N.element(X)), Column));
  }
  reduced(N, N.neg(N.reduce(ReduceKind::sum, Products, {Classes})));
}

/// The mean over classes of max(0, margin - x[target] + x[c])^p, without the
/// target itself.
static void multiMargin(NodeImport &N) {
  Value X = N.tensor("self"), Target = N.tensor("target"),
        Weight = N.optionalTensor("weight");
  if (!X || !Target || N.bad())
    return N.give();
  bool One = N.rank(X) == 1;
  if (One) {
    X = N.unsqueeze(X, {0});
    Target = N.reshape(Target, {Expr(1)});
  }
  if (!X || !Target)
    return N.give();
  if (N.rank(X) != 2 || N.rank(Target) != 1)
    return (void)N.fail(Code::ImportRank,
                        "expected scores [batch, classes] and targets [batch], "
                        "got " +
                            dimsText(N.dims(X)) + " and " +
                            dimsText(N.dims(Target)));
  double P = N.real("p", 1);
  Value Column = N.cast(N.unsqueeze(Target, {1}), N.i64());
  Value Own = N.gatherElements(X, Column, 1);
  Value Over = above0(N, N.addScalar(N.sub(X, Own), N.real("margin", 1)));
  if (P == 2)
    Over = N.mul(Over, Over);
  else if (P != 1)
    return (void)N.fail(Code::ImportAttributeValue,
                        "p is " + std::to_string(P) + ", expected 1 or 2");
  if (Weight)
    Over = N.mul(Over, N.unsqueeze(N.gather(N.cast(Weight, N.element(X)),
                                            N.cast(Target, N.i64()), 0),
                                   {1}));
  Value Place = N.iota({Expr(1), N.dims(X)[1]}, 1, N.i64());
  Over = N.select(N.compare(Predicate::eq, Place, Column), N.like(0, X), Over);
  Value Loss = N.mean(Over, {1});
  if (One && Loss)
    Loss = N.reshape(Loss, {});
  reduced(N, Loss);
}

/// Of scores [batch, classes] and the classes that are right, as many as there
/// are in front of the first -1: the margin of each above each wrong one.
static void multilabelMargin(NodeImport &N) {
  Value X = N.tensor("self"), Target = N.tensor("target");
  if (!X || !Target || N.bad())
    return N.give();
  bool One = N.rank(X) < 2;
  if (One) {
    X = N.reshape(X, {Expr(1), graph::typeOf(X).getNumElements()});
    Target =
        N.reshape(Target, {Expr(1), graph::typeOf(Target).getNumElements()});
  }
  if (!X || !Target)
    return N.give();
  if (N.rank(X) != 2 || N.rank(Target) != 2)
    return (void)N.fail(Code::ImportRank,
                        "expected scores and targets [batch, classes], got " +
                            dimsText(N.dims(X)) + " and " +
                            dimsText(N.dims(Target)));
  Type T = N.element(X);
  Target = N.cast(Target, N.i64());
  Value Zero = N.scalarInt(0, N.i64());
  Value Ends = N.cast(N.compare(Predicate::lt, Target, Zero), N.i64());
  Value Counts = N.compare(
      Predicate::eq, N.cumsum(Ends, 1, /*Exclusive=*/false, /*Reverse=*/false),
      Zero);
  Value Safe = N.max(Target, Zero);
  // [batch, right, classes]
  Value Place = N.iota({Expr(1), Expr(1), N.dims(X)[1]}, 2, N.i64());
  Value Names =
      N.binary<AndOp>(N.compare(Predicate::eq, N.unsqueeze(Safe, {2}), Place),
                      N.unsqueeze(Counts, {2}));
  Value Right = N.reduce(ReduceKind::max, N.cast(Names, T), {1});
  Value Own = N.unsqueeze(N.gatherElements(X, Safe, 1), {2});
  Value Over = above0(N, N.addScalar(N.sub(N.unsqueeze(X, {1}), Own), 1));
  Value Pairs = N.mul(N.unsqueeze(N.cast(Counts, T), {2}),
                      N.unsqueeze(N.sub(N.like(1, X), Right), {1}));
  Value Loss = N.reduce(ReduceKind::sum, N.mul(Over, Pairs), {1, 2});
  Loss = N.div(Loss, N.sizeScalar(N.dims(X)[1], T));
  if (One && Loss) {
    Loss = N.reshape(Loss, {});
    Right = N.reshape(Right, {N.dims(X)[1]});
  }
  reduced(N, Loss);
  if (N.resultCount() > 1)
    N.result(1, Right);
}

ArrayRef<Rule> lossRules() {
  static const Rule Rows[] = {
      {"binary_cross_entropy.default", crossEntropyOfTwo},
      {"binary_cross_entropy_with_logits.default", crossEntropyOfLogits},
      {"cosine_embedding_loss.default", cosineEmbedding},
      {"cross_entropy_loss.default", crossEntropy},
      {"hinge_embedding_loss.default", hingeEmbedding},
      {"huber_loss.default", smoothError<true>},
      {"kl_div.default", divergence},
      {"l1_loss.default", absoluteError},
      {"margin_ranking_loss.default", marginRanking},
      {"mse_loss.default", squaredError},
      {"multi_margin_loss.default", multiMargin},
      {"multilabel_margin_loss.default", multilabelMargin},
      {"multilabel_margin_loss_forward.default", multilabelMargin},
      {"nll_loss.default", logLikelihoodLoss},
      {"nll_loss2d.default", logLikelihoodLoss},
      {"nll_loss2d_forward.default", logLikelihoodLoss},
      {"nll_loss_forward.default", logLikelihoodLoss},
      {"nll_loss_nd.default", logLikelihoodLoss},
      {"poisson_nll_loss.default", poisson},
      {"smooth_l1_loss.default", smoothError<false>},
      {"soft_margin_loss.default", softMargin},
      {"triplet_margin_loss.default", tripletMargin},
  };
  return Rows;
}

} // namespace kpc::torch
