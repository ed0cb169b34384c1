//===- ExprNode.h - Representation of size expressions ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an `Expr` is made of; for the files of this library alone. A node is a
/// sum of terms in descending graded lexicographic order of their monomials,
/// which is a multiplicative order: long division by a polynomial therefore
/// has one result.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_EXPRNODE_H
#define KPC_DIALECTS_SHAPE_EXPRNODE_H

#include "dialects/shape/Expr.h"

#include <compare>
#include <limits>

namespace kpc::shape {

enum class AtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

struct Atom {
  AtomKind Kind;
  std::string Name; ///< of a symbol
  Expr A, B;        ///< of everything else
  size_t Hash = 0;
  size_t Weight = 1;
};
using AtomRef = std::shared_ptr<const Atom>;

struct Factor {
  AtomRef Base;
  int64_t Exponent;
};
using Monomial = std::vector<Factor>; ///< ascending by atom

struct Term {
  Monomial Factors;
  int64_t Coefficient;
};

struct Expr::Node {
  std::vector<Term> Terms; ///< descending by monomial; no coefficient is 0
  bool Overflow = false;
  size_t Hash = 0;
  size_t Weight = 1;

  /// Nodes of the tree above which an expression counts as overflowed, so
  /// that hostile text cannot take unbounded time or memory.
  static constexpr size_t MaxWeight = size_t(1) << 14;

  static const Node &of(const Expr &E) { return *E.TheNode; }
  static Expr make(std::vector<Term> CanonicalTerms);
  static Expr makeOverflow();
  static Expr makeAtom(AtomKind Kind, const Expr &A, const Expr &B);
};

std::strong_ordering compare(const Atom &A, const Atom &B);
std::strong_ordering compare(const Monomial &A, const Monomial &B);
std::strong_ordering compare(const Expr &A, const Expr &B);

inline const std::vector<Term> &terms(const Expr &E) {
  return Expr::Node::of(E).Terms;
}

/// An atom, or a term, as an expression.
Expr exprOf(const AtomRef &A);
Expr exprOf(const Term &T);

/// The atom, where `E` is one atom and nothing else.
const Atom *asAtom(const Expr &E);

/// The constant term, 0 if there is none.
int64_t constantTerm(const Expr &E);

/// Whether the value is >= 0 whatever the symbols (all >= 0) are; decided by
/// looking at signs alone, so false says nothing.
bool isNonNegative(const Expr &E);
bool isNonNegative(const Atom &A);

/// `A` / `B` where every exponent suffices, else none.
std::optional<Monomial> divide(const Monomial &A, const Monomial &B);
/// The atoms that both have, each as often as in the one with fewer.
Monomial commonFactors(const Monomial &A, const Monomial &B);

/// Quotient rounded down; `B` > 0.
inline int64_t floorDivide(int64_t A, int64_t B) {
  return A / B - (A % B < 0 ? 1 : 0);
}
inline int64_t floorModulo(int64_t A, int64_t B) {
  int64_t R = A % B;
  return R < 0 ? R + B : R;
}

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_EXPRNODE_H
