//===- Facts.h - What is known of symbolic sizes ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranges and divisibility of symbols, and what follows for expressions.
///
///   Facts F;
///   F.declare("batch", {.Min = 1, .Max = 32, .Divisor = 8});
///   F.range(B * 4)            // [32, 128]: 8 divides batch
///   F.divisor(B * 4)          // 32
///   F.isEqual(B, B + 0)       // true, and false for (B, Expr(1))
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_FACTS_H
#define KPC_DIALECTS_SHAPE_FACTS_H

#include "dialects/shape/Expr.h"

#include <limits>

namespace kpc::shape {

/// A closed interval of int64_t; `Max` saturates at `Unbounded`.
struct Interval {
  static constexpr int64_t Unbounded = std::numeric_limits<int64_t>::max();
  int64_t Min = 0;
  int64_t Max = Unbounded;
  bool contains(int64_t V) const { return Min <= V && V <= Max; }
  friend bool operator==(const Interval &, const Interval &) = default;
};

/// What a user or a model says of one symbol.
struct SymbolFacts {
  int64_t Min = 0;
  int64_t Max = Interval::Unbounded;
  /// The value that schedules are chosen for; none: a value in the range is
  /// picked.
  std::optional<int64_t> Optimum = std::nullopt;
  int64_t Divisor = 1;
  friend bool operator==(const SymbolFacts &, const SymbolFacts &) = default;
};

class Facts {
public:
  void declare(std::string_view Symbol, SymbolFacts Known);
  const std::map<std::string, SymbolFacts, std::less<>> &symbols() const {
    return Known;
  }

  /// An interval that holds every value; never narrower than the truth.
  Interval range(const Expr &E) const;
  /// A number >= 1 that divides every value (0 for the constant 0).
  int64_t divisor(const Expr &E) const;
  /// Whether A == B for all values, for none, or none of these provable.
  std::optional<bool> isEqual(const Expr &A, const Expr &B) const;
  std::optional<bool> isLessOrEqual(const Expr &A, const Expr &B) const;
  /// `E` with every symbol at its optimum (else at the middle of its range,
  /// at most 8 where the range has no end).
  std::optional<int64_t> optimum(const Expr &E) const;
  /// Rewrites floordiv, mod, min, max that the facts decide.
  Expr simplify(const Expr &E) const;

private:
  std::map<std::string, SymbolFacts, std::less<>> Known;
};

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_FACTS_H
