//===- AssumeTest.cpp - What would make two sizes equal -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/shape/Assume.h"

#include <gtest/gtest.h>

using namespace kpc::shape;

static const Expr H = Expr::symbol("h"), W = Expr::symbol("w");

TEST(Assume, AFeaturePyramid) {
  auto M = multipleThatMakesEqual({}, H.ceilDiv(32) * 2, H.ceilDiv(16));
  ASSERT_TRUE(M);
  EXPECT_EQ(M->Symbol, "h");
  EXPECT_EQ(M->Divisor, 32);
}

TEST(Assume, TheLeastMultipleIsTaken) {
  auto M =
      multipleThatMakesEqual({}, H.floorDiv(8).floorDiv(4) * 4, H.floorDiv(8));
  ASSERT_TRUE(M);
  EXPECT_EQ(M->Divisor, 32);
  M = multipleThatMakesEqual({}, H.floorDiv(2) * 2, H);
  ASSERT_TRUE(M);
  EXPECT_EQ(M->Divisor, 2);
}

TEST(Assume, WhatIsSaidIsEnough) {
  Facts F;
  F.declare("h", {.Min = 64, .Max = 640, .Divisor = 64});
  auto M = multipleThatMakesEqual(F, H.ceilDiv(32) * 2, H.ceilDiv(16));
  ASSERT_TRUE(M);
  EXPECT_EQ(M->Divisor, 64);
}

TEST(Assume, NothingMakesThemEqual) {
  EXPECT_FALSE(multipleThatMakesEqual({}, H, H + 1));
  EXPECT_FALSE(multipleThatMakesEqual({}, H, W));
  EXPECT_FALSE(multipleThatMakesEqual({}, H.floorDiv(2), H));
}

/// Whether the sizes are the same for all values, and known to be.
static bool alwaysEqual(Expr A, Expr B) {
  std::vector<Replacement> List = remaindersThatMakeEqual(A, B);
  for (const Replacement &R : List) {
    EXPECT_EQ(R.Left, R.Right);
    for (int64_t N = 0; N < 40; ++N)
      EXPECT_EQ(R.Part.evaluate({{"h", N}, {"w", 3}}),
                R.New.evaluate({{"h", N}, {"w", 3}}));
    A = A.replace(R.Part, R.New);
    B = B.replace(R.Part, R.New);
  }
  return A == B && !List.empty();
}

TEST(Assume, WhatIsFilledUpIsAMultiple) {
  for (int64_t K : {2, 8, 12}) {
    Expr Short = H + (Expr(0) - H).mod(K),
         Long = H + (Expr(K) - H.mod(K)).mod(K);
    for (const Expr &A : {Short, Long}) {
      EXPECT_TRUE(alwaysEqual(A, A.floorDiv(K) * K)) << A.str();
      EXPECT_TRUE(alwaysEqual(A * W, A.floorDiv(K) * W * K)) << A.str();
      EXPECT_FALSE(alwaysEqual(A + 1, (A + 1).floorDiv(K) * K)) << A.str();
    }
  }
  // No remainder is in the way.
  EXPECT_TRUE(remaindersThatMakeEqual(H.floorDiv(8) * 8, H).empty());
  EXPECT_TRUE(remaindersThatMakeEqual(H.mod(8), H).empty());
}

TEST(Assume, OfTwoSymbolsNoneIsGuessed) {
  Expr P = H * W;
  EXPECT_FALSE(multipleThatMakesEqual({}, P.floorDiv(4) * 4, P));
  EXPECT_TRUE(multiplesThatMakeEqual({}, P.floorDiv(4) * 4, P).empty());
}

TEST(Assume, BlocksOfAnImage) {
  Expr B = Expr::symbol("b");
  auto All = multiplesThatMakeEqual({}, B * H.floorDiv(2) * W.floorDiv(8) * 16,
                                    B * H * W);
  ASSERT_EQ(All.size(), 2U);
  EXPECT_EQ(All[0].Symbol, "h");
  EXPECT_EQ(All[0].Divisor, 2);
  EXPECT_EQ(All[1].Symbol, "w");
  EXPECT_EQ(All[1].Divisor, 8);
  Facts F;
  F.declare("h", {.Min = 6, .Max = 60, .Divisor = 3});
  All = multiplesThatMakeEqual(F, H.floorDiv(2) * W.floorDiv(2) * 4, H * W);
  ASSERT_EQ(All.size(), 2U);
  EXPECT_EQ(All[0].Divisor, 6);
  EXPECT_TRUE(multiplesThatMakeEqual({}, H.floorDiv(2), W).empty());
}

TEST(Assume, RoundingTwiceIsRoundingOnce) {
  Expr Once = Multiple{"h", 32}.rounded();
  std::map<std::string, Expr, std::less<>> Map = {{"h", Once}};
  EXPECT_EQ(Once.substitute(Map), Once);
}

