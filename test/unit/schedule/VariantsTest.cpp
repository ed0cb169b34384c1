//===- VariantsTest.cpp - Tests of few schedules for many sizes -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Variants.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace kpc::schedule;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

using Cost = std::function<double(const std::vector<int64_t> &)>;

SizedRanking rank(std::vector<int64_t> Sizes,
                  const std::map<std::string, Cost> &Costs) {
  SizedRanking Out{std::move(Sizes), {}};
  for (const auto &[Name, Of] : Costs)
    if (double Takes = Of(Out.Sizes); Takes > 0)
      Out.Ranking.push_back({Name, Takes});
  std::stable_sort(Out.Ranking.begin(), Out.Ranking.end(),
                   [](const RankedSchedule &A, const RankedSchedule &B) {
                     return A.Microseconds < B.Microseconds;
                   });
  return Out;
}

std::vector<SizedRanking> rankAll(std::vector<int64_t> Rows,
                                  const std::map<std::string, Cost> &Costs) {
  std::vector<SizedRanking> Out;
  for (int64_t R : Rows)
    Out.push_back(rank({R}, Costs));
  return Out;
}

bool holds(const Variant &V, const std::vector<int64_t> &Sizes) {
  return std::any_of(
      V.Where.begin(), V.Where.end(), [&](const SizeBounds &Part) {
        return std::all_of(Part.begin(), Part.end(), [&](const SizeBound &B) {
          int64_t Product = 1;
          for (unsigned I : B.Sizes)
            Product *= Sizes[I];
          return B.Least <= Product && Product <= B.Most;
        });
      });
}

/// Tiles of so many rows, each of them `Start` and then so much a row.
Cost tiles(int64_t Rows, double Start, double Each) {
  return [=](const std::vector<int64_t> &Sizes) {
    return double((Sizes[0] + Rows - 1) / Rows) * (Start + double(Rows) * Each);
  };
}

TEST(Variants, SmallAndLargeTiles) {
  auto Samples =
      rankAll({1024, 1, 16, 64, 128, 256, 512, 2048},
              {{"small", tiles(64, 4, 0.1)}, {"large", tiles(1024, 4, 0.01)}});
  auto Found = chooseVariants(Samples, "large", 3);
  ASSERT_EQ(Found.size(), 1u);
  EXPECT_EQ(Found[0].Schedule, "small");
  ASSERT_EQ(Found[0].Where.size(), 1u);
  EXPECT_THAT(Found[0].Where[0], ElementsAre(SizeBound{{0}, 0, 64}));
  EXPECT_THAT(Found[0].Sizes, ElementsAre(64));
}

TEST(Variants, WhatCostsLittleMoreIsTheSame) {
  auto Constant = [](double Takes) {
    return [=](const std::vector<int64_t> &) { return Takes; };
  };
  EXPECT_THAT(chooseVariants(rankAll({8, 1, 2, 4}, {{"a", Constant(100)},
                                                    {"b", Constant(96)}}),
                             "a", 3),
              IsEmpty());
  // Two tenths of a microsecond are no difference.
  EXPECT_THAT(
      chooseVariants(
          rankAll({8, 1}, {{"a", Constant(2)}, {"b", Constant(1.85)}}), "a", 3),
      IsEmpty());
  EXPECT_EQ(
      chooseVariants(
          rankAll({8, 1}, {{"a", Constant(100)}, {"b", Constant(90)}}), "a", 3)
          .size(),
      1u);
}

TEST(Variants, TheOptimumKeepsItsOwn) {
  // The other one is nearly as good there, and better above and below.
  auto Found = chooseVariants(
      rankAll({100, 50, 200}, {{"a",
                                [](const std::vector<int64_t> &Sizes) {
                                  return Sizes[0] == 100 ? 10.0 : 20.0;
                                }},
                               {"b",
                                [](const std::vector<int64_t> &Sizes) {
                                  return Sizes[0] == 100 ? 10.4 : 10.0;
                                }}}),
      "a", 3);
  ASSERT_EQ(Found.size(), 1u);
  EXPECT_TRUE(holds(Found[0], {50}));
  EXPECT_FALSE(holds(Found[0], {100}));
  EXPECT_TRUE(holds(Found[0], {200}));
}

TEST(Variants, AtMostSoMany) {
  std::map<std::string, Cost> Costs;
  std::vector<int64_t> Rows;
  for (int64_t R : {1, 2, 4, 8, 16, 32}) {
    Rows.push_back(R);
    Costs[std::to_string(R)] = [R](const std::vector<int64_t> &Sizes) {
      return Sizes[0] == R ? 10.0 : 20.0;
    };
  }
  for (size_t Most : {0, 1, 2, 3, 5, 9}) {
    auto Found = chooseVariants(rankAll(Rows, Costs), "8", Most);
    EXPECT_EQ(Found.size(), std::min<size_t>(Most, 5));
    for (int64_t R : Rows)
      EXPECT_LE(std::count_if(Found.begin(), Found.end(),
                              [&](const Variant &V) { return holds(V, {R}); }),
                1);
  }
}

