//===- ExpandMathInverse.cpp - Inverse trigonometric functions -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

/// asin(X) for |X| <= 1/2, Z = X^2.
static Real asinSmall(Real X, Real Z) {
  return fma(X * Z, polynomial(Z, AsinF64), X);
}

/// For |x| > 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
Real asin(Real X) {
  Real A = abs(X);
  Mask Small = A < 0.5;
  Real Z = select(Small, A * A, (1.0 - A) * 0.5);
  Real R = asinSmall(select(Small, A, sqrt(Z)), Z);
  Real Large = PiOver2[0] - (R + R - PiOver2[1]);
  return withSign(select(Small, R, Large), X);
}

Real acos(Real X) {
  Real A = abs(X);
  Mask Small = A < 0.5;
  Real Z = select(Small, A * A, (1.0 - A) * 0.5);
  Real R = asinSmall(select(Small, A, sqrt(Z)), Z);
  Real Signed = withSign(R, X);
  Real Middle = PiOver2[0] - (Signed - PiOver2[1]);
  Real Twice = R + R;
  Real Left = (2 * PiOver2[0]) - (Twice - 2 * PiOver2[1]);
  return select(Small, Middle, select(X < 0.0, Left, Twice));
}

/// atan(X) for 0 <= X <= 1.
static Real atanUpToOne(Real X) {
  // tan(pi/8)
  Mask Upper = X > 0x1.a827999fcef32p-2;
  Real R = select(Upper, (X - 1.0) / (X + 1.0), X);
  Real Z = R * R;
  Real P = R * Z * polynomial(Z, AtanF64);
  Real Large = (P + PiOver2[1] / 2 + R) + PiOver2[0] / 2;
  return select(Upper, Large, P + R);
}

Real atan(Real X) {
  Real A = abs(X);
  Mask Large = A > 1.0;
  Real R = atanUpToOne(select(Large, 1.0 / A, A));
  return withSign(select(Large, PiOver2[0] - (R - PiOver2[1]), R), X);
}

Real atan2(Real Y, Real X) {
  Real AY = abs(Y), AX = abs(X);
  Mask Steep = AY > AX;
  Real Low = select(Steep, AX, AY), High = select(Steep, AY, AX);
  Real Ratio = Low / High;
  // 0/0 stands for 0, inf/inf for 1; NaN equals nothing and stays.
  Ratio = select(Low == High, select(Low == 0.0, X.like(0), X.like(1)), Ratio);
  Real R = atanUpToOne(Ratio);
  R = select(Steep, PiOver2[0] - (R - PiOver2[1]), R);
  Mask Left = lessSigned(bitsOf(X), bitsOf(X).like(0)); // also for -0
  R = select(Left, 2 * PiOver2[0] - (R - 2 * PiOver2[1]), R);
  R = select(isNaN(X) | isNaN(Y), X + Y, R);
  return withSign(R, Y);
}

} // namespace kpc::expand