TEST(Assume, AValue) {
  auto V = valueThatMakesEqual({}, (H + 15).floorDiv(48), 1);
  ASSERT_TRUE(V);
  EXPECT_EQ(V->Value, 48);
  EXPECT_EQ(V->Least, 33);
  EXPECT_EQ(V->Most, 80);
  Facts F;
  F.declare("h", {.Min = 1, .Max = 100, .Optimum = 64});
  EXPECT_EQ(valueThatMakesEqual(F, (H + 15).floorDiv(48), 1)->Value, 64);
  F.declare("h", {.Min = 90, .Max = 100});
  EXPECT_FALSE(valueThatMakesEqual(F, (H + 15).floorDiv(48), 1));
  EXPECT_FALSE(valueThatMakesEqual({}, H.floorDiv(4) + W, 1));
}

// min(h, 1) is 1 from 1 on: no value is better than another.
TEST(Assume, AValueThatHoldsFromSomeSizeOn) {
  auto V = valueThatMakesEqual({}, Expr::min(H, 1), 1);
  ASSERT_TRUE(V);
  EXPECT_EQ(V->Least, 1);
  EXPECT_TRUE(V->HasNoEnd);
  EXPECT_FALSE(valueThatMakesEqual({}, (H + 15).floorDiv(48), 1)->HasNoEnd);
  Facts F;
  F.declare("h", {.Min = 0, .Max = 2000000000, .Optimum = 1000000000});
  EXPECT_TRUE(valueThatMakesEqual(F, Expr::min(H, 1), 1));
}

TEST(Assume, ASideOfABound) {
  auto Parts = partsThatMakeEqual({}, H, Expr::max(H - 1, 0) + 1);
  ASSERT_EQ(Parts.size(), 1u);
  EXPECT_EQ(Parts[0].New, H - 1);
  EXPECT_EQ(Parts[0].Left, Expr(1));
  EXPECT_EQ(Parts[0].Right, H);
  EXPECT_FALSE(Parts[0].Equal);
  // A slice of a table from h to h + w, which has 64 rows.
  Parts = partsThatMakeEqual({}, W, Expr::max(Expr::min(H + W, 64) - H, 0));
  ASSERT_FALSE(Parts.empty());
  Expr Size = Expr::max(Expr::min(H + W, 64) - H, 0);
  for (const Replacement &R : Parts)
    Size = Size.replace(R.Part, R.New);
  EXPECT_EQ(Size, W);
}

TEST(Assume, APartIsWhatTheOtherSizeLeaves) {
  auto Parts = partsThatMakeEqual({}, H.floorDiv(3) + 1, W.floorDiv(2) * W);
  ASSERT_EQ(Parts.size(), 1u);
  EXPECT_EQ(Parts[0].Part, H.floorDiv(3));
  EXPECT_EQ(Parts[0].New, W.floorDiv(2) * W - 1);
  EXPECT_TRUE(Parts[0].Equal);
}

TEST(Assume, NoPartMakesThemEqual) {
  EXPECT_TRUE(partsThatMakeEqual({}, H, H + 1).empty());
  EXPECT_TRUE(partsThatMakeEqual({}, H.floorDiv(2), H.floorDiv(2) + 1).empty());
  EXPECT_TRUE(partsThatMakeEqual({}, Expr::max(H - 1, 0), H).empty());
  Facts F;
  F.declare("h", {.Min = 1, .Max = 10});
  EXPECT_TRUE(partsThatMakeEqual(F, H.floorDiv(3), 7).empty());
}

TEST(Assume, ASquareOfPatches) {
  auto Parts = squareThatMakesEqual({}, H.floorDiv(8) * W.floorDiv(8) + 1, 17);
  ASSERT_TRUE(Parts);
  EXPECT_EQ(Parts->Root, 4);
  EXPECT_FALSE(squareThatMakesEqual({}, H.floorDiv(8) * W + 1, 16));
  EXPECT_FALSE(squareThatMakesEqual({}, H.floorDiv(8) + 1, 17));
}

TEST(Assume, WhatTwoProductsDoNotShare) {
  auto [P, Q] = withoutCommonFactors(H * W * 12, H * (W + 1) * 8);
  EXPECT_EQ(P, W * 3);
  EXPECT_EQ(Q, W * 2 + 2);
  auto [R, S] = withoutCommonFactors(H * -4, H.floorDiv(2) * 6);
  EXPECT_EQ(R, H * -2);
  EXPECT_EQ(S, H.floorDiv(2) * 3);
  auto [T, U] = withoutCommonFactors(0, H * 2);
  EXPECT_EQ(T, Expr(0));
  EXPECT_EQ(U, H * 2);
}
