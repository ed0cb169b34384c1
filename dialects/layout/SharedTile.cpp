//===- SharedTile.cpp - Where a tile's elements lie in shared memory ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/SharedTile.h"

#include <algorithm>

namespace kpc::layout {

/// Elements of a box along one dimension (CUDA driver API,
/// cuTensorMapEncodeTiled).
static constexpr int64_t MaxBoxExtent = 256;
/// TMA's destination; PTX asks for 16 bytes, hardware in practice for 128.
static constexpr int64_t BoxAlignment = 128;

std::string SharedTile::problem() const {
  if (ElementBits != 4 && ElementBits != 8 && ElementBits != 16 &&
      ElementBits != 32)
    return "elements of " + std::to_string(ElementBits) +
           " bits have no tile layout (4, 8, 16 and 32 have)";
  if (Mn < 1 || K < 1)
    return "a tile needs at least one row and one column";
  if (ElementBits == 4 && Order == Major::MN)
    return "4-bit elements are K-major only";
  if (innerExtent() * ElementBits % 128 != 0)
    return "a line of " + std::to_string(innerExtent()) + " elements of " +
           std::to_string(ElementBits) + " bits is no multiple of 16 bytes";
  if (outerExtent() > MaxBoxExtent && outerExtent() % 8 != 0)
    return std::to_string(outerExtent()) +
           " lines are more than a TMA box has, and no multiple of 8";
  if (Mode == SwizzleMode::B128Atom32 && Order == Major::K)
    return "the 32-byte atoms are for MN-major tiles only";
  return {};
}

int64_t SharedTile::chunks() const {
  return (innerBytes() + lineBytes() - 1) / lineBytes();
}

int64_t SharedTile::alignment() const {
  return std::max(repeatBytes(Mode), BoxAlignment);
}

int64_t SharedTile::plainOffset(int64_t MnIndex, int64_t KIndex) const {
  int64_t Inner = Order == Major::K ? KIndex : MnIndex;
  int64_t Outer = Order == Major::K ? MnIndex : KIndex;
  int64_t Byte = Inner * ElementBits / 8;
  return Byte / lineBytes() * chunkBytes() + Outer * lineBytes() +
         Byte % lineBytes();
}

int64_t SharedTile::byteOffset(int64_t MnIndex, int64_t KIndex) const {
  return swizzle(Mode, plainOffset(MnIndex, KIndex));
}

int64_t SharedTile::bitOffset(int64_t MnIndex, int64_t KIndex) const {
  return (Order == Major::K ? KIndex : MnIndex) * ElementBits % 8;
}

TileBoxes SharedTile::boxes() const {
  int64_t Inner = std::min(innerExtent(), lineBytes() * 8 / ElementBits);
  // Equal parts, so that one tensor map serves all of them, and of 8 lines
  // each, so that every part starts where the swizzle's pattern does.
  int64_t Parts = (outerExtent() + MaxBoxExtent - 1) / MaxBoxExtent;
  while (Parts > 1 && outerExtent() % (Parts * 8) != 0)
    ++Parts;
  return {chunks() * Parts, Parts, Inner, outerExtent() / Parts};
}

int64_t SharedTile::boxOffset(int64_t Index) const {
  TileBoxes B = boxes();
  return Index / B.PerChunk * chunkBytes() +
         Index % B.PerChunk * B.Outer * lineBytes();
}

} // namespace kpc::layout
