//===- FactsQuery.h - One question to Facts ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What answers a question to `Facts`. Private to this library. Ranges need
/// divisors, comparisons simplify, and simplification compares: parts of nested
/// min and max are asked for 3^depth times. A query therefore keeps what it
/// found. It lives as long as one question, so that `Facts` stay safe to share
/// between threads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_FACTSQUERY_H
#define KPC_DIALECTS_SHAPE_FACTSQUERY_H

#include "dialects/shape/ExprNode.h"
#include "dialects/shape/Facts.h"

#include <unordered_map>

namespace kpc::shape {

class Query {
public:
  explicit Query(const Facts &Known) : Known(Known) {}

  Interval symbolRange(std::string_view Name) const;
  int64_t symbolDivisor(std::string_view Name) const;

  // As those of Facts.
  Interval range(const Expr &E);
  int64_t divisor(const Expr &E);
  std::optional<bool> isLessOrEqual(const Expr &A, const Expr &B);
  Expr simplify(const Expr &E);
  Expr simplify(const AtomRef &Base);

private:
  struct ContentHash {
    size_t operator()(const Expr &E) const { return E.hash(); }
  };
  template <typename T>
  using Answers = std::unordered_map<Expr, T, ContentHash>;

  const Facts &Known;
  Answers<Interval> Ranges;
  Answers<int64_t> Divisors;
  Answers<Expr> Simplified;
};

/// Whether `E` is 0 for all values of the symbols, found by trying the orders
/// that the sides of each min and max may have; false says nothing.
bool isZeroInAllCases(Query &Q, const Expr &E);

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_FACTSQUERY_H
