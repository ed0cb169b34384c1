//===- Swizzle.h - Where shared memory swaps its 16-byte pieces -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The permutations of shared memory that TMA writes with and the tensor cores
/// read with: an XOR of address bits with higher address bits, always of the
/// absolute shared address (PTX ISA, "Shared memory matrix layout").
///
///   swizzle(SwizzleMode::B128, 0x090) == 0x080   // bits 4-6 ^= bits 7-9
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_SWIZZLE_H
#define KPC_DIALECTS_LAYOUT_SWIZZLE_H

#include <cstdint>
#include <optional>

namespace kpc::layout {

enum class SwizzleMode {
  None,
  B32,
  B64,
  B128,
  B128Atom32 ///< 128 bytes in pieces of 32 bytes; tcgen05 alone reads it.
};

/// The address at which the byte of the plain layout at `ByteAddress` lies. A
/// permutation that is its own inverse.
int64_t swizzle(SwizzleMode Mode, int64_t ByteAddress);

/// The pattern's period; a tile starts at a multiple of it. 16 for None, whose
/// pieces never move.
int64_t repeatBytes(SwizzleMode Mode);

/// W: the bytes of a row that one TMA box holds. 16 for None, where the tensor
/// cores take 16-byte rows.
int64_t spanBytes(SwizzleMode Mode);

/// The rows of W bytes that one descriptor stride steps over.
int64_t rowsPerStride(SwizzleMode Mode);

/// The mode whose span is `Bytes` (0: None), as the attribute
/// kernel.tensor_maps says it.
std::optional<SwizzleMode> swizzleOfSpan(int64_t Bytes);

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_SWIZZLE_H
