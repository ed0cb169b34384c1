//===- FusedSum.cpp - The tensor cores' sum of products -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/numbers/FusedSum.h"

#include "emulator/numbers/Formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace kpc::emulator {

/// What a zero counts as when the largest exponent is looked for.
static constexpr int ZeroExponent = -126;

unsigned matrixBits(MatrixType T) {
  switch (T) {
  case MatrixType::F16:
  case MatrixType::BF16:
    return 16;
  case MatrixType::TF32:
    return 32;
  default:
    return 8;
  }
}

bool isInteger(MatrixType T) {
  return T == MatrixType::S8 || T == MatrixType::U8;
}

namespace {
/// IEEE-like bits: exponent and mantissa widths; HasInfinity: the top exponent
/// is special, else only all ones are NaN.
struct Shape {
  int Exponent, Mantissa;
  bool HasInfinity;
};
} // namespace

static Shape shapeOf(MatrixType T) {
  switch (T) {
  case MatrixType::F16:
    return {5, 10, true};
  case MatrixType::BF16:
    return {8, 7, true};
  case MatrixType::TF32:
    return {8, 10, true};
  case MatrixType::E4M3:
    return {4, 3, false};
  case MatrixType::E2M3:
    return {2, 3, false};
  case MatrixType::E3M2:
    return {3, 2, false};
  case MatrixType::E2M1:
    return {2, 1, false};
  default:
    return {5, 2, true};
  }
}

MatrixValue matrixValue(uint32_t Bits, MatrixType T) {
  MatrixValue Out;
  if (T == MatrixType::S8)
    Out.Significand = int32_t(Bits << 24) >> 24;
  if (T == MatrixType::U8)
    Out.Significand = uint8_t(Bits);
  if (isInteger(T))
    return Out;
  if (T == MatrixType::TF32)
    Bits >>= 13; // the low bits are not looked at
  Shape S = shapeOf(T);
  auto Mantissa = int32_t(Bits & ((1u << S.Mantissa) - 1));
  int Top = (1 << S.Exponent) - 1, Bias = Top >> 1;
  int Exponent = int(Bits >> S.Mantissa) & Top;
  bool Negative = Bits >> (S.Mantissa + S.Exponent) & 1;
  if (Exponent == Top && S.HasInfinity)
    Out.TheKind =
        Mantissa ? MatrixValue::Kind::NaN : MatrixValue::Kind::Infinite;
  else if (T == MatrixType::E4M3 && Exponent == Top &&
           Mantissa == (1 << S.Mantissa) - 1)
    Out.TheKind = MatrixValue::Kind::NaN;
  if (Exponent != 0)
    Mantissa |= 1 << S.Mantissa;
  Out.Exponent = int16_t(std::max(Exponent, 1) - Bias);
  if (Mantissa == 0)
    Out.Exponent = ZeroExponent;
  Out.Significand = Negative ? -Mantissa : Mantissa;
  if (Out.TheKind == MatrixValue::Kind::Infinite)
    Out.Significand = Negative ? -1 : 1;
  return Out;
}

const MatrixValue *matrixValues(MatrixType T) {
  constexpr unsigned Types = unsigned(MatrixType::E2M1) + 1;
  static const std::array<std::vector<MatrixValue>, Types> Tables = [] {
    std::array<std::vector<MatrixValue>, Types> All;
    for (unsigned Which = 0; Which < Types; ++Which) {
      auto Of = MatrixType(Which);
      if (matrixBits(Of) > 16)
        continue;
      All[Which].resize(size_t{1} << matrixBits(Of));
      for (uint32_t Bits = 0; Bits < All[Which].size(); ++Bits)
        All[Which][Bits] = matrixValue(Bits, Of);
    }
    return All;
  }();
  return Tables[unsigned(T)].data();
}

SumRule ruleOf(MatrixType A, MatrixType B, bool ShortFp8, bool HalfResult) {
  bool Fp8 = matrixBits(A) == 8;
  bool Short = Fp8 && ShortFp8;
  return {shapeOf(A).Mantissa, shapeOf(B).Mantissa, Short ? 13 : 25,
          HalfResult ? SumTo::Half
          : Short    ? SumTo::SingleShort
                     : SumTo::Single};
}

