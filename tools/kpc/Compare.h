//===- Compare.h - How far a tensor is from its reference -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_COMPARE_H
#define KPC_TOOLS_KPC_COMPARE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kpc::cli {

/// Both errors are relative to the root mean square of the reference, so that
/// they say the same of tensors of any scale.
struct Tolerance {
  double Rms = 1e-4;
  double Largest = 1e-3;
};

struct Difference {
  double Rms = 0, Largest = 0;
  /// Elements where one is NaN or infinite and the other is not the same; of
  /// integers and bool, elements that differ.
  int64_t Unequal = 0;
  /// The element that is farthest off.
  int64_t Worst = -1;
  double Got = 0, Wanted = 0;

  bool within(const Tolerance &T) const {
    return Unequal == 0 && Rms <= T.Rms && Largest <= T.Largest;
  }
  /// "rms error 0.2 (0.0001 is allowed), largest 1.3 at [0,3]: 0.5, not 0.7"
  std::string text(const Tolerance &T, std::span<const int64_t> Dims) const;
};

/// `Exact`: of integers and bool, which have no tolerance.
Difference difference(std::span<const double> Got,
                      std::span<const double> Wanted, bool Exact);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_COMPARE_H
