//===- ExpandMathPairs.cpp - Powers and hyperbolic functions of f32 -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What exponentials and logarithms of f32 have too few digits for, as sums of
/// two numbers of f32: many GPUs have few units of f64.
///
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

namespace {

/// e^(X + XLow) = (High + Low) * 2^Exponent, Low less than a tenth of High.
struct Exponential {
  Real High, Low;
  Int Exponent;
};

} // namespace

static Exponential exponentialOf(Real X, Real XLow) {
  constexpr double Magic = 0x1.8p+23; // see ExpandMathExp.cpp
  Real Shifted = fma(X, X.like(M_LOG2E), Magic);
  Real K = Shifted - Magic;
  Int Exponent = bitsOf(Shifted) - bitsOf(Shifted.like(Magic));
  Real A = fma(K, -Ln2F32[0], X); // exact
  Real R = fma(K, -Ln2F32[1], A);
  Real RLow = fma(K, -Ln2F32[1], A - R) + XLow;
  Parts Sum = sumOf(X.like(1), R);
  Real Square = R * R * polynomial(R, ExpF32);
  Real Tail = fma(RLow, Sum.High + Square, Square);
  return {Sum.High, Sum.Low + Tail, Exponent};
}

/// 2^-2k of the exponential's exponent, for what e^-x is to e^x; 0 from where
/// it does not count any more.
static Real inverseScale(const Exponential &E) {
  Int Most = E.Exponent.like(40);
  Int K = select(lessSigned(E.Exponent, Most), E.Exponent, Most);
  return powerOfTwo(K.like(0) - (K + K), formatOf(E.High));
}

/// (e^x + Sign e^-x) / 2, of |x| where that is finite.
static Real hyperbolic(Real A, double Sign) {
  Exponential E = exponentialOf(select(A > 91.0, 91.0, A), A.like(0));
  Real Inverse =
      divideNormalF32(A.like(Sign), E.High + E.Low) * inverseScale(E);
  Parts Sum = sumOf(E.High, Inverse);
  return scale(Sum.High + (Sum.Low + E.Low), E.Exponent - 1);
}

Real coshF32(Real X) { return hyperbolic(abs(X), 1); }

