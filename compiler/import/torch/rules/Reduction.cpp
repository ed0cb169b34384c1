//===- Reduction.cpp - Import of sums, extremes and norms -----------------===//
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

static bool keeps(NodeImport &N) { return N.flag("keepdim", false); }

/// The operand in the result's type; sums of integers are int64.
static Value typed(NodeImport &N) {
  Value X = N.tensor("self");
  Type T = N.declaredType();
  return X && T ? N.cast(X, T) : Value();
}

template <ReduceKind K> static void reduce(NodeImport &N) {
  Value X = typed(N);
  if (X)
    N.result(N.reduce(K, X, N.axes("dim", N.rank(X)), keeps(N)));
}

static void mean(NodeImport &N) {
  Value X = typed(N);
  if (X)
    N.result(N.mean(X, N.axes("dim", N.rank(X)), keeps(N)));
}

/// Values and their places along one axis.
template <ReduceKind K> static void extreme(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", 0), N.rank(X));
  N.result(0, N.reduce(K, X, {Axis}, keeps(N)));
  Value Index = N.argReduce(K, X, Axis, /*SelectLast=*/false);
  N.result(1, keeps(N) ? N.unsqueeze(Index, {Axis}) : Index);
}

template <ReduceKind K> static void place(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  bool All = !N.has("dim");
  std::optional<Dims> Sizes = N.declaredSizes();
  if (All || N.rank(X) == 0)
    X = N.reshape(X, {graph::typeOf(X).getNumElements()});
  int64_t Axis = All ? 0 : N.axis(N.integer("dim", 0), N.rank(X));
  Value Index = N.argReduce(K, X, Axis, false);
  if (Sizes)
    N.result(N.reshape(Index, *Sizes));
}

template <ReduceKind K> static void truth(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (!isBool(N.element(X)))
    X = N.compare(Predicate::ne, X, N.scalarInt(0, N.element(X)));
  Value Count =
      N.reduce(K, N.cast(X, N.i32()), N.axes("dim", N.rank(X)), keeps(N));
  N.result(N.cast(Count, N.i1()));
}

static void countNonzero(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Value Flags = N.compare(Predicate::ne, X, N.scalarInt(0, N.element(X)));
  N.result(N.reduce(ReduceKind::sum, N.cast(Flags, N.i64()),
                    N.axes("dim", N.rank(X))));
}

static void cumulate(NodeImport &N) {
  Value X = typed(N);
  if (X && N.rank(X) == 0)
    return N.result(X);
  if (X)
    N.result(N.cumsum(X, N.axis(N.integer("dim", 0), N.rank(X)), false, false));
}

static void logSumExp(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X)
    return;
  Ints Axes = N.axes("dim", N.rank(X));
  Value Top = N.reduce(ReduceKind::max, X, Axes, true);
  if (!Top)
    return;
  // Infinite maxima would make inf - inf.
  Value D = N.sub(Top, Top);
  Value Safe = N.select(N.compare(Predicate::eq, D, D), Top, N.like(0, Top));
  Value Sum = N.reduce(ReduceKind::sum, N.exp(N.sub(X, Safe)), Axes, true);
  Value Y = N.add(N.log(Sum), Safe);
  std::optional<Dims> Sizes = N.declaredSizes();
  if (Sizes)
    N.result(N.reshape(Y, *Sizes));
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

/// The variance over axes, divided by the count less the correction.
static Value variance(NodeImport &N, Value X, ArrayRef<int64_t> Axes) {
  double Correction = N.has("correction")
                          ? N.real("correction", 1)
                          : (N.flag("unbiased", true) ? 1.0 : 0.0);
  Expr Count(1);
  for (int64_t A : Axes)
    Count = Count * N.dims(X)[static_cast<size_t>(A)];
  Value Centred = N.sub(X, N.mean(X, Axes, true));
  Value Squares = N.mul(Centred, Centred);
  if (Correction == 0)
    return N.mean(Squares, Axes, keeps(N));
  Value Sum = N.reduce(ReduceKind::sum, Squares, Axes, keeps(N));
  if (!Sum)
    return {};
  Value Less = N.addScalar(N.sizeScalar(Count, N.element(X)), -Correction);
  return N.div(Sum, N.max(Less, N.like(0, Less)));
}

enum class Moment { Variance, Deviation };

template <Moment M, bool WithMean> static void moment(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Type Stored = N.element(X);
  X = N.cast(X, N.wide(X));
  Ints Axes = N.axes("dim", N.rank(X));
  Value V = variance(N, X, Axes);
  if (M == Moment::Deviation)
    V = N.sqrt(V);
  N.result(0, N.cast(V, Stored));
  if (WithMean)
    N.result(1, N.cast(N.mean(X, Axes, keeps(N)), Stored));
}

