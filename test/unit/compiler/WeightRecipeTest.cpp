//===- WeightRecipeTest.cpp - Weights whose rows are padded ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightRecipe.h"
#include "compiler/artifact/PlanWeights.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace kpc;

namespace {

class WeightRecipe : public testing::Test {
protected:
  /// 3×5 elements of 16 bits: 1 to 15.
  WeightRecipe() {
    Source.ElementType = "f16";
    Source.Dims = {3, 5};
    for (uint16_t I = 1; I <= 15; ++I) {
      Bytes.push_back(uint8_t(I));
      Bytes.push_back(0);
    }
    Source.Bytes = {Bytes.data(), Bytes.size()};
  }

  llvm::Expected<artifact::Weight> prepare(const char *Recipe) {
    return prepareWeight(
        "w", Source,
        llvm::cast<mlir::ArrayAttr>(mlir::parseAttribute(Recipe, &Context)));
  }
  /// The result, read in parts of so many elements.
  static std::vector<int> read(const artifact::Weight &W, size_t Part) {
    std::vector<uint8_t> Out(W.Length, 0xAA);
    for (size_t At = 0; At < W.Length; At += 2 * Part)
      EXPECT_EQ(W.Read(At, Out.data() + At, std::min(2 * Part, W.Length - At)),
                std::nullopt);
    std::vector<int> Elements;
    for (size_t I = 0; I < Out.size(); I += 2)
      Elements.push_back(Out[I] | Out[I + 1] << 8);
    return Elements;
  }
  std::string refused(const char *Recipe) {
    auto W = prepare(Recipe);
    return W ? "" : llvm::toString(W.takeError());
  }

  mlir::MLIRContext Context;
  std::vector<uint8_t> Bytes;
  Weight Source;
};

/// By the type itself: another one of the same width is not taken for it.
TEST(ElementTypes, AreThoseThatKernelsRead) {
  mlir::MLIRContext Context;
  auto Of = [&](const char *Text) {
    return elementTypeOf(mlir::parseType(Text, &Context));
  };
  EXPECT_EQ(Of("bf16"), ElementType::BF16);
  EXPECT_EQ(Of("i1"), ElementType::Bool);
  EXPECT_EQ(Of("i8"), ElementType::I8);
  EXPECT_EQ(Of("ui64"), ElementType::U64);
  EXPECT_EQ(Of("f8E4M3FN"), ElementType::F8E4M3FN);
  EXPECT_EQ(Of("f8E5M2"), ElementType::F8E5M2);
  EXPECT_EQ(Of("f8E8M0FNU"), ElementType::F8E8M0);
  // Types below a byte have one each where a value was computed.
  EXPECT_EQ(Of("f4E2M1FN"), ElementType::U8);
  EXPECT_EQ(Of("i4"), ElementType::I8);
  EXPECT_EQ(Of("ui2"), ElementType::U8);
  for (const char *Text :
       {"f6E2M3FN", "ui1", "si8", "i128", "f80", "tf32", "index"})
    EXPECT_EQ(Of(Text), ElementType::Undefined) << Text;
}

} // namespace

TEST_F(WeightRecipe, RowsArePaddedWithZeros) {
  auto W = prepare("[{pad = array<i64: 8>}]");
  ASSERT_TRUE(bool(W)) << llvm::toString(W.takeError());
  EXPECT_EQ(W->Dims, (std::vector<int64_t>{3, 8}));
  EXPECT_EQ(W->Length, 48u);
  std::vector<int> Expected = {1,  2, 3, 4, 5,  0,  0,  0,  6,  7, 8, 9,
                               10, 0, 0, 0, 11, 12, 13, 14, 15, 0, 0, 0};
  for (size_t Part : {1, 3, 7, 8, 11, 24})
    EXPECT_EQ(read(*W, Part), Expected) << Part;
}

TEST_F(WeightRecipe, PaddingComesLast) {
  auto W = prepare("[{transpose = array<i64: 1, 0>}, {pad = array<i64: 4>}]");
  ASSERT_TRUE(bool(W)) << llvm::toString(W.takeError());
  EXPECT_EQ(W->Dims, (std::vector<int64_t>{5, 4}));
  std::vector<int> Expected = {1,  6, 11, 0, 2,  7, 12, 0,  3,  8,
                               13, 0, 4,  9, 14, 0, 5,  10, 15, 0};
  for (size_t Part : {1, 3, 20})
    EXPECT_EQ(read(*W, Part), Expected) << Part;
  EXPECT_NE(refused("[{pad = array<i64: 8>}, {transpose = array<i64: 1, 0>}]")
                .find("stands after pad"),
            std::string::npos);
}

