//===- WeightTiles.h - Codes in the order of few-row GEMMs ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executes the recipe step `tiles`: codes of 4 or 8 bits, packed in rows, go
/// to tiles of 512 bytes, 8 columns and 512 / bits elements of K each, as
/// graph.dequantise_tiles describes them. Codes beyond K and N are 0.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WEIGHTS_WEIGHTTILES_H
#define KPC_COMPILER_WEIGHTS_WEIGHTTILES_H

#include "codegen/artifact/Contents.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kpc {

struct WeightTiles {
  static constexpr int64_t TileBytes = 512, Columns = 8;

  int64_t Bits, K, N;
  /// Element (k, n) is code `k * OfK + n * OfN` of the source.
  int64_t OfK, OfN;
  uint8_t Flip; ///< of these bits of each code

  int64_t depth() const { return TileBytes / Bits; }
  /// Tiles along N and along K.
  std::vector<int64_t> dims() const {
    return {(N + Columns - 1) / Columns, (K + depth() - 1) / depth(),
            TileBytes};
  }
  /// Bytes that hold all codes of the source.
  uint64_t sourceBytes() const {
    return uint64_t(((K - 1) * OfK + (N - 1) * OfN + 1) * Bits + 7) / 8;
  }
};

/// The tiles' bytes, made piece by piece; `Bytes` must live as long.
artifact::WeightReader readerOf(const WeightTiles &Tiles,
                                std::span<const uint8_t> Bytes);

} // namespace kpc

#endif // KPC_COMPILER_WEIGHTS_WEIGHTTILES_H
