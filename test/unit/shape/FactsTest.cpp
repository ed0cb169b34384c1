//===- FactsTest.cpp - Ranges and divisors against enumeration ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/PracticalRange.h"
#include "test/unit/shape/RandomExpr.h"

#include <gtest/gtest.h>

using namespace kpc::shape;
using namespace kpc::shape::test;

namespace {

const Expr B = Expr::symbol("batch"), S = Expr::symbol("seq"),
           U = Expr::symbol("u");

Facts sample() {
  Facts F;
  F.declare("batch", {.Min = 1, .Max = 32, .Divisor = 8});
  F.declare("seq", {.Min = 16, .Max = 512, .Optimum = 128});
  return F;
}

TEST(Facts, Range) {
  Facts F = sample();
  EXPECT_EQ(F.range(B * 4), (Interval{32, 128}));
  EXPECT_EQ(F.range(B), (Interval{8, 32}));
  EXPECT_EQ(F.range(B * S - 3), (Interval{125, 32 * 512 - 3}));
  EXPECT_EQ(F.range(U), Interval{});
  EXPECT_EQ(F.range(U + 1), (Interval{1, Interval::Unbounded}));
  EXPECT_EQ(F.range(S.floorDiv(16)), (Interval{1, 32}));
  EXPECT_EQ(F.range(S.mod(16)), (Interval{0, 15}));
  EXPECT_EQ(F.range(Expr::min(S, 64)), (Interval{16, 64}));
  EXPECT_EQ(F.range(U.floorDiv(S)), (Interval{0, Interval::Unbounded}));
  EXPECT_EQ(F.range(5), (Interval{5, 5}));
}

TEST(Facts, PracticalRange) {
  Facts F;
  F.declare("n", {.Min = 1});
  F.declare("m", {.Min = 0, .Max = 9});
  Expr N = Expr::symbol("n"), M = Expr::symbol("m"), U = Expr::symbol("u");
  EXPECT_EQ(practicalRange(F, N), (Interval{1, LargestPracticalSize}));
  EXPECT_EQ(practicalRange(F, U + 1), (Interval{1, LargestPracticalSize + 1}));
  EXPECT_EQ(practicalRange(F, M * 2), (Interval{0, 18}));
  EXPECT_EQ(practicalRange(F, N * U),
            (Interval{0, LargestPracticalSize * LargestPracticalSize}));
}

/// Each level asks for the one inside several times.
TEST(Facts, DeepNests) {
  Facts F = sample();
  F.declare("batch", {.Min = 0, .Max = 1000});
  Expr E = U;
  for (unsigned I = 0; I != 200; ++I)
    E = Expr::max(Expr::min(E, B * (I + 2)) - 1, S * (I + 3) - 500);
  ASSERT_FALSE(E.overflowed());
  EXPECT_GE(F.range(E).Min, 16 * 202 - 500);
  EXPECT_EQ(F.divisor(E * 4), 4);
  EXPECT_EQ(F.isLessOrEqual(E, E + 1), true);
  EXPECT_EQ(F.range(F.simplify(E)).Min, F.range(E).Min);
}

/// What slices leave of a size holds the size once.
TEST(Facts, BoundsAreJoined) {
  Facts F = sample();
  EXPECT_EQ(F.simplify(U - Expr::min(U, 1)), Expr::max(U - 1, 0));
  EXPECT_EQ(F.simplify(U - Expr::max(U - 2, 0)), Expr::min(U, 2));
  EXPECT_EQ(F.simplify(S - Expr::min(S, 5)), S - 5);
  EXPECT_EQ(F.simplify(U * 2 - Expr::max(U, 3) * 2), Expr::min(U * 2 - 6, 0));
  // A roll.
  EXPECT_EQ(F.simplify(Expr::min(U, 2) + Expr::max(U - 2, 0)), U);
  EXPECT_EQ(
      F.simplify(S * 3 + Expr::max(U, S) * 2 - Expr::max(U + 1, S + 1) * 2),
      S * 3 - 2);
  EXPECT_EQ(F.simplify(Expr::min(U, S) + Expr::max(S - 4, U - 4)), U + S - 4);
  // Padding to the longer one of two.
  EXPECT_EQ(S + F.simplify(Expr::max(S, U) - S), Expr::max(S, U));
  Expr Left = U;
  for (unsigned I = 0; I != 100; ++I)
    Left = F.simplify(Left - F.simplify(Expr::min(Left, 1)));
  EXPECT_EQ(Left, Expr::max(U - 100, 0));
}

/// An expression that leaves 64 bits has no terms, and is not 0.
TEST(Facts, WhatOverflowsStaysSo) {
  Facts F;
  F.declare("u", {.Min = 1, .Max = 10});
  F.declare("n", {.Min = 100});
  Expr Large = Expr::min(U * 4, Expr::symbol("n")) * (int64_t(1) << 62);
  EXPECT_TRUE(F.simplify(Large).overflowed());
  EXPECT_TRUE(F.simplify(Expr::min(Large, 1)).overflowed());
  EXPECT_TRUE(F.simplify(Large.mod(B)).overflowed());
  EXPECT_EQ(F.isEqual(Expr::min(Large, 1), 0), std::nullopt);
}

/// What bounds of slices come to.
TEST(Facts, EqualInAllCases) {
  Facts F = sample();
  Expr N = Expr::max(U - 1, 0);
  EXPECT_EQ(F.isEqual(U - Expr::min(U, 1), N), true);
  EXPECT_EQ(F.isEqual(N - Expr::min(N, 1), Expr::max(U - 2, 0)), true);
  EXPECT_EQ(F.isEqual(Expr::max(U, S) + Expr::min(U, S), U + S), true);
  EXPECT_EQ(
      F.isEqual(Expr::max(U, S) - Expr::min(U, S), Expr::max(U - S, S - U)),
      true);
  EXPECT_EQ(F.isEqual(B * Expr::min(U, 3), Expr::min(B * U, B * 3)),
            std::nullopt); // products are not split
  EXPECT_EQ(F.isEqual(U - Expr::min(U, 2), N), std::nullopt);
  EXPECT_EQ(F.isEqual(Expr::min(U, 100000) - Expr::min(U, 1), N), std::nullopt);
}

TEST(Facts, Divisor) {
  Facts F = sample();
  EXPECT_EQ(F.divisor(B * 4), 32);
  EXPECT_EQ(F.divisor(B * 4 + 6), 2);
  EXPECT_EQ(F.divisor(B * S), 8);
  EXPECT_EQ(F.divisor(0), 0);
  EXPECT_EQ(F.divisor(-12), 12);
  EXPECT_EQ(F.divisor(B.floorDiv(2)), 4);
  EXPECT_EQ(F.divisor(Expr::max(B, 12)), 4);
  // What is filled up to whole blocks.
  Expr T = Expr::symbol("t"), Filled = T + (Expr(8) - T).mod(8);
  EXPECT_EQ(F.divisor(Filled), 8);
  EXPECT_EQ(F.divisor(Filled * 6), 48);
  EXPECT_EQ(F.isEqual(Filled.floorDiv(8) * 16, Filled * 2), true);
  EXPECT_EQ(F.divisor(T + (Expr(8) - T).mod(6)), 2);
}

TEST(Facts, Comparison) {
  Facts F = sample();
  EXPECT_EQ(F.isEqual(B, B + 0), true);
  EXPECT_EQ(F.isEqual(B, 1), false);
  EXPECT_EQ(F.isEqual(B, 12), false); // not a multiple of 8
  EXPECT_EQ(F.isEqual(B, 16), std::nullopt);
  EXPECT_EQ(F.isEqual(B * 2, U * 16 + 3), false);
  EXPECT_EQ(F.isLessOrEqual(B, 32), true);
  EXPECT_EQ(F.isLessOrEqual(B, 7), false);
  EXPECT_EQ(F.isLessOrEqual(B, S), std::nullopt);
  EXPECT_EQ(F.isLessOrEqual(0, U), true);
}

TEST(Facts, Optimum) {
  Facts F = sample();
  EXPECT_EQ(F.optimum(S + 1), 129);
  EXPECT_EQ(F.optimum(B), 16);
  EXPECT_LE(F.optimum(U), 8);
  F.declare("v", {.Min = 100});
  EXPECT_EQ(F.optimum(Expr::symbol("v")), 100);
}

TEST(Facts, Simplify) {
  Facts F = sample();
  EXPECT_EQ(F.simplify(B.mod(8)), Expr(0));
  EXPECT_EQ(F.simplify((B + U).mod(8)), U.mod(8));
  EXPECT_EQ(F.simplify((B + 7).floorDiv(8)), B.floorDiv(8));
  // What divides comes back.
  EXPECT_EQ(F.simplify(24 * B.floorDiv(8)), 3 * B);
  EXPECT_EQ(F.simplify(8 * U.floorDiv(8)), 8 * U.floorDiv(8));
  EXPECT_EQ(F.simplify(Expr::min(S, 1024)), S);
  // Of what is joined with a flag of itself, only whether there is any is
  // asked.
  Expr N = Expr::symbol("n"), Flag = Expr::min(N, 1);
  EXPECT_EQ(F.simplify(Expr::min(N + Flag, 1)), Flag);
  EXPECT_EQ(F.simplify(Expr::min(Flag + 2 * N, 1)), Flag);
  EXPECT_EQ(F.simplify(Expr::min(N + Expr::min(S * 0 + N * N, 1), 1)),
            Expr::min(N + Expr::min(N * N, 1), 1));
  EXPECT_EQ(F.simplify(Expr::max(S, 1)), S);
  EXPECT_EQ(F.simplify(B.floorDiv(33)), Expr(0));
  EXPECT_EQ(F.simplify((B + 64).mod(64)), B);
  EXPECT_EQ(F.simplify(U.mod(8)), U.mod(8));
}

TEST(Facts, OddDeclarations) {
  Facts F;
  F.declare("a", {.Min = 9, .Max = 3, .Divisor = 0});
  EXPECT_TRUE(F.range(Expr::symbol("a")).contains(9));
  F.declare("b", {.Min = 9, .Max = 15, .Divisor = 8});
  EXPECT_LE(F.range(Expr::symbol("b")).Min, F.range(Expr::symbol("b")).Max);
}

TEST(Facts, WhatADivisionAndTheRestHaveInCommon) {
  Facts F;
  Expr W = Expr::symbol("w"), N = Expr::symbol("n");
  EXPECT_EQ(F.range(W - W.floorDiv(2) * 2), (Interval{0, 1}));
  EXPECT_EQ(F.range(W.ceilDiv(4) * 4 - W), (Interval{0, 3}));
  EXPECT_EQ(F.range(W.floorDiv(2) - W.floorDiv(4)).Min, 0);
  EXPECT_EQ(F.range(Expr::max(N, W) - N).Min, 0);
  EXPECT_EQ(F.range(W - Expr::min(W, N)).Min, 0);
  EXPECT_EQ(F.isLessOrEqual(W.floorDiv(3), W), true);
}

/// Two ways to write one size are never taken for different ones, and mostly
/// seen to be the same.
TEST(Facts, OneSizeInTwoForms) {
  TreeMaker Maker(5);
  unsigned Equal = 0, Differ = 0;
  for (int I = 0; I != 1500; ++I) {
    Facts F;
    F.declare("a", {.Min = 1, .Max = 5});
    F.declare("b", {.Min = 4, .Max = 24, .Divisor = 4});
    Tree T = Maker.make(3);
    Expr One = T.build(), Other = T.build(/*MinAsMax=*/true);
    bool HasValue = false; // no divisor is negative
    for (int64_t A = 1; A <= 5; ++A)
      for (int64_t B = 4; B <= 24; B += 4)
        HasValue |= T.value({{"a", A}, {"b", B}, {"c", 9}}).has_value();
    if (!HasValue || One.overflowed() || Other.overflowed() || One == Other)
      continue;
    std::optional<bool> Same = F.isEqual(One, Other);
    ASSERT_NE(Same, false) << One.str() << " | " << Other.str();
    ++(Same ? Equal : Differ);
  }
  EXPECT_GT(Equal, 4 * Differ) << Equal << " equal, " << Differ << " open";
}

TEST(Facts, SoundByEnumeration) {
  TreeMaker Maker(11);
  for (int I = 0; I != 1500; ++I) {
    Facts F;
    F.declare("a", {.Min = 1, .Max = 5});
    F.declare("b", {.Min = 4, .Max = 24, .Divisor = 4});
    F.declare("c", {.Min = 3, .Max = 3});
    Expr E = Maker.make(4).build(), Other = Maker.make(2).build();
    if (E.overflowed() || Other.overflowed())
      continue;
    Interval R = F.range(E);
    int64_t D = F.divisor(E);
    Expr Simple = F.simplify(E);
    std::optional<bool> Equal = F.isEqual(E, Other),
                        Less = F.isLessOrEqual(E, Other);
    for (int64_t A = 1; A <= 5; ++A)
      for (int64_t Bv = 4; Bv <= 24; Bv += 4) {
        Bindings V{{"a", A}, {"b", Bv}, {"c", 3}};
        std::optional<int64_t> Value = E.evaluate(V), O = Other.evaluate(V);
        if (!Value)
          continue;
        ASSERT_TRUE(R.contains(*Value)) << E.str();
        ASSERT_TRUE(D == 0 ? *Value == 0 : *Value % D == 0) << E.str();
        ASSERT_EQ(Simple.evaluate(V), Value)
            << E.str() << " -> " << Simple.str();
        if (O && Equal) {
          ASSERT_EQ(*Equal, *Value == *O) << E.str() << " | " << Other.str();
        }
        if (O && Less) {
          ASSERT_EQ(*Less, *Value <= *O) << E.str() << " | " << Other.str();
        }
      }
  }
}

} // namespace
