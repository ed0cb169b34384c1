//===- DescriptorTest.cpp - Descriptors: bits, and what they lead to ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/MatrixDescriptor.h"

#include <gtest/gtest.h>

#include <vector>

using namespace kpc::layout;

namespace {

constexpr SwizzleMode AllModes[] = {SwizzleMode::None, SwizzleMode::B32,
                                    SwizzleMode::B64, SwizzleMode::B128,
                                    SwizzleMode::B128Atom32};

/// What the tensor core makes of an encoded descriptor.
struct Decoded {
  int64_t Start, Leading, Stride;
  unsigned Base, Code;
};

Decoded decode(uint64_t Bits) {
  auto Field = [&](int At) { return int64_t(Bits >> At & 0x3FFF) * 16; };
  return {Field(0), Field(16), Field(32), unsigned(Bits >> 49 & 7),
          unsigned(Bits >> 61)};
}

int64_t applied(SwizzleMode Mode, int64_t A) {
  switch (Mode) {
  case SwizzleMode::None:
    return A;
  case SwizzleMode::B32:
    return A ^ ((A & 0x80) >> 3);
  case SwizzleMode::B64:
    return A ^ ((A & 0x180) >> 3);
  case SwizzleMode::B128:
    return A ^ ((A & 0x380) >> 3);
  case SwizzleMode::B128Atom32:
    return A ^ ((A & 0x180) >> 2);
  }
  return A;
}

/// Byte offset of element (mn, k) from the start, before the XOR: PTX's
/// canonical layouts.
int64_t canonical(const SharedTile &T, const Decoded &D, int64_t Mn,
                  int64_t K) {
  int64_t W = spanBytes(T.Mode);
  int64_t Kb = K * T.ElementBits / 8, Mb = Mn * T.ElementBits / 8;
  if (T.Order == Major::K && T.Mode == SwizzleMode::None)
    return Mn % 8 * 16 + Mn / 8 * D.Stride + Kb / 16 * D.Leading + Kb % 16;
  if (T.Order == Major::K)
    return Mn % 8 * W + Mn / 8 * D.Stride + Kb;
  if (T.Mode == SwizzleMode::None)
    return Mb % 16 + Mb / 16 * D.Stride + K % 8 * 16 + K / 8 * D.Leading;
  int64_t Rows = T.Mode == SwizzleMode::B128Atom32 ? 4 : 8;
  return Mb % W + Mb / W * D.Leading + K % Rows * W + K / Rows * D.Stride;
}

/// Rows that a descriptor can be moved by.
int64_t blockRows(const SharedTile &T) {
  return T.Order == Major::MN ? spanBytes(T.Mode) * 8 / T.ElementBits : 8;
}

ElementType typeOf(int64_t Bits) {
  return Bits == 32   ? ElementType::TF32
         : Bits == 16 ? ElementType::BF16
         : Bits == 8  ? ElementType::S8
                      : ElementType::E2M1;
}

/// Whether each instruction that reads the tile finds every element.
bool findsAll(TensorEngine Engine, const SharedTile &T, int64_t Address) {
  uint64_t Base = describe(Engine, T, Address).encode();
  int64_t Wide = kPerStep(T), Block = blockRows(T);
  for (int64_t Step = 0; Step < kSteps(T); ++Step)
    for (int64_t First = 0; First < T.Mn; First += Block) {
      Decoded D = decode(Base + encodedOffset(T, Step, First));
      for (int64_t Mn = First; Mn < T.Mn; ++Mn)
        for (int64_t K = 0; K < Wide; ++K) {
          int64_t Read =
              applied(T.Mode, D.Start + canonical(T, D, Mn - First, K));
          if (Read != Address + T.byteOffset(Mn, Step * Wide + K))
            return false;
        }
    }
  return true;
}

TEST(MatrixDescriptor, EveryElementIsFound) {
  int Checked = 0;
  for (TensorEngine Engine : {TensorEngine::Wgmma, TensorEngine::Tcgen05})
    for (SwizzleMode Mode : AllModes)
      for (Major Order : {Major::K, Major::MN})
        for (int64_t Bits : {4, 8, 16, 32})
          for (int64_t Mn : {8, 64, 128, 256})
            for (int64_t KBytes : {32, 64, 128, 256}) {
              SharedTile T{Order, Mn, KBytes * 8 / Bits, Bits, Mode};
              if (!operandProblem(Engine, T, typeOf(Bits)).empty())
                continue;
              ++Checked;
              EXPECT_TRUE(findsAll(Engine, T, 0x6C00))
                  << "mode " << int(Mode) << " order " << int(Order) << " bits "
                  << Bits << " " << Mn << " x " << T.K;
            }
  EXPECT_GT(Checked, 300);
}

TEST(MatrixDescriptor, BitsByHand) {
  // K-major bf16, 128 x 64, 128B: start 0x400 -> 0x40; SBO 1024 -> 0x40.
  SharedTile A{Major::K, 128, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(describe(TensorEngine::Wgmma, A, 0x400).encode(),
            0x4000'0040'0001'0040u);
  EXPECT_EQ(describe(TensorEngine::Tcgen05, A, 0x400).encode(),
            0x4000'4040'0001'0040u);
  EXPECT_EQ(encodedOffset(A, 1), 2u);
  EXPECT_EQ(encodedOffset(A, 3), 6u);
  EXPECT_EQ(encodedOffset(A, 0, 64), 512u); // 8 patterns of 1024 bytes
  // MN-major bf16, 256 x 64: LBO = 64 lines of 128 bytes = 8192 -> 0x200.
  SharedTile B{Major::MN, 256, 64, 16, SwizzleMode::B128};
  EXPECT_EQ(describe(TensorEngine::Wgmma, B, 0).encode(),
            0x4000'0040'0200'0000u);
  EXPECT_EQ(encodedOffset(B, 1), 128u); // 16 lines
  EXPECT_EQ(encodedOffset(B, 0, 64), 0x200u);
  // Without swizzle: LBO = 64 rows of 16 bytes, SBO = 8 rows.
  SharedTile C{Major::K, 64, 64, 8, SwizzleMode::None};
  EXPECT_EQ(describe(TensorEngine::Wgmma, C, 0x80).encode(),
            0x0000'0008'0040'0008u);
  EXPECT_EQ(encodedOffset(C, 1), 128u);
  // 64B and 32B codes.
  A.Mode = SwizzleMode::B64;
  EXPECT_EQ(describe(TensorEngine::Wgmma, A, 0).encode() >> 61, 4u);
  EXPECT_EQ(describe(TensorEngine::Wgmma, A, 0).Stride, 512);
  A.Mode = SwizzleMode::B32;
  EXPECT_EQ(describe(TensorEngine::Wgmma, A, 0).encode() >> 61, 6u);
  // MN-major tf32 with 32-byte atoms: four lines to a pattern.
  SharedTile D{Major::MN, 64, 32, 32, SwizzleMode::B128Atom32};
  EXPECT_EQ(describe(TensorEngine::Tcgen05, D, 0).encode(),
            0x2000'4020'0100'0000u);
  EXPECT_EQ(encodedOffset(D, 1), 64u); // 8 lines: two strides
  // The base offset.
  MatrixDescriptor Off{.BaseOffset = 5};
  EXPECT_EQ(Off.encode(), uint64_t{5} << 49);
  // The window is 18 bits.
  EXPECT_EQ(encodeBytes(0x38000), 0x3800u);
  EXPECT_EQ(encodeBytes(0x40010), 1u);
}

TEST(MatrixDescriptor, OperandsThatCannotBeRead) {
  using enum ElementType;
  auto Problem = [](TensorEngine E, Major O, int64_t Bits, SwizzleMode M,
                    ElementType T) {
    return operandProblem(E, {O, 64, 256 / Bits * 2, Bits, M}, T);
  };
  auto W = TensorEngine::Wgmma, T = TensorEngine::Tcgen05;
  EXPECT_EQ(Problem(W, Major::MN, 16, SwizzleMode::B128, BF16), "");
  EXPECT_NE(Problem(W, Major::MN, 8, SwizzleMode::B64, E4M3), "");
  EXPECT_NE(Problem(W, Major::MN, 32, SwizzleMode::B128, TF32), "");
  EXPECT_EQ(Problem(T, Major::MN, 8, SwizzleMode::B64, E4M3), "");
  EXPECT_NE(Problem(T, Major::MN, 8, SwizzleMode::B64, E2M1), "");
  EXPECT_NE(Problem(T, Major::MN, 32, SwizzleMode::B128, TF32), "");
  EXPECT_EQ(Problem(T, Major::MN, 32, SwizzleMode::B128Atom32, TF32), "");
  EXPECT_NE(Problem(W, Major::MN, 16, SwizzleMode::B128Atom32, F16), "");
  EXPECT_NE(Problem(W, Major::K, 16, SwizzleMode::B128, E4M3), "");
  EXPECT_EQ(Problem(T, Major::K, 8, SwizzleMode::B128, E2M1), "");
  EXPECT_NE(operandProblem(W, {Major::K, 64, 8, 16, SwizzleMode::None}, BF16),
            "");
}

TEST(MatrixDescriptor, PlainRows) {
  // Rows of 16 bytes: eight of them are 128 bytes, whatever lies beside them.
  EXPECT_EQ(describePlainRows(0x400).encode(),
            0x40u | uint64_t{1} << 16 | uint64_t{8} << 32 | uint64_t{1} << 46);
}

TEST(ScaledInstruction, BitsByHand) {
  ScaledInstruction I{.B = ElementType::E5M2};
  EXPECT_EQ(I.scales(), 1u);
  EXPECT_EQ(I.encode(), 1u << 10 | 16u << 17 | 1u << 23 | 8u << 24);
  I.FirstScale = 3; // in front of the bits that count rows, and behind
  EXPECT_EQ(I.encode(),
            3u << 4 | 1u << 10 | 16u << 17 | 1u << 23 | 8u << 24 | 3u << 29);
  I = {ScaledKind::MXF4, ElementType::E2M1, ElementType::E2M1, 256, 256, 2};
  EXPECT_EQ(I.scales(), 2u);
  EXPECT_EQ(I.encode(), 2u << 4 | 1u << 7 | 1u << 10 | 32u << 17 | 1u << 23 |
                            16u << 24 | 2u << 29);
  I.Kind = ScaledKind::MXF4NVF4;
  I.PowerScales = false;
  I.FirstScale = 0;
  EXPECT_EQ(I.scales(), 4u);
  EXPECT_EQ(I.encode(), 1u << 7 | 1u << 10 | 32u << 17 | 16u << 24);
  EXPECT_EQ(I.problem(), "");
}

TEST(ScaledInstruction, WhatThereIsNot) {
  ScaledInstruction I;
  EXPECT_EQ(I.problem(), "");
  I.A = ElementType::F16;
  EXPECT_EQ(I.problem(), "the kind does not take operands of this type");
  I = {.PowerScales = false};
  EXPECT_EQ(I.problem(), "scales of the kind are of E8M0");
  I = {ScaledKind::MXF4, ElementType::E2M1, ElementType::E2M1, 128, 128, 3};
  EXPECT_EQ(I.problem(), "the scales do not lie in one word");
  I.A = ElementType::E4M3;
  EXPECT_EQ(I.problem(), "the kind does not take operands of this type");
}

TEST(InstructionDescriptor, BitsByHand) {
  // bf16 -> f32, 128 x 256: 1<<4 | 1<<7 | 1<<10 | 32<<17 | 8<<24.
  InstructionDescriptor I{.A = ElementType::BF16, .B = ElementType::BF16};
  EXPECT_EQ(I.problem(), "");
  EXPECT_EQ(I.encode(), 0x08400490u);
  I.BOrder = Major::MN;
  I.NegateA = true;
  EXPECT_EQ(I.encode(), 0x08412490u);
  // tf32, 64 x 8.
  I = {.Kind = Tcgen05Kind::TF32,
       .A = ElementType::TF32,
       .B = ElementType::TF32,
       .M = 64,
       .N = 8};
  EXPECT_EQ(I.encode(), (1u << 4 | 2u << 7 | 2u << 10 | 1u << 17 | 4u << 24));
  // e5m2 x e2m1 -> f16, 256 x 64 of a pair.
  I = {.Kind = Tcgen05Kind::F8F6F4,
       .A = ElementType::E5M2,
       .B = ElementType::E2M1,
       .D = ElementType::F16,
       .M = 256,
       .N = 64,
       .AOrder = Major::MN};
  EXPECT_EQ(I.problem(), "");
  EXPECT_EQ(I.encode(), (1u << 7 | 5u << 10 | 1u << 15 | 8u << 17 | 16u << 24));
  // s8 x u8 saturating.
  I = {.Kind = Tcgen05Kind::I8,
       .A = ElementType::S8,
       .B = ElementType::U8,
       .D = ElementType::S32,
       .M = 128,
       .N = 32,
       .Saturate = true};
  EXPECT_EQ(I.problem(), "");
  EXPECT_EQ(I.encode(), (1u << 3 | 2u << 4 | 1u << 7 | 4u << 17 | 8u << 24));
}

TEST(InstructionDescriptor, Problems) {
  InstructionDescriptor I{.A = ElementType::F16, .B = ElementType::BF16};
  EXPECT_NE(I.problem(), "");
  I = {.A = ElementType::BF16, .B = ElementType::BF16, .D = ElementType::F16};
  EXPECT_NE(I.problem(), "");
  I = {.Kind = Tcgen05Kind::I8};
  EXPECT_NE(I.problem(), "");
  I = {.A = ElementType::F16, .B = ElementType::F16, .Saturate = true};
  EXPECT_NE(I.problem(), "");
  I = {.Kind = Tcgen05Kind::I8,
       .A = ElementType::S8,
       .B = ElementType::S8,
       .D = ElementType::S32,
       .NegateB = true};
  EXPECT_NE(I.problem(), "");
}

} // namespace
