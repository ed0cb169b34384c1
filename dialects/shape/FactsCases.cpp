//===- FactsCases.cpp - Equality of sizes by cases of min and max --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/FactsQuery.h"

#include <numeric>

namespace kpc::shape {

/// Orders of sides that are tried. Slices of slices hold two or three bounds.
static constexpr unsigned MostCases = 32;
/// Parts of an expression; of larger ones only the range is looked at.
static constexpr size_t MostWeight = 512;

/// A min or a max in `E` that holds no other; null where there is none.
static AtomRef innermostBound(const Expr &E) {
  for (const Term &T : terms(E))
    for (const Factor &F : T.Factors) {
      if (F.Base->Kind == AtomKind::Symbol)
        continue;
      for (const Expr &Side : {F.Base->A, F.Base->B})
        if (AtomRef Inner = innermostBound(Side))
          return Inner;
      if (F.Base->Kind == AtomKind::Min || F.Base->Kind == AtomKind::Max)
        return F.Base;
    }
  return nullptr;
}

/// `E` without the number that divides all its coefficients: 2 a - 2 b has the
/// sign of a - b.
static Expr withoutContent(const Expr &E) {
  int64_t Content = 0;
  for (const Term &T : terms(E)) {
    if (T.Coefficient == std::numeric_limits<int64_t>::min())
      return E; // has no absolute value
    Content = std::gcd(Content, T.Coefficient);
  }
  if (Content <= 1)
    return E;
  std::vector<Term> Parts = terms(E);
  for (Term &T : Parts)
    T.Coefficient /= Content;
  return Expr::Node::make(std::move(Parts));
}

namespace {

/// Goes through the orders that the sides of each min and max may have. One
/// order decides others: n - min(n, 1) is max(n - 1, 0), since n <= 1 makes
/// both 0, and n >= 1 makes both n - 1.
class Cases {
public:
  explicit Cases(Query &Q) : Q(Q) {}

  /// Whether `E` is 0 for all values of the symbols in the case at hand.
  bool makeZero(const Expr &E) {
    if (E == Expr(0))
      return true;
    if (E.overflowed() || Expr::Node::of(E).Weight > MostWeight)
      return false;
    AtomRef Bound = innermostBound(E);
    if (!Bound)
      return Q.range(Q.simplify(E)) == Interval{0, 0};
    Expr Difference = withoutContent(Bound->B - Bound->A);
    if (std::optional<bool> Known = isNotNegative(Difference))
      return makeZeroWithOrder(E, Bound, *Known);
    for (bool FirstIsLess : {true, false}) {
      if (Left == 0)
        return false;
      --Left;
      NotNegative.push_back(FirstIsLess ? Difference : 0 - Difference);
      bool IsZero = makeZeroWithOrder(E, Bound, FirstIsLess);
      NotNegative.pop_back();
      if (!IsZero)
        return false;
    }
    return true;
  }

private:
  bool makeZeroWithOrder(const Expr &E, const AtomRef &Bound,
                         bool FirstIsLess) {
    bool IsFirst = FirstIsLess == (Bound->Kind == AtomKind::Min);
    return makeZero(E.replace(exprOf(Bound), IsFirst ? Bound->A : Bound->B));
  }

  /// True: `E` >= 0. False: `E` <= 0. None: the case at hand has both.
  std::optional<bool> isNotNegative(const Expr &E) {
    if (Q.range(E).Min >= 0)
      return true;
    if (Q.range(E).Max <= 0)
      return false;
    for (const Expr &Other : NotNegative) {
      if (Q.range(E - Other).Min >= 0)
        return true;
      if (Q.range(E + Other).Max <= 0)
        return false;
    }
    return std::nullopt;
  }

  Query &Q;
  std::vector<Expr> NotNegative;
  unsigned Left = MostCases;
};

} // namespace

bool isZeroInAllCases(Query &Q, const Expr &E) { return Cases(Q).makeZero(E); }

} // namespace kpc::shape
