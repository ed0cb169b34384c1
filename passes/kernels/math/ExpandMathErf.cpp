//===- ExpandMathErf.cpp - The error function and its complement -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

Real erfF32(Real X) {
  Real A = abs(X);
  Real Z = X * X;
  Real Small = fma(X, polynomial(Z, ErfF32), X);
  // From 3.92 on the result is 1; the polynomial ends at 4.
  Real T = select(A > 4.0, 4.0, A);
  Real Large = withSign(1.0 - expNormalF32(polynomial(T, LogErfcF32)), X);
  return select(A < 1.0, Small, Large);
}

/// For A in [0.98, 28], by exp(-a^2) with a^2 in two parts.
static Real erfcLarge(Real A) {
  Real G = polynomial((A - 4.0) / (A + 4.0), ErfcF64);
  Real Square = A * A;
  Real Low = fma(A, A, -Square);
  Real E = scaledExp(-Square, 0, Goal::Double);
  return fma(E, -Low, E) * (G / fma(A, 2.0, 1.0));
}

static Real erfSmall(Real X) { return fma(X, polynomial(X * X, ErfF64), X); }

static Real clampForErfc(Real A) {
  A = select(A < 1.0, 1.0, A);
  return select(A > 28.0, 28.0, A);
}

Real erf(Real X) {
  Real A = abs(X);
  Real Large = withSign(1.0 - erfcLarge(clampForErfc(A)), X);
  return select(A < 1.0, erfSmall(X), Large);
}

Real erfc(Real X) {
  Real A = abs(X);
  Real C = erfcLarge(clampForErfc(A));
  Real Large = select(X < 0.0, 2.0 - C, C);
  return select(A < 1.0, 1.0 - erfSmall(X), Large);
}

} // namespace kpc::expand
