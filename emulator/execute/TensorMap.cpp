//===- TensorMap.cpp - Tensor maps ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The limits are those of the CUDA driver API, cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col.

#include "emulator/execute/TensorMap.h"

namespace kpc::emulator {

unsigned TensorMap::elementBytes() const {
  // u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32_ftz tf32 tf32_ftz
  constexpr uint8_t Bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return Type < sizeof Bytes ? Bytes[Type] : 0;
}

uint64_t TensorMap::boxBytes() const {
  uint64_t Bytes = lineBytes();
  for (unsigned D = 1; D < Rank; ++D)
    Bytes *= Im2col ? (D == 1 ? Box[1] : 1) : extent(D);
  return Bytes;
}

static std::string ofDim(const char *What, unsigned D) {
  return std::string(What) + " of dim " + std::to_string(D);
}

/// What both kinds of maps have.
static std::string encodeTensor(TensorMap &Out, int Type, uint32_t Rank,
                                uint64_t Address, const uint64_t *Dims,
                                const uint64_t *Strides,
                                const uint32_t *Traversal, int Interleave,
                                int Swizzle, int Fill) {
  Out = TensorMap{};
  if (Type < 0 || Type > 12)
    return "data type " + std::to_string(Type) + " is not supported";
  if (Rank < 1 || Rank > 5)
    return "rank";
  if (Interleave != 0)
    return "interleaved tensors are not supported";
  if (Swizzle < 0 || Swizzle > 3)
    return "swizzle";
  bool IsFloat = Type >= 6;
  if (Fill < 0 || Fill > 1 || (Fill == 1 && !IsFloat))
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
    if (Dims[D] < 1 || Dims[D] > uint64_t{1} << 32)
      return ofDim("size", D);
    // Of the innermost dim it is not looked at.
    uint32_t Step = D == 0 ? 1 : Traversal[D];
    if (Step < 1 || Step > 8)
      return ofDim("traversal stride", D);
    Out.Traversal[D] = uint8_t(Step);
    if (D == 0)
      continue;
    Out.Strides[D - 1] = Strides[D - 1];
    if (Strides[D - 1] % 16 || Strides[D - 1] >= uint64_t{1} << 40)
      return ofDim("stride", D);
  }
  return {};
}

static std::string lineProblem(const TensorMap &M) {
  if (M.lineBytes() % 16)
    return "the box's inner bytes are no multiple of 16";
  if (M.span() && M.lineBytes() > M.span())
    return "the box's inner bytes are more than the swizzle's";
  return {};
}

std::string encodeTiled(TensorMap &Out, int Type, uint32_t Rank,
                        uint64_t Address, const uint64_t *Dims,
                        const uint64_t *Strides, const uint32_t *Box,
                        const uint32_t *Traversal, int Interleave, int Swizzle,
                        int Fill) {
  std::string P = encodeTensor(Out, Type, Rank, Address, Dims, Strides,
                               Traversal, Interleave, Swizzle, Fill);
  for (uint32_t D = 0; P.empty() && D < Rank; ++D) {
    if (Box[D] < 1 || Box[D] > 256)
      P = ofDim("box", D);
    Out.Box[D] = uint16_t(Box[D]);
  }
  return P.empty() ? lineProblem(Out) : P;
}

std::string encodeIm2col(TensorMap &Out, int Type, uint32_t Rank,
                         uint64_t Address, const uint64_t *Dims,
                         const uint64_t *Strides, const Im2colBox &Box,
                         const uint32_t *Traversal, int Interleave, int Swizzle,
                         int Fill) {
  std::string P = encodeTensor(Out, Type, Rank, Address, Dims, Strides,
                               Traversal, Interleave, Swizzle, Fill);
  if (!P.empty())
    return P;
  if (Rank < 3)
    return "rank";
  if (Box.Channels < 1 || Box.Channels > 256)
    return "channels of a pixel";
  if (Box.Pixels < 1 || Box.Pixels > 1024)
    return "pixels of a column";
  Out.Im2col = 1;
  Out.Box[0] = uint16_t(Box.Channels);
  Out.Box[1] = uint16_t(Box.Pixels);
  // Corners have 16, 8, 5 bits.
  int Limit = Rank == 3 ? 1 << 15 : Rank == 4 ? 1 << 7 : 1 << 4;
  for (uint32_t D = 0; D + 2 < Rank; ++D) {
    for (int Corner : {Box.Lower[D], Box.Upper[D]})
      if (Corner < -Limit || Corner >= Limit)
        return ofDim("corner", D + 1);
    Out.Lower[D] = int16_t(Box.Lower[D]);
    Out.Upper[D] = int16_t(Box.Upper[D]);
  }
  return lineProblem(Out);
}

} // namespace kpc::emulator
