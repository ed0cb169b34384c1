//===- ExpandMathLog.cpp - Logarithms and inverse hyperbolic functions
//-----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

static constexpr double Ln2HighF32 = 0x1.62e430p-1;
static constexpr double Ln2LowF32 = -0x1.05c610p-29;

namespace {

/// X = 2^K * (1 + F), with 1 + F in [sqrt(1/2), sqrt(2)).
struct Split {
  Int Exponent;
  Real K;
  Real F;
};

} // namespace

/// `X` positive and normal; other bits give a harmless answer.
static Split splitNormal(Real X) {
  Format Fmt = formatOf(X);
  uint64_t SqrtHalf = X.isF64() ? 0x3FE6A09E667F3BCDull : 0x3F3504F3ull;
  Int Bits = bitsOf(X);
  Int Exponent = shiftRightSigned(Bits - SqrtHalf, Fmt.FractionBits);
  Real M = fromBits(Bits - (Exponent << uint64_t(Fmt.FractionBits)));
  mlir::Type Element = mlir::getElementTypeOrSelf(X.V.getType());
  Real K{convertTo<mlir::arith::SIToFPOp>(*X.B, Exponent.V, Element), X.B};
  return {Exponent, K, M - 1.0};
}

/// Subnormal numbers are scaled up first.
static Split split(Real X) {
  bool Wide = X.isF64();
  Mask Subnormal = X < (Wide ? 0x1p-1022 : 0x1p-126);
  double Shift = Wide ? 54 : 25;
  Split S = splitNormal(select(Subnormal, X * (Wide ? 0x1p+54 : 0x1p+25), X));
  S.K = S.K - select(Subnormal, X.like(Shift), X.like(0));
  return S;
}

/// log(1 + F) for f32.
static Real logOfMantissaF32(Real F) {
  Real T = fma(F, polynomial(F, LogF32), -0.5);
  return fma(F * F, T, F);
}

/// log(1 + F) + Low, by s = f / (2 + f): 2 atanh(s) = f - (f^2/2 - s (f^2/2 +
/// s^2 p(s^2))), which keeps f exact.
static Real logOfMantissa(Real F, Real Low, Goal G) {
  Real S = F / (F + 2.0);
  Real Z = S * S;
  Real P =
      Z * (G == Goal::Single ? polynomial(Z, LogShort) : polynomial(Z, LogF64));
  Real Half = F * F * 0.5;
  return F - (Half - fma(S, Half + P, Low));
}

/// The values at and beyond the ends of the domain.
static Real finishLog(Real X, Real Y) {
  Y = select(X < X.infinity(), Y, X); // infinity and NaN
  Y = select(X < 0.0, X.nan(), Y);
  return select(X == 0.0, -std::numeric_limits<double>::infinity(), Y);
}

Real logF32(Real X) {
  Split S = split(X);
  Real Y = fma(S.K, Ln2LowF32, logOfMantissaF32(S.F));
  return finishLog(X, fma(S.K, Ln2HighF32, Y));
}

Real logFor(Real X, Goal G) {
  Split S = split(X);
  Real Y = logOfMantissa(S.F, S.K * Ln2[1], G);
  return finishLog(X, fma(S.K, Ln2[0], Y));
}

Real log(Real X) { return logFor(X, Goal::Double); }

Parts logInParts(Real X) {
  Split P = split(X);
  // s = f / (2 + f) with the error of each step.
  Real D = P.F + 2.0;
  Real DLow = P.F - (D - 2.0);
  Real S = P.F / D;
  Real SLow = fma(-S, DLow, fma(-S, D, P.F)) / D;
  Real Z = S * S;
  Real Tail = fma(S * Z, polynomial(Z, LogF64), SLow + SLow);
  // K ln(2) + 2s, likewise; |K ln(2)| > |2s| unless K is 0.
  Real High = P.K * Ln2[0];
  Real Low = fma(P.K, Ln2[1], fma(P.K, Ln2[0], -High));
  Real Sum = High + (S + S);
  Low = Low + ((High - Sum) + (S + S)) + Tail;
  return {finishLog(X, Sum + Low), (Sum - (Sum + Low)) + Low};
}

/// K * PerOctave + log(1 + F) * Scale, Scale in two parts.
static Real scaledLog(Real X, double Scale, double ScaleLow, double PerOctave,
                      double PerOctaveLow) {
  Split S = split(X);
  Real L = logOfMantissa(S.F, X.like(0), Goal::Double);
  Real Y = fma(L, Scale, fma(L, ScaleLow, S.K * PerOctaveLow));
  return finishLog(X, fma(S.K, PerOctave, Y));
}

Real log2(Real X) { return scaledLog(X, InvLn2[0], InvLn2[1], 1, 0); }

Real log10(Real X) {
  // 1 / ln(10) and log10(2), two parts each.
  return scaledLog(X, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57,
                   0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59);
}

/// log(1 + X): 1 + X = U + C exactly, and C goes to the mantissa's rest.
static Split splitOnePlus(Real X) {
  Real U = X + 1.0;
  Real V = U - 1.0;
  Real C = (1.0 - (U - V)) + (X - V);
  Split S = splitNormal(U);
  Format Fmt = formatOf(X);
  // C * 2^-K; from 2^60 on C does not count, nor does 2^-K fit.
  Mask Counts = lessSigned(S.Exponent, S.Exponent.like(60));
  Real Down = powerOfTwo(S.Exponent.like(0) - S.Exponent, Fmt);
  S.F = S.F + select(Counts, C * Down, 0.0);
  return S;
}

static Real finishLog1p(Real X, Real Y) {
  Real Edge = finishLog(X + 1.0, Y);
  return select(X == 0.0, X, Edge); // the sign of zero
}

Real log1pF32(Real X) {
  Split S = splitOnePlus(X);
  Real Y = fma(S.K, Ln2LowF32, logOfMantissaF32(S.F));
  return finishLog1p(X, fma(S.K, Ln2HighF32, Y));
}

Real log1p(Real X) {
  Split S = splitOnePlus(X);
  Real Y = logOfMantissa(S.F, S.K * Ln2[1], Goal::Double);
  return finishLog1p(X, fma(S.K, Ln2[0], Y));
}

/// From here on x + sqrt(x^2 +- 1) is 2x, and x^2 is still finite.
static constexpr double InverseHyperbolicLarge = 0x1p+60;

Real asinh(Real X) {
  Real A = abs(X);
  Mask Large = A > InverseHyperbolicLarge;
  Real Square = A * A;
  Real T = A + Square / (sqrt(Square + 1.0) + 1.0);
  Real L = log1p(select(Large, A, T));
  return withSign(L + select(Large, X.like(Ln2[0]), X.like(0)), X);
}

Real acosh(Real X) {
  Mask Large = X > InverseHyperbolicLarge;
  Real T = X - 1.0;
  Real Y = T + sqrt(fma(T, T, T + T));
  Real L = log1p(select(Large, X, Y));
  L = L + select(Large, X.like(Ln2[0]), X.like(0));
  return select(X < 1.0, X.nan(), L);
}

Real atanh(Real X) {
  Real A = abs(X);
  return withSign(log1p((A + A) / (1.0 - A)) * 0.5, X);
}

} // namespace kpc::expand