/// A family that is for few rows alone, and one that has no costs.
TEST(Variants, FamiliesThatAreNotEverywhere) {
  auto Only = [](bool (*Where)(int64_t), double Takes) {
    return [=](const std::vector<int64_t> &Sizes) {
      return Where(Sizes[0]) ? Takes : 0;
    };
  };
  auto Samples =
      rankAll({256, 1, 8, 16, 17, 4096},
              {{"few", Only([](int64_t R) { return R > 1 && R <= 16; }, 3)},
               {"many", Only([](int64_t R) { return R > 16; }, 9)}});
  auto Found = chooseVariants(Samples, "many", 3);
  ASSERT_EQ(Found.size(), 2u);
  EXPECT_EQ(Found[0].Schedule, "few");
  EXPECT_THAT(Found[0].Where, ElementsAre(SizeBounds{{{0}, 2, 16}}));
  EXPECT_EQ(Found[1].Schedule, "");
  EXPECT_THAT(Found[1].Where, ElementsAre(SizeBounds{{{0}, 0, 1}}));
}

/// What decides may be the product of two sizes; a size that goes with another
/// one is not asked for.
TEST(Variants, ProductsOfSizes) {
  std::map<std::string, Cost> Costs = {
      {"small", [](const auto &S) { return double(S[0] * S[2]) + 5; }},
      {"large", [](const auto &S) { return double(S[0] * S[2]) / 8 + 60; }}};
  std::vector<SizedRanking> Samples;
  for (int64_t A : {8, 1, 2, 4, 16, 32})
    for (int64_t B : {16, 1, 2, 4, 8, 32})
      Samples.push_back(rank({A, 3 * A, B}, Costs));
  auto Found = chooseVariants(Samples, "large", 3);
  ASSERT_EQ(Found.size(), 1u);
  ASSERT_EQ(Found[0].Where.size(), 1u);
  ASSERT_EQ(Found[0].Where[0].size(), 1u);
  EXPECT_THAT(Found[0].Where[0][0].Sizes, ElementsAre(0, 2));
  for (const SizedRanking &S : Samples) {
    const std::string &Got = holds(Found[0], S.Sizes) ? "small" : "large";
    EXPECT_LE(Costs[Got](S.Sizes), S.Ranking[0].Microseconds * 1.05);
  }
}

TEST(Variants, TheSameInAnyRun) {
  auto Samples = rankAll({64, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48},
                         {{"a", tiles(1, 1, 1)},
                          {"b", tiles(8, 2, 0.3)},
                          {"c", tiles(64, 6, 0.1)}});
  auto First = chooseVariants(Samples, "c", 2),
       Again = chooseVariants(Samples, "c", 2);
  ASSERT_EQ(First.size(), Again.size());
  for (size_t I = 0; I < First.size(); ++I) {
    EXPECT_EQ(First[I].Where, Again[I].Where);
    EXPECT_EQ(First[I].Sizes, Again[I].Sizes);
  }
  EXPECT_THAT(chooseVariants({}, "c", 2), IsEmpty());
}

} // namespace

/// Where the kernel for all sizes is not the best at the optimum, the best
/// there is taken before what saves more elsewhere.
TEST(Variants, OptimumFirst) {
  auto Samples =
      rankAll({1, 8, 16, 64, 256, 1024},
              {{"large", tiles(128, 2, 0.1)}, {"small", tiles(16, 2, 0.02)}});
  Samples.front().Ranking.insert(Samples.front().Ranking.begin(), {"one", 1});
  auto Found = chooseVariants(Samples, "large", 1);
  ASSERT_EQ(Found.size(), 1u);
  EXPECT_EQ(Found[0].Schedule, "one");
  EXPECT_TRUE(holds(Found[0], {1}));
  EXPECT_FALSE(holds(Found[0], {8}));
}

/// One schedule whose kernel is another for many rows.
TEST(Variants, Forms) {
  std::vector<SizedRanking> Samples;
  for (int64_t Rows : {1, 4, 8, 12, 16, 64, 256})
    Samples.push_back(
        {{Rows},
         {{"few", Rows > 8 ? 10.0 : 5.0, Rows > 8 ? "16 rows" : "8 rows"},
          {"many", 20}}});
  auto Found = chooseVariants(Samples, "many", 3);
  ASSERT_EQ(Found.size(), 2u);
  EXPECT_EQ(Found[0].Schedule, "few, 8 rows");
  EXPECT_TRUE(holds(Found[0], {8}));
  EXPECT_FALSE(holds(Found[0], {12}));
  EXPECT_EQ(Found[1].Schedule, "few, 16 rows");
}
