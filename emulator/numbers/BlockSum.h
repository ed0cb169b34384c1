//===- BlockSum.h - The sum of 4-bit products with scales -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kind::mxf4 and kind::mxf4nvf4: 64 products in groups of 16. A group is
/// summed exactly and multiplied by the significands of its two scales; groups
/// and the accumulator are aligned by the exponents of the scales alone, cut
/// toward zero 35 bits below the largest, and added (microsoft/MMA-Sim, arXiv
/// 2511.10909; no hardware was at hand).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_NUMBERS_BLOCKSUM_H
#define KPC_EMULATOR_NUMBERS_BLOCKSUM_H

#include "emulator/numbers/FusedSum.h"

namespace kpc::emulator {

/// A scale is Significand * 2^(Exponent - 3).
struct ScaleValue {
  int Significand = 8, Exponent = 0;
  bool IsNaN = false;
};
/// `IsE8M0`: a power of two; else ue4m3, whose sign bit is not looked at.
ScaleValue scaleValue(uint8_t Bits, bool IsE8M0);

/// Numbers times a power of two, for a FusedSum.h of what has scales of ue8m0.
void scaleBy(MatrixValue *Values, unsigned Count, const ScaleValue &By);

inline constexpr unsigned BlockGroup = 16;

/// `Groups` groups of 16 products; ScaleA and ScaleB have one entry for each
/// group.
uint32_t blockSum(const MatrixValue *A, const MatrixValue *B, unsigned Groups,
                  const ScaleValue *ScaleA, const ScaleValue *ScaleB, float C,
                  bool HasC);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_NUMBERS_BLOCKSUM_H
