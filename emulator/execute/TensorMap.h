//===- TensorMap.h - Tensor maps --------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The 128 bytes that cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col fill.
/// NVIDIA's bits are private; these are the emulator's own.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_TENSORMAP_H
#define KPC_EMULATOR_EXECUTE_TENSORMAP_H

#include <cstdint>
#include <string>

namespace kpc::emulator {

struct TensorMap {
  static constexpr uint32_t Mark = 0x6D74706B; // "kptm"
  uint32_t TheMark = Mark;
  uint8_t Type = 0; ///< CUtensorMapDataType
  uint8_t Rank = 0, Swizzle = 0, Fill = 0;
  uint64_t Address = 0;
  uint64_t Dims[5] = {};    ///< elements, innermost first
  uint64_t Strides[4] = {}; ///< bytes, of dims 1 and on
  uint16_t Box[5] = {};     ///< im2col: channels and pixels of a copy
  uint8_t Traversal[5] = {};
  uint8_t Im2col = 0;
  /// im2col: corners of the pixels that are walked, for W, H, D.
  int16_t Lower[3] = {}, Upper[3] = {};
  uint8_t Unused[10] = {};

  unsigned elementBytes() const;
  /// Elements of the box along a dim: every Traversal-th.
  unsigned extent(unsigned Dim) const {
    return (Box[Dim] + Traversal[Dim] - 1u) / Traversal[Dim];
  }
  /// Bytes of a line in shared memory, without what swizzles leave free.
  unsigned lineBytes() const { return Box[0] * elementBytes(); }
  /// All bytes that a copy counts.
  uint64_t boxBytes() const;
  /// Bytes of a swizzled line; 0: none.
  unsigned span() const { return Swizzle ? 16u << Swizzle : 0; }
};
static_assert(sizeof(TensorMap) == 128);

/// Checks what the driver checks; empty: `Out` is filled.
std::string encodeTiled(TensorMap &Out, int Type, uint32_t Rank,
                        uint64_t Address, const uint64_t *Dims,
                        const uint64_t *Strides, const uint32_t *Box,
                        const uint32_t *Traversal, int Interleave, int Swizzle,
                        int Fill);
/// What the driver gives for an im2col map; `Lower` and `Upper` have Rank - 2
/// values.
struct Im2colBox {
  const int *Lower, *Upper;
  uint32_t Channels, Pixels;
};
std::string encodeIm2col(TensorMap &Out, int Type, uint32_t Rank,
                         uint64_t Address, const uint64_t *Dims,
                         const uint64_t *Strides, const Im2colBox &Box,
                         const uint32_t *Traversal, int Interleave, int Swizzle,
                         int Fill);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_TENSORMAP_H
