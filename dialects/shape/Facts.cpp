//===- Facts.cpp - Ranges and divisibility of size expressions ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/Facts.h"
#include "dialects/shape/FactsQuery.h"
#include "dialects/shape/IntervalArithmetic.h"

#include <algorithm>
#include <numeric>

namespace kpc::shape {

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

void Facts::declare(std::string_view Symbol, SymbolFacts NewFacts) {
  NewFacts.Min = std::max<int64_t>(NewFacts.Min, 0);
  NewFacts.Max = std::max(NewFacts.Max, NewFacts.Min);
  NewFacts.Divisor = std::max<int64_t>(NewFacts.Divisor, 1);
  Known.insert_or_assign(std::string(Symbol), NewFacts);
}

Interval Query::symbolRange(std::string_view Name) const {
  auto It = Known.symbols().find(Name);
  if (It == Known.symbols().end())
    return {};
  return roundInward({It->second.Min, It->second.Max}, It->second.Divisor);
}

int64_t Query::symbolDivisor(std::string_view Name) const {
  Interval R = symbolRange(Name);
  if (R.Min == R.Max)
    return R.Min;
  auto It = Known.symbols().find(Name);
  return It == Known.symbols().end() ? 1 : It->second.Divisor;
}

/// Lighter expressions are answered sooner than looked up.
static bool isWorthKeeping(const Expr &E) {
  constexpr size_t LeastWeight = 16;
  return Expr::Node::of(E).Weight >= LeastWeight;
}

/// The answer for `E` that `Kept` has, else the one that `Find` gives.
template <typename Answers, typename F>
static auto answer(Answers &Kept, const Expr &E, F Find) {
  if (!isWorthKeeping(E))
    return Find();
  if (auto It = Kept.find(E); It != Kept.end())
    return It->second;
  auto Found = Find();
  Kept.emplace(E, Found);
  return Found;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static Interval atomRange(Query &Q, const Atom &A) {
  if (A.Kind == AtomKind::Symbol)
    return Q.symbolRange(A.Name);
  Interval X = Q.range(A.A), Y = Q.range(A.B);
  switch (A.Kind) {
  case AtomKind::Symbol:
    break;
  case AtomKind::FloorDiv:
    return floorDivRange(X, Y);
  case AtomKind::Mod:
    return modRange(X, Y);
  case AtomKind::Min:
    return {std::min(X.Min, Y.Min), std::min(X.Max, Y.Max)};
  case AtomKind::Max:
    return {std::max(X.Min, Y.Min), std::max(X.Max, Y.Max)};
  }
  return Everything;
}

/// Parts of a sum that are looked at together with the rest of it.
static constexpr unsigned MostJoined = 6;

static Interval rangeOfSum(Query &Q, const Expr &E, unsigned Left);

/// A sum with C*floordiv(X, d) in it: d times it has C*X - C*(X mod d) there,
/// so that what X and the rest have in common goes.
static Interval rangeByDividend(Query &Q, const Expr &E, const Term &T,
                                int64_t Divisor, unsigned Left) {
  const Atom &Part = *T.Factors[0].Base;
  Expr Rest = E - exprOf(T);
  Interval Scaled =
      rangeOfSum(Q, Rest * Divisor + Part.A * T.Coefficient, Left);
  Interval Lost = multiply({-T.Coefficient, -T.Coefficient}, {0, Divisor - 1});
  Interval R = add(Scaled, Lost);
  if (!isInfinite(R.Min))
    R.Min = -floorDivide(-R.Min, Divisor);
  if (!isInfinite(R.Max))
    R.Max = floorDivide(R.Max, Divisor);
  return R;
}

/// A sum with C*max(A, B) in it is the greater one of two sums, and the less
/// one where C is negative.
static Interval rangeBySides(Query &Q, const Expr &E, const Term &T,
                             unsigned Left) {
  const Atom &Part = *T.Factors[0].Base;
  Expr Rest = E - exprOf(T);
  Interval A = rangeOfSum(Q, Rest + Part.A * T.Coefficient, Left),
           B = rangeOfSum(Q, Rest + Part.B * T.Coefficient, Left);
  if ((Part.Kind == AtomKind::Max) == (T.Coefficient > 0))
    return {std::max(A.Min, B.Min), std::max(A.Max, B.Max)};
  return {std::min(A.Min, B.Min), std::min(A.Max, B.Max)};
}

static Interval rangeOfTerms(Query &Q, const Expr &E) {
  Interval Sum{0, 0};
  for (const Term &T : terms(E)) {
    Interval Product{T.Coefficient, T.Coefficient};
    for (const Factor &Part : T.Factors) {
      Interval Base = atomRange(Q, *Part.Base);
      for (int64_t I = 0; I != Part.Exponent; ++I)
        Product = multiply(Product, Base);
    }
    Sum = add(Sum, Product);
  }
  return Sum;
}

static Interval rangeOfSum(Query &Q, const Expr &E, unsigned Left) {
  if (E.overflowed())
    return Everything;
  Interval Sum = rangeOfTerms(Q, E);
  if (Left == 0 || terms(E).size() < 2)
    return Sum;
  for (const Term &T : terms(E)) {
    if (T.Factors.size() != 1 || T.Factors[0].Exponent != 1)
      continue;
    const Atom &Part = *T.Factors[0].Base;
    std::optional<int64_t> D = Part.B.asConstant();
    if (Part.Kind == AtomKind::FloorDiv && D && *D > 1)
      return intersect(Sum, rangeByDividend(Q, E, T, *D, Left - 1));
    if (Part.Kind == AtomKind::Min || Part.Kind == AtomKind::Max)
      return intersect(Sum, rangeBySides(Q, E, T, Left / 2));
  }
  return Sum;
}

Interval Query::range(const Expr &E) {
  if (E.overflowed())
    return Everything;
  return answer(Ranges, E, [&] {
    return roundInward(rangeOfSum(*this, E, MostJoined), divisor(E));
  });
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

static int64_t absolute(int64_t V) { return V == NoMin ? 1 : std::abs(V); }

static int64_t atomDivisor(Query &Q, const Atom &A) {
  if (A.Kind == AtomKind::Symbol)
    return Q.symbolDivisor(A.Name);
  int64_t X = Q.divisor(A.A);
  if (A.Kind != AtomKind::FloorDiv)
    return std::gcd(X, Q.divisor(A.B));
  std::optional<int64_t> D = A.B.asConstant();
  return D && *D > 0 && X % *D == 0 ? X / *D : 1;
}

/// What divides a product; where that leaves int64_t, what divides a part.
static int64_t productDivisor(Query &Q, const Term &T) {
  int64_t Product = absolute(T.Coefficient);
  for (const Factor &F : T.Factors) {
    int64_t Base = atomDivisor(Q, *F.Base);
    for (int64_t I = 0; I != F.Exponent; ++I) {
      int64_t Next;
      if (!__builtin_mul_overflow(Product, Base, &Next))
        Product = Next;
    }
  }
  return Product;
}

/// c * mod(a, m) differs from c * a by a multiple of c * m: what is filled up
/// to whole blocks, n + mod(-n, 8), is a multiple of 8.
static std::optional<int64_t> divisorOfWhole(Query &Q, const Expr &E) {
  // Moduli inside of each other would be visited once more at each level.
  if (Expr::Node::of(E).Weight > 64)
    return std::nullopt;
  Expr Whole;
  int64_t Apart = 0;
  for (const Term &T : terms(E)) {
    const Atom *Base = T.Factors.size() == 1 && T.Factors[0].Exponent == 1
                           ? T.Factors[0].Base.get()
                           : nullptr;
    std::optional<int64_t> M = Base && Base->Kind == AtomKind::Mod
                                   ? Base->B.asConstant()
                                   : std::nullopt;
    int64_t Step;
    if (!M || *M <= 0 ||
        __builtin_mul_overflow(absolute(T.Coefficient), *M, &Step)) {
      Whole = Whole + exprOf(T);
      continue;
    }
    Whole = Whole + Base->A * T.Coefficient;
    Apart = std::gcd(Apart, Step);
  }
  if (Apart == 0 || Whole.overflowed())
    return std::nullopt;
  return std::gcd(Apart, Q.divisor(Whole));
}

static int64_t divisorOfSum(Query &Q, const Expr &E) {
  int64_t All = 0;
  for (const Term &T : terms(E))
    All = std::gcd(All, productDivisor(Q, T));
  if (std::optional<int64_t> Other = divisorOfWhole(Q, E); Other && All) {
    // Both divide it, so what they have apart does together.
    int64_t Both;
    if (!__builtin_mul_overflow(All / std::gcd(All, *Other), *Other, &Both))
      return Both;
  }
  return All;
}

int64_t Query::divisor(const Expr &E) {
  if (E.overflowed())
    return 1;
  return answer(Divisors, E, [&] { return divisorOfSum(*this, E); });
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

std::optional<bool> Query::isLessOrEqual(const Expr &A, const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return std::nullopt;
  Interval R = range(simplify(B - A));
  if (R.Min >= 0)
    return true;
  if (R.Max < 0)
    return false;
  return std::nullopt;
}

std::optional<bool> Facts::isEqual(const Expr &A, const Expr &B) const {
  if (A.overflowed() || B.overflowed())
    return std::nullopt;
  Query Q(*this);
  Expr Difference = Q.simplify(A - B);
  if (A == B || Difference == Expr(0))
    return true;
  if (Difference.overflowed())
    return std::nullopt;
  Interval R = Q.range(Difference);
  if (!R.contains(0))
    return false;
  if (R == Interval{0, 0})
    return true;
  int64_t Constant = constantTerm(Difference);
  int64_t D = Q.divisor(Difference - Constant);
  if (D > 0 && Constant % D != 0)
    return false;
  if (isZeroInAllCases(Q, Difference))
    return true;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Optimum
//===----------------------------------------------------------------------===//

/// Where a range has no end, schedules are chosen for a size of about this.
static constexpr int64_t UnboundedOptimum = 8;

static int64_t symbolOptimum(const Facts &F, std::string_view Name) {
  Interval R = Query(F).symbolRange(Name);
  auto It = F.symbols().find(Name);
  if (It != F.symbols().end() && It->second.Optimum)
    return *It->second.Optimum;
  if (R.Max == NoMax)
    R.Max = std::max(R.Min, UnboundedOptimum);
  int64_t Middle = R.Min + (R.Max - R.Min) / 2;
  if (It == F.symbols().end())
    return Middle;
  int64_t Divisor = It->second.Divisor;
  int64_t Low = Middle / Divisor * Divisor;
  return std::max(Low, R.Min);
}

std::optional<int64_t> Facts::optimum(const Expr &E) const {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  Bindings Values;
  for (const std::string &Name : Names)
    Values[Name] = symbolOptimum(*this, Name);
  return E.evaluate(Values);
}

//===----------------------------------------------------------------------===//
// Single questions
//===----------------------------------------------------------------------===//

Interval Facts::range(const Expr &E) const { return Query(*this).range(E); }

int64_t Facts::divisor(const Expr &E) const { return Query(*this).divisor(E); }

std::optional<bool> Facts::isLessOrEqual(const Expr &A, const Expr &B) const {
  return Query(*this).isLessOrEqual(A, B);
}

Expr Facts::simplify(const Expr &E) const { return Query(*this).simplify(E); }

} // namespace kpc::shape
