//===- IntervalArithmetic.h - Arithmetic of ranges of sizes -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic of the intervals of Facts.h. Private to this library. An end at
/// the limit of int64_t stands for no end.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_INTERVALARITHMETIC_H
#define KPC_DIALECTS_SHAPE_INTERVALARITHMETIC_H

#include "dialects/shape/Facts.h"

namespace kpc::shape {

inline constexpr int64_t NoMax = Interval::Unbounded;
inline constexpr int64_t NoMin = std::numeric_limits<int64_t>::min();
inline constexpr Interval Everything{NoMin, NoMax};

inline bool isInfinite(int64_t V) { return V == NoMax || V == NoMin; }

Interval add(Interval A, Interval B);
Interval multiply(Interval A, Interval B);
/// Divisors are taken for positive: there is no value where they are not.
Interval floorDivRange(Interval A, Interval Divisor);
Interval modRange(Interval A, Interval Divisor);
/// What both hold; `A` where that is nothing.
Interval intersect(Interval A, Interval B);
/// Draws finite ends in to multiples of `Divisor`.
Interval roundInward(Interval R, int64_t Divisor);

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_INTERVALARITHMETIC_H