TEST_F(WeightRecipe, WhatIsNoPaddingIsRefused) {
  for (const char *Recipe :
       {"[{pad = array<i64: 4>}]", "[{pad = array<i64: 8, 8>}]",
        "[{pad = array<i64: 9223372036854775807>}]", "[{pad = array<i64>}]"})
    EXPECT_NE(refused(Recipe).find("'pad' does not fit the tensor"),
              std::string::npos)
        << Recipe;
}

namespace {

/// The code of element (k, n) in tiles, by the text of graph.dequantise_tiles.
int codeInTiles(const std::vector<uint8_t> &Tiles, int64_t Bits, int64_t K,
                int64_t AllK, int64_t N) {
  int64_t Depth = 512 / Bits, Depths = (AllK + Depth - 1) / Depth,
          I = K % Depth, E = I % 8;
  E = Bits == 4 ? E / 2 + E % 2 * 4 : E / 4 * 4 + E % 4 / 2 + E % 2 * 2;
  int64_t Lane = N % 8 * 4 + I / 8 % 4, Number = I / 32 * 8 + E,
          Tile = N / 8 * Depths + K / Depth;
  uint8_t Byte = Tiles[size_t(Tile * 512 + Lane * 16 + Number * Bits / 8)];
  return Bits == 8 ? Byte : Number % 2 ? Byte >> 4 : Byte & 15;
}

} // namespace

TEST(WeightTiles, HoldEachCodeWhereLanesLoadIt) {
  constexpr int64_t K = 200, N = 13;
  mlir::MLIRContext Context;
  for (int64_t Bits : {4, 8})
    for (bool RowsOfK : {true, false})
      for (int64_t Flip : {int64_t(0), int64_t(1) << (Bits - 1)}) {
        int64_t OfK = RowsOfK ? 1 : N, OfN = RowsOfK ? K : 1;
        std::vector<uint8_t> Codes(size_t(K * N * Bits / 8));
        for (size_t I = 0; I < Codes.size(); ++I)
          Codes[I] = uint8_t(I * 37 + I / 251);
        Weight Source;
        Source.ElementType = "ui8";
        Source.Dims = {int64_t(Codes.size())};
        Source.Bytes = {Codes.data(), Codes.size()};
        std::string Recipe = "[{tiles = array<i64: " + std::to_string(Bits) +
                             ", 200, 13, " + std::to_string(OfK) + ", " +
                             std::to_string(OfN) + ", " + std::to_string(Flip) +
                             ">}]";
        auto W = prepareWeight("w", Source,
                               llvm::cast<mlir::ArrayAttr>(
                                   mlir::parseAttribute(Recipe, &Context)));
        ASSERT_TRUE(bool(W));
        EXPECT_EQ(W->Dims, (std::vector<int64_t>{2, Bits == 4 ? 2 : 4, 512}));
        std::vector<uint8_t> Tiles(W->Length);
        for (size_t At = 0; At < Tiles.size(); At += 96)
          EXPECT_EQ(W->Read(At, Tiles.data() + At,
                            std::min<size_t>(96, Tiles.size() - At)),
                    std::nullopt);
        for (int64_t Row = 0; Row < K; ++Row)
          for (int64_t Column = 0; Column < N; ++Column) {
            int64_t Number = Row * OfK + Column * OfN;
            int Code = Bits == 8
                           ? Codes[size_t(Number)]
                           : Codes[size_t(Number / 2)] >> (Number % 2 * 4) & 15;
            ASSERT_EQ(codeInTiles(Tiles, Bits, Row, K, Column), Code ^ Flip);
          }
      }
}

TEST(WeightTiles, AreRefusedWhereBytesAreMissing) {
  mlir::MLIRContext Context;
  Weight Source;
  Source.ElementType = "ui8";
  std::vector<uint8_t> Codes(99);
  Source.Dims = {99};
  Source.Bytes = {Codes.data(), Codes.size()};
  auto Refused = [&](const char *Recipe) {
    auto W = prepareWeight(
        "w", Source,
        llvm::cast<mlir::ArrayAttr>(mlir::parseAttribute(Recipe, &Context)));
    return W ? "" : llvm::toString(W.takeError());
  };
  EXPECT_EQ(Refused("[{tiles = array<i64: 4, 100, 2, 1, 100, 0>}]"),
            "weight 'w' has too few bytes");
  EXPECT_EQ(Refused("[{tiles = array<i64: 4, 8, 2, 1, 8, 0>}, {cast = f16}]"),
            "weight 'w': a recipe with tiles has no other steps");
}
