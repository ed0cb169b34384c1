//===- FloatRounding.h - f32 and f64 in directed roundings ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums, products, quotients and roots rounded towards zero, down or up. An
/// instruction's Mode is its Rounding, its Immediate a RoundedOperation with
/// its flags.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_FLOATROUNDING_H
#define KPC_EMULATOR_INSTRUCTIONS_FLOATROUNDING_H

#include "emulator/program/Decoder.h"

#include <bit>
#include <cstdint>

namespace kpc::emulator {

enum RoundedOperation : uint64_t {
  DoAdd,
  DoSub,
  DoMul,
  DoFma,
  DoDiv,
  DoSqrt,
  Flush = 16,
  Inverts = 32, ///< rcp: 1 is divided by the operand
  Saturates = 64
};

/// The handler of f64 (`Wide`) or f32.
Handler directed(bool Wide);

/// Of several NaN operands the last one is an f64's result, made quiet.
template <typename T, typename... All> T lastNaN(T Result, All... Operands) {
  if constexpr (sizeof(T) == 8) {
    constexpr uint64_t Quiet = uint64_t{1} << 51;
    for (double A : {Operands...})
      if (A != A)
        Result = std::bit_cast<double>(std::bit_cast<uint64_t>(A) | Quiet);
  }
  return Result;
}

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_FLOATROUNDING_H
