//===- FloatResults.h - Flushed and canonical floats ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What stands around an operation on f32 or f64: with .ftz small operands and
/// results are zero; a NaN of f32 is 0x7FFFFFFF.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_FLOATRESULTS_H
#define KPC_EMULATOR_INSTRUCTIONS_FLOATRESULTS_H

#include "emulator/numbers/Formats.h"

#include <bit>

namespace kpc::emulator {

template <bool Flush, typename T> T input(T A) {
  if constexpr (Flush)
    return flushed(A);
  else
    return A;
}
template <bool Flush, typename T> T output(T A) {
  if constexpr (Flush)
    return flushed(canonical(A));
  else if constexpr (sizeof(T) == 4)
    return canonical(A);
  else
    return A;
}

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

template <typename Op, bool Flush> struct Around {
  template <typename... T> auto operator()(T... A) const {
    return output<Flush>(Op()(input<Flush>(A)...));
  }
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_FLOATRESULTS_H
