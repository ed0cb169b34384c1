//===- Normalization.cpp - Import of normalizations -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include <algorithm>

using namespace kpc::graph;

namespace kpc::onnx {

/// A vector of channels as it broadcasts along axis 1 of x.
static Value alongChannels(NodeImport &N, Value Vector, int64_t Rank) {
  if (!Vector)
    return {};
  Dims Sizes(static_cast<size_t>(Rank) - 1, Expr(1));
  Sizes[0] = graph::typeOf(Vector).getNumElements();
  return N.reshape(Vector, Sizes);
}

static Ints axesFrom(int64_t First, int64_t Rank) {
  return llvm::to_vector(llvm::seq<int64_t>(First, Rank));
}

static Value rsqrt(NodeImport &N, Value X, double Epsilon) {
  return N.unary<RsqrtOp>(N.addScalar(X, Epsilon));
}

/// 16-bit inputs are normalised in f32.
static Type computeType(NodeImport &N, Value X) {
  Type T = N.element(X);
  return T.isF16() || T.isBF16() ? N.f32() : T;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

static void importBatchNormalization(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  double Momentum = N.floatAttribute("momentum", 0.9F);
  bool Training = N.opset() >= 14 && N.flagAttribute("training_mode");
  if (N.opset() < 9 && !N.flagAttribute("spatial", true))
    N.unsupported("attribute 'spatial' is 0");
  N.expectInputs(5, 5);
  Value X = N.input(0), Scale = N.input(1), Bias = N.input(2),
        Mean = N.input(3), Var = N.input(4);
  if (N.bad())
    return;
  int64_t Rank = N.rank(X);
  if (Rank < 2) {
    N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(Rank) +
                                 ", but should have 2 or more");
    return;
  }
  Type Stored = N.element(X), Wide = computeType(N, X);
  for (Value *V : {&X, &Scale, &Bias, &Mean, &Var})
    *V = N.cast(*V, Wide);
  if (Training) {
    Ints Axes = {0};
    Axes.append(axesFrom(2, Rank));
    Value OldMean = Mean, OldVar = Var;
    Mean = N.mean(X, Axes);
    Value Centred = N.sub(X, alongChannels(N, Mean, Rank));
    Var = N.mean(N.mul(Centred, Centred), Axes);
    auto Moved = [&](Value Old, Value New) {
      return N.cast(
          N.add(N.mulScalar(Old, Momentum), N.mulScalar(New, 1 - Momentum)),
          Stored);
    };
    if (N.wants(1))
      N.result(1, Moved(OldMean, Mean));
    if (N.wants(2))
      N.result(2, Moved(OldVar, Var));
  }
  // One factor and one summand a channel: constants in, constants out.
  Value Factor = N.mul(Scale, rsqrt(N, Var, Epsilon));
  Value Summand = N.sub(Bias, N.mul(Mean, Factor));
  Value Y = N.add(N.mul(X, alongChannels(N, Factor, Rank)),
                  alongChannels(N, Summand, Rank));
  N.result(0, N.cast(Y, Stored));
}

//===----------------------------------------------------------------------===//
// Within one sample
//===----------------------------------------------------------------------===//

namespace {
struct Moments {
  Value Mean, Scale, Centred;
};
} // namespace

/// Mean, 1/sqrt(var + eps) and x - mean over axes, which stay with size 1.
static Moments moments(NodeImport &N, Value X, ArrayRef<int64_t> Axes,
                       double Epsilon) {
  Moments M;
  M.Mean = N.mean(X, Axes, /*KeepDims=*/true);
  M.Centred = N.sub(X, M.Mean);
  M.Scale = rsqrt(N, N.mean(N.mul(M.Centred, M.Centred), Axes, true), Epsilon);
  return M;
}

static void importInstanceNormalization(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  N.expectInputs(3, 3);
  Value X = N.input(0), Scale = N.input(1), Bias = N.input(2);
  if (N.bad())
    return;
  int64_t Rank = N.rank(X);
  if (Rank < 3) {
    N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(Rank) +
                                 ", but should have 3 or more");
    return;
  }
  Type Stored = N.element(X), Wide = computeType(N, X);
  X = N.cast(X, Wide);
  Moments M = moments(N, X, axesFrom(2, Rank), Epsilon);
  Value Factor = N.mul(M.Scale, alongChannels(N, N.cast(Scale, Wide), Rank));
  Value Y = N.add(N.mul(M.Centred, Factor),
                  alongChannels(N, N.cast(Bias, Wide), Rank));
  N.result(0, N.cast(Y, Stored));
}

static void importLayerNormalization(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Axis = N.intAttribute("axis", -1);
  N.intAttribute("stash_type", 1);
  N.expectInputs(2, 3);
  Value X = N.input(0), Scale = N.input(1), Bias = N.optionalInput(2);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Type Stored = N.element(X), Wide = computeType(N, X);
  X = N.cast(X, Wide);
  Moments M = moments(N, X, axesFrom(Axis, N.rank(X)), Epsilon);
  Value Y = N.mul(N.mul(M.Centred, M.Scale), N.cast(Scale, Wide));
  if (Bias)
    Y = N.add(Y, N.cast(Bias, Wide));
  N.result(0, N.cast(Y, Stored));
  if (N.wants(1))
    N.result(1, M.Mean);
  if (N.wants(2))
    N.result(2, M.Scale);
}

static void importRmsNormalization(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Axis = N.intAttribute("axis", -1);
  N.intAttribute("stash_type", 1);
  N.expectInputs(2, 2);
  Value X = N.input(0), Scale = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Type Stored = N.element(X), Wide = computeType(N, X);
  X = N.cast(X, Wide);
  Value Square = N.mean(N.mul(X, X), axesFrom(Axis, N.rank(X)), true);
  // The scale is applied in the input's type, as the operator is defined.
  Value Y = N.cast(N.mul(X, rsqrt(N, Square, Epsilon)), Stored);
  N.result(0, N.mul(Y, N.cast(Scale, Stored)));
}

