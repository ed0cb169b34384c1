//===- Formats.h - Floating-point formats, bit by bit -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every narrow value is exact as a double, so arithmetic is: decode, compute
/// with enough bits, round once. Where 53 bits are not enough the result is
/// rounded to odd first (Boldo, Melquiond, "Emulation of FMA and correctly
/// rounded sums"): a second rounding to at least two bits less is then right in
/// every mode.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_NUMBERS_FORMATS_H
#define KPC_EMULATOR_NUMBERS_FORMATS_H

#include <bit>
#include <cstdint>

namespace kpc::emulator {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

struct Format {
  int ExponentBits, MantissaBits;
  /// Largest finite, infinity (0: none) and NaN (0: none), without the sign.
  uint32_t Max, Infinity, NaN;
  int bias() const { return (1 << (ExponentBits - 1)) - 1; }
  int bits() const { return 1 + ExponentBits + MantissaBits; }
};

inline constexpr Format Single{8, 23, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF};
inline constexpr Format Half{5, 10, 0x7BFF, 0x7C00, 0x7FFF};
inline constexpr Format Brain{8, 7, 0x7F7F, 0x7F80, 0x7FFF};
inline constexpr Format E4M3{4, 3, 0x7E, 0, 0x7F};
inline constexpr Format E5M2{5, 2, 0x7B, 0x7C, 0x7F};
inline constexpr Format E2M3{2, 3, 0x1F, 0, 0};
inline constexpr Format E3M2{3, 2, 0x1F, 0, 0};
inline constexpr Format E2M1{2, 1, 0x7, 0, 0};

/// Bits of the value in the format. `Saturate`: beyond the largest finite, and
/// infinity, give it; formats without NaN give it for NaN too.
uint32_t encode(double Value, const Format &To, Rounding Mode, bool Saturate);
double decode(uint32_t Bits, const Format &From);

/// ue8m0: powers of two. `Up`: to the next larger one.
uint8_t encodePower(double Value, bool Up, bool Saturate);
double decodePower(uint8_t Bits);

/// a + b, and a * b + c where a * b is exact, rounded to odd.
double sumToOdd(double A, double B);

inline float halfToFloat(uint16_t Bits) {
  uint32_t Sign = uint32_t(Bits & 0x8000) << 16, Rest = Bits & 0x7FFF;
  if (Rest >= 0x7C00)
    return std::bit_cast<float>(Sign | 0x7F800000 | (Rest & 0x3FF) << 13);
  // A power of two makes the exponent right, of subnormals too.
  float Scaled = std::bit_cast<float>(Rest << 13) * 0x1p112f;
  return std::bit_cast<float>(Sign | std::bit_cast<uint32_t>(Scaled));
}
inline float brainToFloat(uint16_t Bits) {
  return std::bit_cast<float>(uint32_t{Bits} << 16);
}

/// To nearest even; NaN gives 0x7FFF.
inline uint16_t floatToHalf(float Value) {
  uint32_t Bits = std::bit_cast<uint32_t>(Value), Rest = Bits & 0x7FFFFFFF;
  auto Sign = uint16_t(Bits >> 16 & 0x8000);
  if (Rest > 0x7F800000)
    return 0x7FFF;
  if (Rest >= 0x477FF000) // 65520 and more round to infinity
    return Sign | 0x7C00;
  if (Rest < 0x38800000) { // subnormal: the addition rounds
    float Sum = std::bit_cast<float>(Rest) + 0.5f;
    return Sign | uint16_t(std::bit_cast<uint32_t>(Sum) - 0x3F000000);
  }
  uint32_t Odd = Rest >> 13 & 1;
  return Sign | uint16_t((Rest - 0x38000000 + 0xFFF + Odd) >> 13);
}
inline uint16_t floatToBrain(float Value) {
  uint32_t Bits = std::bit_cast<uint32_t>(Value);
  if ((Bits & 0x7FFFFFFF) > 0x7F800000)
    return 0x7FFF;
  return uint16_t((Bits + 0x7FFF + (Bits >> 16 & 1)) >> 16);
}

/// NaN results of f32 are this one.
inline float canonical(float Value) {
  return Value != Value ? std::bit_cast<float>(Single.NaN) : Value;
}
/// Subnormals to zero of the same sign.
inline float flushed(float Value) {
  uint32_t Bits = std::bit_cast<uint32_t>(Value);
  return (Bits & 0x7F800000) ? Value : std::bit_cast<float>(Bits & 0x80000000);
}

} // namespace kpc::emulator

#endif // KPC_EMULATOR_NUMBERS_FORMATS_H
