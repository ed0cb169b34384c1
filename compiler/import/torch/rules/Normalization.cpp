//===- Normalization.cpp - Import of normalisation ------------------------===//
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

/// [C] to [C, 1, …] as it broadcasts along x's channels.
static Value alongChannels(NodeImport &N, Value V, int64_t Rank) {
  if (!V)
    return {};
  Dims Sizes(static_cast<size_t>(Rank) - 1, Expr(1));
  Sizes[0] = N.dims(V)[0];
  return N.reshape(V, Sizes);
}

static Ints axesFrom(int64_t First, int64_t Rank) {
  return llvm::to_vector<6>(llvm::seq<int64_t>(First, Rank));
}

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
  M.Scale = N.unary<RsqrtOp>(
      N.addScalar(N.mean(N.mul(M.Centred, M.Centred), Axes, true), Epsilon));
  return M;
}

/// What is normalised, times a factor and plus a summand a channel.
static Value perChannel(NodeImport &N, const Moments &M, Value Scale,
                        Value Bias) {
  if (!M.Centred)
    return {};
  Type Wide = N.element(M.Centred);
  int64_t Rank = N.rank(M.Centred);
  Value Factor = M.Scale;
  if (Scale)
    Factor = N.mul(Factor, alongChannels(N, N.cast(Scale, Wide), Rank));
  Value Y = N.mul(M.Centred, Factor);
  return Bias ? N.add(Y, alongChannels(N, N.cast(Bias, Wide), Rank)) : Y;
}

/// What normalises by the batch or the image at hand may not count it into
/// running statistics: those are state of training.
static bool keepsNoStatistics(NodeImport &N) {
  if (!N.has("running_mean") && !N.has("running_var"))
    return true;
  N.unsupported("normalises by the data at hand and updates running "
                "statistics, which is training: export the program after "
                "model.eval()");
  return false;
}

/// The mean and the biased variance of all axes but the channels'.
static void normByBatch(NodeImport &N) {
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight"),
        Bias = N.optionalTensor("bias");
  if (N.bad() || !keepsNoStatistics(N))
    return;
  int64_t Rank = N.rank(X);
  if (Rank < 2) {
    N.fail(Code::ImportRank, "normalises channels of a tensor of rank " +
                                 std::to_string(Rank) + ", expected 2 or more");
    return;
  }
  Type Stored = N.element(X), Wide = N.wide(X);
  X = N.cast(X, Wide);
  Ints Axes = axesFrom(1, Rank);
  Axes[0] = 0;
  Moments M = moments(N, X, Axes, N.real("eps", 1e-5));
  Value Y = perChannel(N, M, Scale, Bias);
  N.result(0, N.cast(Y, Stored));
  if (N.resultCount() != 3 || N.bad())
    return;
  Dims Channels = {N.dims(X)[1]};
  N.result(1, N.cast(N.reshape(M.Mean, Channels), N.declaredType(1)));
  N.result(2, N.cast(N.reshape(M.Scale, Channels), N.declaredType(2)));
}

static void batchNorm(NodeImport &N) {
  if (N.flag("training", false))
    return normByBatch(N);
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight"),
        Bias = N.optionalTensor("bias"),
        Mean = N.optionalTensor("running_mean"),
        Var = N.optionalTensor("running_var");
  if (N.bad())
    return;
  if (!Mean || !Var)
    return normByBatch(N);
  if (N.rank(X) < 2)
    return (void)N.fail(Code::ImportRank, "normalises channels of a vector");
  int64_t Rank = N.rank(X);
  Type Stored = N.element(X), Wide = N.wide(X);
  for (Value *V : {&X, &Scale, &Bias, &Mean, &Var})
    *V = N.cast(*V, Wide);
  // One factor and one summand a channel: constants in, constants out.
  Value Factor = N.unary<RsqrtOp>(N.addScalar(Var, N.real("eps", 1e-5)));
  if (Scale)
    Factor = N.mul(Scale, Factor);
  Value Shift = N.mul(Mean, Factor);
  Value Summand = Bias ? N.sub(Bias, Shift) : N.neg(Shift);
  Value Y = N.add(N.mul(X, alongChannels(N, Factor, Rank)),
                  alongChannels(N, Summand, Rank));
  N.result(0, N.cast(Y, Stored));
  // What is kept for the backward pass is empty when it infers.
  for (size_t I = 1; I < N.resultCount() && !N.bad(); ++I)
    N.result(I, N.full(0, {Expr(0)}, N.declaredType(I)));
}

