//===- ExprEvaluate.cpp - Values, substitution, postfix programs ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/ExprNode.h"

#include <algorithm>

namespace kpc::shape {

static std::optional<int64_t> evaluateAtom(const Atom &A,
                                           const Bindings &Values) {
  if (A.Kind == AtomKind::Symbol) {
    auto It = Values.find(A.Name);
    if (It == Values.end())
      return std::nullopt;
    return It->second;
  }
  std::optional<int64_t> X = A.A.evaluate(Values), Y = A.B.evaluate(Values);
  if (!X || !Y)
    return std::nullopt;
  switch (A.Kind) {
  case AtomKind::Symbol:
    break;
  case AtomKind::FloorDiv:
    return *Y > 0 ? std::optional(floorDivide(*X, *Y)) : std::nullopt;
  case AtomKind::Mod:
    return *Y > 0 ? std::optional(floorModulo(*X, *Y)) : std::nullopt;
  case AtomKind::Min:
    return std::min(*X, *Y);
  case AtomKind::Max:
    return std::max(*X, *Y);
  }
  return std::nullopt;
}

std::optional<int64_t> Expr::evaluate(const Bindings &Values) const {
  if (overflowed())
    return std::nullopt;
  int64_t Sum = 0;
  for (const Term &T : TheNode->Terms) {
    int64_t Product = T.Coefficient;
    for (const Factor &F : T.Factors) {
      std::optional<int64_t> Value = evaluateAtom(*F.Base, Values);
      if (!Value)
        return std::nullopt;
      for (int64_t I = 0; I != F.Exponent; ++I)
        if (__builtin_mul_overflow(Product, *Value, &Product))
          return std::nullopt;
    }
    if (__builtin_add_overflow(Sum, Product, &Sum))
      return std::nullopt;
  }
  return Sum;
}

static Expr rebuild(AtomKind Kind, const Expr &A, const Expr &B) {
  switch (Kind) {
  case AtomKind::FloorDiv:
    return A.floorDiv(B);
  case AtomKind::Mod:
    return A.mod(B);
  case AtomKind::Min:
    return Expr::min(A, B);
  default:
    return Expr::max(A, B);
  }
}

Expr Expr::substitute(
    const std::map<std::string, Expr, std::less<>> &Map) const {
  if (overflowed())
    return *this;
  Expr Sum;
  for (const Term &T : TheNode->Terms) {
    Expr Product(T.Coefficient);
    for (const Factor &F : T.Factors) {
      Expr Base;
      if (F.Base->Kind != AtomKind::Symbol)
        Base = rebuild(F.Base->Kind, F.Base->A.substitute(Map),
                       F.Base->B.substitute(Map));
      else if (auto It = Map.find(F.Base->Name); It != Map.end())
        Base = It->second;
      else
        Base = symbol(F.Base->Name);
      for (int64_t I = 0; I != F.Exponent; ++I)
        Product = Product * Base;
    }
    Sum = Sum + Product;
  }
  return Sum;
}

static Expr replaceAtom(const Expr &E, const Atom &Part, const Expr &New) {
  Expr Sum;
  for (const Term &T : terms(E)) {
    Expr Product(T.Coefficient);
    for (const Factor &F : T.Factors) {
      Expr Base;
      if (compare(*F.Base, Part) == 0)
        Base = New;
      else if (F.Base->Kind == AtomKind::Symbol)
        Base = Expr::symbol(F.Base->Name);
      else
        Base = rebuild(F.Base->Kind, replaceAtom(F.Base->A, Part, New),
                       replaceAtom(F.Base->B, Part, New));
      for (int64_t I = 0; I != F.Exponent; ++I)
        Product = Product * Base;
    }
    Sum = Sum + Product;
  }
  return Sum;
}

Expr Expr::replace(const Expr &Part, const Expr &New) const {
  const Atom *A = Part.overflowed() ? nullptr : asAtom(Part);
  return A && !overflowed() ? replaceAtom(*this, *A, New) : *this;
}

namespace {

class PostfixWriter {
public:
  using PostfixOp = Expr::PostfixOp;
  explicit PostfixWriter(
      const std::function<int64_t(std::string_view)> &SymbolIndex)
      : SymbolIndex(SymbolIndex) {}

  void write(const Expr &E) {
    const auto &Terms = terms(E);
    if (Terms.empty())
      constant(0);
    for (size_t I = 0; I != Terms.size(); ++I) {
      write(Terms[I]);
      if (I)
        op(PostfixOp::Add);
    }
  }

  std::vector<int64_t> Words;

private:
  void op(PostfixOp O) { Words.push_back(int64_t(O)); }
  void constant(int64_t V) {
    op(PostfixOp::Constant);
    Words.push_back(V);
  }

  /// The coefficient comes first, as in `evaluate`: both overflow alike.
  void write(const Term &T) {
    bool Empty = true;
    if (T.Coefficient != 1 || T.Factors.empty()) {
      constant(T.Coefficient);
      Empty = false;
    }
    for (const Factor &F : T.Factors)
      for (int64_t I = 0; I != F.Exponent; ++I) {
        write(*F.Base);
        if (!Empty)
          op(PostfixOp::Mul);
        Empty = false;
      }
  }

  void write(const Atom &A) {
    if (A.Kind == AtomKind::Symbol) {
      op(PostfixOp::Symbol);
      Words.push_back(SymbolIndex(A.Name));
      return;
    }
    write(A.A);
    write(A.B);
    op(A.Kind == AtomKind::FloorDiv ? PostfixOp::FloorDiv
       : A.Kind == AtomKind::Mod    ? PostfixOp::Mod
       : A.Kind == AtomKind::Min    ? PostfixOp::Min
                                    : PostfixOp::Max);
  }

  const std::function<int64_t(std::string_view)> &SymbolIndex;
};

} // namespace

std::vector<int64_t> Expr::postfix(
    const std::function<int64_t(std::string_view)> &SymbolIndex) const {
  PostfixWriter Writer(SymbolIndex);
  // No program has a value here; an empty one evaluates to none.
  if (!overflowed())
    Writer.write(*this);
  return std::move(Writer.Words);
}

} // namespace kpc::shape
