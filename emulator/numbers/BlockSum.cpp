//===- BlockSum.cpp - The sum of 4-bit products with scales ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/numbers/BlockSum.h"

#include "emulator/numbers/Formats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kpc::emulator {

static constexpr int Kept = 35;
/// Fraction bits: two of the products' (e2m1 has one), three of each scale.
static constexpr int GroupFraction = 2 + 3 + 3;

ScaleValue scaleValue(uint8_t Bits, bool IsE8M0) {
  ScaleValue Out;
  if (IsE8M0) {
    Out.Exponent = int(Bits) - 127;
    Out.IsNaN = Bits == 0xFF;
    return Out;
  }
  int Exponent = Bits >> 3 & 15, Mantissa = Bits & 7;
  Out.IsNaN = (Bits & 0x7F) == 0x7F;
  Out.Significand = Exponent ? 8 | Mantissa : Mantissa;
  Out.Exponent = std::max(Exponent, 1) - 7;
  return Out;
}

void scaleBy(MatrixValue *Values, unsigned Count, const ScaleValue &By) {
  for (unsigned N = 0; N < Count; ++N) {
    Values[N].Exponent = int16_t(Values[N].Exponent + By.Exponent);
    if (By.IsNaN)
      Values[N].TheKind = MatrixValue::Kind::NaN;
  }
}

static int64_t cut(int64_t Value, int By) {
  if (By >= 0)
    return Value << By;
  if (By < -62)
    return 0;
  int64_t Size = (Value < 0 ? -Value : Value) >> -By;
  return Value < 0 ? -Size : Size;
}

uint32_t blockSum(const MatrixValue *A, const MatrixValue *B, unsigned Groups,
                  const ScaleValue *ScaleA, const ScaleValue *ScaleB, float C,
                  bool HasC) {
  int Top = -1000;
  for (unsigned G = 0; G < Groups; ++G) {
    if (ScaleA[G].IsNaN || ScaleB[G].IsNaN)
      return Single.NaN;
    Top = std::max(Top, ScaleA[G].Exponent + ScaleB[G].Exponent);
  }
  if (HasC && std::isnan(C))
    return Single.NaN;
  if (HasC && std::isinf(C))
    return std::bit_cast<uint32_t>(C);
  uint32_t Bits = std::bit_cast<uint32_t>(C);
  int ExponentC = std::max(int(Bits >> 23 & 0xFF), 1) - 127;
  if (HasC)
    Top = std::max(Top, ExponentC);
  int64_t Sum = 0;
  for (unsigned G = 0; G < Groups; ++G) {
    int64_t Group = 0; // in quarters
    for (unsigned N = G * BlockGroup; N < (G + 1) * BlockGroup; ++N)
      if (A[N].Significand && B[N].Significand)
        Group += int64_t{A[N].Significand} * B[N].Significand
                 << (A[N].Exponent + B[N].Exponent);
    Group *= int64_t{ScaleA[G].Significand} * ScaleB[G].Significand;
    Sum += cut(Group, ScaleA[G].Exponent + ScaleB[G].Exponent - Top + Kept -
                          GroupFraction);
  }
  if (HasC) {
    int64_t Significand = Bits & 0x7FFFFF;
    if (Bits & 0x7F800000)
      Significand |= 0x800000;
    if (Bits >> 31)
      Significand = -Significand;
    Sum += cut(Significand, ExponentC - Top + Kept - 23);
  }
  return roundTowardZero(double(Sum) * std::ldexp(1.0, Top - Kept));
}

} // namespace kpc::emulator
