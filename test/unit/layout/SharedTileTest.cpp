//===- SharedTileTest.cpp - Swizzles and tiles, every index ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/SharedTile.h"
#include "dialects/layout/MatrixDescriptor.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace kpc::layout;

namespace {

constexpr SwizzleMode AllModes[] = {SwizzleMode::None, SwizzleMode::B32,
                                    SwizzleMode::B64, SwizzleMode::B128,
                                    SwizzleMode::B128Atom32};

int64_t bit(int64_t Address, int Number) { return Address >> Number & 1; }

/// Bit by bit: the target bit and the bit that is added to it.
int64_t swizzledByBits(SwizzleMode Mode, int64_t Address) {
  std::vector<std::pair<int, int>> Pairs;
  if (Mode == SwizzleMode::B32)
    Pairs = {{4, 7}};
  if (Mode == SwizzleMode::B64)
    Pairs = {{4, 7}, {5, 8}};
  if (Mode == SwizzleMode::B128)
    Pairs = {{4, 7}, {5, 8}, {6, 9}};
  if (Mode == SwizzleMode::B128Atom32)
    Pairs = {{5, 7}, {6, 8}};
  int64_t Out = Address;
  for (auto [To, From] : Pairs)
    if (bit(Address, From))
      Out = bit(Out, To) ? Out - (int64_t{1} << To) : Out + (int64_t{1} << To);
  return Out;
}

TEST(Swizzle, EveryAddressOfFourPeriods) {
  for (SwizzleMode Mode : AllModes) {
    std::set<int64_t> Seen;
    for (int64_t A = 0; A < 4096; ++A) {
      int64_t S = swizzle(Mode, A);
      EXPECT_EQ(S, swizzledByBits(Mode, A));
      EXPECT_EQ(swizzle(Mode, S), A);
      EXPECT_EQ(swizzle(Mode, A + repeatBytes(Mode)), S + repeatBytes(Mode));
      // A piece of 16 bytes moves as a whole and stays in its 128 bytes.
      EXPECT_EQ(S % 16, A % 16);
      EXPECT_EQ(S / 128, A / 128);
      Seen.insert(S);
    }
    EXPECT_EQ(Seen.size(), 4096u);
  }
}

TEST(Swizzle, PeriodsAndSpans) {
  EXPECT_EQ(repeatBytes(SwizzleMode::B32), 256);
  EXPECT_EQ(repeatBytes(SwizzleMode::B64), 512);
  EXPECT_EQ(repeatBytes(SwizzleMode::B128), 1024);
  EXPECT_EQ(repeatBytes(SwizzleMode::B128Atom32), 512);
  EXPECT_EQ(spanBytes(SwizzleMode::B64), 64);
  for (int64_t Span : {32, 64, 128})
    EXPECT_EQ(spanBytes(*swizzleOfSpan(Span)), Span);
  EXPECT_EQ(swizzleOfSpan(0), SwizzleMode::None);
  EXPECT_EQ(swizzleOfSpan(48), std::nullopt);
  // The first eight lines of 128 bytes are a Latin square of pieces.
  for (int64_t Line = 0; Line < 8; ++Line)
    for (int64_t Piece = 0; Piece < 8; ++Piece)
      EXPECT_EQ(swizzle(SwizzleMode::B128, 128 * Line + 16 * Piece),
                128 * Line + 16 * (Piece ^ Line));
}

/// Tiles of all orders, modes and sizes that there are.
std::vector<SharedTile> allTiles() {
  std::vector<SharedTile> Out;
  for (SwizzleMode Mode : AllModes)
    for (Major Order : {Major::K, Major::MN})
      for (int64_t Bits : {4, 8, 16, 32})
        for (int64_t Mn : {8, 64, 128, 512})
          for (int64_t KBytes : {32, 64, 128, 256}) {
            SharedTile T{Order, Mn, KBytes * 8 / Bits, Bits, Mode};
            if (T.problem().empty())
              Out.push_back(T);
          }
  return Out;
}

/// Element (mn, k) as TMA puts it there: boxes in order, each box line by line;
/// what a line leaves free is skipped.
std::vector<int64_t> bitsAsCopied(const SharedTile &T) {
  std::vector<int64_t> Place(T.Mn * T.K, -1);
  TileBoxes B = T.boxes();
  for (int64_t Box = 0; Box < B.Count; ++Box) {
    int64_t InnerStart = Box / B.PerChunk * B.Inner;
    int64_t OuterStart = Box % B.PerChunk * B.Outer;
    int64_t Address = T.boxOffset(Box);
    for (int64_t Line = 0; Line < B.Outer; ++Line, Address += spanBytes(T.Mode))
      for (int64_t I = 0; I < B.Inner; ++I) {
        int64_t Inner = InnerStart + I, Outer = OuterStart + Line;
        if (Inner >= T.innerExtent())
          continue;
        int64_t Mn = T.Order == Major::K ? Outer : Inner;
        int64_t K = T.Order == Major::K ? Inner : Outer;
        int64_t Bit = I * T.ElementBits;
        Place[Mn * T.K + K] =
            8 * swizzledByBits(T.Mode, Address + Bit / 8) + Bit % 8;
      }
  }
  return Place;
}

TEST(SharedTile, EveryElementOfEveryTile) {
  ASSERT_GT(allTiles().size(), 200u);
  for (const SharedTile &T : allTiles()) {
    std::vector<int64_t> Copied = bitsAsCopied(T);
    std::vector<bool> Taken(T.bytes() * 8);
    bool Right = true;
    for (int64_t Mn = 0; Mn < T.Mn; ++Mn)
      for (int64_t K = 0; K < T.K; ++K) {
        int64_t Bit = 8 * T.byteOffset(Mn, K) + T.bitOffset(Mn, K);
        Right &= Bit == Copied[Mn * T.K + K];
        Right &= Bit >= 0 && Bit + T.ElementBits <= 8 * T.bytes();
        Right = Right && !Taken[Bit];
        if (!Right)
          break;
        Taken[Bit] = true;
      }
    EXPECT_TRUE(Right) << "mode " << int(T.Mode) << " order " << int(T.Order)
                       << " bits " << T.ElementBits << " " << T.Mn << " x "
                       << T.K;
    EXPECT_EQ(T.alignment() % repeatBytes(T.Mode), 0);
    EXPECT_LE(T.transactionBytes(), T.bytes());
  }
}

TEST(SharedTile, Boxes) {
  SharedTile A{Major::K, 128, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(A.bytes(), 16384);
  EXPECT_EQ(A.alignment(), 1024);
  EXPECT_EQ(A.transactionBytes(), 16384);
  EXPECT_EQ(A.boxes().Count, 1);
  EXPECT_EQ(A.boxes().Inner, 64);
  EXPECT_EQ(A.boxes().Outer, 128);
  EXPECT_EQ(A.byteOffset(1, 8), 128);

  SharedTile B{Major::MN, 256, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(B.boxes().Count, 4);
  EXPECT_EQ(B.boxes().Inner, 64);
  EXPECT_EQ(B.boxes().Outer, 64);
  EXPECT_EQ(B.boxOffset(1), 64 * 128);

  SharedTile Long{Major::K, 384, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(Long.boxes().Count, 2);
  EXPECT_EQ(Long.boxes().Outer, 192);
  EXPECT_EQ(Long.boxOffset(1), 192 * 128);

  SharedTile Short{Major::K, 64, 32, 16, SwizzleMode::B128};
  EXPECT_EQ(Short.bytes(), 64 * 128); // lines stay 128 bytes apart
  EXPECT_EQ(Short.transactionBytes(), 64 * 64);
}

TEST(SharedTile, Problems) {
  SharedTile T{Major::K, 128, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(T.problem(), "");
  T.ElementBits = 6;
  EXPECT_NE(T.problem(), "");
  T = {Major::K, 128, 4, 16, SwizzleMode::B128};
  EXPECT_NE(T.problem(), "");
  T = {Major::MN, 128, 64, 4, SwizzleMode::B128};
  EXPECT_NE(T.problem(), "");
  T = {Major::K, 0, 64, 16, SwizzleMode::B128};
  EXPECT_NE(T.problem(), "");
  T = {Major::K, 260, 64, 16, SwizzleMode::B128};
  EXPECT_NE(T.problem(), "");
  T = {Major::K, 128, 64, 16, SwizzleMode::B128Atom32};
  EXPECT_NE(T.problem(), "");
}

} // namespace
