//===- Assume.h - What would make two sizes equal ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Models are written for some sizes, and do not say for which. A feature
/// pyramid adds a map that was halved and doubled to one that was halved less:
/// `ceil(h/32)*2` is `ceil(h/16)` where 32 divides h, and no other h is meant.
///
///   multipleThatMakesEqual(F, H.ceilDiv(32) * 2, H.ceilDiv(16))  // h, 32
///   valueThatMakesEqual(F, (H + 15).floorDiv(48), 1)             // h, 48
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_ASSUME_H
#define KPC_DIALECTS_SHAPE_ASSUME_H

#include "dialects/shape/Facts.h"

namespace kpc::shape {

/// `Symbol` is a multiple of `Divisor`. Substituting `rounded()` for it says so
/// to the algebra: both sizes are then the same expression.
struct Multiple {
  std::string Symbol;
  int64_t Divisor = 1;
  /// Divisor * floordiv(Symbol, Divisor).
  Expr rounded() const;
};

/// The least multiple of a symbol that makes the sizes the same expression. Its
/// divisor is one that the facts say already, where that is enough. None if
/// none of the divisors in the sizes does it, or of more symbols than one.
std::optional<Multiple> multipleThatMakesEqual(const Facts &F, const Expr &A,
                                               const Expr &B);

/// The same for sizes that divide by several symbols, none of which is enough:
/// the blocks of an image, `h*w` and `floordiv(h, 2)*floordiv(w, 2)*4`. Empty
/// if there are none.
std::vector<Multiple> multiplesThatMakeEqual(const Facts &F, const Expr &A,
                                             const Expr &B);

/// `Symbol` has the value `Value`; all from `Least` to `Most` would do, and all
/// from there on if `HasNoEnd`.
struct FixedSize {
  std::string Symbol;
  int64_t Value = 0, Least = 0, Most = 0;
  bool HasNoEnd = false;
};

/// A value of the only symbol in `E` that makes it `Wanted`: the optimum, else
/// a multiple of all divisors in it, else the least. None if no size up to a
/// few thousands does.
std::optional<FixedSize> valueThatMakesEqual(const Facts &F, const Expr &E,
                                             int64_t Wanted);

/// `Part` is taken to be `New`, which it is where `Left` is `Right`, or where
/// it is at most that.
struct Replacement {
  Expr Part, New;
  Expr Left, Right;
  bool Equal = false;

  /// "n must be at least 1", for people.
  std::string requirement() const;
};

/// Spellings of remainders, `mod(x, m)` as `x - m*floordiv(x, m)`, that make
/// the sizes the same expression when they are replaced in this order. Nothing
/// is assumed: what is filled up to whole blocks is a multiple of the block.
///
///   A = N + (-1 * N).mod(8);
///   remaindersThatMakeEqual(A, A.floorDiv(8) * 8)   // mod(n*7, 8)
std::vector<Replacement> remaindersThatMakeEqual(const Expr &A, const Expr &B);

/// Parts that make the sizes the same expression when they are replaced in this
/// order: a choice for each min and max in the way, else one part that is what
/// the other size leaves for it. Empty if there are none, or if no sizes of a
/// few thousands that were tried meet what they need.
///
///   partsThatMakeEqual(F, N, Expr::max(N - 1, 0) + 1)
///     // max(n - 1, 0) is n - 1 where 0 <= n - 1
std::vector<Replacement> partsThatMakeEqual(const Facts &F, const Expr &A,
                                            const Expr &B);

/// Two sizes without the numbers and parts that all their terms have: `n*4` and
/// `m*8` as `n` and `m*2`. Where these are equal, so are the sizes.
std::pair<Expr, Expr> withoutCommonFactors(const Expr &A, const Expr &B);

/// Two parts whose product must be the square of a number.
struct SquareParts {
  Expr First, Second;
  int64_t Root = 1;
};

/// Rows and columns of patches whose number a table of positions says. None
/// if A - B is no such product less a square number.
std::optional<SquareParts> squareThatMakesEqual(const Facts &F, const Expr &A,
                                                const Expr &B);

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_ASSUME_H
