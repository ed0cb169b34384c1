//===- Arena.h - Packs values into one block of memory ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// First-fit packing by live intervals. Two values may share bytes only if no
/// step uses both. The result depends on sizes and intervals alone.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_ARENA_H
#define KPC_RUNTIME_SRC_ARENA_H

#include <cstdint>
#include <optional>
#include <vector>

namespace kpc::rt {

struct ArenaItem {
  uint64_t Size = 0;
  uint64_t Alignment = 64; ///< a power of two
  uint32_t FirstStep = 0;  ///< live from the start of this step …
  uint32_t LastStep = 0;   ///< … to the end of this one
  uint64_t Offset = 0;     ///< result
  /// Items of a later stage get their places when those before have theirs:
  /// sizes of a later stage move nothing of an earlier one.
  uint32_t Stage = 0;
};

struct ArenaPlan {
  uint64_t Size = 0; ///< bytes of the block
  uint64_t LiveBytes =
      0; ///< the largest sum of live sizes, rounded to alignment
  uint64_t SumBytes = 0; ///< all sizes, rounded to alignment
};

/// Sets the offset of every item. With `Reuse` false nothing is shared. None if
/// the sizes do not fit 63 bits.
std::optional<ArenaPlan> packArena(std::vector<ArenaItem> &Items, bool Reuse);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_ARENA_H
