//===- TrianglesTest.cpp - Weights that are causal masks ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Triangles.h"

#include <gtest/gtest.h>

#include <limits>

using namespace kpc;
using frontend::Triangle;

namespace {

/// Rows x Columns with `Inside` where column <= row + Diagonal.
template <typename T> struct Mask {
  std::vector<T> Elements;
  int64_t Rows, Columns;

  Mask(int64_t Rows, int64_t Columns, int64_t Diagonal, T Inside, T Outside)
      : Rows(Rows), Columns(Columns) {
    for (int64_t R = 0; R < Rows; ++R)
      for (int64_t C = 0; C < Columns; ++C)
        Elements.push_back(C <= R + Diagonal ? Inside : Outside);
  }
  std::optional<Triangle> read(std::string Type, bool OfHeads = false) const {
    Weight W{std::move(Type), {1, 1, Rows, Columns}, {}, {}};
    if (OfHeads)
      W.Dims[1] = 2;
    W.Bytes = {reinterpret_cast<const uint8_t *>(Elements.data()),
               Elements.size() * sizeof(T)};
    return Triangle::of(W);
  }
};

TEST(Triangles, MasksOfEachType) {
  constexpr float Inf = std::numeric_limits<float>::infinity();
  for (int64_t Diagonal : {0, 1, 3}) {
    auto Bools = Mask<uint8_t>(9, 8, Diagonal, 1, 0).read("i1");
    ASSERT_TRUE(Bools);
    EXPECT_EQ(Bools->Diagonal, Diagonal);
    EXPECT_EQ(Bools->Inside, 1);
    auto Hidden = Mask<uint8_t>(8, 9, Diagonal, 0, 1).read("i1");
    ASSERT_TRUE(Hidden);
    EXPECT_EQ(Hidden->Inside, 0);
    EXPECT_TRUE(Mask<int64_t>(8, 8, Diagonal, 1, 0).read("i64"));
    EXPECT_TRUE(Mask<float>(8, 8, Diagonal, 0, -Inf).read("f32"));
    EXPECT_TRUE(Mask<double>(8, 8, Diagonal, 0, -1e9).read("f64"));
    // -65504 of f16, and -1e9 of bf16.
    EXPECT_TRUE(Mask<uint16_t>(8, 8, Diagonal, 0, 0xfbff).read("f16"));
    EXPECT_TRUE(Mask<uint16_t>(8, 8, Diagonal, 0, 0xce6e).read("bf16"));
  }
}

TEST(Triangles, OtherWeightsStay) {
  // Sums by a product with ones, and numbers that hide nothing.
  EXPECT_FALSE(Mask<float>(8, 8, 0, 1, 0).read("f32"));
  EXPECT_FALSE(Mask<float>(8, 8, 0, 0, -100).read("f32"));
  EXPECT_FALSE(Mask<int64_t>(8, 8, 0, 2, 0).read("i64"));
  // Everything and nothing, a row of a window, more than one matrix.
  EXPECT_FALSE(Mask<uint8_t>(8, 8, 7, 1, 0).read("i1"));
  EXPECT_FALSE(Mask<uint8_t>(8, 8, -9, 1, 0).read("i1"));
  EXPECT_FALSE(Mask<uint8_t>(1, 8, 2, 1, 0).read("i1"));
  EXPECT_FALSE(Mask<uint8_t>(8, 8, 0, 1, 0).read("i1", /*OfHeads=*/true));
  // One element is not as it should be, wherever it is.
  for (size_t At = 0; At < 64; ++At) {
    Mask<uint8_t> Changed(8, 8, 2, 1, 0);
    Changed.Elements[At] ^= 1;
    EXPECT_FALSE(Changed.read("i1")) << At;
  }
}

} // namespace
