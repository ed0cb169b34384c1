//===- ExprRandomTest.cpp - The algebra against plain evaluation ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/shape/RandomExpr.h"

#include <gtest/gtest.h>

using namespace kpc::shape;
using namespace kpc::shape::test;

namespace {

/// Evaluates a postfix program as an evaluator without the library would.
std::optional<int64_t> run(const std::vector<int64_t> &Program,
                           const std::vector<int64_t> &Symbols) {
  using Op = Expr::PostfixOp;
  std::vector<int64_t> Stack;
  for (size_t I = 0; I != Program.size(); ++I) {
    Op O = Op(Program[I]);
    if (O == Op::Constant || O == Op::Symbol) {
      int64_t Word = Program[++I];
      Stack.push_back(O == Op::Constant ? Word : Symbols[Word]);
      continue;
    }
    int64_t B = Stack.back();
    Stack.pop_back();
    int64_t A = Stack.back(), R = 0;
    if (O == Op::Add && __builtin_add_overflow(A, B, &R))
      return std::nullopt;
    if (O == Op::Mul && __builtin_mul_overflow(A, B, &R))
      return std::nullopt;
    if ((O == Op::FloorDiv || O == Op::Mod) && B <= 0)
      return std::nullopt;
    int64_t Rest = B > 0 ? (A % B + B) % B : 0;
    if (O == Op::FloorDiv)
      R = (A - Rest) / B;
    if (O == Op::Mod)
      R = Rest;
    if (O == Op::Min)
      R = std::min(A, B);
    if (O == Op::Max)
      R = std::max(A, B);
    Stack.back() = R;
  }
  if (Stack.size() != 1)
    return std::nullopt;
  return Stack.back();
}

TEST(ExprRandom, EvaluateMatchesTheTree) {
  TreeMaker Maker(1);
  unsigned Compared = 0;
  for (int I = 0; I != 6000; ++I) {
    Tree T = Maker.make(4);
    Expr E = T.build();
    if (E.overflowed())
      continue;
    for (int J = 0; J != 20; ++J) {
      Bindings V{{"a", Maker.pick(0, 9)},
                 {"b", Maker.pick(0, 30)},
                 {"c", Maker.pick(1, 5)}};
      std::optional<int64_t> Want = T.value(V);
      if (!Want)
        continue;
      ASSERT_EQ(E.evaluate(V), Want)
          << E.str() << " at " << V["a"] << ' ' << V["b"] << ' ' << V["c"];
      ++Compared;
    }
  }
  EXPECT_GT(Compared, 50000u);
}

TEST(ExprRandom, PostfixMatchesEvaluate) {
  TreeMaker Maker(2);
  auto Index = [](std::string_view Name) { return int64_t(Name[0] - 'a'); };
  for (int I = 0; I != 4000; ++I) {
    Expr E = Maker.make(4).build();
    if (E.overflowed())
      continue;
    std::vector<int64_t> Symbols = {Maker.pick(0, 9), Maker.pick(0, 1000),
                                    Maker.pick(0, int64_t(1) << 40)};
    Bindings V{{"a", Symbols[0]}, {"b", Symbols[1]}, {"c", Symbols[2]}};
    ASSERT_EQ(run(E.postfix(Index), Symbols), E.evaluate(V)) << E.str();
  }
}

TEST(ExprRandom, TextRoundTrip) {
  TreeMaker Maker(3);
  for (int I = 0; I != 6000; ++I) {
    Expr E = Maker.make(4).build();
    std::optional<Expr> Back = Expr::parse(E.str());
    ASSERT_TRUE(Back) << E.str();
    ASSERT_EQ(Back->str(), E.str());
    ASSERT_EQ(*Back, E);
  }
}

TEST(ExprRandom, Laws) {
  TreeMaker Maker(4);
  for (int I = 0; I != 3000; ++I) {
    Expr A = Maker.make(2).build(), B = Maker.make(2).build(),
         C = Maker.make(2).build();
    ASSERT_EQ(A + B, B + A);
    ASSERT_EQ(A * B, B * A);
    ASSERT_EQ((A + B) + C, A + (B + C));
    ASSERT_EQ((A * B) * C, A * (B * C));
    ASSERT_EQ(A * (B + C), A * B + A * C);
    ASSERT_EQ(A - B + B, A);
    ASSERT_EQ(Expr::min(A, B), Expr::min(B, A));
    ASSERT_EQ(Expr::max(Expr::max(A, B), C), Expr::max(A, Expr::max(C, B)))
        << A.str() << " | " << B.str() << " | " << C.str();
    // Multiples of the divisor leave floordiv and mod canonical.
    if (C.overflowed() || (C.asConstant() && *C.asConstant() <= 0))
      continue;
    ASSERT_EQ((A * C + B).floorDiv(C), A + B.floorDiv(C))
        << A.str() << " | " << B.str() << " | " << C.str();
    ASSERT_EQ((A * C + B).mod(C), B.mod(C))
        << A.str() << " | " << B.str() << " | " << C.str();
    ASSERT_EQ((A < B) + (B < A) + (A == B), 1);
  }
}

TEST(ExprRandom, SubstituteMatchesEvaluate) {
  TreeMaker Maker(5);
  for (int I = 0; I != 2000; ++I) {
    Expr E = Maker.make(3).build();
    int64_t A = Maker.pick(0, 9);
    Expr Replaced = E.substitute({{"a", Expr(A)}, {"b", Expr::symbol("c")}});
    std::optional<int64_t> Want = E.evaluate({{"a", A}, {"b", 4}, {"c", 4}});
    if (Want) {
      ASSERT_EQ(Replaced.evaluate({{"c", 4}}), Want) << E.str();
    }
  }
}

} // namespace
