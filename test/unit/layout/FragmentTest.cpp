//===- FragmentTest.cpp - Fragments: every thread, register, element ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/Fragment.h"
#include "dialects/layout/InstructionShapes.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

using namespace kpc::layout;

namespace {

using Place = std::pair<int64_t, int64_t>;

Place pairOf(Position P) { return {P.Row, P.Column}; }

TEST(Fragment, WgmmaAccumulator) {
  for (int64_t N = 8; N <= 256; N += 8) {
    std::set<Place> Seen;
    for (int64_t T = 0; T < 128; ++T)
      for (int64_t I = 0; I < N / 2; ++I) {
        int64_t W = T / 32, L = T % 32, G = L / 4, Q = L % 4;
        Position P = wgmmaAccumulator(T, I);
        EXPECT_EQ(P.Row, 16 * W + G + 8 * ((I / 2) % 2));
        EXPECT_EQ(P.Column, 8 * (I / 4) + 2 * Q + I % 2);
        EXPECT_EQ(wgmmaAccumulatorPlace(P), (AccumulatorPlace{T, I}));
        EXPECT_TRUE(P.Row < 64 && P.Column < N);
        Seen.insert(pairOf(P));
      }
    EXPECT_EQ(Seen.size(), size_t(64 * N));
  }
}

/// k as the instruction's manual says it, type by type.
int64_t kByHand(int64_t Bits, int64_t Q, int64_t Half, int64_t E) {
  switch (Bits) {
  case 32:
    return Q + 4 * Half;
  case 16:
    return 2 * Q + E + 8 * Half;
  case 8:
    return 4 * Q + E + 16 * Half;
  default:
    return 8 * Q + E + 32 * Half;
  }
}

TEST(Fragment, WgmmaAFromRegisters) {
  for (int64_t Bits : {8, 16, 32}) {
    std::set<Place> Seen;
    for (int64_t T = 0; T < 128; ++T)
      for (int64_t R = 0; R < 4; ++R)
        for (int64_t E = 0; E < 32 / Bits; ++E) {
          Position P = wgmmaA(Bits, T, R, E);
          EXPECT_EQ(P.Row, 16 * (T / 32) + T % 32 / 4 + 8 * (R % 2));
          EXPECT_EQ(P.Column, kByHand(Bits, T % 4, R / 2, E));
          Seen.insert(pairOf(P));
        }
    EXPECT_EQ(Seen.size(), size_t(64 * 256 / Bits));
  }
}

void checkMmaSync(int64_t Bits, int64_t K) {
  std::set<Place> A, B, C;
  for (int64_t L = 0; L < 32; ++L) {
    int64_t G = L / 4, Q = L % 4;
    for (int64_t E = 0; E < 32 / Bits; ++E) {
      for (int64_t R = 0; R < mmaARegisters(Bits, K); ++R) {
        Position P = mmaA(Bits, L, R, E);
        EXPECT_EQ(P, (Position{G + 8 * (R % 2), kByHand(Bits, Q, R / 2, E)}));
        EXPECT_TRUE(P.Row < 16 && P.Column < K);
        A.insert(pairOf(P));
      }
      for (int64_t R = 0; R < mmaBRegisters(Bits, K); ++R) {
        Position P = mmaB(Bits, L, R, E);
        EXPECT_EQ(P, (Position{kByHand(Bits, Q, R, E), G}));
        EXPECT_TRUE(P.Row < K && P.Column < 8);
        B.insert(pairOf(P));
      }
    }
    for (int64_t I = 0; I < 4; ++I) {
      EXPECT_EQ(mmaC(L, I), (Position{G + 8 * (I / 2), 2 * Q + I % 2}));
      C.insert(pairOf(mmaC(L, I)));
    }
  }
  EXPECT_EQ(A.size(), size_t(16 * K));
  EXPECT_EQ(B.size(), size_t(8 * K));
  EXPECT_EQ(C.size(), 128u);
}

TEST(Fragment, MmaSync) {
  EXPECT_EQ(mmaARegisters(16, 16), 4);
  EXPECT_EQ(mmaARegisters(16, 8), 2);
  EXPECT_EQ(mmaBRegisters(8, 32), 2);
  EXPECT_EQ(mmaBRegisters(32, 4), 1);
  checkMmaSync(16, 16);
  checkMmaSync(16, 8);
  checkMmaSync(32, 8);
  checkMmaSync(32, 4);
  checkMmaSync(8, 32);
  checkMmaSync(8, 16);
  checkMmaSync(4, 64);
}

TEST(Fragment, MatrixLoads) {
  std::set<Place> Plain, Turned, Rows;
  for (int64_t L = 0; L < 32; ++L) {
    EXPECT_EQ(matrixAddressRole(L), (MatrixRow{L / 8, L % 8}));
    Rows.insert({L / 8, L % 8});
    for (int64_t E : {0, 1}) {
      Position P = matrixElement(L, E, false), T = matrixElement(L, E, true);
      EXPECT_EQ(P, (Position{L / 4, 2 * (L % 4) + E}));
      EXPECT_EQ(T, (Position{P.Column, P.Row}));
      Plain.insert(pairOf(P));
      Turned.insert(pairOf(T));
    }
  }
  EXPECT_EQ(Plain.size(), 64u);
  EXPECT_EQ(Turned.size(), 64u);
  EXPECT_EQ(Rows.size(), 32u);
}

/// Element (row, column) that a load of four matrices gives, where lane 8*m + r
/// points to row r of matrix m.
Position loaded(Position (*Address)(int64_t), int64_t Lane, int64_t Register,
                int64_t E, bool Transposed) {
  Position In = matrixElement(Lane, E, Transposed);
  Position Row = Address(8 * Register + In.Row);
  return {Row.Row, Row.Column + In.Column};
}

TEST(Fragment, MatrixLoadsGiveFragments) {
  for (int64_t L = 0; L < 32; ++L)
    for (int64_t R = 0; R < 4; ++R)
      for (int64_t E : {0, 1}) {
        EXPECT_EQ(loaded(matrixAddressOfA, L, R, E, false), mmaA(16, L, R, E));
        Position B = mmaB(16, L, R % 2, E); // (k, n)
        B.Column += 8 * (R / 2);
        EXPECT_EQ(loaded(matrixAddressOfB, L, R, E, false),
                  (Position{B.Column, B.Row}));
        EXPECT_EQ(loaded(matrixAddressOfTransposedB, L, R, E, true), B);
      }
}

TEST(Fragment, Tcgen05Result) {
  struct Case {
    int64_t Group, M, N;
  };
  for (Case C : {Case{1, 128, 256}, Case{1, 128, 8}, Case{1, 64, 64},
                 Case{2, 256, 256}, Case{2, 128, 256}, Case{2, 128, 16}}) {
    std::set<std::tuple<int64_t, int64_t, int64_t>> Seen;
    for (int64_t M = 0; M < C.M; ++M)
      for (int64_t N = 0; N < C.N; ++N) {
        TensorMemoryPlace P = tcgen05Result(C.Group, C.M, C.N, {M, N});
        TensorMemoryPlace Want{0, M, N};
        if (C.Group == 1 && C.M == 64)
          Want = {0, (M % 16) + 32 * (M / 16), N};
        if (C.Group == 2 && C.M == 256)
          Want = {M / 128, M % 128, N};
        if (C.Group == 2 && C.M == 128)
          Want = {M / 64, (M % 64) + 64 * (N / (C.N / 2)), N % (C.N / 2)};
        EXPECT_EQ(P, Want);
        EXPECT_TRUE(P.Cta < C.Group && P.Lane < 128 && P.Column < C.N);
        Seen.insert({P.Cta, P.Lane, P.Column});
      }
    EXPECT_EQ(Seen.size(), size_t(C.M * C.N));
  }
}

/// The tables of the PTX ISA (tcgen05, data movement shapes), by hand, and that
/// registers and places are one to one.
TEST(Fragment, TensorMemoryRegisters) {
  using enum TensorMemoryShape;
  struct Shape {
    TensorMemoryShape Kind;
    int64_t Lanes, Columns; ///< of one repetition
  };
  constexpr int64_t Repetitions = 4;
  for (Shape S : {Shape{Lanes32x32b, 32, 1}, Shape{Lanes16x64b, 16, 2},
                  Shape{Lanes16x128b, 16, 4}, Shape{Lanes16x256b, 16, 8}}) {
    std::set<std::pair<int64_t, int64_t>> Seen;
    int64_t Count = tensorMemoryRegisters(S.Kind, Repetitions);
    EXPECT_EQ(Count * 32, S.Lanes * S.Columns * Repetitions);
    for (int64_t Lane = 0; Lane < 32; ++Lane)
      for (int64_t Register = 0; Register < Count; ++Register) {
        TensorMemoryPlace P = tensorMemoryRegister(S.Kind, Lane, Register);
        EXPECT_TRUE(P.Lane < S.Lanes && P.Column < S.Columns * Repetitions);
        Seen.insert({P.Lane, P.Column});
      }
    EXPECT_EQ(Seen.size(), size_t(Count * 32));
  }
  auto At = [](TensorMemoryShape Kind, int64_t Lane, int64_t Register) {
    TensorMemoryPlace P = tensorMemoryRegister(Kind, Lane, Register);
    return std::pair(P.Lane, P.Column);
  };
  EXPECT_EQ(At(Lanes32x32b, 17, 5), Place(17, 5));
  EXPECT_EQ(At(Lanes16x64b, 1, 0), Place(8, 0));
  EXPECT_EQ(At(Lanes16x64b, 6, 3), Place(1, 7));
  EXPECT_EQ(At(Lanes16x128b, 5, 0), Place(1, 1));
  EXPECT_EQ(At(Lanes16x128b, 5, 3), Place(9, 5));
  EXPECT_EQ(At(Lanes16x256b, 6, 2), Place(9, 4));
  EXPECT_EQ(At(Lanes16x256b, 31, 7), Place(15, 15));
  EXPECT_EQ(firstLaneOfWarp(6), 64);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

using enum ElementType;

bool allowed(MatrixInstruction I, ElementType T, ElementType D, int64_t M,
             int64_t N, int64_t K) {
  const InstructionShape *S = findShape(I, T, T, D, K);
  return S && S->allows(M, N, K);
}

TEST(InstructionShapes, EveryColumnCount) {
  for (int64_t N = 1; N <= 300; ++N) {
    bool ByEight = N % 8 == 0 && N <= 256;
    bool Integer = N == 8 || N == 24 || (N % 16 == 0 && N <= 256);
    auto W = MatrixInstruction::Wgmma, T = MatrixInstruction::Tcgen05,
         P = MatrixInstruction::Tcgen05Pair;
    EXPECT_EQ(allowed(W, BF16, F32, 64, N, 16), ByEight) << N;
    EXPECT_EQ(allowed(W, E4M3, F16, 64, N, 32), ByEight) << N;
    EXPECT_EQ(allowed(W, S8, S32, 64, N, 32), Integer) << N;
    EXPECT_EQ(allowed(T, F16, F16, 128, N, 16), ByEight) << N;
    EXPECT_EQ(allowed(T, U8, S32, 64, N, 32), Integer) << N;
    EXPECT_EQ(allowed(P, TF32, F32, 256, N, 8), N % 16 == 0 && N <= 256) << N;
    EXPECT_EQ(allowed(P, S8, S32, 128, N, 32), N % 32 == 0 && N <= 256) << N;
  }
}

TEST(InstructionShapes, TypesAndDepths) {
  auto M = MatrixInstruction::MmaSync, W = MatrixInstruction::Wgmma;
  EXPECT_TRUE(allowed(M, F16, F32, 16, 8, 16));
  EXPECT_TRUE(allowed(M, F16, F32, 16, 8, 8));
  EXPECT_TRUE(allowed(M, TF32, F32, 16, 8, 4));
  EXPECT_FALSE(allowed(M, TF32, F32, 16, 8, 16));
  EXPECT_FALSE(allowed(M, BF16, F16, 16, 8, 16));
  EXPECT_FALSE(allowed(W, BF16, F32, 128, 64, 16));
  EXPECT_FALSE(allowed(W, F32, F32, 64, 64, 8));
  EXPECT_EQ(findShape(M, F16, F16, F32)->K, 16);
  EXPECT_EQ(findShape(M, E4M3, E5M2, F32)->Architecture, 89);
  EXPECT_TRUE(findShape(W, F16, F16, F32)->TransposesA);
  EXPECT_FALSE(findShape(W, E5M2, E4M3, F32)->TransposesB);
  EXPECT_EQ(findShape(W, E2M1, E2M1, F32), nullptr);
  auto *Mixed = findShape(MatrixInstruction::Tcgen05, E2M1, E4M3, F32);
  ASSERT_NE(Mixed, nullptr);
  EXPECT_FALSE(Mixed->TransposesA);
  EXPECT_TRUE(Mixed->TransposesB);
}

/// No row twice, none with k that is not 32 bytes for wgmma and tcgen05.
TEST(InstructionShapes, Rows) {
  std::set<std::tuple<int, int, int, int, int64_t>> Seen;
  for (const InstructionShape &S : instructionShapes()) {
    EXPECT_TRUE(
        Seen.insert({int(S.Instruction), int(S.A), int(S.B), int(S.D), S.K})
            .second);
    bool Narrow = elementBits(S.A) == 4; // in containers of 8 bits
    if (S.Instruction != MatrixInstruction::MmaSync && !Narrow)
      EXPECT_EQ(S.K * elementBits(S.A), 256);
  }
}

} // namespace