/// The p-norm; the extremes for infinite p.
static void norm(NodeImport &N) {
  Value X = N.tensor("self");
  Type T = N.declaredType();
  if (!X || !T)
    return;
  std::string_view Name = N.has("ord") ? "ord" : "p";
  double P = N.has(Name) ? N.real(Name, 2) : 2;
  X = N.cast(X, T);
  X = N.cast(X, N.wide(X));
  Ints Axes = N.axes("dim", N.rank(X));
  Value Y;
  Value Size = N.unary<AbsOp>(X);
  if (P == INFINITY)
    Y = N.reduce(ReduceKind::max, Size, Axes, keeps(N));
  else if (P == -INFINITY)
    Y = N.reduce(ReduceKind::min, Size, Axes, keeps(N));
  else if (P == 0)
    Y = N.reduce(
        ReduceKind::sum,
        N.cast(N.compare(Predicate::ne, X, N.like(0, X)), N.element(X)), Axes,
        keeps(N));
  else if (P == 1)
    Y = N.reduce(ReduceKind::sum, Size, Axes, keeps(N));
  else if (P == 2)
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), Axes, keeps(N)));
  else
    Y = N.binary<PowOp>(N.reduce(ReduceKind::sum,
                                 N.binary<PowOp>(Size, N.like(P, X)), Axes,
                                 keeps(N)),
                        N.like(1 / P, X));
  N.result(N.cast(Y, T));
}

/// Differences of neighbours, `n` times.
static void difference(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Times = N.integer("n", 1);
  if (!X || N.rank(X) == 0 || Times < 0 || Times > 64)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(X));
  SmallVector<Value> Parts;
  if (N.has("prepend"))
    Parts.push_back(N.tensor("prepend"));
  Parts.push_back(X);
  if (N.has("append"))
    Parts.push_back(N.tensor("append"));
  X = N.concat(Parts, Axis);
  for (int64_t I = 0; I < Times && X; ++I) {
    Expr Count = N.dims(X)[static_cast<size_t>(Axis)] - 1;
    Value Next = N.sliceAxis(X, Axis, 1, Count),
          Here = N.sliceAxis(X, Axis, 0, Count);
    X = Next && isBool(N.element(Next)) ? N.binary<XorOp>(Next, Here)
                                        : N.sub(Next, Here);
  }
  N.result(X);
}

ArrayRef<Rule> reductionRules() {
  using enum ReduceKind;
  static const Rule Rows[] = {
      {"_is_all_true.default", truth<min>},
      {"_is_any_true.default", truth<max>},
      {"all.default", truth<min>},
      {"all.dim", truth<min>},
      {"all.dims", truth<min>},
      {"amax.default", reduce<max>},
      {"amin.default", reduce<min>},
      {"any.default", truth<max>},
      {"any.dim", truth<max>},
      {"any.dims", truth<max>},
      {"argmax.default", place<max>},
      {"argmin.default", place<min>},
      {"count_nonzero.default", countNonzero},
      {"count_nonzero.dim_IntList", countNonzero},
      {"cumsum.default", cumulate, InPlace::Yes},
      {"diff.default", difference},
      {"linalg_vector_norm.default", norm},
      {"logsumexp.default", logSumExp},
      {"max.default", reduce<max>},
      {"max.dim", extreme<max>},
      {"mean.default", mean},
      {"mean.dim", mean},
      {"min.default", reduce<min>},
      {"min.dim", extreme<min>},
      {"norm.Scalar", norm},
      {"norm.ScalarOpt_dim", norm},
      {"norm.ScalarOpt_dim_dtype", norm},
      {"norm.ScalarOpt_dtype", norm},
      {"prod.default", reduce<prod>},
      {"prod.dim_int", reduce<prod>},
      {"std.correction", moment<Moment::Deviation, false>},
      {"std.default", moment<Moment::Deviation, false>},
      {"std.dim", moment<Moment::Deviation, false>},
      {"std_mean.default", moment<Moment::Deviation, true>},
      {"std_mean.dim", moment<Moment::Deviation, true>},
      {"std_mean.correction", moment<Moment::Deviation, true>},
      {"sum.default", reduce<sum>},
      {"sum.dim_IntList", reduce<sum>},
      {"var.correction", moment<Moment::Variance, false>},
      {"var.default", moment<Moment::Variance, false>},
      {"var.dim", moment<Moment::Variance, false>},
      {"var_mean.correction", moment<Moment::Variance, true>},
      {"var_mean.default", moment<Moment::Variance, true>},
      {"var_mean.dim", moment<Moment::Variance, true>},
  };
  return Rows;
}

} // namespace kpc::torch
