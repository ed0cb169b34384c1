//===- Complex.cpp - Import of complex numbers ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The graph has no complex numbers. Rotary embeddings that are written with
/// them multiply pairs of reals: here a complex tensor is a real one with a
/// last dimension of 2. Operators that move elements need no rules of their
/// own: their arguments are rewritten for the dimension more.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Complex.h"
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/Factorizations.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

namespace {
struct Pair {
  Value Real, Imaginary;
};
} // namespace

static Value part(NodeImport &N, Value X, int64_t I) {
  if (!X)
    return X;
  return N.reshape(N.sliceAxis(X, N.rank(X) - 1, I, 1), N.dims(X).drop_back());
}

static Pair partsOf(NodeImport &N, Value X) {
  return {part(N, X, 0), part(N, X, 1)};
}

static Value paired(NodeImport &N, Value Real, Value Imaginary) {
  if (!Real || !Imaginary)
    return {};
  std::optional<Dims> Sizes = N.broadcastSizes(N.dims(Real), N.dims(Imaginary));
  if (!Sizes)
    return {};
  int64_t Last = static_cast<int64_t>(Sizes->size());
  return N.concat({N.unsqueeze(N.broadcast(Real, *Sizes), {Last}),
                   N.unsqueeze(N.broadcast(Imaginary, *Sizes), {Last})},
                  Last);
}

/// Both views show the pairs.
static void sameMemory(NodeImport &N) {
  Value X = N.tensor("self");
  if (X && (N.rank(X) == 0 || N.dims(X).back() != Expr(2)))
    return (void)N.fail(Code::ImportShape, "makes complex numbers of " +
                                               dimsText(N.dims(X)) +
                                               ", whose last size should be 2");
  N.view(
      0, "self", [](Emitter &, Value V) { return V; },
      [](Emitter &, Value, Value Part) { return Part; });
}

Value pairsOf(NodeImport &N, const Parts &Of) {
  return paired(N, Of.Real, Of.Imaginary);
}

static void polar(NodeImport &N) {
  Value Abs = N.tensor("abs"), Angle = N.tensor("angle");
  N.result(paired(N, N.mul(Abs, N.unary<CosOp>(Angle)),
                  N.mul(Abs, N.unary<SinOp>(Angle))));
}

static void complex(NodeImport &N) {
  N.result(paired(N, N.tensor("real"), N.tensor("imag")));
}

/// An operand as pairs; a real one is both parts.
static Pair operandParts(NodeImport &N, std::string_view Name) {
  Value X = N.isNumber(Name) ? N.operand(Name, N.f32()) : N.tensor(Name);
  if (N.importer().isComplex(N, Name))
    return partsOf(N, X);
  return {X, {}};
}

Parts complexParts(NodeImport &N, std::string_view Name) {
  Pair P = operandParts(N, Name);
  return {P.Real, P.Imaginary};
}

static void multiply(NodeImport &N) {
  Pair A = operandParts(N, "self"), C = operandParts(N, "other");
  if (!A.Real || !C.Real)
    return N.give();
  if (!A.Imaginary)
    std::swap(A, C);
  if (!C.Imaginary) {
    Value Factor = N.cast(C.Real, N.element(A.Real));
    return N.result(
        paired(N, N.mul(A.Real, Factor), N.mul(A.Imaginary, Factor)));
  }
  N.result(
      paired(N, N.sub(N.mul(A.Real, C.Real), N.mul(A.Imaginary, C.Imaginary)),
             N.add(N.mul(A.Real, C.Imaginary), N.mul(A.Imaginary, C.Real))));
}

template <bool Minus> static void addUp(NodeImport &N) {
  Pair A = operandParts(N, "self"), C = operandParts(N, "other");
  if (!A.Imaginary || !C.Imaginary || N.has("alpha"))
    return (void)N.unsupported("adds a complex number to a real one");
  auto Both = [&](Value X, Value Y) {
    return Minus ? N.sub(X, Y) : N.add(X, Y);
  };
  N.result(paired(N, Both(A.Real, C.Real), Both(A.Imaginary, C.Imaginary)));
}

static void conjugate(NodeImport &N) {
  Pair A = partsOf(N, N.tensor("self"));
  N.result(paired(N, A.Real, N.neg(A.Imaginary)));
}

template <int64_t I> static void onlyPart(NodeImport &N) {
  N.result(part(N, N.tensor("self"), I));
}

static void magnitude(NodeImport &N) {
  Pair A = partsOf(N, N.tensor("self"));
  N.result(
      N.sqrt(N.add(N.mul(A.Real, A.Real), N.mul(A.Imaginary, A.Imaginary))));
}

/// By a real number, or by a complex one with its conjugate.
static void divide(NodeImport &N) {
  Pair A = operandParts(N, "self"), C = operandParts(N, "other");
  if (!A.Real || !C.Real)
    return N.give();
  Value Divisor = N.cast(C.Real, N.element(A.Real));
  if (!C.Imaginary)
    return N.result(
        paired(N, N.div(A.Real, Divisor), N.div(A.Imaginary, Divisor)));
  Value Zero = N.like(0, A.Real);
  Value B = A.Imaginary ? A.Imaginary : N.mul(A.Real, Zero);
  Value Square = N.add(N.mul(C.Real, C.Real), N.mul(C.Imaginary, C.Imaginary));
  N.result(paired(
      N, N.div(N.add(N.mul(A.Real, C.Real), N.mul(B, C.Imaginary)), Square),
      N.div(N.sub(N.mul(B, C.Real), N.mul(A.Real, C.Imaginary)), Square)));
}

