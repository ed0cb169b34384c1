//===- TensorMap.cpp - Tensor maps ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The limits are those of the CUDA driver API, cuTensorMapEncodeTiled.

#include "emulator/execute/TensorMap.h"

namespace kpc::emulator {

unsigned TensorMap::elementBytes() const {
  // u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32_ftz tf32 tf32_ftz
  constexpr uint8_t Bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return Type < sizeof Bytes ? Bytes[Type] : 0;
}

uint64_t TensorMap::boxBytes() const {
  uint64_t Bytes = elementBytes();
  for (unsigned D = 0; D < Rank; ++D)
    Bytes *= extent(D);
  return Bytes;
}

static std::string dimProblem(const TensorMap &M, unsigned D) {
  std::string Which = " of dim " + std::to_string(D);
  if (M.Dims[D] < 1 || M.Dims[D] > uint64_t{1} << 32)
    return "size" + Which;
  if (M.Box[D] < 1 || M.Box[D] > 256)
    return "box" + Which;
  if (M.Traversal[D] < 1 || M.Traversal[D] > 8)
    return "traversal stride" + Which;
  if (D > 0 && (M.Strides[D - 1] % 16 || M.Strides[D - 1] >= uint64_t{1} << 40))
    return "stride" + Which;
  return {};
}

std::string encodeTiled(TensorMap &Out, int Type, uint32_t Rank,
                        uint64_t Address, const uint64_t *Dims,
                        const uint64_t *Strides, const uint32_t *Box,
                        const uint32_t *Traversal, int Interleave, int Swizzle,
                        int Fill) {
  Out = TensorMap{};
  if (Type < 0 || Type > 12)
    return "data type " + std::to_string(Type) + " is not supported";
  if (Rank < 1 || Rank > 5)
    return "rank";
  if (Interleave != 0)
    return "interleaved tensors are not supported";
  if (Swizzle < 0 || Swizzle > 3)
    return "swizzle";
  if (Fill < 0 || Fill > 1)
    return "fill of what is out of bounds";
  if (Address % 16)
    return "the address is no multiple of 16";
  Out.Type = uint8_t(Type);
  Out.Rank = uint8_t(Rank);
  Out.Swizzle = uint8_t(Swizzle);
  Out.Fill = uint8_t(Fill);
  Out.Address = Address;
  for (uint32_t D = 0; D < Rank; ++D) {
    Out.Dims[D] = Dims[D];
    Out.Box[D] = uint16_t(Box[D] > 0xFFFF ? 0xFFFF : Box[D]);
    // Of the innermost dim it is not looked at.
    uint32_t Step = D == 0 ? 1 : Traversal[D];
    Out.Traversal[D] = uint8_t(Step > 255 ? 255 : Step);
    if (D > 0)
      Out.Strides[D - 1] = Strides[D - 1];
    if (std::string P = dimProblem(Out, D); !P.empty())
      return P;
  }
  unsigned Inner = Out.Box[0] * Out.elementBytes();
  if (Inner % 16)
    return "the box's inner bytes are no multiple of 16";
  if (Out.span() && Inner > Out.span())
    return "the box's inner bytes are more than the swizzle's";
  return {};
}

} // namespace kpc::emulator
