//===- ElementType.h - The element types of tensor-core operands *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The types that wgmma, mma.sync and tcgen05 take and give.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_ELEMENTTYPE_H
#define KPC_DIALECTS_LAYOUT_ELEMENTTYPE_H

#include <cstdint>

namespace kpc::layout {

enum class ElementType {
  F16,
  BF16,
  TF32,
  F32,
  F64,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  S8,
  U8,
  S32
};

/// Bits in a shared tile: the 6-bit types take 8-bit containers; E2M1 counts as
/// 4 bits (two in a byte, as kind mxf4 takes it).
constexpr int64_t elementBits(ElementType Type) {
  switch (Type) {
  case ElementType::F64:
    return 64;
  case ElementType::TF32:
  case ElementType::F32:
  case ElementType::S32:
    return 32;
  case ElementType::F16:
  case ElementType::BF16:
    return 16;
  case ElementType::E2M1:
    return 4;
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E2M3:
  case ElementType::E3M2:
  case ElementType::S8:
  case ElementType::U8:
    return 8;
  }
  return 0;
}

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_ELEMENTTYPE_H
