//===- Reference.h - Rounding and distances to judge by ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Distances in units in the last place, and software float formats, written
/// with nothing of what they judge.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_MATH_REFERENCE_H
#define KPC_TEST_MATH_REFERENCE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kpc::mathtest {

/// Storage of the two 16-bit formats.
struct F16 {
  static constexpr int Digits = 11, MinExponent = -14, MaxExponent = 15;
  uint16_t Bits;
};
struct BF16 {
  static constexpr int Digits = 8, MinExponent = -126, MaxExponent = 127;
  uint16_t Bits;
};

/// X rounded to nearest, ties to even, in the precision and range of Format.
template <typename Format> long double roundTo(long double X) {
  if (X == 0 || std::isnan(X) || std::isinf(X))
    return X;
  int Exponent = std::max(std::ilogb(X), Format::MinExponent);
  int Place = Exponent - (Format::Digits - 1);
  long double Y = std::ldexp(std::nearbyint(std::ldexp(X, -Place)), Place);
  if (std::fabs(Y) >= std::ldexp(1.0L, Format::MaxExponent + 1))
    return std::copysign(std::numeric_limits<long double>::infinity(), X);
  return Y == 0 ? std::copysign(0.0L, X) : Y;
}

template <typename Format> long double valueOf16(Format F) {
  int FractionBits = Format::Digits - 1, ExponentBits = 15 - FractionBits;
  int Field = (F.Bits >> FractionBits) & ((1 << ExponentBits) - 1);
  long double Fraction = F.Bits & ((1 << FractionBits) - 1);
  long double M;
  if (Field == (1 << ExponentBits) - 1)
    M = Fraction == 0 ? std::numeric_limits<long double>::infinity()
                      : std::numeric_limits<long double>::quiet_NaN();
  else if (Field == 0)
    M = std::ldexp(Fraction, Format::MinExponent - FractionBits);
  else
    M = std::ldexp(Fraction + std::ldexp(1.0L, FractionBits),
                   Field - 1 + Format::MinExponent - FractionBits);
  return F.Bits >> 15 ? -M : M;
}

inline long double valueOf(F16 F) { return valueOf16(F); }
inline long double valueOf(BF16 F) { return valueOf16(F); }
inline long double valueOf(float F) { return F; }
inline long double valueOf(double F) { return F; }

/// The distance of Got from Want in units of Float's last place at Want;
/// infinite where the kinds (NaN, infinity, sign) differ.
template <typename Float, typename Wide>
double distanceInUlp(Float Got, Wide Want) {
  using Limits = std::numeric_limits<Float>;
  constexpr double Wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(Want) || std::isnan(Got))
    return std::isnan(Want) == std::isnan(Got) ? 0 : Wrong;
  if (std::signbit(Got) != std::signbit(Want))
    return Wrong;
  // Infinity counts as the number after the largest.
  const Wide End = std::ldexp(Wide(1), Limits::max_exponent);
  if (std::isinf(Want) && std::isinf(Got))
    return 0;
  Wide G = std::isinf(Got) ? End : std::fabs(Wide(Got));
  Wide W = std::fabs(Want);
  if (W > End) {
    if (std::isinf(Got))
      return 0;
    W = End;
  }
  if (W == 0)
    return G == 0 ? 0 : Wrong;
  int Exponent = std::max(std::ilogb(W), Limits::min_exponent - 1);
  Wide Place = std::ldexp(Wide(1), Exponent - (Limits::digits - 1));
  return double(std::fabs(G - W) / Place);
}

/// Wraps around; a negative power is 0 but for bases 1 and -1.
template <typename I> I integerPower(I X, I Y) {
  using U = std::make_unsigned_t<I>;
  if (Y < 0)
    return X == 1 ? 1 : X == -1 ? (Y & 1 ? -1 : 1) : 0;
  U R = 1, B = U(X);
  for (U E = U(Y); E; E >>= 1, B *= B)
    if (E & 1)
      R *= B;
  return I(R);
}

/// glibc's powl takes huge whole exponents of -infinity wrong (2.36: -2^63
/// gives infinity); any smaller even one has the same result.
template <typename Wide> Wide power(Wide X, Wide Y) {
  if (std::isinf(X) && std::fabs(Y) >= Wide(0x1p+62) && !std::isinf(Y))
    Y = std::copysign(Wide(0x1p+62), Y) / 4;
  return std::pow(X, Y);
}

/// A generator of bits whose sequence is the same everywhere (splitmix64).
class Bits {
public:
  explicit Bits(uint64_t Seed) : State(Seed) {}
  uint64_t next() {
    uint64_t Z = (State += 0x9E3779B97F4A7C15ull);
    Z = (Z ^ (Z >> 30)) * 0xBF58476D1CE4E5B9ull;
    Z = (Z ^ (Z >> 27)) * 0x94D049BB133111EBull;
    return Z ^ (Z >> 31);
  }

private:
  uint64_t State;
};

template <typename To, typename From> To bitCast(From F) {
  static_assert(sizeof(To) == sizeof(From));
  To T;
  std::memcpy(&T, &F, sizeof(T));
  return T;
}

} // namespace kpc::mathtest

#endif // KPC_TEST_MATH_REFERENCE_H