/// Significand * 2^By, toward zero.
static int64_t shifted(int64_t Significand, int By) {
  if (By >= 0)
    return Significand << By;
  if (By < -62)
    return 0;
  int64_t Cut = (Significand < 0 ? -Significand : Significand) >> -By;
  return Significand < 0 ? -Cut : Cut;
}

/// NaN or an infinity among the terms; false: none.
static bool special(const MatrixValue *A, const MatrixValue *B, unsigned Count,
                    float C, bool HasC, double &Out) {
  double Sum = HasC && !std::isfinite(C) ? C : 0;
  bool Any = HasC && !std::isfinite(C);
  auto Value = [](const MatrixValue &V) {
    return V.TheKind == MatrixValue::Kind::NaN        ? std::nan("")
           : V.TheKind == MatrixValue::Kind::Infinite ? V.Significand * HUGE_VAL
                                                      : double(V.Significand);
  };
  for (unsigned K = 0; K < Count; ++K)
    if (A[K].TheKind != MatrixValue::Kind::Finite ||
        B[K].TheKind != MatrixValue::Kind::Finite) {
      Any = true;
      Sum += Value(A[K]) * Value(B[K]);
    }
  Out = Sum;
  return Any;
}

uint32_t roundTowardZero(double Exact) {
  if (std::isnan(Exact))
    return Single.NaN;
  auto Near = float(Exact);
  uint32_t Bits = std::bit_cast<uint32_t>(Near);
  // Back toward zero where the conversion went outward; what the exponent
  // cannot hold is infinite all the same.
  if (std::fabs(Exact) < 0x1p128 && std::fabs(double{Near}) > std::fabs(Exact))
    --Bits;
  return Bits;
}

static uint32_t finish(double Exact, SumTo To) {
  if (To == SumTo::Half)
    return encode(Exact, Half, Rounding::Nearest, false);
  uint32_t Bits = roundTowardZero(Exact);
  if (To == SumTo::SingleShort && std::isfinite(Exact))
    Bits &= ~uint32_t{0x3FF};
  return Bits;
}

int accumulatorExponent(float C) {
  return std::max(int(std::bit_cast<uint32_t>(C) >> 23 & 0xFF), 1) - 127;
}

uint32_t finishSum(int64_t Sum, int Top, float C, bool HasC,
                   const SumRule &Rule) {
  if (HasC) {
    uint32_t Bits = std::bit_cast<uint32_t>(C);
    int64_t Significand = Bits & 0x7FFFFF;
    if (Bits & 0x7F800000)
      Significand |= 0x800000;
    if (Bits >> 31)
      Significand = -Significand;
    Sum += shifted(Significand, accumulatorExponent(C) - Top + Rule.Kept - 23);
  }
  // 2^(Top - Kept) is a normal double.
  auto Scale = std::bit_cast<double>(uint64_t(1023 + Top - Rule.Kept) << 52);
  return finish(double(Sum) * Scale, Rule.To);
}

uint32_t fusedSum(const MatrixValue *A, const MatrixValue *B, unsigned Count,
                  float C, bool HasC, const SumRule &Rule) {
  bool Finite = !HasC || std::isfinite(C);
  int Top = NoExponent;
  for (unsigned K = 0; K < Count; ++K) {
    Finite &= A[K].TheKind == MatrixValue::Kind::Finite &&
              B[K].TheKind == MatrixValue::Kind::Finite;
    Top = std::max(Top, A[K].Exponent + B[K].Exponent);
  }
  double Special = 0;
  if (!Finite && special(A, B, Count, C, HasC, Special))
    return finish(Special, Rule.To);
  if (HasC)
    Top = std::max(Top, accumulatorExponent(C));
  int64_t Sum = 0;
  int Base = Rule.Kept - Rule.FractionA - Rule.FractionB - Top;
  for (unsigned K = 0; K < Count; ++K)
    Sum += shifted(int64_t{A[K].Significand} * B[K].Significand,
                   A[K].Exponent + B[K].Exponent + Base);
  return finishSum(Sum, Top, C, HasC, Rule);
}

} // namespace kpc::emulator
