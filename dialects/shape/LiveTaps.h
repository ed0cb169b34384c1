//===- LiveTaps.h - Taps of a filter that are not zeros ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An attribute of convolutions of one group: a mask of taps for each equal
/// part of the outputs, the last dimension's taps the fastest. Taps that are
/// not in a part's mask are zeros of w, and a kernel may leave them out. Who
/// drops the attribute is still right.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_LIVETAPS_H
#define KPC_DIALECTS_SHAPE_LIVETAPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace kpc {

/// On a `graph.conv`, and on a `kernel.conv`.
inline constexpr llvm::StringLiteral GraphLiveTapsName = "graph.live_taps",
                                     KernelLiveTapsName = "kernel.live_taps";

/// Taps that a mask has room for.
inline constexpr int64_t MostLiveTaps = 32;

/// What is wrong with such masks for a filter of `Taps` and `Outputs`, or of
/// more taps where those are not known; empty: nothing.
inline std::string refusalOfLiveTaps(llvm::ArrayRef<int64_t> Live, int64_t Taps,
                                     int64_t Outputs, int64_t Groups) {
  auto Parts = int64_t(Live.size());
  if (Groups != 1 || Outputs < 1 || Parts < 1 || Outputs % Parts != 0)
    return "expected a constant number of outputs of one group that divides "
           "into " +
           std::to_string(Parts) + " parts";
  for (int64_t Mask : Live)
    if (Taps > MostLiveTaps || Mask < 1 || (Mask >> Taps) != 0)
      return "expected masks of 1 to " + std::to_string(MostLiveTaps) +
             " taps, none of them empty, got " + std::to_string(Mask);
  return {};
}

} // namespace kpc

#endif // KPC_DIALECTS_SHAPE_LIVETAPS_H
