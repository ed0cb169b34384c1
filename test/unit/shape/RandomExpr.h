//===- RandomExpr.h - Random expressions beside a plain evaluator -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A random tree, turned into an Expr by its operators and evaluated on its
/// own: what the algebra makes of the tree must have the tree's value.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_SHAPE_RANDOMEXPR_H
#define KPC_TEST_UNIT_SHAPE_RANDOMEXPR_H

#include "dialects/shape/Expr.h"

#include <algorithm>
#include <random>

namespace kpc::shape::test {

struct Tree {
  char Op = 'c'; ///< c s + - * / u(ceildiv) % < >
  int64_t Constant = 0;
  std::string Symbol;
  std::vector<Tree> Args;

  /// `MinAsMax`: min(a, b) is written as a + b - max(a, b).
  Expr build(bool MinAsMax = false) const {
    if (Op == 'c')
      return Expr(Constant);
    if (Op == 's')
      return Expr::symbol(Symbol);
    Expr A = Args[0].build(MinAsMax), B = Args[1].build(MinAsMax);
    switch (Op) {
    case '+':
      return A + B;
    case '-':
      return A - B;
    case '*':
      return A * B;
    case '/':
      return A.floorDiv(B);
    case 'u':
      return A.ceilDiv(B);
    case '%':
      return A.mod(B);
    case '<':
      return MinAsMax ? A + B - Expr::max(A, B) : Expr::min(A, B);
    default:
      return Expr::max(A, B);
    }
  }

  std::optional<int64_t> value(const Bindings &Values) const {
    if (Op == 'c')
      return Constant;
    if (Op == 's')
      return Values.find(Symbol)->second;
    std::optional<int64_t> A = Args[0].value(Values), B = Args[1].value(Values);
    if (!A || !B)
      return std::nullopt;
    auto Floor = [&](int64_t X) {
      int64_t Q = X / *B;
      return Q * *B > X ? Q - 1 : Q;
    };
    bool Divides = Op == '/' || Op == 'u' || Op == '%';
    if (Divides && *B <= 0)
      return std::nullopt;
    switch (Op) {
    case '+':
      return *A + *B;
    case '-':
      return *A - *B;
    case '*':
      return *A * *B;
    case '/':
      return Floor(*A);
    case 'u':
      return Floor(*A + *B - 1);
    case '%':
      return *A - Floor(*A) * *B;
    case '<':
      return std::min(*A, *B);
    default:
      return std::max(*A, *B);
    }
  }
};

class TreeMaker {
public:
  explicit TreeMaker(unsigned Seed) : Random(Seed) {}

  int64_t pick(int64_t Low, int64_t High) {
    return std::uniform_int_distribution<int64_t>(Low, High)(Random);
  }

  Tree make(unsigned Depth) {
    Tree T;
    if (Depth == 0 || pick(0, 5) == 0) {
      if (pick(0, 2) == 0) {
        T.Constant = pick(-6, 12);
      } else {
        T.Op = 's';
        T.Symbol = std::string(1, char('a' + pick(0, 2)));
      }
      return T;
    }
    T.Op = "++--***/u%<>"[pick(0, 11)];
    T.Args = {make(Depth - 1), make(Depth - 1)};
    return T;
  }

private:
  std::mt19937 Random;
};

} // namespace kpc::shape::test

#endif // KPC_TEST_UNIT_SHAPE_RANDOMEXPR_H
