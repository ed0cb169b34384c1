//===- IntervalArithmetic.cpp - Arithmetic of ranges of sizes -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/IntervalArithmetic.h"
#include "dialects/shape/ExprNode.h"

#include <algorithm>

namespace kpc::shape {

static int64_t clamp(__int128 V) {
  return V > NoMax ? NoMax : V < NoMin ? NoMin : int64_t(V);
}

static int64_t addEnds(int64_t A, int64_t B) {
  return isInfinite(A) ? A : isInfinite(B) ? B : clamp(__int128(A) + B);
}

static int64_t multiplyEnds(int64_t A, int64_t B) {
  if (A == 0 || B == 0)
    return 0;
  if (isInfinite(A) || isInfinite(B))
    return (A < 0) == (B < 0) ? NoMax : NoMin;
  return clamp(__int128(A) * B);
}

/// `B` > 0.
static int64_t divideEnds(int64_t A, int64_t B) {
  if (B == NoMax)
    return A < 0 ? -1 : 0;
  return isInfinite(A) ? A : floorDivide(A, B);
}

Interval add(Interval A, Interval B) {
  return {addEnds(A.Min, B.Min), addEnds(A.Max, B.Max)};
}

Interval multiply(Interval A, Interval B) {
  auto [Min, Max] =
      std::minmax({multiplyEnds(A.Min, B.Min), multiplyEnds(A.Min, B.Max),
                   multiplyEnds(A.Max, B.Min), multiplyEnds(A.Max, B.Max)});
  return {Min, Max};
}

/// Divisors are positive wherever there is a value at all.
static Interval positive(Interval D) {
  return {std::max<int64_t>(D.Min, 1), std::max<int64_t>(D.Max, 1)};
}

Interval floorDivRange(Interval A, Interval D) {
  D = positive(D);
  // An infinite dividend over an infinite divisor may be anything between.
  int64_t Max = A.Max == NoMax ? NoMax
                               : std::max(divideEnds(A.Max, D.Min),
                                          divideEnds(A.Max, D.Max));
  int64_t Min = A.Min == NoMin ? NoMin
                               : std::min(divideEnds(A.Min, D.Min),
                                          divideEnds(A.Min, D.Max));
  return {Min, Max};
}

Interval modRange(Interval A, Interval D) {
  D = positive(D);
  if (A.Min >= 0 && A.Max < D.Min)
    return A;
  int64_t Max = D.Max == NoMax ? NoMax : D.Max - 1;
  return {0, A.Min >= 0 ? std::min(Max, A.Max) : Max};
}

Interval intersect(Interval A, Interval B) {
  Interval Both{std::max(A.Min, B.Min), std::min(A.Max, B.Max)};
  return Both.Min <= Both.Max ? Both : A;
}

Interval roundInward(Interval R, int64_t Divisor) {
  if (Divisor <= 1)
    return R;
  int64_t Min =
      isInfinite(R.Min)
          ? R.Min
          : clamp(-(__int128(floorDivide(-R.Min, Divisor)) * Divisor));
  int64_t Max = isInfinite(R.Max)
                    ? R.Max
                    : clamp(__int128(floorDivide(R.Max, Divisor)) * Divisor);
  return Min <= Max ? Interval{Min, Max} : R;
}

} // namespace kpc::shape
