//===- ElementType.h - ONNX element types by their numbers ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TensorProto.DataType by the numbers ONNX publishes, also those that the
/// packaged schema does not name. Source: onnx/onnx.proto of ONNX 1.22.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_ELEMENTTYPE_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kpc::onnx {

enum class ElementType : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// None for a number that ONNX has not given out.
std::optional<ElementType> elementType(int64_t Number);
/// By the name ONNX prints ("FLOAT16"), letter case ignored, as opsets below 6
/// write Cast's target.
std::optional<ElementType> elementTypeByName(std::string_view Name);

/// "float16"; "type 77" for a number that is no type.
std::string elementTypeName(ElementType T);

/// Bits of one element as stored; 0 for strings and undefined. Elements of
/// less than a byte are packed, the first in the low bits.
unsigned elementBits(ElementType T);

/// Bytes that `Count` elements take; none on overflow.
std::optional<uint64_t> storedBytes(ElementType T, uint64_t Count);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_ELEMENTTYPE_H
