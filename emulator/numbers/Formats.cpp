//===- Formats.cpp - Floating-point formats, bit by bit -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/numbers/Formats.h"

#include <cmath>

namespace kpc::emulator {

/// Whether a magnitude between N and N+1 goes up. `Rest` is the part above N
/// against one half: -1 below, 0 equal, 1 above; 0 is only tested if Inexact.
static bool goesUp(Rounding Mode, bool Negative, uint64_t N, double Rest) {
  switch (Mode) {
  case Rounding::Nearest:
    return Rest > 0.5 || (Rest == 0.5 && (N & 1));
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return Negative && Rest > 0;
  case Rounding::Up:
    return !Negative && Rest > 0;
  }
  return false;
}

uint32_t encode(double Value, const Format &To, Rounding Mode, bool Saturate) {
  uint32_t Sign = std::signbit(Value) ? 1u << (To.bits() - 1) : 0;
  if (std::isnan(Value))
    return To.NaN ? To.NaN : To.Max;
  if (std::isinf(Value))
    return Sign | (Saturate || !To.Infinity ? To.Max : To.Infinity);
  double Magnitude = std::fabs(Value);
  if (Magnitude == 0)
    return Sign;
  int Exponent = std::ilogb(Magnitude), Lowest = 1 - To.bias();
  bool Subnormal = Exponent < Lowest;
  int Unit = (Subnormal ? Lowest : Exponent) - To.MantissaBits;
  double Scaled = std::ldexp(Magnitude, -Unit), Whole = std::floor(Scaled);
  auto N = static_cast<uint64_t>(Whole);
  N += goesUp(Mode, Sign != 0, N, Scaled - Whole);
  // A carry out of the mantissa is a step of the exponent.
  uint64_t Bits = N;
  if (!Subnormal)
    Bits += static_cast<uint64_t>(Exponent - Lowest) << To.MantissaBits;
  if (Bits <= To.Max)
    return Sign | static_cast<uint32_t>(Bits);
  bool Inward = Mode == Rounding::Zero || (Mode == Rounding::Down && !Sign) ||
                (Mode == Rounding::Up && Sign);
  return Sign | (Saturate || Inward || !To.Infinity ? To.Max : To.Infinity);
}

double decode(uint32_t Bits, const Format &From) {
  uint32_t Rest = Bits & ((1u << (From.bits() - 1)) - 1);
  double Sign = Bits >> (From.bits() - 1) & 1 ? -1 : 1;
  if (From.Infinity && Rest == From.Infinity)
    return Sign * HUGE_VAL;
  if (From.NaN && Rest > (From.Infinity ? From.Infinity : From.Max))
    return std::nan("");
  uint32_t Mantissa = Rest & ((1u << From.MantissaBits) - 1);
  int Exponent = static_cast<int>(Rest >> From.MantissaBits);
  if (Exponent == 0)
    Exponent = 1;
  else
    Mantissa |= 1u << From.MantissaBits;
  return Sign *
         std::ldexp(Mantissa, Exponent - From.bias() - From.MantissaBits);
}

uint8_t encodePower(double Value, bool Up, bool Saturate) {
  if (std::isnan(Value))
    return 0xFF;
  double Magnitude = std::fabs(Value);
  if (std::isinf(Magnitude))
    return Saturate ? 0xFE : 0xFF;
  if (Magnitude == 0)
    return 0;
  int Exponent = std::ilogb(Magnitude);
  if (Up && Magnitude != std::ldexp(1.0, Exponent))
    ++Exponent;
  if (Exponent < -127)
    return 0;
  if (Exponent > 127)
    return Saturate ? 0xFE : 0xFF;
  return static_cast<uint8_t>(Exponent + 127);
}

double decodePower(uint8_t Bits) {
  return Bits == 0xFF ? std::nan("") : std::ldexp(1.0, int(Bits) - 127);
}

double sumToOdd(double A, double B) {
  double Sum = A + B;
  if (!std::isfinite(Sum))
    return Sum;
  // Knuth's two-sum: A + B == Sum + Error exactly.
  double Of = Sum - A, Error = (A - (Sum - Of)) + (B - Of);
  auto Bits = std::bit_cast<uint64_t>(Sum);
  if (Error == 0 || (Bits & 1))
    return Sum;
  bool Outward = (Error > 0) == (Sum > 0);
  return std::bit_cast<double>(Outward ? Bits + 1 : Bits - 1);
}

} // namespace kpc::emulator
