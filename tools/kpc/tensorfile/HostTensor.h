//===- HostTensor.h - A dense tensor in host memory -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_TENSORFILE_HOSTTENSOR_H
#define KPC_TOOLS_KPC_TENSORFILE_HOSTTENSOR_H

#include "runtime/format/ElementType.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kpc::tensorfile {

/// Zeroed bytes, aligned as the runtime likes them so that it need not copy.
class AlignedBytes {
public:
  AlignedBytes() = default;
  /// Throws std::bad_alloc where there is not that much memory.
  explicit AlignedBytes(size_t Size);
  uint8_t *data() { return Memory.get(); }
  const uint8_t *data() const { return Memory.get(); }
  size_t size() const { return Size; }

private:
  struct Free {
    void operator()(uint8_t *P) const { std::free(P); }
  };
  std::unique_ptr<uint8_t[], Free> Memory;
  size_t Size = 0;
};

/// Row major, little endian; elements of less than a byte are packed, the
/// first in the low bits.
struct HostTensor {
  std::string Name;
  /// Undefined: numpy's void type, bits of a type that numpy does not have;
  /// `VoidBytes` says how wide. See `becomes`.
  ElementType Type = ElementType::Undefined;
  int VoidBytes = 0;
  std::vector<int64_t> Dims;
  AlignedBytes Data;

  /// Elements; the product of Dims.
  int64_t count() const;
};

/// Makes a zeroed tensor; none where the size leaves size_t or a dim is
/// negative.
std::optional<HostTensor> makeTensor(std::string Name, ElementType Type,
                                     std::vector<int64_t> Dims);

/// The bytes that a tensor takes; none on overflow or a negative dim.
std::optional<size_t> tensorBytes(ElementType Type,
                                  std::span<const int64_t> Dims);

/// "f32", "bool", "bf16": as the compiler writes types.
std::string_view typeName(ElementType Type);
/// "f32[2,3]"
std::string typeAndDims(ElementType Type, std::span<const int64_t> Dims);
std::string typeAndDims(const HostTensor &T);

/// Makes `T` of type `Wanted` where its file could only spell the bits: uint16
/// or void of 2 bytes for bf16, uint8 or void of 1 byte for the 8-bit floats,
/// int8 or uint8 with one element each for the types of 2 and 4 bits. Returns
/// whether `T` now is of that type.
bool becomes(HostTensor &T, ElementType Wanted);

/// The elements as doubles; none for complex types.
std::optional<std::vector<double>>
toDoubles(ElementType Type, std::span<const uint8_t> Data, int64_t Count);

/// Converts by value, rounding to nearest even, saturating integers; none
/// where a type has no values of that kind.
std::optional<HostTensor> convert(const HostTensor &T, ElementType Type);

/// Stores a value as element I, converted as `convert` does; false where the
/// type is complex or has less than 16 bits and is no integer of a byte.
bool storeElement(ElementType Type, uint8_t *Data, int64_t I, double Value);

/// Bits of a value in one of the narrow float types, and back.
double fromBits(ElementType Type, uint32_t Bits);
uint16_t toHalf(float Value);
uint16_t toBfloat(float Value);

} // namespace kpc::tensorfile

#endif // KPC_TOOLS_KPC_TENSORFILE_HOSTTENSOR_H
