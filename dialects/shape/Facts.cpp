//===- Facts.cpp - Ranges and divisibility of size expressions ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/Facts.h"
#include "dialects/shape/ExprNode.h"

#include <algorithm>
#include <numeric>

namespace kpc::shape {

//===----------------------------------------------------------------------===//
// Interval arithmetic. An end at the limit of int64_t stands for no end.
//===----------------------------------------------------------------------===//

static constexpr int64_t NoMax = Interval::Unbounded;
static constexpr int64_t NoMin = std::numeric_limits<int64_t>::min();
static constexpr Interval Everything{NoMin, NoMax};

static int64_t clamp(__int128 V) {
  return V > NoMax ? NoMax : V < NoMin ? NoMin : int64_t(V);
}

static bool isInfinite(int64_t V) { return V == NoMax || V == NoMin; }

static int64_t addEnds(int64_t A, int64_t B) {
  return isInfinite(A) ? A : isInfinite(B) ? B : clamp(__int128(A) + B);
}

static int64_t multiplyEnds(int64_t A, int64_t B) {
  if (A == 0 || B == 0)
    return 0;
  if (isInfinite(A) || isInfinite(B))
    return (A < 0) == (B < 0) ? NoMax : NoMin;
  return clamp(__int128(A) * B);
}

/// `B` > 0.
static int64_t divideEnds(int64_t A, int64_t B) {
  if (B == NoMax)
    return A < 0 ? -1 : 0;
  return isInfinite(A) ? A : floorDivide(A, B);
}

static Interval add(Interval A, Interval B) {
  return {addEnds(A.Min, B.Min), addEnds(A.Max, B.Max)};
}

static Interval multiply(Interval A, Interval B) {
  auto [Min, Max] =
      std::minmax({multiplyEnds(A.Min, B.Min), multiplyEnds(A.Min, B.Max),
                   multiplyEnds(A.Max, B.Min), multiplyEnds(A.Max, B.Max)});
  return {Min, Max};
}

/// Divisors are positive wherever there is a value at all.
static Interval positive(Interval D) {
  return {std::max<int64_t>(D.Min, 1), std::max<int64_t>(D.Max, 1)};
}

static Interval floorDivRange(Interval A, Interval D) {
  D = positive(D);
  // An infinite dividend over an infinite divisor may be anything between.
  int64_t Max = A.Max == NoMax ? NoMax
                               : std::max(divideEnds(A.Max, D.Min),
                                          divideEnds(A.Max, D.Max));
  int64_t Min = A.Min == NoMin ? NoMin
                               : std::min(divideEnds(A.Min, D.Min),
                                          divideEnds(A.Min, D.Max));
  return {Min, Max};
}

static Interval modRange(Interval A, Interval D) {
  D = positive(D);
  if (A.Min >= 0 && A.Max < D.Min)
    return A;
  int64_t Max = D.Max == NoMax ? NoMax : D.Max - 1;
  return {0, A.Min >= 0 ? std::min(Max, A.Max) : Max};
}

/// Draws finite ends in to multiples of `Divisor`.
static Interval roundInward(Interval R, int64_t Divisor) {
  if (Divisor <= 1)
    return R;
  int64_t Min =
      isInfinite(R.Min)
          ? R.Min
          : clamp(-(__int128(floorDivide(-R.Min, Divisor)) * Divisor));
  int64_t Max =
      isInfinite(R.Max) ? R.Max : floorDivide(R.Max, Divisor) * Divisor;
  return Min <= Max ? Interval{Min, Max} : R;
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

void Facts::declare(std::string_view Symbol, SymbolFacts NewFacts) {
  NewFacts.Min = std::max<int64_t>(NewFacts.Min, 0);
  NewFacts.Max = std::max(NewFacts.Max, NewFacts.Min);
  NewFacts.Divisor = std::max<int64_t>(NewFacts.Divisor, 1);
  Known.insert_or_assign(std::string(Symbol), NewFacts);
}

static Interval symbolRange(const Facts &F, std::string_view Name) {
  auto It = F.symbols().find(Name);
  if (It == F.symbols().end())
    return {};
  return roundInward({It->second.Min, It->second.Max}, It->second.Divisor);
}

static Interval atomRange(const Facts &F, const Atom &A) {
  if (A.Kind == AtomKind::Symbol)
    return symbolRange(F, A.Name);
  Interval X = F.range(A.A), Y = F.range(A.B);
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

static Interval rangeOfSum(const Facts &F, const Expr &E, unsigned Left);

static Interval intersect(Interval A, Interval B) {
  Interval Both{std::max(A.Min, B.Min), std::min(A.Max, B.Max)};
  return Both.Min <= Both.Max ? Both : A;
}

/// A sum with C*floordiv(X, d) in it: d times it has C*X - C*(X mod d) there,
/// so that what X and the rest have in common goes.
static Interval rangeByDividend(const Facts &F, const Expr &E, const Term &T,
                                int64_t Divisor, unsigned Left) {
  const Atom &Part = *T.Factors[0].Base;
  Expr Rest = E - Expr::Node::make({T});
  Interval Scaled =
      rangeOfSum(F, Rest * Divisor + Part.A * T.Coefficient, Left);
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
static Interval rangeBySides(const Facts &F, const Expr &E, const Term &T,
                             unsigned Left) {
  const Atom &Part = *T.Factors[0].Base;
  Expr Rest = E - Expr::Node::make({T});
  Interval A = rangeOfSum(F, Rest + Part.A * T.Coefficient, Left),
           B = rangeOfSum(F, Rest + Part.B * T.Coefficient, Left);
  if ((Part.Kind == AtomKind::Max) == (T.Coefficient > 0))
    return {std::max(A.Min, B.Min), std::max(A.Max, B.Max)};
  return {std::min(A.Min, B.Min), std::min(A.Max, B.Max)};
}

static Interval rangeOfTerms(const Facts &F, const Expr &E) {
  Interval Sum{0, 0};
  for (const Term &T : terms(E)) {
    Interval Product{T.Coefficient, T.Coefficient};
    for (const Factor &Part : T.Factors) {
      Interval Base = atomRange(F, *Part.Base);
      for (int64_t I = 0; I != Part.Exponent; ++I)
        Product = multiply(Product, Base);
    }
    Sum = add(Sum, Product);
  }
  return Sum;
}

static Interval rangeOfSum(const Facts &F, const Expr &E, unsigned Left) {
  if (E.overflowed())
    return Everything;
  Interval Sum = rangeOfTerms(F, E);
  if (Left == 0 || terms(E).size() < 2)
    return Sum;
  for (const Term &T : terms(E)) {
    if (T.Factors.size() != 1 || T.Factors[0].Exponent != 1)
      continue;
    const Atom &Part = *T.Factors[0].Base;
    std::optional<int64_t> D = Part.B.asConstant();
    if (Part.Kind == AtomKind::FloorDiv && D && *D > 1)
      return intersect(Sum, rangeByDividend(F, E, T, *D, Left - 1));
    if (Part.Kind == AtomKind::Min || Part.Kind == AtomKind::Max)
      return intersect(Sum, rangeBySides(F, E, T, Left / 2));
  }
  return Sum;
}

Interval Facts::range(const Expr &E) const {
  if (E.overflowed())
    return Everything;
  return roundInward(rangeOfSum(*this, E, MostJoined), divisor(E));
}

static int64_t absolute(int64_t V) { return V == NoMin ? 1 : std::abs(V); }

static int64_t atomDivisor(const Facts &F, const Atom &A) {
  if (A.Kind == AtomKind::Symbol) {
    Interval R = symbolRange(F, A.Name);
    if (R.Min == R.Max)
      return R.Min;
    auto It = F.symbols().find(A.Name);
    return It == F.symbols().end() ? 1 : It->second.Divisor;
  }
  int64_t X = F.divisor(A.A);
  if (A.Kind != AtomKind::FloorDiv)
    return std::gcd(X, F.divisor(A.B));
  std::optional<int64_t> D = A.B.asConstant();
  return D && *D > 0 && X % *D == 0 ? X / *D : 1;
}

/// What divides a product; where that leaves int64_t, what divides a part.
static int64_t productDivisor(const Facts &Known, const Term &T) {
  int64_t Product = absolute(T.Coefficient);
  for (const Factor &F : T.Factors) {
    int64_t Base = atomDivisor(Known, *F.Base);
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
static std::optional<int64_t> divisorOfWhole(const Facts &Known,
                                             const Expr &E) {
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
      Whole = Whole + Expr::Node::make({T});
      continue;
    }
    Whole = Whole + Base->A * T.Coefficient;
    Apart = std::gcd(Apart, Step);
  }
  if (Apart == 0 || Whole.overflowed())
    return std::nullopt;
  return std::gcd(Apart, Known.divisor(Whole));
}

int64_t Facts::divisor(const Expr &E) const {
  if (E.overflowed())
    return 1;
  int64_t All = 0;
  for (const Term &T : terms(E))
    All = std::gcd(All, productDivisor(*this, T));
  if (std::optional<int64_t> Other = divisorOfWhole(*this, E); Other && All) {
    // Both divide it, so what they have apart does together.
    int64_t Both;
    if (!__builtin_mul_overflow(All / std::gcd(All, *Other), *Other, &Both))
      return Both;
  }
  return All;
}

std::optional<bool> Facts::isEqual(const Expr &A, const Expr &B) const {
  if (A.overflowed() || B.overflowed())
    return std::nullopt;
  Expr Difference = simplify(A - B);
  if (A == B || Difference == Expr(0))
    return true;
  if (Difference.overflowed())
    return std::nullopt;
  Interval R = range(Difference);
  if (!R.contains(0))
    return false;
  if (R == Interval{0, 0})
    return true;
  int64_t Constant = constantTerm(Difference);
  int64_t D = divisor(Difference - Constant);
  if (D > 0 && Constant % D != 0)
    return false;
  return std::nullopt;
}

std::optional<bool> Facts::isLessOrEqual(const Expr &A, const Expr &B) const {
  if (A.overflowed() || B.overflowed())
    return std::nullopt;
  Interval R = range(simplify(B - A));
  if (R.Min >= 0)
    return true;
  if (R.Max < 0)
    return false;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Optimum
//===----------------------------------------------------------------------===//

/// Where a range has no end, schedules are chosen for a size of about this.
static constexpr int64_t UnboundedOptimum = 8;

static int64_t symbolOptimum(const Facts &F, std::string_view Name) {
  Interval R = symbolRange(F, Name);
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
// Simplification
//===----------------------------------------------------------------------===//

/// E without the terms (the constant one counts by its part) that a positive
/// constant divides for all values of the symbols.
static Expr dropMultiples(const Facts &F, const Expr &E, int64_t Divisor) {
  Expr Kept;
  for (const Term &T : terms(E)) {
    Expr Single = Expr::Node::make({T});
    if (T.Factors.empty())
      Kept = Kept + floorModulo(T.Coefficient, Divisor);
    else if (F.divisor(Single) % Divisor != 0)
      Kept = Kept + Single;
  }
  return Kept;
}

static Expr simplifyFloorDiv(const Facts &F, Expr A, const Expr &D) {
  std::optional<int64_t> C = D.asConstant();
  if (C && *C > 0) {
    // floordiv(x + k, c) = floordiv(x, c) where g divides x and c, 0 <= k < g.
    int64_t K = constantTerm(A);
    int64_t G = std::gcd(F.divisor(A - K), *C);
    if (G > 1)
      A = A - floorModulo(K, G);
  }
  return A.floorDiv(D);
}

static Expr simplifyMod(const Facts &F, const Expr &A, const Expr &D) {
  std::optional<int64_t> C = D.asConstant();
  if (C && *C > 0)
    return dropMultiples(F, A, *C).mod(D);
  return A.mod(D);
}

/// What is left of a sum of which only "none" or "some" is asked:
/// min(2 x + min(x, 1), 1) = min(x, 1) for whole x >= 0. Slices of what was
/// joined with a slice of itself come to this.
static Expr dropFlags(const Facts &F, const Expr &E) {
  for (const Term &T : terms(E))
    if (T.Coefficient < 0 || F.range(Expr::Node::make({T})).Min < 0)
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

static Expr simplifyAtom(const Facts &F, const AtomRef &Base) {
  if (Base->Kind == AtomKind::Symbol)
    return Expr::Node::make({{{{Base, 1}}, 1}});
  Expr A = F.simplify(Base->A), B = F.simplify(Base->B);
  if (Base->Kind == AtomKind::Min || Base->Kind == AtomKind::Max) {
    bool IsMin = Base->Kind == AtomKind::Min;
    if (std::optional<bool> Less = F.isLessOrEqual(A, B); Less && *Less)
      return IsMin ? A : B;
    if (std::optional<bool> More = F.isLessOrEqual(B, A); More && *More)
      return IsMin ? B : A;
    if (IsMin && B == Expr(1))
      A = dropFlags(F, A);
    else if (IsMin && A == Expr(1))
      B = dropFlags(F, B);
    return IsMin ? Expr::min(A, B) : Expr::max(A, B);
  }
  Interval Quotient = floorDivRange(F.range(A), F.range(B));
  bool Decided = Quotient.Min == Quotient.Max && !isInfinite(Quotient.Min);
  if (Base->Kind == AtomKind::FloorDiv)
    return Decided ? Expr(Quotient.Min) : simplifyFloorDiv(F, A, B);
  return Decided ? A - B * Quotient.Min : simplifyMod(F, A, B);
}

/// One factor of a product. c * floordiv(A, c) is A where c divides every A:
/// that takes c out of `Coefficient`.
static Expr simplifyFactor(const Facts &F, const AtomRef &Base,
                           int64_t &Coefficient) {
  if (Base->Kind == AtomKind::FloorDiv) {
    std::optional<int64_t> D = Base->B.asConstant();
    if (D && *D > 0 && Coefficient % *D == 0 && F.divisor(Base->A) % *D == 0) {
      Coefficient /= *D;
      return F.simplify(Base->A);
    }
  }
  return simplifyAtom(F, Base);
}

Expr Facts::simplify(const Expr &E) const {
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
  return Sum;
}

} // namespace kpc::shape
