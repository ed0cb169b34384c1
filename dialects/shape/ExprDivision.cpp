//===- ExprDivision.cpp - floordiv, mod, min and max in canonical form ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/ExprNode.h"

#include <algorithm>
#include <numeric>

namespace kpc::shape {

std::optional<Monomial> divide(const Monomial &A, const Monomial &B) {
  Monomial Quotient;
  size_t J = 0;
  for (const Factor &F : A) {
    int64_t Exponent = F.Exponent;
    if (J != B.size() && compare(*F.Base, *B[J].Base) == 0)
      Exponent -= B[J++].Exponent;
    if (Exponent < 0)
      return std::nullopt;
    if (Exponent > 0)
      Quotient.push_back({F.Base, Exponent});
  }
  if (J != B.size())
    return std::nullopt;
  return Quotient;
}

namespace {

/// floordiv and mod of one pair of operands.
struct Division {
  Expr Quotient, Rest;
};

} // namespace

static Division opaque(const Expr &A, const Expr &D) {
  return {Expr::Node::makeAtom(AtomKind::FloorDiv, A, D),
          Expr::Node::makeAtom(AtomKind::Mod, A, D)};
}

/// A = Quotient * D + Rest, where no term of Rest has a coefficient outside
/// [0, c) on a multiple of D's leading monomial (c its coefficient). There is
/// one such Rest, which makes floordiv and mod canonical. None on overflow.
static std::optional<Division> divideWithRest(const Expr &A, const Expr &D) {
  const Term &Lead = terms(D).front();
  if (Lead.Coefficient == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  int64_t Modulus = std::abs(Lead.Coefficient);
  Expr Quotient, Rest = A;
  size_t Position = 0;
  for (unsigned Steps = 0; Position < terms(Rest).size(); ++Steps) {
    if (Steps == 4096)
      return std::nullopt;
    const Term &T = terms(Rest)[Position];
    std::optional<Monomial> M = divide(T.Factors, Lead.Factors);
    int64_t Q = M ? floorDivide(T.Coefficient, Modulus) : 0;
    if (Q == 0) {
      ++Position;
      continue;
    }
    bool Vanishes = floorModulo(T.Coefficient, Modulus) == 0;
    Expr Step = Expr::Node::make({{*M, Q}});
    if (Lead.Coefficient < 0)
      Step = Expr(0) - Step;
    Quotient = Quotient + Step;
    Rest = Rest - Step * D;
    if (Quotient.overflowed() || Rest.overflowed())
      return std::nullopt;
    Position += !Vanishes;
  }
  return Division{Quotient, Rest};
}

Monomial commonFactors(const Monomial &A, const Monomial &B) {
  Monomial Common;
  for (const Factor &F : A)
    for (const Factor &G : B)
      if (compare(*F.Base, *G.Base) == 0)
        Common.push_back({F.Base, std::min(F.Exponent, G.Exponent)});
  return Common;
}

/// The product of non-negative atoms that every term of A and D has.
static Monomial commonFactors(const Expr &A, const Expr &D) {
  Monomial Common;
  for (const Factor &F : terms(D).front().Factors)
    if (isNonNegative(*F.Base))
      Common.push_back(F);
  for (const Expr *E : {&D, &A})
    for (const Term &T : terms(*E))
      Common = commonFactors(Common, T.Factors);
  return Common;
}

/// E / (Scale * M), where every term is a multiple but for the constant one,
/// which is rounded down.
static Expr divideTerms(const Expr &E, const Monomial &M, int64_t Scale) {
  std::vector<Term> Result;
  for (const Term &T : terms(E))
    if (int64_t C = floorDivide(T.Coefficient, Scale))
      Result.push_back({*divide(T.Factors, M), C});
  return Expr::Node::make(std::move(Result));
}

/// The greatest number that divides D and all of A but its constant term.
static int64_t commonContent(const Expr &A, const Expr &D) {
  uint64_t G = 0;
  auto Add = [&](int64_t C) {
    G = std::gcd(G, C < 0 ? 0 - uint64_t(C) : uint64_t(C));
  };
  for (const Term &T : terms(D))
    Add(T.Coefficient);
  for (const Term &T : terms(A))
    if (!T.Factors.empty())
      Add(T.Coefficient);
  return G > uint64_t(std::numeric_limits<int64_t>::max()) ? 1 : int64_t(G);
}

/// floordiv(floordiv(x, a) + k, d) = floordiv(x + k*a, a*d).
static std::optional<Division> mergeNested(const Expr &A, const Expr &D) {
  Expr Offset(constantTerm(A));
  Expr Inner = A - Offset;
  const Atom *Only = asAtom(Inner);
  if (!Only || Only->Kind != AtomKind::FloorDiv || !isNonNegative(D) ||
      !isNonNegative(Only->B))
    return std::nullopt;
  Expr Merged = (Only->A + Offset * Only->B).floorDiv(Only->B * D);
  if (Merged.overflowed())
    return std::nullopt;
  return Division{Merged, Expr::Node::makeAtom(AtomKind::Mod, A, D)};
}

static Division divideCanonically(const Expr &A, const Expr &D);

/// Operands that divideWithRest has been through.
static Division divideReduced(const Expr &A, const Expr &D) {
  if (A == Expr(0))
    return {Expr(0), Expr(0)};
  if (A == Expr(-1)) // D >= 1
    return {Expr(-1), D - 1};
  if (A.isConstant() && D.isConstant())
    return {Expr(0), A};
  if (const Atom *Only = asAtom(A);
      Only && Only->Kind == AtomKind::Mod && Only->B == D)
    return {Expr(0), A};

  if (Monomial M = commonFactors(A, D); !M.empty()) {
    Division Inner =
        divideCanonically(divideTerms(A, M, 1), divideTerms(D, M, 1));
    return {Inner.Quotient, Inner.Rest * Expr::Node::make({{M, 1}})};
  }
  if (int64_t G = commonContent(A, D); G > 1) {
    Expr Low(floorModulo(constantTerm(A), G));
    Division Inner =
        divideCanonically(divideTerms(A, {}, G), divideTerms(D, {}, G));
    return {Inner.Quotient, Inner.Rest * Expr(G) + Low};
  }
  if (std::optional<Division> Merged = mergeNested(A, D))
    return *Merged;
  return opaque(A, D);
}

static Division divideCanonically(const Expr &A, const Expr &D) {
  std::optional<int64_t> C = D.asConstant();
  if (A.overflowed() || D.overflowed() || (C && *C <= 0))
    return opaque(A, D);
  std::optional<Division> First = divideWithRest(A, D);
  if (!First)
    return opaque(A, D);
  Division Reduced = divideReduced(First->Rest, D);
  return {First->Quotient + Reduced.Quotient, Reduced.Rest};
}

Expr Expr::floorDiv(const Expr &Divisor) const {
  return divideCanonically(*this, Divisor).Quotient;
}

Expr Expr::mod(const Expr &Divisor) const {
  return divideCanonically(*this, Divisor).Rest;
}

Expr Expr::ceilDiv(const Expr &Divisor) const {
  // The sum below may leave the range of 64 bits where the quotient does not.
  std::optional<int64_t> A = asConstant(), B = Divisor.asConstant();
  if (A && B && *A > 0 && *B > 0)
    return Expr((*A - 1) / *B + 1);
  return (*this + Divisor - 1).floorDiv(Divisor);
}

//===----------------------------------------------------------------------===//
// min and max
//===----------------------------------------------------------------------===//

static AtomKind opposite(AtomKind Kind) {
  return Kind == AtomKind::Min ? AtomKind::Max : AtomKind::Min;
}

/// Adds the arguments of Scale * E + Offset to those of a min or a max:
/// max(2 * max(a, b) - 1, 0) is max(2 a - 1, 2 b - 1, 0), and -min(a, b) is
/// max(-a, -b). Differences along a dimension nest so.
static void flatten(AtomKind Kind, const Expr &E, int64_t Scale,
                    const Expr &Offset, std::vector<Expr> &Args) {
  Expr Constant = constantTerm(E);
  Expr Rest = E - Constant;
  const std::vector<Term> &T = terms(Rest);
  int64_t Inner = 0;
  if (T.size() != 1 || T[0].Factors.size() != 1 ||
      T[0].Factors[0].Exponent != 1 ||
      __builtin_mul_overflow(Scale, T[0].Coefficient, &Inner) ||
      T[0].Factors[0].Base->Kind != (Inner > 0 ? Kind : opposite(Kind))) {
    Args.push_back(E * Scale + Offset);
    return;
  }
  const AtomRef &Base = T[0].Factors[0].Base;
  flatten(Kind, Base->A, Inner, Constant * Scale + Offset, Args);
  flatten(Kind, Base->B, Inner, Constant * Scale + Offset, Args);
}

/// The arguments no other one makes superfluous, sorted and nested to the left.
static Expr extremum(AtomKind Kind, const Expr &A, const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return Expr::Node::makeOverflow();
  std::vector<Expr> Args;
  flatten(Kind, A, 1, 0, Args);
  flatten(Kind, B, 1, 0, Args);
  if (std::any_of(Args.begin(), Args.end(),
                  [](const Expr &X) { return X.overflowed(); }))
    return Expr::Node::makeOverflow();
  std::sort(Args.begin(), Args.end(),
            [](const Expr &X, const Expr &Y) { return Y < X; });
  Args.erase(std::unique(Args.begin(), Args.end()), Args.end());
  auto Superfluous = [&](const Expr &X) {
    return std::any_of(Args.begin(), Args.end(), [&](const Expr &Y) {
      return X != Y && isNonNegative(Kind == AtomKind::Min ? X - Y : Y - X);
    });
  };
  std::vector<Expr> Needed;
  std::copy_if(Args.begin(), Args.end(), std::back_inserter(Needed),
               [&](const Expr &X) { return !Superfluous(X); });
  Expr Result = Needed.front();
  for (size_t I = 1; I != Needed.size(); ++I)
    Result = Expr::Node::makeAtom(Kind, Result, Needed[I]);
  return Result;
}

Expr Expr::min(const Expr &A, const Expr &B) {
  return extremum(AtomKind::Min, A, B);
}

Expr Expr::max(const Expr &A, const Expr &B) {
  return extremum(AtomKind::Max, A, B);
}

} // namespace kpc::shape
