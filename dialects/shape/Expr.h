//===- Expr.h - Canonical integer expressions over named sizes --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The algebra of tensor sizes. An `Expr` is a sum of monomials over atoms; an
/// atom is a named symbol (`batch`) or one of floordiv, mod, min, max of two
/// expressions. Every value is kept in canonical form, so two expressions
/// that are equal as polynomials compare equal by structure:
///
///   Expr B = Expr::symbol("batch"), S = Expr::symbol("seq");
///   (B * S) * 4 == B * (S * 4)                        // true
///   B * (S + 1) == B * S + B                          // true
///   (B * S).floorDiv(S) == B                          // true: divides exactly
///   (B * 4 + 2).str()                                 // "batch*4 + 2"
///
/// An Expr is immutable, cheap to copy and safe to share between threads.
/// All symbols are sizes: integers >= 0 (see Facts.h for ranges). Division and
/// modulus are those of floor; a divisor must be positive where it is
/// evaluated. Arithmetic that leaves int64_t makes an expression `overflowed`:
/// it prints as "overflow", equals nothing but itself, and evaluates to none.
/// So does an expression of more parts than any size needs (about 16,000).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_EXPR_H
#define KPC_DIALECTS_SHAPE_EXPR_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::shape {

/// Values of symbols, by name.
using Bindings = std::map<std::string, int64_t, std::less<>>;

class Expr {
public:
  /// The constant 0.
  Expr();
  /*implicit*/ Expr(int64_t Value);

  static Expr symbol(std::string_view Name);

  /// Reads what `str` writes: integers, names ([A-Za-z_][A-Za-z0-9_.]*, with
  /// an index as size[0], or any text in backquotes as `s0 + 1`), + - * and
  /// parentheses, and floordiv, ceildiv, mod, min, max as functions of two.
  /// Returns none and fills `Error` (if given) where the text is malformed.
  static std::optional<Expr> parse(std::string_view Text,
                                   std::string *Error = nullptr);

  friend Expr operator+(const Expr &A, const Expr &B);
  friend Expr operator-(const Expr &A, const Expr &B);
  friend Expr operator*(const Expr &A, const Expr &B);
  Expr floorDiv(const Expr &Divisor) const;
  Expr ceilDiv(const Expr &Divisor) const;
  Expr mod(const Expr &Divisor) const;
  static Expr min(const Expr &A, const Expr &B);
  static Expr max(const Expr &A, const Expr &B);

  bool isConstant() const { return asConstant().has_value(); }
  std::optional<int64_t> asConstant() const;
  /// The name, if this is one symbol and nothing else.
  std::optional<std::string> asSymbol() const;
  bool overflowed() const;

  /// Adds every symbol that occurs to `Names`.
  void collectSymbols(std::set<std::string, std::less<>> &Names) const;

  /// Replaces symbols; those not in `Map` stay.
  Expr substitute(const std::map<std::string, Expr, std::less<>> &Map) const;

  /// Replaces `Part`, one symbol, floordiv, mod, min or max, wherever it
  /// occurs.
  Expr replace(const Expr &Part, const Expr &New) const;

  /// None if a symbol is unbound, a divisor is not positive, or a step
  /// overflows int64_t.
  std::optional<int64_t> evaluate(const Bindings &Values) const;

  /// Canonical text; `parse(str())` gives this expression back.
  std::string str() const;

  size_t hash() const;
  friend bool operator==(const Expr &A, const Expr &B);
  friend bool operator!=(const Expr &A, const Expr &B) { return !(A == B); }
  /// A total order that depends on content alone (never on addresses).
  friend bool operator<(const Expr &A, const Expr &B);

  /// The expression as a postfix program, for evaluators without this library
  /// (the artifact's): see PostfixOp. `SymbolIndex` gives each symbol's number.
  enum class PostfixOp : int64_t {
    Constant = 0, ///< the next word is the value
    Symbol = 1,   ///< the next word is the symbol's number
    Add = 2,
    Mul = 3,
    FloorDiv = 4,
    Mod = 5,
    Min = 6,
    Max = 7,
  };
  std::vector<int64_t>
  postfix(const std::function<int64_t(std::string_view)> &SymbolIndex) const;

  struct Node;

private:
  explicit Expr(std::shared_ptr<const Node> N) : TheNode(std::move(N)) {}
  friend struct Node;
  std::shared_ptr<const Node> TheNode;
};

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_EXPR_H
