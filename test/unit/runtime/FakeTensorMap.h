//===- FakeTensorMap.h - What the fake driver encodes -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The 128 bytes of a tensor map, as the fake driver makes them and its kernels
/// read them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_FAKETENSORMAP_H
#define KPC_TEST_UNIT_RUNTIME_FAKETENSORMAP_H

#include <cstdint>

namespace kpc::test {

struct FakeTensorMap {
  static constexpr uint32_t Mark = 0x7e05a3a9;
  uint32_t Magic;
  uint8_t Im2col, Rank, DataType, Swizzle, Promotion, Fill;
  uint8_t Traversal[5];
  uint64_t Address;
  uint64_t Dims[5];
  uint64_t Strides[4];
  uint16_t Box[5];            ///< tiled
  int16_t Lower[3], Upper[3]; ///< im2col
  uint16_t Channels, Pixels;
};
static_assert(sizeof(FakeTensorMap) <= 128);

/// What both encoders are given.
struct EncoderArguments {
  int DataType;
  uint32_t Rank;
  uint64_t Address;
  const uint64_t *Dims, *Strides;
  const uint32_t *Traversal;
  int Interleave, Swizzle, Promotion, Fill;
};

// False where the driver would refuse what it is given.
bool setBox(FakeTensorMap &Map, uint32_t Rank, const uint32_t *Box);
bool setPixels(FakeTensorMap &Map, uint32_t Rank, const int *Lower,
               const int *Upper, uint32_t Channels, uint32_t Pixels);
/// Fills in the rest, and the 128 bytes at `To`.
bool encode(FakeTensorMap &Map, void *To, const EncoderArguments &Given);

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_FAKETENSORMAP_H
