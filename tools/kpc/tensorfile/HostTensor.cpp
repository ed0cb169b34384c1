//===- HostTensor.cpp - A dense tensor in host memory ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/HostTensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unistd.h>

namespace kpc::tensorfile {

AlignedBytes::AlignedBytes(size_t Size) : Size(Size) {
  constexpr size_t Alignment = 64;
  // Memory that the machine does not have is often granted, and whoever uses
  // it is killed.
  auto Pages = static_cast<size_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  auto Page = static_cast<size_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  if (Size > SIZE_MAX - Alignment || (Page && Size / Page > Pages))
    throw std::bad_alloc();
  size_t Rounded =
      (Size + Alignment - 1) / Alignment * Alignment + (Size ? 0 : Alignment);
  Memory.reset(static_cast<uint8_t *>(std::aligned_alloc(Alignment, Rounded)));
  if (!Memory)
    throw std::bad_alloc();
  std::memset(Memory.get(), 0, Rounded);
}

int64_t HostTensor::count() const {
  int64_t N = 1;
  for (int64_t D : Dims)
    N *= D;
  return N;
}

std::optional<size_t> tensorBytes(ElementType Type,
                                  std::span<const int64_t> Dims) {
  // Dims that are not 0 must fit even beside one that is: numpy and the
  // runtime agree on that.
  uint64_t Count = 1;
  bool Empty = false;
  for (int64_t D : Dims) {
    if (D < 0)
      return std::nullopt;
    if (D == 0)
      Empty = true;
    else if (__builtin_mul_overflow(Count, static_cast<uint64_t>(D), &Count))
      return std::nullopt;
  }
  uint64_t Bits;
  if (__builtin_mul_overflow(Count, static_cast<uint64_t>(bitWidth(Type)),
                             &Bits) ||
      Bits > uint64_t(INT64_MAX))
    return std::nullopt;
  return Empty ? 0 : (Bits + 7) / 8;
}

std::optional<HostTensor> makeTensor(std::string Name, ElementType Type,
                                     std::vector<int64_t> Dims) {
  std::optional<size_t> Bytes = tensorBytes(Type, Dims);
  if (!Bytes)
    return std::nullopt;
  HostTensor T;
  T.Name = std::move(Name);
  T.Type = Type;
  T.Dims = std::move(Dims);
  T.Data = AlignedBytes(*Bytes);
  return T;
}

std::string_view typeName(ElementType Type) {
  // Bits of a type that numpy does not have.
  return Type == ElementType::Undefined ? "void" : elementTypeName(Type);
}

std::string typeAndDims(ElementType Type, std::span<const int64_t> Dims) {
  std::string Out(typeName(Type));
  Out += '[';
  for (size_t I = 0; I < Dims.size(); ++I)
    Out += (I ? "," : "") + std::to_string(Dims[I]);
  return Out + "]";
}

std::string typeAndDims(const HostTensor &T) {
  return typeAndDims(T.Type, T.Dims);
}

/// Elements of a byte each, packed into `Bits` bits each.
static AlignedBytes pack(const AlignedBytes &Data, int Bits) {
  size_t PerByte = 8 / Bits;
  AlignedBytes Out((Data.size() + PerByte - 1) / PerByte);
  for (size_t I = 0; I < Data.size(); ++I)
    Out.data()[I / PerByte] |= (Data.data()[I] & ((1 << Bits) - 1))
                               << (I % PerByte * Bits);
  return Out;
}

bool becomes(HostTensor &T, ElementType Wanted) {
  if (T.Type == Wanted)
    return true;
  int Bits = bitWidth(Wanted);
  bool OneByte = T.VoidBytes == 1 || T.Type == ElementType::U8;
  switch (Wanted) {
  case ElementType::BF16:
    if (T.VoidBytes != 2 && T.Type != ElementType::U16)
      return false;
    break;
  case ElementType::F8E4M3FN:
  case ElementType::F8E4M3FNUZ:
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
  case ElementType::F8E8M0:
    if (!OneByte)
      return false;
    break;
  case ElementType::U4:
  case ElementType::I4:
  case ElementType::F4E2M1:
  case ElementType::U2:
  case ElementType::I2:
    if (!OneByte && T.Type != ElementType::I8)
      return false;
    T.Data = pack(T.Data, Bits);
    break;
  default:
    return false;
  }
  T.Type = Wanted;
  T.VoidBytes = 0;
  return true;
}

} // namespace kpc::tensorfile