static void negate(NodeImport &N) { N.result(N.neg(N.tensor("self"))); }

/// The angle from the real axis on, in (-pi, pi].
static void angle(NodeImport &N) {
  Pair A = operandParts(N, "self");
  if (!A.Real)
    return N.give();
  Value X = N.asFloat(A.Real), Zero = N.like(0, X);
  Value Left = N.compare(Predicate::lt, X, Zero);
  if (!A.Imaginary)
    return N.result(
        N.select(N.compare(Predicate::ne, X, X), X,
                 N.select(Left, N.like(M_PI, X), N.mul(Zero, Zero))));
  Value Y = A.Imaginary;
  Value Down = N.compare(Predicate::lt, Y, Zero);
  Value Base = N.unary<AtanOp>(N.div(Y, X));
  Value Turned = N.add(Base, N.select(Down, N.like(-M_PI, X), N.like(M_PI, X)));
  Value Origin = N.binary<AndOp>(N.compare(Predicate::eq, X, Zero),
                                 N.compare(Predicate::eq, Y, Zero));
  N.result(N.select(Origin, Zero, N.select(Left, Turned, Base)));
}

std::optional<ComplexRule> complexRule(std::string_view Target) {
  using Found = std::optional<ComplexRule>;
  llvm::StringRef Rest(Target);
  if (!Rest.consume_front("aten."))
    return std::nullopt;
  return llvm::StringSwitch<Found>(Rest)
      .Case("view_as_complex.default", ComplexRule{sameMemory, true, true})
      .Case("view_as_real.default", ComplexRule{sameMemory, false})
      .Case("view_as_real_copy.default", ComplexRule{sameMemory, false})
      .Case("polar.default", ComplexRule{polar, true, true})
      .Cases({"linalg_eig.default", "linalg_eigvals.default",
              "_linalg_eigvals.default"},
             ComplexRule{unsymmetricEigenvalues, false, true})
      .Case("complex.default", ComplexRule{complex, true, true})
      .Cases({"mul.Tensor", "mul.Scalar"}, ComplexRule{multiply, true})
      .Case("add.Tensor", ComplexRule{addUp<false>, true})
      .Case("sub.Tensor", ComplexRule{addUp<true>, true})
      .Cases({"_conj.default", "conj.default", "conj_physical.default",
              "_conj_physical.default"},
             ComplexRule{conjugate, true})
      .Case("real.default", ComplexRule{onlyPart<0>, false})
      .Case("imag.default", ComplexRule{onlyPart<1>, false})
      .Case("abs.default", ComplexRule{magnitude, false})
      .Case("angle.default", ComplexRule{angle, false})
      .Cases({"div.Tensor", "div.Scalar"}, ComplexRule{divide, true})
      .Cases({"neg.default", "negative.default"}, ComplexRule{negate, true})
      .Cases({"view.default", "_unsafe_view.default", "reshape.default",
              "expand.default", "unsqueeze.default", "squeeze.dim",
              "slice.Tensor", "select.int", "transpose.int", "cat.default",
              "index_select.default", "index.Tensor"},
             ComplexRule{nullptr, true})
      .Cases({"permute.default", "repeat.default", "clone.default",
              "contiguous.default", "alias.default", "detach.default",
              "detach_.default", "lift_fresh_copy.default", "to.dtype",
              "to.device", "to.dtype_layout", "_to_copy.default",
              "stack.default", "narrow.default", "unbind.int",
              "resolve_conj.default", "embedding.default"},
             ComplexRule{nullptr, true})
      .Default(spectralRule(Rest.str()));
}

Node forPairs(const Node &N, size_t Rank) {
  Node Of = N;
  for (Argument &A : Of.Inputs) {
    bool IsAxis = A.Name == "dim" || A.Name == "dim0" || A.Name == "dim1";
    bool IsAxes = A.Name == "dims";
    bool IsSizes = A.Name == "size" || A.Name == "shape" || A.Name == "repeats";
    bool IsList = A.Is == Argument::Kind::Ints || A.Is == Argument::Kind::Int;
    if (!IsList)
      continue;
    // Axes that are counted from the end have one more behind them.
    for (size_t I = 0; (IsAxis || IsAxes) && I < A.Ints.size(); ++I)
      if (A.Values[I].empty() && A.Ints[I] < 0)
        --A.Ints[I];
    if (!IsAxes && !IsSizes)
      continue;
    A.Is = Argument::Kind::Ints;
    A.Values.emplace_back();
    A.Ints.push_back(IsAxes                ? static_cast<int64_t>(Rank)
                     : A.Name == "repeats" ? 1
                                           : 2);
  }
  return Of;
}

ArrayRef<Rule> complexRules() {
  static constexpr std::string_view Pairs =
      "complex numbers as pairs of reals: products, quotients, sums, movement "
      "and Fourier transforms";
  static const Rule Rows[] = {
      {"_conj.default", conjugate, InPlace::No, Pairs},
      {"_conj_physical.default", conjugate, InPlace::No, Pairs},
      {"angle.default", angle},
      {"complex.default", complex, InPlace::No, Pairs},
      {"conj.default", conjugate, InPlace::No, Pairs},
      {"conj_physical.default", conjugate, InPlace::No, Pairs},
      {"imag.default", onlyPart<1>, InPlace::No, Pairs},
      {"polar.default", polar, InPlace::No, Pairs},
      {"real.default", onlyPart<0>, InPlace::No, Pairs},
      {"view_as_complex.default", sameMemory, InPlace::No, Pairs},
      {"view_as_real.default", sameMemory, InPlace::No, Pairs},
  };
  return Rows;
}

} // namespace kpc::torch
