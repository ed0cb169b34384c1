//===- ExpandMathExp.cpp - Exponentials and hyperbolic functions -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

/// ln(2) in two f32, and its reciprocal.
static constexpr double Ln2HighF32 = 0x1.62e430p-1;
static constexpr double Ln2LowF32 = -0x1.05c610p-29;
static constexpr double InvLn2F32 = 0x1.715476p+0;

namespace {

/// X = K * ln(2) + R, with |R| <= ln(2) / 2.
struct Reduced {
  Real K;
  Int Exponent;
  Real R;
};

} // namespace

/// Added to a number, leaves it rounded to an integer in the low bits of the
/// fraction (1.5 * 2^23 and 2^52): no conversion, hence none of NaN.
static double roundingMagic(Real X) {
  return X.isF64() ? 0x1.8p+52 : 0x1.8p+23;
}

static Reduced reduce(Real X) {
  double Magic = roundingMagic(X);
  bool Wide = X.isF64();
  Real Shifted = fma(X, Wide ? InvLn2[0] : InvLn2F32, Magic);
  Real K = Shifted - Magic;
  Int Exponent = bitsOf(Shifted) - bitsOf(Shifted.like(Magic));
  Real R = fma(K, Wide ? -Ln2[0] : -Ln2HighF32, X); // exact
  R = fma(K, Wide ? -Ln2[1] : -Ln2LowF32, R);
  return {K, Exponent, R};
}

/// X drawn into [Low, High]; NaN stays.
static Real clamp(Real X, double Low, double High) {
  X = select(X > High, High, X);
  return select(X < Low, Low, X);
}

Real expF32(Real X) {
  Reduced S = reduce(clamp(X, -104, 89));
  Real Q = polynomial(S.R, ExpF32);
  Real P = fma(S.R * S.R, Q, S.R) + 1.0;
  return scale(P, S.Exponent);
}

Real expNormalF32(Real X) {
  Reduced S = reduce(X);
  Real Q = polynomial(S.R, ExpF32);
  Real P = fma(S.R * S.R, Q, S.R) + 1.0;
  return P * powerOfTwo(S.Exponent, formatOf(X));
}

Real exp2F32(Real X) {
  X = clamp(X, -151, 129);
  double Magic = roundingMagic(X);
  Real Shifted = X + Magic;
  Real R = X - (Shifted - Magic);
  Int K = bitsOf(Shifted) - bitsOf(Shifted.like(Magic));
  return scale(fma(R, polynomial(R, Exp2F32), 1.0), K);
}

/// 2^K * expm1(R) + (2^K - 1), with halves so that 2^128 does not overflow.
static Real expm1From(const Reduced &S, Real Small, Real X) {
  Real Half = powerOfTwo(S.Exponent - 1, formatOf(X));
  Real Y = fma(Half, Small, Half - 0.5);
  // Doubling the halves would lose the last bit of a subnormal number, and
  // fma the sign of zero.
  Y = select(equal(S.Exponent, 0), Small, Y + Y);
  return select(X == 0.0, X, Y);
}

Real expm1F32(Real X) {
  Reduced S = reduce(clamp(X, -18, 89));
  return expm1From(S, fma(S.R * S.R, polynomial(S.R, ExpM1F32), S.R), X);
}

Real tanhF32(Real X) {
  Real A = abs(X);
  Real Z = X * X;
  Real Small = fma(A * Z, polynomial(Z, TanhF32), A);
  // 10 is far in the range where the result is 1.
  Real Twice = A + A;
  Real E = expNormalF32(select(Twice > 20.0, 20.0, Twice));
  Real Large = 1.0 - divideNormalF32(X.like(2.0), E + 1.0);
  return withSign(select(A < 0.625, Small, Large), X);
}

Real scaledExp(Real X, int64_t Shift, Goal G) {
  Reduced S = reduce(clamp(X, -747, 711));
  Real Q =
      G == Goal::Single ? polynomial(S.R, ExpShort) : polynomial(S.R, ExpF64);
  Real P = fma(S.R * S.R, Q, S.R) + 1.0;
  Int K = Shift ? S.Exponent + uint64_t(Shift) : S.Exponent;
  return scale(P, K);
}

Real exp(Real X) { return scaledExp(X, 0, Goal::Double); }

Real exp2(Real X) {
  X = clamp(X, -1076, 1025);
  double Magic = roundingMagic(X);
  Real Shifted = X + Magic;
  Real R = X - (Shifted - Magic);
  Int K = bitsOf(Shifted) - bitsOf(Shifted.like(Magic));
  Real High = R * Ln2[0];
  Real Low = fma(R, Ln2[1], fma(R, Ln2[0], -High));
  Real P = fma(High * High, polynomial(High, ExpF64), Low) + High + 1.0;
  return scale(P, K);
}

Real expm1(Real X) {
  Reduced S = reduce(clamp(X, -40, 709.9));
  return expm1From(S, fma(S.R * S.R, polynomial(S.R, ExpM1F64), S.R), X);
}

Real sinh(Real X) {
  Real A = abs(X);
  Real E = expm1(select(A < 1.0, A, 1.0));
  Real Small = (E + E / (E + 1.0)) * 0.5;
  Real Half = scaledExp(A, -1, Goal::Double); // e^|x| / 2
  Real Large = Half - 0.25 / Half;
  return withSign(select(A < 1.0, Small, Large), X);
}

Real cosh(Real X) {
  Real Half = scaledExp(abs(X), -1, Goal::Double);
  return Half + 0.25 / Half;
}

Real tanh(Real X) {
  Real A = abs(X);
  Real E = expm1(clamp(A + A, 0, 44));
  return withSign(E / (E + 2.0), X);
}

} // namespace kpc::expand
