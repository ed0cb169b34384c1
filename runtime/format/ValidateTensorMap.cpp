//===- ValidateTensorMap.cpp - What must hold in one tensor map -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ElementType.h"
#include "runtime/format/ValidateTarget.h"

namespace kpc::format {

namespace {

// The driver's limits (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col).
constexpr uint32_t MaxBox = 256, MaxTraversal = 8, MaxChannels = 256,
                   MaxPixels = 1024, LeastIm2colRank = 3;
constexpr uint32_t CopyUnit = 16; // bytes

bool isFloat(kpc::ElementType Type) {
  return Type == kpc::ElementType::F16 || Type == kpc::ElementType::BF16 ||
         Type == kpc::ElementType::F32 || Type == kpc::ElementType::F64;
}

// Complex numbers have no type among the driver's.
bool hasDriverType(kpc::ElementType Type) {
  int Bits = bitWidth(Type);
  return Bits >= 8 && Bits <= 64 && Type != kpc::ElementType::C64;
}

bool allWithin(const flatbuffers::Vector<uint32_t> *Values, uint32_t Most) {
  for (uint32_t Value : scalars(Values))
    if (Value < 1 || Value > Most)
      return false;
  return true;
}

// Corners of rank 3, 4, 5 are encoded in 16, 8, 5 bits.
bool areCorners(const flatbuffers::Vector<int32_t> *Values, uint32_t Rank) {
  int32_t Limit = Rank == 3 ? 1 << 15 : Rank == 4 ? 1 << 7 : 1 << 4;
  if (count(Values) != Rank - 2)
    return false;
  for (int32_t Value : scalars(Values))
    if (Value < -Limit || Value >= Limit)
      return false;
  return true;
}

// The bytes of a copy's innermost dim, which the swizzle permutes.
const char *rowProblem(const TensorMap &Map, uint32_t Elements) {
  uint32_t Bytes =
      Elements * uint32_t(bitWidth(kpc::ElementType(Map.element()))) / 8;
  if (Bytes % CopyUnit)
    return "a row of its box is not a multiple of 16 bytes";
  if (Map.swizzle() != TensorMapSwizzle::None &&
      Bytes > 16u << uint32_t(Map.swizzle()))
    return "a row of its box is longer than its swizzle";
  return nullptr;
}

const char *tiledProblem(const TensorMap &Map, uint32_t Rank) {
  if (count(Map.box()) != Rank || !allWithin(Map.box(), MaxBox))
    return "its box is not one extent of 1 to 256 for each dim";
  if (count(Map.lower()) || count(Map.upper()) || Map.channels() ||
      Map.pixels())
    return "it is tiled and has pixels";
  return rowProblem(Map, Map.box()->Get(0));
}

const char *im2colProblem(const TensorMap &Map, uint32_t Rank) {
  if (Rank < LeastIm2colRank)
    return "it is im2col and has fewer than three dims";
  if (count(Map.box()))
    return "it is im2col and has a box";
  if (!areCorners(Map.lower(), Rank) || !areCorners(Map.upper(), Rank))
    return "its corners are not in range, one for each dim of the image";
  if (Map.channels() < 1 || Map.channels() > MaxChannels || Map.pixels() < 1 ||
      Map.pixels() > MaxPixels)
    return "it has not 1 to 256 channels and 1 to 1024 pixels";
  return rowProblem(Map, Map.channels());
}

} // namespace

const char *tensorMapProblem(const TensorMap &Map) {
  uint32_t Rank = count(Map.dims());
  auto Element = kpc::ElementType(Map.element());
  if (Map.mode() > TensorMapMode::MAX ||
      Map.swizzle() > TensorMapSwizzle::MAX ||
      Map.promotion() > TensorMapPromotion::MAX ||
      Map.fill() > TensorMapFill::MAX)
    return "its mode, swizzle, promotion or fill is unknown";
  if (!hasDriverType(Element) ||
      (Map.tf32() && Element != kpc::ElementType::F32))
    return "its element type is none that can be copied";
  if (Map.fill() == TensorMapFill::Nans && !isFloat(Element))
    return "it fills integers with NaN";
  if (Rank < 1 || Rank > MaxTensorMapRank)
    return "it has not 1 to 5 dims";
  if (count(Map.strides()) != Rank - 1)
    return "it has not one stride for each dim but the first";
  if (count(Map.traversal()) && (count(Map.traversal()) != Rank ||
                                 !allWithin(Map.traversal(), MaxTraversal)))
    return "its traversal is not one stride of 1 to 8 for each dim";
  return Map.mode() == TensorMapMode::Tiled ? tiledProblem(Map, Rank)
                                            : im2colProblem(Map, Rank);
}

} // namespace kpc::format