static void layerNorm(NodeImport &N) {
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight"),
        Bias = N.optionalTensor("bias");
  std::optional<Dims> Shape = N.sizes("normalized_shape");
  if (N.bad() || !Shape || static_cast<int64_t>(Shape->size()) > N.rank(X))
    return N.give();
  Type Stored = N.element(X), Wide = N.wide(X);
  X = N.cast(X, Wide);
  int64_t Rank = N.rank(X);
  Moments M =
      moments(N, X, axesFrom(Rank - static_cast<int64_t>(Shape->size()), Rank),
              N.real("eps", 1e-5));
  Value Y = N.mul(M.Centred, M.Scale);
  if (Scale)
    Y = N.mul(Y, N.cast(Scale, Wide));
  if (Bias)
    Y = N.add(Y, N.cast(Bias, Wide));
  N.result(0, N.cast(Y, Stored));
  if (N.resultCount() > 1) {
    N.result(1, N.cast(M.Mean, N.declaredType(1)));
    N.result(2, N.cast(M.Scale, N.declaredType(2)));
  }
}

static void rmsNorm(NodeImport &N) {
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight");
  std::optional<Dims> Shape = N.sizes("normalized_shape");
  if (N.bad() || !Shape || static_cast<int64_t>(Shape->size()) > N.rank(X))
    return N.give();
  Type Stored = N.element(X), Wide = N.wide(X);
  double Default = Stored.isF64()    ? 2.220446049250313e-16
                   : Stored.isF16()  ? 0.0009765625
                   : Stored.isBF16() ? 0.0078125
                                     : 1.1920928955078125e-07;
  X = N.cast(X, Wide);
  int64_t Rank = N.rank(X);
  Value Square =
      N.mean(N.mul(X, X),
             axesFrom(Rank - static_cast<int64_t>(Shape->size()), Rank), true);
  if (!Square)
    return;
  Value Each = N.unary<RsqrtOp>(N.addScalar(Square, N.real("eps", Default)));
  Value Y = N.mul(X, Each);
  if (Scale)
    Y = N.mul(Y, N.cast(Scale, Wide));
  N.result(N.cast(Y, Stored));
  if (N.resultCount() > 1)
    N.result(1, N.cast(Each, N.declaredType(1)));
}

static void groupNorm(NodeImport &N) {
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight"),
        Bias = N.optionalTensor("bias");
  int64_t Groups = N.integer(N.has("num_groups") ? "num_groups" : "group", 1);
  if (N.bad() || N.rank(X) < 2 || Groups < 1)
    return N.give();
  Dims Sizes(N.dims(X));
  Expr Inner = Sizes[1].floorDiv(Groups);
  Type Stored = N.element(X), Wide = N.wide(X);
  // [N, G, C/G, spatial…]
  Dims Grouped = {Sizes[0], Expr(Groups), Inner};
  Grouped.append(Sizes.begin() + 2, Sizes.end());
  auto Rank = static_cast<int64_t>(Grouped.size());
  // Views stand outside of what is computed, so that it can be one kernel.
  Value G = N.cast(N.reshape(X, Grouped), Wide);
  if (!G)
    return;
  Moments M = moments(N, G, axesFrom(2, Rank), N.real("eps", 1e-5));
  if (N.resultCount() > 1) {
    Dims Each = {Sizes[0], Expr(Groups)};
    N.result(1, N.cast(N.reshape(M.Mean, Each), N.declaredType(1)));
    N.result(2, N.cast(N.reshape(M.Scale, Each), N.declaredType(2)));
  }
  Value Y = N.mul(M.Centred, M.Scale);
  Dims PerGroup(Grouped.size() - 1, Expr(1));
  PerGroup[0] = Expr(Groups);
  PerGroup[1] = Inner;
  if (Scale)
    Y = N.mul(Y, N.reshape(N.cast(Scale, Wide), PerGroup));
  if (Bias)
    Y = N.add(Y, N.reshape(N.cast(Bias, Wide), PerGroup));
  N.result(N.reshape(N.cast(Y, Stored), Sizes));
}

static void instanceNorm(NodeImport &N) {
  Value X = N.tensor("input"), Scale = N.optionalTensor("weight"),
        Bias = N.optionalTensor("bias");
  if (N.bad() || N.rank(X) < 3)
    return N.give();
  if (!N.flag("use_input_stats", true))
    return batchNorm(N);
  if (!keepsNoStatistics(N))
    return;
  int64_t Rank = N.rank(X);
  Type Stored = N.element(X), Wide = N.wide(X);
  X = N.cast(X, Wide);
  Moments M = moments(N, X, axesFrom(2, Rank), N.real("eps", 1e-5));
  Value Y = perChannel(N, M, Scale, Bias);
  N.result(N.cast(Y, Stored));
}

