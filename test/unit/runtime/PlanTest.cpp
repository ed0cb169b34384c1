//===- PlanTest.cpp - Arena packing and size programs ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/Expr.h"
#include "runtime/src/Arena.h"
#include "runtime/src/Evaluate.h"

#include <gtest/gtest.h>
#include <random>

using namespace kpc;
using namespace kpc::rt;
using shape::Expr;

namespace {

void expectGood(const std::vector<ArenaItem> &Items, const ArenaPlan &Plan) {
  for (size_t I = 0; I < Items.size(); ++I) {
    const ArenaItem &A = Items[I];
    ASSERT_EQ(A.Offset % std::max<uint64_t>(A.Alignment, 64), 0u);
    ASSERT_LE(A.Offset + A.Size, Plan.Size);
    for (size_t J = 0; J < I; ++J) {
      const ArenaItem &B = Items[J];
      bool SameTime = A.FirstStep <= B.LastStep && B.FirstStep <= A.LastStep;
      bool SameBytes =
          A.Offset < B.Offset + B.Size && B.Offset < A.Offset + A.Size;
      ASSERT_FALSE(SameTime && SameBytes) << I << " and " << J;
    }
  }
  ASSERT_LE(Plan.LiveBytes, Plan.Size);
  ASSERT_LE(Plan.Size, Plan.SumBytes);
}

TEST(Arena, ItemsThatLiveTogetherShareNothing) {
  std::mt19937 Random(3);
  for (int Round = 0; Round < 150; ++Round) {
    std::vector<ArenaItem> Items(1 + Random() % 60);
    for (ArenaItem &Item : Items) {
      Item.Size = Random() % 5000;
      Item.Alignment = uint64_t(1) << (Random() % 10);
      Item.FirstStep = Random() % 40;
      Item.LastStep = Item.FirstStep + Random() % 12;
    }
    std::vector<ArenaItem> Again = Items;
    auto Plan = packArena(Items, Round % 4 != 0);
    ASSERT_TRUE(Plan);
    expectGood(Items, *Plan);
    ASSERT_TRUE(packArena(Again, Round % 4 != 0));
    for (size_t I = 0; I < Items.size(); ++I)
      ASSERT_EQ(Items[I].Offset, Again[I].Offset);
  }
}

// Sizes that are known later move nothing that lies there already.
TEST(Arena, LaterStagesMoveNothing) {
  std::mt19937 Random(5);
  for (int Round = 0; Round < 200; ++Round) {
    std::vector<ArenaItem> Items(1 + Random() % 40);
    for (ArenaItem &Item : Items) {
      Item.FirstStep = Random() % 30;
      Item.LastStep = Item.FirstStep + Random() % 20;
      Item.Stage = Item.FirstStep >= 20 ? 2 : Item.FirstStep >= 10 ? 1 : 0;
      Item.Size = Random() % 5000;
    }
    bool Reuse = Round % 4 != 0;
    auto Plan = packArena(Items, Reuse);
    ASSERT_TRUE(Plan);
    expectGood(Items, *Plan);
    for (uint32_t Known = 0; Known < 2; ++Known) {
      std::vector<ArenaItem> Early = Items;
      for (ArenaItem &Item : Early)
        if (Item.Stage > Known)
          Item.Size = 0;
      ASSERT_TRUE(packArena(Early, Reuse));
      for (size_t I = 0; I < Items.size(); ++I)
        if (Items[I].Stage <= Known)
          ASSERT_EQ(Early[I].Offset, Items[I].Offset) << Round << " " << I;
    }
  }
}

// The shape of most models: a chain, each value dying as the next but one is
// born, some kept for a residual.
TEST(Arena, ChainsPackTightly) {
  std::mt19937 Random(5);
  for (size_t Length : {10u, 100u, 1500u, 20000u}) {
    std::vector<ArenaItem> Items;
    for (uint32_t I = 0; I < Length; ++I)
      Items.push_back(
          {64 * (1 + Random() % 50), 64, I, I + 1 + (I % 4 == 0 ? 3u : 0u), 0});
    auto Plan = packArena(Items, true);
    ASSERT_TRUE(Plan);
    EXPECT_LE(double(Plan->Size), 1.15 * double(Plan->LiveBytes)) << Length;
    if (Length <= 1500)
      expectGood(Items, *Plan);
  }
}

TEST(Arena, ManyItemsStayQuick) {
  std::vector<ArenaItem> Items;
  for (uint32_t I = 0; I < 100000; ++I)
    Items.push_back({64 + I % 7 * 64, 64, I, I + 1, 0});
  auto Plan = packArena(Items, true);
  ASSERT_TRUE(Plan);
  EXPECT_LT(Plan->Size, 10000u);
  // Too many pairs that live together for the better search.
  Items.clear();
  std::mt19937 Random(4);
  for (uint32_t I = 0; I < 6000; ++I)
    Items.push_back({Random() % 5000, uint64_t(1) << (Random() % 10), I / 2,
                     I / 2 + uint32_t(Random() % 3000), 0});
  Plan = packArena(Items, true);
  ASSERT_TRUE(Plan);
  expectGood(Items, *Plan);
}

TEST(Arena, SizesThatDoNotFitAreRefused) {
  std::vector<ArenaItem> Items(3, ArenaItem{uint64_t(1) << 61, 64, 0, 0, 0});
  EXPECT_FALSE(packArena(Items, true));
  Items = {{~uint64_t(0), 64, 0, 0, 0}};
  EXPECT_FALSE(packArena(Items, true));
  Items = {};
  EXPECT_EQ(packArena(Items, true)->Size, 0u);
}

Expr randomExpr(std::mt19937 &Random, int Depth) {
  static const char *Names[] = {"a", "b", "c"};
  if (Depth == 0 || Random() % 5 == 0)
    return Random() % 2 ? Expr::symbol(Names[Random() % 3])
                        : Expr(int64_t(Random() % 20) - 5);
  Expr A = randomExpr(Random, Depth - 1), B = randomExpr(Random, Depth - 1);
  switch (Random() % 7) {
  case 0:
  case 1:
    return A + B;
  case 2:
    return A * B;
  case 3:
    return A.floorDiv(Expr(1 + int64_t(Random() % 9)));
  case 4:
    return A.mod(Expr(1 + int64_t(Random() % 9)));
  case 5:
    return Expr::min(A, B);
  default:
    return Expr::max(A, B);
  }
}

/// A model with one expression, as the writer stores it.
struct OneExpr {
  explicit OneExpr(const Expr &E) {
    std::vector<int64_t> Words =
        E.postfix([](std::string_view Name) { return int64_t(Name[0] - 'a'); });
    std::vector<flatbuffers::Offset<format::Symbol>> Symbols;
    for (const char *Name : {"a", "b", "c"})
      Symbols.push_back(format::CreateSymbolDirect(Builder, Name));
    auto List = Builder.CreateVector(Symbols);
    std::vector<flatbuffers::Offset<format::Expr>> Exprs = {
        format::CreateExprDirect(Builder, &Words)};
    auto Stored = Builder.CreateVector(Exprs);
    format::FinishModelBuffer(Builder,
                              format::CreateModel(Builder, List, Stored));
    Checked = bool(format::readTable(Builder.GetBufferPointer(),
                                     Builder.GetSize(), 1 << 20));
    M = format::GetModel(Builder.GetBufferPointer());
    Program = M->exprs()->Get(0);
  }
  flatbuffers::FlatBufferBuilder Builder;
  bool Checked;
  const format::Model *M;
  const format::Expr *Program;
};

TEST(Evaluate, AgreesWithTheAlgebra) {
  std::mt19937 Random(9);
  int Compared = 0;
  for (int Round = 0; Round < 2000; ++Round) {
    Expr E = randomExpr(Random, 4);
    if (E.overflowed())
      continue;
    OneExpr Stored(E);
    if (!Stored.Checked)
      continue; // deeper than programs may be
    for (int64_t A : {0, 1, 7})
      for (int64_t B : {1, 100}) {
        int64_t Values[3] = {A, B, A + B};
        auto Want = E.evaluate({{"a", A}, {"b", B}, {"c", A + B}});
        auto Got = evaluate(*Stored.Program, Values);
        ASSERT_EQ(Got, Want) << E.str();
        ++Compared;
        // Its text is read back as the same.
        auto Parsed = Expr::parse(exprText(*Stored.M, *Stored.Program));
        ASSERT_TRUE(Parsed) << exprText(*Stored.M, *Stored.Program);
        ASSERT_EQ(Parsed->evaluate({{"a", A}, {"b", B}, {"c", A + B}}), Want)
            << E.str() << " is printed "
            << exprText(*Stored.M, *Stored.Program);
      }
  }
  EXPECT_GT(Compared, 5000);
}

TEST(Evaluate, SolvesForOneUnknown) {
  Expr A = Expr::symbol("a"), B = Expr::symbol("b");
  int64_t Symbols[3] = {0, 5, 0};
  uint8_t Known[3] = {0, 1, 0};
  auto Solve = [&](const Expr &E, int64_t Value) -> std::optional<int64_t> {
    OneExpr Stored(E);
    auto S = solve(*Stored.Program, Value, Symbols, Known);
    return S ? std::optional(S->Value) : std::nullopt;
  };
  EXPECT_EQ(Solve(A * 2 + 1, 7), 3);
  EXPECT_EQ(Solve(A * 2 + 1, 8), std::nullopt);
  EXPECT_EQ(Solve(A * B, 15), 3);
  EXPECT_EQ(Solve(A + B, 4), std::nullopt);  // would be negative
  EXPECT_EQ(Solve(B * 2, 10), std::nullopt); // nothing unknown
  EXPECT_EQ(Solve(A + Expr::symbol("c"), 3), std::nullopt);
  EXPECT_EQ(Solve(A.floorDiv(Expr(2)), 3), std::nullopt); // not linear
}

} // namespace
