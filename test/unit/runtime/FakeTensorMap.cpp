//===- FakeTensorMap.cpp - What the fake driver encodes -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/FakeTensorMap.h"

#include <cstring>

namespace kpc::test {

static bool isWithin(uint64_t Value, uint64_t Least, uint64_t Most) {
  return Value >= Least && Value <= Most;
}

bool setBox(FakeTensorMap &Map, uint32_t Rank, const uint32_t *Box) {
  if (!isWithin(Rank, 1, 5))
    return false;
  for (uint32_t I = 0; I < Rank; ++I) {
    if (!isWithin(Box[I], 1, 256))
      return false;
    Map.Box[I] = uint16_t(Box[I]);
  }
  return true;
}

bool setPixels(FakeTensorMap &Map, uint32_t Rank, const int *Lower,
               const int *Upper, uint32_t Channels, uint32_t Pixels) {
  if (!isWithin(Rank, 3, 5) || !isWithin(Channels, 1, 256) ||
      !isWithin(Pixels, 1, 1024))
    return false;
  Map.Im2col = 1;
  for (uint32_t I = 0; I < Rank - 2; ++I) {
    Map.Lower[I] = int16_t(Lower[I]);
    Map.Upper[I] = int16_t(Upper[I]);
  }
  Map.Channels = uint16_t(Channels);
  Map.Pixels = uint16_t(Pixels);
  return true;
}

bool encode(FakeTensorMap &Map, void *To, const EncoderArguments &Given) {
  if (uintptr_t(To) % 64 || !isWithin(uint64_t(Given.DataType), 0, 12) ||
      !Given.Address || Given.Address % 16 || Given.Interleave ||
      !isWithin(uint64_t(Given.Swizzle), 0, 3) ||
      !isWithin(uint64_t(Given.Promotion), 0, 3) ||
      !isWithin(uint64_t(Given.Fill), 0, 1))
    return false;
  Map.Magic = FakeTensorMap::Mark;
  Map.Rank = uint8_t(Given.Rank);
  Map.DataType = uint8_t(Given.DataType);
  Map.Swizzle = uint8_t(Given.Swizzle);
  Map.Promotion = uint8_t(Given.Promotion);
  Map.Fill = uint8_t(Given.Fill);
  Map.Address = Given.Address;
  for (uint32_t I = 0; I < Given.Rank; ++I) {
    if (!isWithin(Given.Dims[I], 1, uint64_t(1) << 32) ||
        !isWithin(Given.Traversal[I], 1, 8))
      return false;
    Map.Dims[I] = Given.Dims[I];
    Map.Traversal[I] = uint8_t(Given.Traversal[I]);
  }
  for (uint32_t I = 0; I + 1 < Given.Rank; ++I) {
    if (Given.Strides[I] % 16 || Given.Strides[I] >= uint64_t(1) << 40)
      return false;
    Map.Strides[I] = Given.Strides[I];
  }
  std::memset(To, 0, 128);
  std::memcpy(To, &Map, sizeof Map);
  return true;
}

} // namespace kpc::test
