//===- Expr.cpp - Construction, order and ring operations -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/ExprNode.h"

#include <algorithm>

namespace kpc::shape {

//===----------------------------------------------------------------------===//
// Hash: depends on content alone, so that it is the same from run to run.
//===----------------------------------------------------------------------===//

static size_t mix(size_t Seed, uint64_t Value) {
  uint64_t X = (Seed ^ Value) * 0x9E3779B97F4A7C15ull;
  return X ^ (X >> 29);
}

static size_t hashText(std::string_view Text) {
  uint64_t H = 0xCBF29CE484222325ull; // FNV-1a
  for (unsigned char C : Text)
    H = (H ^ C) * 0x100000001B3ull;
  return H;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Expr Expr::Node::make(std::vector<Term> CanonicalTerms) {
  auto N = std::make_shared<Node>();
  N->Terms = std::move(CanonicalTerms);
  size_t Hash = 17;
  size_t Weight = 1;
  for (const Term &T : N->Terms) {
    Hash = mix(Hash, T.Coefficient);
    ++Weight;
    for (const Factor &F : T.Factors) {
      Hash = mix(mix(Hash, F.Base->Hash), F.Exponent);
      Weight += F.Base->Weight;
    }
    if (Weight > MaxWeight)
      return makeOverflow();
  }
  N->Hash = Hash;
  N->Weight = Weight;
  return Expr(std::shared_ptr<const Node>(std::move(N)));
}

Expr Expr::Node::makeOverflow() {
  auto N = std::make_shared<Node>();
  N->Overflow = true;
  N->Hash = 0x0F10;
  return Expr(std::shared_ptr<const Node>(std::move(N)));
}

Expr Expr::Node::makeAtom(AtomKind Kind, const Expr &A, const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return makeOverflow();
  auto NewAtom = std::make_shared<Atom>(Atom{Kind, {}, A, B});
  NewAtom->Hash = mix(mix(mix(31, uint64_t(Kind)), A.hash()), B.hash());
  NewAtom->Weight = 1 + of(A).Weight + of(B).Weight;
  return make({{{{std::move(NewAtom), 1}}, 1}});
}

Expr::Expr() : Expr(Node::make({})) {}

Expr::Expr(int64_t Value)
    : Expr(Value ? Node::make({{{}, Value}}) : Node::make({})) {}

Expr Expr::symbol(std::string_view Name) {
  auto NewAtom = std::make_shared<Atom>(
      Atom{AtomKind::Symbol, std::string(Name), Expr(), Expr()});
  NewAtom->Hash = hashText(Name);
  return Node::make({{{{std::move(NewAtom), 1}}, 1}});
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::strong_ordering compare(const Atom &A, const Atom &B) {
  if (&A == &B)
    return std::strong_ordering::equal;
  if (auto C = A.Kind <=> B.Kind; C != 0)
    return C;
  if (A.Kind == AtomKind::Symbol)
    return A.Name.compare(B.Name) <=> 0;
  if (auto C = compare(A.A, B.A); C != 0)
    return C;
  return compare(A.B, B.B);
}

static int64_t degree(const Monomial &M) {
  int64_t D = 0;
  for (const Factor &F : M)
    D += F.Exponent;
  return D;
}

/// Graded lexicographic; the atom that sorts first weighs most.
std::strong_ordering compare(const Monomial &A, const Monomial &B) {
  if (auto C = degree(A) <=> degree(B); C != 0)
    return C;
  for (size_t I = 0, E = std::min(A.size(), B.size()); I != E; ++I) {
    if (auto C = compare(*B[I].Base, *A[I].Base); C != 0)
      return C;
    if (auto C = A[I].Exponent <=> B[I].Exponent; C != 0)
      return C;
  }
  return A.size() <=> B.size();
}

std::strong_ordering compare(const Expr &A, const Expr &B) {
  const Expr::Node &NA = Expr::Node::of(A), &NB = Expr::Node::of(B);
  if (&NA == &NB)
    return std::strong_ordering::equal;
  if (auto C = NA.Overflow <=> NB.Overflow; C != 0)
    return C;
  for (size_t I = 0, E = std::min(NA.Terms.size(), NB.Terms.size()); I != E;
       ++I) {
    if (auto C = compare(NA.Terms[I].Factors, NB.Terms[I].Factors); C != 0)
      return C;
    if (auto C = NA.Terms[I].Coefficient <=> NB.Terms[I].Coefficient; C != 0)
      return C;
  }
  return NA.Terms.size() <=> NB.Terms.size();
}

bool operator==(const Expr &A, const Expr &B) {
  return A.hash() == B.hash() && compare(A, B) == 0;
}

bool operator<(const Expr &A, const Expr &B) { return compare(A, B) < 0; }

size_t Expr::hash() const { return TheNode->Hash; }

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

static std::optional<int64_t> narrow(__int128 V) {
  if (V < std::numeric_limits<int64_t>::min() ||
      V > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return int64_t(V);
}

/// A + Scale * B.
static Expr addScaled(const Expr &A, const Expr &B, int64_t Scale) {
  if (A.overflowed() || B.overflowed())
    return Expr::Node::makeOverflow();
  const auto &TA = terms(A), &TB = terms(B);
  std::vector<Term> Sum;
  Sum.reserve(TA.size() + TB.size());
  size_t I = 0, J = 0;
  while (I != TA.size() || J != TB.size()) {
    std::strong_ordering C = I == TA.size() ? std::strong_ordering::less
                             : J == TB.size()
                                 ? std::strong_ordering::greater
                                 : compare(TA[I].Factors, TB[J].Factors);
    const Monomial &M = C >= 0 ? TA[I].Factors : TB[J].Factors;
    __int128 Wide = 0;
    if (C >= 0)
      Wide += TA[I++].Coefficient;
    if (C <= 0)
      Wide += __int128(TB[J++].Coefficient) * Scale;
    std::optional<int64_t> Coefficient = narrow(Wide);
    if (!Coefficient)
      return Expr::Node::makeOverflow();
    if (*Coefficient)
      Sum.push_back({M, *Coefficient});
  }
  return Expr::Node::make(std::move(Sum));
}

Expr operator+(const Expr &A, const Expr &B) { return addScaled(A, B, 1); }
Expr operator-(const Expr &A, const Expr &B) { return addScaled(A, B, -1); }

static Monomial multiply(const Monomial &A, const Monomial &B) {
  Monomial Product;
  Product.reserve(A.size() + B.size());
  size_t I = 0, J = 0;
  while (I != A.size() && J != B.size()) {
    auto C = compare(*A[I].Base, *B[J].Base);
    if (C < 0) {
      Product.push_back(A[I++]);
    } else if (C > 0) {
      Product.push_back(B[J++]);
    } else {
      Product.push_back({A[I].Base, A[I].Exponent + B[J].Exponent});
      ++I, ++J;
    }
  }
  Product.insert(Product.end(), A.begin() + I, A.end());
  Product.insert(Product.end(), B.begin() + J, B.end());
  return Product;
}

/// An exponent no size needs; printing writes a factor that many times.
static constexpr int64_t MaxDegree = 64;

Expr operator*(const Expr &A, const Expr &B) {
  using Node = Expr::Node;
  if (A.overflowed() || B.overflowed() ||
      terms(A).size() * terms(B).size() > Node::MaxWeight)
    return Node::makeOverflow();
  struct Wide {
    Monomial Factors;
    __int128 Coefficient;
  };
  std::vector<Wide> Products;
  for (const Term &X : terms(A))
    for (const Term &Y : terms(B)) {
      Products.push_back({multiply(X.Factors, Y.Factors),
                          __int128(X.Coefficient) * Y.Coefficient});
      if (degree(Products.back().Factors) > MaxDegree)
        return Node::makeOverflow();
    }
  std::sort(Products.begin(), Products.end(), [](const Wide &X, const Wide &Y) {
    return compare(X.Factors, Y.Factors) > 0;
  });
  std::vector<Term> Sum;
  for (size_t I = 0; I != Products.size();) {
    Wide Total = std::move(Products[I++]);
    while (I != Products.size() &&
           compare(Products[I].Factors, Total.Factors) == 0)
      if (__builtin_add_overflow(Total.Coefficient, Products[I++].Coefficient,
                                 &Total.Coefficient))
        return Node::makeOverflow();
    std::optional<int64_t> Coefficient = narrow(Total.Coefficient);
    if (!Coefficient)
      return Node::makeOverflow();
    if (*Coefficient)
      Sum.push_back({std::move(Total.Factors), *Coefficient});
  }
  return Node::make(std::move(Sum));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

bool Expr::overflowed() const { return TheNode->Overflow; }

std::optional<int64_t> Expr::asConstant() const {
  if (overflowed())
    return std::nullopt;
  if (TheNode->Terms.empty())
    return 0;
  if (TheNode->Terms.front().Factors.empty())
    return TheNode->Terms.front().Coefficient;
  return std::nullopt;
}

Expr exprOf(const AtomRef &A) { return Expr::Node::make({{{{A, 1}}, 1}}); }

Expr exprOf(const Term &T) { return Expr::Node::make({T}); }

const Atom *asAtom(const Expr &E) {
  const auto &T = terms(E);
  if (T.size() != 1 || T[0].Coefficient != 1 || T[0].Factors.size() != 1 ||
      T[0].Factors[0].Exponent != 1)
    return nullptr;
  return T[0].Factors[0].Base.get();
}

std::optional<std::string> Expr::asSymbol() const {
  const Atom *A = asAtom(*this);
  if (!A || A->Kind != AtomKind::Symbol)
    return std::nullopt;
  return A->Name;
}

int64_t constantTerm(const Expr &E) {
  const auto &T = terms(E);
  return !T.empty() && T.back().Factors.empty() ? T.back().Coefficient : 0;
}

bool isNonNegative(const Atom &A) {
  switch (A.Kind) {
  case AtomKind::Symbol:
  case AtomKind::Mod:
    return true;
  case AtomKind::FloorDiv:
    return isNonNegative(A.A);
  case AtomKind::Min:
    return isNonNegative(A.A) && isNonNegative(A.B);
  case AtomKind::Max:
    return isNonNegative(A.A) || isNonNegative(A.B);
  }
  return false;
}

bool isNonNegative(const Expr &E) {
  if (E.overflowed())
    return false;
  return std::all_of(terms(E).begin(), terms(E).end(), [](const Term &T) {
    return T.Coefficient > 0 &&
           std::all_of(T.Factors.begin(), T.Factors.end(), [](const Factor &F) {
             return F.Exponent % 2 == 0 || isNonNegative(*F.Base);
           });
  });
}

void Expr::collectSymbols(std::set<std::string, std::less<>> &Names) const {
  for (const Term &T : TheNode->Terms)
    for (const Factor &F : T.Factors) {
      if (F.Base->Kind == AtomKind::Symbol) {
        Names.insert(F.Base->Name);
      } else {
        F.Base->A.collectSymbols(Names);
        F.Base->B.collectSymbols(Names);
      }
    }
}

} // namespace kpc::shape
