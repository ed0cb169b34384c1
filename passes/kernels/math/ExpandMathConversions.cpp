//===- ExpandMathConversions.cpp - Conversions between float formats -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

namespace kpc::expand {

Real bf16ToF32(mlir::Value V, Builder &B) {
  Int Bits{mlir::arith::BitcastOp::create(
               B, shapedLike(V.getType(), B.getIntegerType(16)), V),
           &B};
  return fromBits(resize(Bits, 32) << 16);
}

/// Rounds to nearest, ties to even; NaN keeps its sign and becomes quiet.
mlir::Value f32ToBF16(Real X) {
  Int Bits = bitsOf(X);
  Int Odd = shiftRight(Bits, 16) & 1;
  Int Rounded = Bits + 0x7FFF + Odd;
  Int Quiet = Bits | 0x400000;
  Int High = shiftRight(select(isNaN(X), Quiet, Rounded), 16);
  return fromBits(resize(High, 16)).V;
}

Real narrowToOdd(Real X) {
  Real Near = narrow(X);
  Real Back = widen(Near);
  Int Bits = bitsOf(Near);
  // The neighbour on X's side, if X was rounded to an even number.
  Mask Inexact = (Back < X) | (X < Back);
  Mask Fix = Inexact & Mask(equal(Bits & 1, 0));
  Int Neighbour = select(abs(Back) < abs(X), Bits + 1, Bits - 1);
  return fromBits(select(Fix, Neighbour, Bits));
}

} // namespace kpc::expand
