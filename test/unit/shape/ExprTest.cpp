//===- ExprTest.cpp - Laws and text of size expressions -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/Expr.h"

#include <gtest/gtest.h>

#include <limits>

using namespace kpc::shape;

namespace {

const Expr B = Expr::symbol("batch"), S = Expr::symbol("seq"),
           H = Expr::symbol("h");
constexpr int64_t Largest = std::numeric_limits<int64_t>::max();
constexpr int64_t Smallest = std::numeric_limits<int64_t>::min();

TEST(Expr, RingLaws) {
  EXPECT_EQ(B * S, S * B);
  EXPECT_EQ(B + S, S + B);
  EXPECT_EQ((B * S) * 4, B * (S * 4));
  EXPECT_EQ((B * S) * H, (B * H) * S);
  EXPECT_EQ((B + S) + H, B + (S + H));
  EXPECT_EQ(B * (S + 1), B * S + B);
  EXPECT_EQ((B + S) * (B - S), B * B - S * S);
  EXPECT_EQ(B - B, Expr(0));
  EXPECT_EQ(B * 0, Expr());
  EXPECT_NE(B, S);
  EXPECT_EQ((B + S).hash(), (S + B).hash());
}

TEST(Expr, ExactDivision) {
  EXPECT_EQ((B * S).floorDiv(S), B);
  EXPECT_EQ((B * S).mod(S), Expr(0));
  EXPECT_EQ((B * S + B).floorDiv(S + 1), B);
  EXPECT_EQ((B * S * 12).floorDiv(S * 4), B * 3);
  EXPECT_EQ((B * B - S * S).floorDiv(B - S), B + S);
  EXPECT_EQ((B * 4 + 2).floorDiv(4), B);
  EXPECT_EQ((B * 4 + 2).mod(4), Expr(2));
  EXPECT_EQ((B * S).ceilDiv(S), B);
  EXPECT_EQ((B * 8).ceilDiv(8), B);
  EXPECT_EQ(Expr(INT64_MAX).ceilDiv(2), Expr(INT64_MAX / 2 + 1));
  EXPECT_EQ((S - 1).floorDiv(S), Expr(0));
  EXPECT_EQ(B.floorDiv(1), B);
  EXPECT_EQ(B.mod(1), Expr(0));
}

TEST(Expr, DivisionThatStays) {
  EXPECT_EQ((B * S).floorDiv(S * 4), B.floorDiv(4));
  EXPECT_EQ((B * 6).floorDiv(4), B + B.floorDiv(2));
  EXPECT_EQ((B * 2 + 1).floorDiv(4), B.floorDiv(2));
  EXPECT_EQ((B * 2 + 1).mod(4), B.mod(2) * 2 + 1);
  EXPECT_EQ(B.floorDiv(4).floorDiv(8), B.floorDiv(32));
  EXPECT_EQ((B.floorDiv(4) + 3).floorDiv(8), (B + 12).floorDiv(32));
  EXPECT_EQ((B + 7).floorDiv(8), B.ceilDiv(8));
  EXPECT_EQ(B.mod(8).mod(8), B.mod(8));
  EXPECT_EQ(B.mod(8).floorDiv(8), Expr(0));
  EXPECT_EQ((B + S * 4).floorDiv(S), B.floorDiv(S) + 4);
}

TEST(Expr, MinMax) {
  EXPECT_EQ(Expr::min(B, B), B);
  EXPECT_EQ(Expr::min(B, S), Expr::min(S, B));
  EXPECT_EQ(Expr::min(Expr::min(B, S), H), Expr::min(B, Expr::min(H, S)));
  EXPECT_EQ(Expr::min(B, B + 3), B);
  EXPECT_EQ(Expr::max(B, B + S), B + S);
  EXPECT_EQ(Expr::max(B, 0), B); // sizes are not negative
  EXPECT_EQ(Expr::min(3, 5), Expr(3));
  EXPECT_EQ(Expr::max(Expr::max(B, 3), 5), Expr::max(5, B));
  // An offset goes to the arguments, so that differences of differences stay
  // as small as the first.
  EXPECT_EQ(Expr::max(Expr::max(B - 1, 0) - 1, 0), Expr::max(B - 2, 0));
  EXPECT_EQ(Expr::min(7 - Expr::max(B, S), H + 7),
            Expr::min(Expr::min(7 - B, 7 - S), H + 7));
  EXPECT_EQ(Expr::max(-5, 0 - Expr::min(B, 4)), Expr::max(0 - B, -4));
  EXPECT_EQ(Expr::max(Expr::max(B, 1) * 2 - 1, 0), Expr::max(B * 2 - 1, 1));
  EXPECT_NE(Expr::max(Expr::min(B, S) - 1, 0), Expr::max(B - 1, S - 1));
}

TEST(Expr, Text) {
  EXPECT_EQ((B * 4 + 2).str(), "batch*4 + 2");
  EXPECT_EQ((Expr(2) - B).str(), "-batch + 2");
  EXPECT_EQ((B * S - S * 3 - 1).str(), "batch*seq - seq*3 - 1");
  EXPECT_EQ(B.floorDiv(S).str(), "floordiv(batch, seq)");
  EXPECT_EQ(B.ceilDiv(8).str(), "floordiv(batch + 7, 8)");
  EXPECT_EQ(Expr::max(Expr::min(B, S), H).str(), "max(h, min(batch, seq))");
  EXPECT_EQ((B * B).str(), "batch*batch");
  EXPECT_EQ(Expr(0).str(), "0");
  EXPECT_EQ(Expr::symbol("s0 + 1").str(), "`s0 + 1`");
  EXPECT_EQ(Expr::symbol("min").str(), "`min`");
}

TEST(Expr, TextRoundTrip) {
  const Expr Samples[] = {
      0,
      Smallest,
      Largest,
      B * Smallest,
      B + Smallest,
      B - Largest,
      B.floorDiv(S - 1),
      Expr::symbol("overflow"),
      Expr::symbol(""),
      Expr::symbol("`a``"),
      Expr::symbol("x.y_1"),
      Expr(Largest) + 1,
      Expr::min(B.mod(H), Expr::max(S, 3)) * B - 7,
  };
  for (const Expr &E : Samples) {
    std::optional<Expr> Back = Expr::parse(E.str());
    ASSERT_TRUE(Back) << E.str();
    EXPECT_EQ(*Back, E) << E.str();
    EXPECT_EQ(Back->str(), E.str());
  }
}

TEST(Expr, Parse) {
  EXPECT_EQ(Expr::parse(" ( batch+1 )*-seq "), (B + 1) * S * -1);
  EXPECT_EQ(Expr::parse("ceildiv(batch*64, 1024)"), B.ceilDiv(16));
  EXPECT_EQ(Expr::parse("--3"), Expr(3));
  EXPECT_EQ(Expr::parse("2 - -9223372036854775806"), Expr(Largest) + 1);
}

TEST(Expr, ParseErrors) {
  const char *Bad[] = {"",      "batch +",     "(batch",
                       "1x",    "batch seq",   "floordiv(batch)",
                       "min",   "`open",       "9223372036854775809",
                       "a % b", "max(a, b, c)"};
  for (const char *Text : Bad) {
    std::string Error;
    EXPECT_FALSE(Expr::parse(Text, &Error)) << Text;
    EXPECT_FALSE(Error.empty()) << Text;
  }
  std::string Error;
  Expr::parse("batch * $", &Error);
  EXPECT_EQ(Error, "expected a size at position 8");
}

TEST(Expr, HostileText) {
  EXPECT_FALSE(Expr::parse(std::string(100000, '(')));
  std::string Power = "(a + b + c + d)";
  for (int I = 0; I != 24; ++I)
    Power = Power + "*(a + b + c + d + e)";
  std::optional<Expr> E = Expr::parse(Power);
  ASSERT_TRUE(E);
  EXPECT_TRUE(E->overflowed()); // too many terms
  std::string Nested = "a";
  for (int I = 0; I != 100; ++I)
    Nested = "floordiv(" + Nested + ", " + std::to_string(I + 2) + " + b)";
  EXPECT_TRUE(Expr::parse(Nested));
}

TEST(Expr, Overflow) {
  Expr E = B * Largest * 2;
  EXPECT_TRUE(E.overflowed());
  EXPECT_EQ(E.str(), "overflow");
  EXPECT_EQ(E, E);
  EXPECT_NE(E, Expr(0));
  EXPECT_TRUE((E - E).overflowed());
  EXPECT_TRUE((E * 0).overflowed());
  EXPECT_TRUE(E.floorDiv(2).overflowed());
  EXPECT_TRUE(Expr::min(E, 2).overflowed());
  EXPECT_FALSE(E.evaluate({{"batch", 0}}));
  EXPECT_FALSE(E.isConstant());
  EXPECT_FALSE((Expr(Largest) - 1 + 1).overflowed());
  EXPECT_TRUE((Expr(Smallest) * -1).overflowed());
  // Each value fits, the sum does not.
  EXPECT_FALSE((B * Largest + S).evaluate({{"batch", 1}, {"seq", 1}}));
}

TEST(Expr, Evaluate) {
  Bindings V{{"batch", 7}, {"seq", 3}};
  EXPECT_EQ((B * S + 1).evaluate(V), 22);
  EXPECT_EQ(B.floorDiv(S).evaluate(V), 2);
  EXPECT_EQ((S - B).mod(3).evaluate(V), 2);
  EXPECT_FALSE(H.evaluate(V));
  EXPECT_FALSE(B.floorDiv(H).evaluate({{"batch", 1}, {"h", 0}}));
  EXPECT_FALSE(B.floorDiv(0).evaluate(V));
  EXPECT_FALSE(B.mod(-2).evaluate(V));
}

TEST(Expr, SubstituteAndSymbols) {
  Expr E = (B * S + 3).floorDiv(H);
  EXPECT_EQ(E.substitute({{"h", S}, {"batch", 4}}), (S * 4 + 3).floorDiv(S));
  EXPECT_EQ(E.substitute({{"h", 2}, {"batch", 2}}), S + 1);
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  EXPECT_EQ(Names, (std::set<std::string, std::less<>>{"batch", "h", "seq"}));
  EXPECT_EQ(S.asSymbol(), "seq");
  EXPECT_FALSE((S * 2).asSymbol());
  EXPECT_EQ(Expr(5).asConstant(), 5);
  EXPECT_FALSE(S.asConstant());
}

} // namespace
