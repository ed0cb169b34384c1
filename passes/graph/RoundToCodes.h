//===- RoundToCodes.h - The nearest number of a coarse type -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rounding to nearest, ties to even, without branches and calls: loops over
/// weights of a billion numbers become vector instructions. The sum with
/// 1.5 * 2^23 steps has the step as its last place, so the addition itself
/// rounds (the file is not compiled with -ffast-math).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_ROUNDTOCODES_H
#define KPC_PASSES_GRAPH_ROUNDTOCODES_H

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>

namespace kpc::graph {

/// The integer nearest to `X`, whose magnitude is below 2^22.
inline float roundedToEven(float X) {
  constexpr float Shift = 0x1.8p23F;
  return (X + Shift) - Shift;
}

/// The number of E4M3 nearest to `X`, whose magnitude is at most 448. Numbers
/// below 2^-6 have the steps of 2^-6.
inline float roundedToE4m3(float X) {
  constexpr int32_t ExponentMask = 0x7F800000, LeastExponent = (127 - 6) << 23;
  constexpr int32_t StepsToShift = (23 - 3) << 23; // 2^23 steps of 2^(e-3)
  int32_t Exponent = llvm::bit_cast<int32_t>(X) & ExponentMask;
  Exponent = std::max(Exponent, LeastExponent);
  float Shift = 1.5F * llvm::bit_cast<float>(Exponent + StepsToShift);
  return (X + Shift) - Shift;
}

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_ROUNDTOCODES_H
