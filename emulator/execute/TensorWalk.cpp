//===- TensorWalk.cpp - Which bytes a tensor copy moves -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Tensors: Tiled Mode, Im2col Mode, Swizzling Modes"; the walk of
// im2col is as measured on an H200.

#include "emulator/execute/TensorWalk.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

static constexpr unsigned UnitBytes = 16;

/// Lines are as far apart as the box is wide, or as the swizzle's span.
static uint64_t sharedAt(const TensorMap &Map, uint64_t Shared, uint64_t Line,
                         unsigned Inner) {
  unsigned Span = Map.span();
  uint64_t At = Shared + Line * (Span ? Span : Map.lineBytes()) + Inner;
  if (Span == 0)
    return At;
  // 16-byte units change places within the span by the 128-byte line's number.
  uint64_t Unit = At / 16, Turn = (At / 128) % (Span / 16);
  return (Unit ^ Turn) * 16 + At % 16;
}

/// The units of the line whose outer coordinates are At[1] and on.
static void line(const TensorMap &Map, const TensorPlace &Place,
                 const int64_t (&At)[5], uint64_t Number,
                 std::vector<CopyUnit> &Out) {
  unsigned Bytes = Map.elementBytes(), Each = UnitBytes / Bytes;
  uint64_t Address = Map.Address;
  bool Inside = true;
  for (unsigned D = 1; D < Map.Rank; ++D) {
    Inside &= At[D] >= 0 && uint64_t(At[D]) < Map.Dims[D];
    Address += uint64_t(At[D]) * Map.Strides[D - 1];
  }
  for (unsigned Unit = 0; Unit < Map.lineBytes() / UnitBytes; ++Unit) {
    int64_t First = Place.Start[0] + int64_t{Unit} * Each;
    int64_t Left = Inside && First >= 0 ? int64_t(Map.Dims[0]) - First : 0;
    auto Valid = unsigned(std::clamp<int64_t>(Left, 0, Each)) * Bytes;
    Out.push_back({sharedAt(Map, Place.Shared, Number, Unit * UnitBytes),
                   Address + uint64_t(First) * Bytes, Valid});
  }
}

static void walkTile(const TensorMap &Map, const TensorPlace &Place,
                     std::vector<CopyUnit> &Out) {
  unsigned Index[5] = {};
  for (uint64_t Line = 0;; ++Line) {
    int64_t At[5] = {};
    for (unsigned D = 1; D < Map.Rank; ++D)
      At[D] = Place.Start[D] + int64_t{Index[D]} * Map.Traversal[D];
    line(Map, Place, At, Line, Out);
    unsigned D = 1;
    while (D < Map.Rank && ++Index[D] == Map.extent(D))
      Index[D++] = 0;
    if (D >= Map.Rank)
      return;
  }
}

/// The base pixel goes along W, H, D, N; past the upper corner a dim starts at
/// the lower one again, wherever the first pixel was.
static void walkPixels(const TensorMap &Map, const TensorPlace &Place,
                       std::vector<CopyUnit> &Out) {
  unsigned Batch = Map.Rank - 1u;
  int64_t Base[5] = {};
  std::copy(Place.Start, Place.Start + 5, Base);
  for (uint64_t Pixel = 0; Pixel < Map.Box[1]; ++Pixel) {
    int64_t At[5] = {};
    std::copy(Base, Base + 5, At);
    for (unsigned D = 1; D < Batch; ++D)
      At[D] += Place.Offsets[D - 1];
    line(Map, Place, At, Pixel, Out);
    unsigned D = 1;
    for (; D < Batch; ++D) {
      Base[D] += Map.Traversal[D];
      if (Base[D] <= int64_t(Map.Dims[D]) - 1 + Map.Upper[D - 1])
        break;
      Base[D] = Map.Lower[D - 1];
    }
    if (D == Batch)
      ++Base[Batch];
  }
}

std::vector<CopyUnit> walk(const TensorMap &Map, const TensorPlace &Place) {
  std::vector<CopyUnit> Out;
  Out.reserve(Map.boxBytes() / UnitBytes);
  if (Map.Im2col)
    walkPixels(Map, Place, Out);
  else
    walkTile(Map, Place, Out);
  return Out;
}

/// A tf32 load rounds to ten bits of mantissa, to nearest even.
static void roundTf32(uint8_t *At) {
  uint32_t Bits = 0;
  std::memcpy(&Bits, At, 4);
  if ((Bits & 0x7FFFFFFF) > 0x7F800000)
    Bits = 0x7FFFE000;
  else
    Bits = (Bits + 0xFFF + (Bits >> 13 & 1)) & ~uint32_t{0x1FFF};
  std::memcpy(At, &Bits, 4);
}

void fillUnit(const TensorMap &Map, const CopyUnit &Unit, uint8_t *To) {
  constexpr uint8_t FirstTf32 = 11;
  if (Map.Type >= FirstTf32)
    for (unsigned At = 0; At < Unit.Valid; At += 4)
      roundTf32(To + At);
  for (unsigned At = Unit.Valid; At < UnitBytes; ++At) // a pattern of 16 bits
    To[At] = !Map.Fill ? 0 : At % 2 ? 0x7F : 0xF7;
}

} // namespace kpc::emulator
