//===- FactsSimplify.cpp - Simplification by what is known of sizes -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/FactsQuery.h"
#include "dialects/shape/IntervalArithmetic.h"

#include <algorithm>
#include <numeric>

namespace kpc::shape {

/// E without the terms (the constant one counts by its part) that a positive
/// constant divides for all values of the symbols.
static Expr dropMultiples(Query &Q, const Expr &E, int64_t Divisor) {
  Expr Kept;
  for (const Term &T : terms(E)) {
    Expr Single = exprOf(T);
    if (T.Factors.empty())
      Kept = Kept + floorModulo(T.Coefficient, Divisor);
    else if (Q.divisor(Single) % Divisor != 0)
      Kept = Kept + Single;
  }
  return Kept;
}

static Expr simplifyFloorDiv(Query &Q, Expr A, const Expr &D) {
  std::optional<int64_t> C = D.asConstant();
  if (C && *C > 0) {
    // floordiv(x + k, c) = floordiv(x, c) where g divides x and c, 0 <= k < g.
    int64_t K = constantTerm(A);
    int64_t G = std::gcd(Q.divisor(A - K), *C);
    if (G > 1)
      A = A - floorModulo(K, G);
  }
  return A.floorDiv(D);
}

static Expr simplifyMod(Query &Q, const Expr &A, const Expr &D) {
  std::optional<int64_t> C = D.asConstant();
  if (C && *C > 0)
    return dropMultiples(Q, A, *C).mod(D);
  return A.mod(D);
}

/// What is left of a sum of which only "none" or "some" is asked:
/// min(2 x + min(x, 1), 1) = min(x, 1) for whole x >= 0. Slices of what was
/// joined with a slice of itself come to this.
static Expr dropFlags(Query &Q, const Expr &E) {
  for (const Term &T : terms(E))
    if (T.Coefficient < 0 || Q.range(exprOf(T)).Min < 0)
      return E;
  auto One = [](const Term &T) { return Expr::Node::make({{T.Factors, 1}}); };
  auto IsFlagOfAnother = [&](const Term &T) {
    if (T.Factors.size() != 1 || T.Factors[0].Exponent != 1 ||
        T.Factors[0].Base->Kind != AtomKind::Min)
      return false;
    const AtomRef &Flag = T.Factors[0].Base;
    return std::ranges::any_of(terms(E), [&](const Term &Other) {
      return &Other != &T &&
             Expr::min(One(Other), 1) == Expr::min(Flag->A, Flag->B);
    });
  };
  Expr Kept = 0;
  for (const Term &T : terms(E))
    if (!IsFlagOfAnother(T))
      Kept = Kept + One(T);
  return Kept;
}

static Expr simplifyAtom(Query &Q, const AtomRef &Base) {
  Expr A = Q.simplify(Base->A), B = Q.simplify(Base->B);
  if (A.overflowed() || B.overflowed())
    return Expr::Node::makeOverflow();
  if (Base->Kind == AtomKind::Min || Base->Kind == AtomKind::Max) {
    bool IsMin = Base->Kind == AtomKind::Min;
    if (std::optional<bool> Less = Q.isLessOrEqual(A, B); Less && *Less)
      return IsMin ? A : B;
    if (std::optional<bool> More = Q.isLessOrEqual(B, A); More && *More)
      return IsMin ? B : A;
    if (IsMin && B == Expr(1))
      A = dropFlags(Q, A);
    else if (IsMin && A == Expr(1))
      B = dropFlags(Q, B);
    return IsMin ? Expr::min(A, B) : Expr::max(A, B);
  }
  Interval Quotient = floorDivRange(Q.range(A), Q.range(B));
  bool Decided = Quotient.Min == Quotient.Max && !isInfinite(Quotient.Min);
  if (Base->Kind == AtomKind::FloorDiv)
    return Decided ? Expr(Quotient.Min) : simplifyFloorDiv(Q, A, B);
  return Decided ? A - B * Quotient.Min : simplifyMod(Q, A, B);
}

/// One factor of a product. c * floordiv(A, c) is A where c divides every A:
/// that takes c out of `Coefficient`.
static Expr simplifyFactor(Query &Q, const AtomRef &Base,
                           int64_t &Coefficient) {
  if (Base->Kind == AtomKind::FloorDiv) {
    std::optional<int64_t> D = Base->B.asConstant();
    if (D && *D > 0 && Coefficient % *D == 0 && Q.divisor(Base->A) % *D == 0) {
      Coefficient /= *D;
      return Q.simplify(Base->A);
    }
  }
  return Q.simplify(Base);
}

/// The min or max that a term is a multiple of; null where it is none.
static const Atom *boundIn(const Term &T) {
  if (T.Factors.size() != 1 || T.Factors[0].Exponent != 1)
    return nullptr;
  const Atom &A = *T.Factors[0].Base;
  return A.Kind == AtomKind::Min || A.Kind == AtomKind::Max ? &A : nullptr;
}

/// What two terms of a sum are together where that has no bound, since one
/// order of sides decides both: min(n, 2) + max(n - 2, 0) is n. A roll is two
/// such slices, joined.
static std::optional<Expr> joinPair(const Term &T, const Term &U) {
  const Atom *A = boundIn(T), *B = boundIn(U);
  if (!A || !B)
    return std::nullopt;
  Expr Order = A->A - A->B, Other = B->A - B->B;
  bool IsReversed = Order != Other;
  if (IsReversed && Order != 0 - Other)
    return std::nullopt;
  // Where A->A is the lesser side, and where it is the greater one.
  auto Sum = [&](bool IsLess) {
    const Expr &X = IsLess == (A->Kind == AtomKind::Min) ? A->A : A->B,
               &Y = (IsLess != IsReversed) == (B->Kind == AtomKind::Min) ? B->A
                                                                         : B->B;
    return X * T.Coefficient + Y * U.Coefficient;
  };
  Expr Both = Sum(true);
  return Both == Sum(false) && !Both.overflowed() ? std::optional(Both)
                                                  : std::nullopt;
}

/// r + c * min(a, k) as the min of r + c a and r + c k where that is lighter:
/// n - min(n, 1) is max(0, n - 1). What a slice leaves of a size would else
/// hold the size twice, and what slices of slices leave without end. Bounds of
/// two sizes stay: of max(n, m) - n, which is padding, n goes when it is added.
static std::optional<Expr> joinBound(const Expr &E) {
  for (const Term &T : terms(E)) {
    const Atom *Bound = boundIn(T);
    if (!Bound)
      continue;
    for (const Term &U : terms(E))
      if (std::optional<Expr> Both = &T < &U ? joinPair(T, U) : std::nullopt)
        return E - exprOf(T) - exprOf(U) + *Both;
    if (!Bound->A.isConstant() && !Bound->B.isConstant())
      continue;
    Expr Rest = E - exprOf(T);
    Expr A = Rest + Bound->A * T.Coefficient,
         B = Rest + Bound->B * T.Coefficient;
    Expr Joined = (Bound->Kind == AtomKind::Min) == (T.Coefficient > 0)
                      ? Expr::min(A, B)
                      : Expr::max(A, B);
    if (!Joined.overflowed() &&
        Expr::Node::of(Joined).Weight < Expr::Node::of(E).Weight)
      return Joined;
  }
  return std::nullopt;
}

Expr Query::simplify(const AtomRef &Base) {
  Expr Alone = exprOf(Base);
  if (Base->Kind == AtomKind::Symbol)
    return Alone;
  if (auto It = Simplified.find(Alone); It != Simplified.end())
    return It->second;
  Expr Result = simplifyAtom(*this, Base);
  Simplified.emplace(Alone, Result);
  return Result;
}

Expr Query::simplify(const Expr &E) {
  if (E.overflowed())
    return E;
  Expr Sum;
  for (const Term &T : terms(E)) {
    int64_t Coefficient = T.Coefficient;
    Expr Product(1);
    for (const Factor &F : T.Factors)
      for (int64_t I = 0; I != F.Exponent; ++I)
        Product = Product * simplifyFactor(*this, F.Base, Coefficient);
    Sum = Sum + Product * Coefficient;
  }
  // Weights decrease from one to the next, so that this ends.
  if (std::optional<Expr> Joined = joinBound(Sum);
      Joined && Expr::Node::of(*Joined).Weight < Expr::Node::of(E).Weight)
    return simplify(*Joined);
  return Sum;
}

} // namespace kpc::shape
