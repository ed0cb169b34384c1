//===- SharedTile.h - Where a tile's elements lie in shared memory *- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An operand tile in shared memory as TMA writes it: boxes of W bytes (the
/// swizzle's span) side by side, [chunk][line][W bytes], and the XOR over it.
/// The inner extent (K of a K-major tile, MN of an MN-major one) runs along a
/// line; lines are the outer extent.
///
///   SharedTile A{.Order = Major::K, .Mn = 128, .K = 64, .ElementBits = 16,
///                .Mode = SwizzleMode::B128};
///   A.byteOffset(1, 8)   // row 1, k 8 -> 128 + (16 ^ 16) = 128
///   A.bytes()            // 16384
///   A.boxes()            // {Count = 1, Inner = 64, Outer = 128}
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_SHAREDTILE_H
#define KPC_DIALECTS_LAYOUT_SHAREDTILE_H

#include "dialects/layout/Swizzle.h"

#include <string>

namespace kpc::layout {

enum class Major { K, MN };

/// The TMA copies that fill a tile. Box b (chunk = b / PerChunk, part =
/// b % PerChunk) starts at inner element chunk * Inner and line part * Outer.
struct TileBoxes {
  int64_t Count;    ///< boxes in all
  int64_t PerChunk; ///< boxes one below the other in a chunk
  int64_t Inner;    ///< elements along a line
  int64_t Outer;    ///< lines
};

struct SharedTile {
  Major Order = Major::K;
  int64_t Mn = 0;          ///< rows of A, columns of B
  int64_t K = 0;           ///< elements along the reduction
  int64_t ElementBits = 0; ///< 4 (two in a byte), 8, 16, 32
  SwizzleMode Mode = SwizzleMode::None;

  /// Why there is no such tile; empty: there is.
  std::string problem() const;

  int64_t innerExtent() const { return Order == Major::K ? K : Mn; }
  int64_t outerExtent() const { return Order == Major::K ? Mn : K; }
  int64_t innerBytes() const { return innerExtent() * ElementBits / 8; }
  /// W.
  int64_t lineBytes() const { return spanBytes(Mode); }
  /// Boxes side by side; the last one's lines may be partly unused.
  int64_t chunks() const;
  /// From a chunk to the next.
  int64_t chunkBytes() const { return outerExtent() * lineBytes(); }
  int64_t bytes() const { return chunks() * chunkBytes(); }
  /// What an mbarrier must expect: the bytes copied, without a line's unused
  /// rest.
  int64_t transactionBytes() const { return innerBytes() * outerExtent(); }
  /// Of the tile's start: the pattern's period, and TMA's 128 bytes.
  int64_t alignment() const;

  /// Offset of the element's byte from the tile's start, before the XOR.
  int64_t plainOffset(int64_t MnIndex, int64_t KIndex) const;
  /// Offset of the element's byte from an aligned start.
  int64_t byteOffset(int64_t MnIndex, int64_t KIndex) const;
  /// The element's lowest bit in that byte: 0, or 4 for a second nibble.
  int64_t bitOffset(int64_t MnIndex, int64_t KIndex) const;

  TileBoxes boxes() const;
  /// Where box `Index` is written, from the tile's start.
  int64_t boxOffset(int64_t Index) const;

  friend bool operator==(const SharedTile &, const SharedTile &) = default;
};

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_SHAREDTILE_H