Real sinhF32(Real X) {
  Real A = abs(X);
  Real Z = A * A;
  Real Small = fma(A * Z, polynomial(Z, SinhF32), A);
  return withSign(select(A < 1.0, Small, hyperbolic(A, -1)), X);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// log(1 + X) + More * ln(2), X >= 0 or near 0, and finite.
static Real log1pOf(const Parts &X, Real More) {
  // 1 + X = U + C, and U = 2^K * M with M from sqrt(1/2) to sqrt(2).
  Parts One = sumOf(X.High.like(1), X.High);
  Parts Other = sumOf(X.High, X.High.like(1));
  Mask Less = X.High < 1.0;
  Real U = One.High, C = select(Less, One.Low, Other.Low) + X.Low;
  Int Bits = bitsOf(U);
  Int Exponent = shiftRightSigned(Bits - 0x3F3504F3ull, 23);
  Real M = fromBits(Bits - (Exponent << 23));
  Real K{convertTo<mlir::arith::SIToFPOp>(*X.High.B, Exponent.V,
                                          X.High.B->getF32Type()),
         X.High.B};
  // C * 2^-K; where K is greater, C does not count.
  Int Most = Exponent.like(60);
  Int Down = select(lessSigned(Exponent, Most), Exponent, Most);
  Real CDown = C * powerOfTwo(Down.like(0) - Down, formatOf(U));
  Parts F = sumOf(M - 1.0, CDown);
  // Without an exponent it is X itself, to all digits.
  Mask Near = equal(Exponent, 0);
  F.High = select(Near, X.High, F.High);
  F.Low = select(Near, X.Low, F.Low);
  // log(1 + f) = f - f^2/2 + f^3 p(f), and f's rest by the derivative.
  Real Square = F.High * F.High;
  Real SquareLow = fma(F.High, F.High, -Square);
  Parts Head = sumOf(F.High, Square * -0.5);
  Real Rest = fma(F.High * Square, polynomial(F.High, LogF32), Head.Low);
  Rest = fma(SquareLow, -0.5, Rest);
  Rest = Rest + fma(-F.Low, F.High, F.Low);
  Real Octaves = K + More;
  Real OfK = Octaves * Ln2F32[0];
  Real OfKLow = fma(Octaves, Ln2F32[1], fma(Octaves, Ln2F32[0], -OfK));
  // |K ln(2)| is the greater, unless K is 0.
  Parts Sum = sumOf(OfK, Head.High);
  return Sum.High + (Sum.Low + (OfKLow + Rest));
}

/// From here on x + sqrt(x^2 +- 1) is 2x, and x^2 is still finite.
static constexpr double InverseHyperbolicLarge = 0x1p+30;

/// What log1pOf takes for log(2x) where x is large, else `Y`.
static Real logOfTwice(Real A, const Parts &Y) {
  Mask Large = A > InverseHyperbolicLarge;
  Parts X{select(Large, A, Y.High), select(Large, 0.0, Y.Low)};
  return log1pOf(X, select(Large, 1.0, A.like(0)));
}

Real asinhF32(Real X) {
  Real A = abs(X);
  Real Square = A * A;
  // Where the square is the greater, the sum's rest is exact as well, up to
  // squares so large that it does not count.
  Parts Sum = sumOf(A.like(1), Square);
  Sum.Low = Sum.Low + fma(A, A, -Square);
  Real Root = sqrt(Sum.High);
  Real RootLow = (fma(-Root, Root, Sum.High) + Sum.Low) * (0.5 / Root);
  Parts Y = sumOf(A, Root - 1.0);
  Y = sumOf(Y.High, Y.Low + RootLow);
  Real L = logOfTwice(A, Y);
  L = select(A < A.infinity(), L, A);
  return select(X == 0.0, X, withSign(L, X));
}

Real acoshF32(Real X) {
  Real T = X - 1.0;
  Real Twice = T + T;
  Real Square = fma(T, T, Twice);
  Real SquareLow = fma(T, T, Twice - Square);
  Real Root = sqrt(Square);
  Real RootLow = (fma(-Root, Root, Square) + SquareLow) * (0.5 / Root);
  Parts Y = sumOf(Root, T);
  // A root of 0 has no rest; what is large takes none of this.
  Y.Low = Y.Low + select(Root > 0.0, RootLow, 0.0);
  Real L = logOfTwice(X, Y);
  L = select(X < X.infinity(), L, X);
  return select(X < 1.0, X.nan(), L);
}

Real atanhF32(Real X) {
  Real A = abs(X);
  Parts D = sumOf(A.like(1), -A);
  Real Inverse = 1.0 / D.High;
  Real Twice = A + A;
  Real Q = Twice * Inverse;
  Real QLow = (fma(-Q, D.High, Twice) - Q * D.Low) * Inverse;
  Real L = log1pOf({Q, QLow}, A.like(0)) * 0.5;
  L = select(A < 1.0, L, select(A == 1.0, A.infinity(), A.nan()));
  // Below 2^-12 it is x, and of NaN nothing is less.
  L = select(A < 0x1p-13, A, L);
  return withSign(L, X);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// log(A) to about 40 bits, A > 0 and finite.
static Parts logInPairs(Real A) {
  Mask Subnormal = A < 0x1p-126;
  Int Bits = bitsOf(select(Subnormal, A * 0x1p+25, A));
  Int Exponent = shiftRightSigned(Bits - 0x3F3504F3ull, 23);
  Real F = fromBits(Bits - (Exponent << 23)) - 1.0;
  Real K{convertTo<mlir::arith::SIToFPOp>(*A.B, Exponent.V, A.B->getF32Type()),
         A.B};
  K = K - select(Subnormal, A.like(25), A.like(0));
  // s = f / (2 + f), and 2 atanh(s) = 2s + s^3 (2/3 + s^2 p(s^2)).
  Parts D = sumOf(F.like(2), F);
  Real Inverse = divideNormalF32(F.like(1), D.High);
  Real S = F * Inverse;
  Real SLow = (fma(-S, D.High, F) - S * D.Low) * Inverse;
  Real Z = S * S;
  Real ZLow = fma(S, S, -Z) + (S + S) * SLow;
  Real Cube = S * Z;
  Real CubeLow = fma(S, Z, -Cube) + fma(S, ZLow, SLow * Z);
  Real Third = Cube * TwoThirdsF32[0];
  Real ThirdLow = fma(Cube, TwoThirdsF32[0], -Third) +
                  fma(Cube, TwoThirdsF32[1], CubeLow * TwoThirdsF32[0]);
  Real Rest =
      fma(Cube * Z, polynomial(Z, LogTailF32), (SLow + SLow) + ThirdLow);
  Real OfK = K * Ln2F32[0];
  Real OfKLow = fma(K, Ln2F32[1], fma(K, Ln2F32[0], -OfK));
  // |K ln(2)| > |2s| unless K is 0, and |2s| > |s^3|.
  Parts Sum = sumOf(OfK, S + S), More = sumOf(Sum.High, Third);
  return sumOf(More.High, More.Low + (Sum.Low + (OfKLow + Rest)));
}

Real powerOfMagnitudeF32(Real A, Real Y) {
  Parts L = logInPairs(A);
  Real High =
      select(A == 0.0, -A.infinity(), select(A < A.infinity(), L.High, A));
  Real Product = Y * High;
  Real Low = fma(Y, L.Low, fma(Y, High, -Product));
  // Beyond this the result is 0 or infinite, and Low may be NaN.
  Low = select(abs(Product) < 200.0, Low, 0.0);
  Product = select(Product > 90.0, 90.0, Product);
  Product = select(Product < -106.0, -106.0, Product);
  Exponential E = exponentialOf(Product, Low);
  return scale(E.High + E.Low, E.Exponent);
}

} // namespace kpc::expand
