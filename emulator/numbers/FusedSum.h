//===- FusedSum.h - The tensor cores' sum of products -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One instruction sums all its products and the accumulator at once: each term
/// is cut toward zero at a bit that the largest exponent decides, and the exact
/// sum of what is left is rounded once. As measured on an H200, and in
/// microsoft/MMA-Sim (arXiv 2511.10909).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_NUMBERS_FUSEDSUM_H
#define KPC_EMULATOR_NUMBERS_FUSEDSUM_H

#include <cstdint>

namespace kpc::emulator {

enum class MatrixType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  S8,
  U8,
  E2M3,
  E3M2,
  E2M1
};

/// Of the container: 6-bit and 4-bit types are asked for as 8 bits.
unsigned matrixBits(MatrixType T);
bool isInteger(MatrixType T);

/// A finite operand is Significand * 2^(Exponent - Fraction), where Fraction is
/// of the type.
struct MatrixValue {
  enum class Kind : uint8_t { Finite, Infinite, NaN };
  int32_t Significand = 0; ///< with the sign; of integers the value
  int16_t Exponent = 0;
  Kind TheKind = Kind::Finite;
};
MatrixValue matrixValue(uint32_t Bits, MatrixType T);
/// The values of all bits of a type that has at most 16.
const MatrixValue *matrixValues(MatrixType T);

enum class SumTo : uint8_t {
  Single,      ///< f32, toward zero
  SingleShort, ///< f32 with 13 bits of mantissa: FP8 of wgmma
  Half         ///< f16, to nearest
};

struct SumRule {
  int FractionA, FractionB; ///< mantissa bits of the operands' types
  int Kept;                 ///< F: bits below the largest exponent
  SumTo To;
};
SumRule ruleOf(MatrixType A, MatrixType B, bool ShortFp8, bool HalfResult);

/// An exact sum as f32, cut toward zero; what the exponent cannot hold is
/// infinite.
uint32_t roundTowardZero(double Exact);

/// Bits of the result; C is an f32's or f16's value, absent if `HasC` is false.
uint32_t fusedSum(const MatrixValue *A, const MatrixValue *B, unsigned Count,
                  float C, bool HasC, const SumRule &Rule);

/// Below every exponent.
inline constexpr int NoExponent = -1000;
int accumulatorExponent(float C);
/// A sum of finite products in units of 2^(Top - Kept), with C, rounded.
uint32_t finishSum(int64_t Sum, int Top, float C, bool HasC,
                   const SumRule &Rule);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_NUMBERS_FUSEDSUM_H
