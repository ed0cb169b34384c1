//===- TensorMap.h - Tensor maps --------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The 128 bytes that cuTensorMapEncodeTiled fills. NVIDIA's bits are private;
/// these are the emulator's own.
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
  uint16_t Box[5] = {};
  uint8_t Traversal[5] = {};
  uint8_t Unused[23] = {};

  unsigned elementBytes() const;
  /// Elements of the box along a dim: every Traversal-th.
  unsigned extent(unsigned Dim) const {
    return (Box[Dim] + Traversal[Dim] - 1u) / Traversal[Dim];
  }
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

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_TENSORMAP_H