/// g * v / |v|, the norm over all axes but one.
static void weightNorm(NodeImport &N) {
  Value V = N.tensor("v"), G = N.tensor("g");
  if (!V || !G)
    return;
  int64_t Kept = N.integer("dim", 0);
  Ints Axes;
  for (int64_t I = 0; I < N.rank(V); ++I)
    if (Kept == -1 || I != N.axis(Kept, N.rank(V)))
      Axes.push_back(I);
  Value Norm = N.sqrt(N.reduce(ReduceKind::sum, N.mul(V, V), Axes, true));
  N.result(N.mul(V, N.div(G, Norm)));
  if (N.resultCount() > 1)
    N.result(1, Norm);
}

//===----------------------------------------------------------------------===//
// Lengths of differences and angles
//===----------------------------------------------------------------------===//

/// Both operands as floats of one shape; null values after a report.
static std::pair<Value, Value> twoFloats(NodeImport &N) {
  Type T = N.promoted("x1", "x2");
  Value A = N.tensor("x1"), C = N.tensor("x2");
  if (!T || !A || !C)
    return {};
  std::optional<Dims> Both = N.broadcastSizes(N.dims(A), N.dims(C));
  if (!Both)
    return {};
  if (!isFloat(T))
    T = N.f32();
  return {N.broadcast(N.cast(A, T), *Both), N.broadcast(N.cast(C, T), *Both)};
}

static void cosineSimilarity(NodeImport &N) {
  auto [A, C] = twoFloats(N);
  if (!A || !C)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", 1), N.rank(A));
  if (N.bad() || N.rank(A) == 0)
    return (void)N.fail(Code::ImportRank, "takes the angle of scalars");
  Type Stored = N.element(A);
  auto Unit = [&](Value X) {
    X = N.cast(X, N.wide(X));
    Value Length = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), {Axis}, true));
    return N.div(X, N.max(Length, N.like(N.real("eps", 1e-8), Length)));
  };
  N.result(N.cast(N.reduce(ReduceKind::sum, N.mul(Unit(A), Unit(C)), {Axis}),
                  Stored));
}

static void pairwiseDistance(NodeImport &N) {
  auto [A, C] = twoFloats(N);
  if (!A || !C)
    return N.give();
  if (N.rank(A) == 0)
    return (void)N.fail(Code::ImportRank, "takes the distance of scalars");
  double P = N.real("p", 2);
  bool Keep = N.flag("keepdim", false);
  Type Stored = N.element(A);
  Value X = N.addScalar(N.sub(A, C), N.real("eps", 1e-6));
  X = N.unary<AbsOp>(N.cast(X, N.wide(A)));
  int64_t Last = N.rank(A) - 1;
  Value Y;
  if (std::isinf(P)) {
    Y = N.reduce(P > 0 ? ReduceKind::max : ReduceKind::min, X, {Last}, Keep);
  } else if (P == 2) {
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), {Last}, Keep));
  } else if (P == 1) {
    Y = N.reduce(ReduceKind::sum, X, {Last}, Keep);
  } else if (P > 0) {
    Y = N.reduce(ReduceKind::sum, N.binary<PowOp>(X, N.like(P, X)), {Last},
                 Keep);
    Y = Y ? N.binary<PowOp>(Y, N.like(1 / P, Y)) : Y;
  } else {
    return (void)N.unsupported("a distance of order " + std::to_string(P) +
                               "; kpc takes orders above 0");
  }
  N.result(N.cast(Y, Stored));
}

ArrayRef<Rule> normalizationRules() {
  constexpr std::string_view Training =
      "training that updates running statistics";
  static const Rule Rows[] = {
      {"_batch_norm_no_update.default", batchNorm},
      {"_native_batch_norm_legit.default", batchNorm, InPlace::No, Training},
      {"_native_batch_norm_legit.no_stats", batchNorm},
      {"_native_batch_norm_legit_no_training.default", batchNorm},
      {"_fused_rms_norm.default", rmsNorm},
      {"_weight_norm.default", weightNorm},
      {"_weight_norm_interface.default", weightNorm},
      {"batch_norm.default", batchNorm, InPlace::No, Training},
      {"cosine_similarity.default", cosineSimilarity},
      {"group_norm.default", groupNorm},
      {"instance_norm.default", instanceNorm, InPlace::No, Training},
      {"layer_norm.default", layerNorm},
      {"native_batch_norm.default", batchNorm, InPlace::No, Training},
      {"native_group_norm.default", groupNorm},
      {"native_layer_norm.default", layerNorm},
      {"pairwise_distance.default", pairwiseDistance, InPlace::No,
       "orders above 0"},
      {"rms_norm.default", rmsNorm},
  };
  return Rows;
}

} // namespace kpc::torch