static void importGroupNormalization(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Groups = N.requiredInt("num_groups");
  N.intAttribute("stash_type", 1);
  N.expectInputs(3, 3);
  Value X = N.input(0), Scale = N.input(1), Bias = N.input(2);
  if (N.bad())
    return;
  Dims Sizes(N.dims(X));
  Expr Inner =
      Sizes.size() < 2 || Groups < 1 ? Expr(0) : Sizes[1].floorDiv(Groups);
  if (Inner * Groups != (Sizes.size() < 2 ? Expr(-1) : Sizes[1])) {
    N.fail(Code::ImportShape, dimsText(Sizes) + " does not have channels for " +
                                  std::to_string(Groups) + " groups");
    return;
  }
  Type Stored = N.element(X), Wide = computeType(N, X);
  // [N, G, C/G · spatial], as InstanceNormalization is given groups.
  Dims Grouped = {Sizes[0], Expr(Groups), Inner};
  for (const Expr &Size : ArrayRef<Expr>(Sizes).drop_front(2))
    Grouped.back() = Grouped.back() * Size;
  // Views stand outside of what is computed, so that it can be one kernel.
  Value G = N.cast(N.reshape(X, Grouped), Wide);
  Moments M = moments(N, G, {2}, Epsilon);
  Value Y = N.mul(M.Centred, M.Scale);
  // Until opset 20 there was one scale a group, since then one a channel. These
  // are in the shape of what follows: an activation is then part of the kernel.
  bool OfGroups = N.opset() < 21;
  if (!OfGroups)
    Y = N.reshape(Y, Sizes);
  Dims Each(OfGroups ? size_t(2) : Sizes.size() - 1, Expr(1));
  Each[0] = OfGroups ? Expr(Groups) : Sizes[1];
  auto Spread = [&](Value V) { return N.reshape(N.cast(V, Wide), Each); };
  Y = N.add(N.mul(Y, Spread(Scale)), Spread(Bias));
  N.result(0, N.cast(N.reshape(Y, Sizes), Stored));
}

static void importMeanVariance(NodeImport &N) {
  std::optional<Ints> Given = N.intsAttribute("axes");
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = N.frontAxes(Given ? *Given : Ints{0, 2, 3}, N.rank(X));
  if (N.bad())
    return;
  // As ONNX defines it: (x - mean) / (std + 1e-9).
  Value Mean = N.mean(X, Axes, true);
  Value Square = N.mean(N.mul(X, X), Axes, true);
  Value Deviation = N.sqrt(N.sub(Square, N.mul(Mean, Mean)));
  N.result(0, N.div(N.sub(X, Mean), N.addScalar(Deviation, 1e-9)));
}

static void importLpNormalization(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", -1), P = N.intAttribute("p", 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (P != 1 && P != 2)
    N.fail(Code::ImportAttributeValue, "attribute 'p' is " + std::to_string(P));
  if (N.bad())
    return;
  Value Sum = N.reduce(ReduceKind::sum,
                       P == 1 ? N.unary<AbsOp>(X) : N.mul(X, X), {Axis}, true);
  Value Norm = P == 1 ? Sum : N.sqrt(Sum);
  // ONNX leaves 0/0 open; zero is what implementations give.
  Value Zero = N.compare(Predicate::eq, Norm, N.like(0, X));
  N.result(0, N.select(Zero, N.like(0, X), N.div(X, Norm)));
}

static void importLrn(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1e-4F);
  double Beta = N.floatAttribute("beta", 0.75F);
  double Bias = N.floatAttribute("bias", 1);
  int64_t Size = N.requiredInt("size");
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) < 2 || Size < 1) {
    N.fail(Code::ImportRank,
           "needs an input of rank 2 or more and a positive size");
    return;
  }
  auto Rank = static_cast<size_t>(N.rank(X));
  Ints One(Rank, 1), Window(Rank, 1), Low(Rank, 0), High(Rank, 0);
  // What reaches beyond all channels adds nothing.
  constexpr int64_t Far = int64_t(1) << 30;
  int64_t Reach = N.dims(X)[1].asConstant().value_or(Far);
  Low[1] = std::min((Size - 1) / 2, Reach);
  High[1] = std::min(Size / 2, Reach);
  Window[1] = Low[1] + High[1] + 1;
  Value Sum =
      N.window(ReduceKind::sum, N.mul(X, X), Window, One, One, Low, High);
  Value Base =
      N.addScalar(N.mulScalar(Sum, Alpha / static_cast<double>(Size)), Bias);
  N.result(0, N.div(X, N.binary<PowOp>(Base, N.like(Beta, X))));
}

ArrayRef<Rule> normalizationRules() {
  static const Rule Rows[] = {
      {"", "BatchNormalization", 1, Newest, importBatchNormalization},
      {"", "InstanceNormalization", 1, Newest, importInstanceNormalization},
      // Before opset 17 onnxruntime has it, and its optimiser writes it.
      {"", "LayerNormalization", 1, Newest, importLayerNormalization},
      {"", "RMSNormalization", 23, Newest, importRmsNormalization},
      {"", "GroupNormalization", 18, Newest, importGroupNormalization},
      {"", "MeanVarianceNormalization", 9, Newest, importMeanVariance},
      {"", "LpNormalization", 1, Newest, importLpNormalization},
      {"", "LRN", 1, Newest, importLrn},
  };
  return Rows;
}

} // namespace kpc::onnx
