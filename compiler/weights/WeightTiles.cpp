//===- WeightTiles.cpp - Codes in the order of few-row GEMMs --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightTiles.h"

using namespace kpc;

namespace {

class TileReader {
public:
  TileReader(const WeightTiles &T, std::span<const uint8_t> Bytes)
      : T(T), Bytes(Bytes) {}

  std::optional<std::string> operator()(uint64_t Begin, uint8_t *Out,
                                        size_t Size) const {
    uint64_t Depths = uint64_t(T.dims()[1]);
    for (size_t I = 0; I < Size; ++I) {
      uint64_t At = Begin + I, Tile = At / WeightTiles::TileBytes;
      Out[I] = byteOf(int64_t(Tile / Depths), int64_t(Tile % Depths),
                      int64_t(At % WeightTiles::TileBytes));
    }
    return std::nullopt;
  }

private:
  /// A byte of the tile that begins at column `Columns * 8`.
  uint8_t byteOf(int64_t Columns, int64_t Depth, int64_t Byte) const {
    int64_t Lane = Byte / 16, InLane = Byte % 16;
    int64_t N = Columns * 8 + Lane / 4;
    // What a lane has of each 32 elements begins here.
    int64_t First = Depth * T.depth() + Lane % 4 * 8;
    // Pairs of elements are 16 bits apart: elements 0 2 1 3, then 4 6 5 7.
    if (T.Bits == 8) {
      int64_t In8 = InLane % 8 / 4 * 4 + InLane % 2 * 2 + InLane / 2 % 2;
      return codeAt(First + InLane / 8 * 32 + In8, N);
    }
    // Elements 0 2 4 6, then 1 3 5 7.
    int64_t InWord = InLane % 4 * 2;
    auto Element = [&](int64_t Nibble) {
      int64_t In8 = Nibble % 4 * 2 + Nibble / 4;
      return codeAt(First + InLane / 4 * 32 + In8, N);
    };
    return uint8_t(Element(InWord) | Element(InWord + 1) << 4);
  }

  uint8_t codeAt(int64_t K, int64_t N) const {
    if (K >= T.K || N >= T.N)
      return 0;
    uint64_t Number = uint64_t(K * T.OfK + N * T.OfN);
    if (T.Bits == 8)
      return Bytes[Number] ^ T.Flip;
    uint8_t Both = Bytes[Number / 2];
    return uint8_t((Number % 2 ? Both >> 4 : Both & 15) ^ T.Flip);
  }

  WeightTiles T;
  std::span<const uint8_t> Bytes;
};

} // namespace

artifact::WeightReader kpc::readerOf(const WeightTiles &Tiles,
                                     std::span<const uint8_t> Bytes) {
  return TileReader(Tiles, Bytes);
}
