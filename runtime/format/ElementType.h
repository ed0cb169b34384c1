//===- ElementType.h - Element types of tensors -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Element types as artifacts and the C interface number them. The numbers are
/// those of ONNX's TensorProto.DataType, so that no reader needs a third list;
/// they are never reused or changed.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_ELEMENTTYPE_H
#define KPC_RUNTIME_FORMAT_ELEMENTTYPE_H

#include <cstdint>

namespace kpc {

enum class ElementType : uint8_t {
  Undefined = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  String = 8, ///< never in an artifact; kept so that the numbers stay ONNX's
  Bool = 9,   ///< one byte an element, 0 or 1
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  C64 = 14,
  C128 = 15,
  BF16 = 16,
  F8E4M3FN = 17,
  F8E4M3FNUZ = 18,
  F8E5M2 = 19,
  F8E5M2FNUZ = 20,
  U4 = 21,
  I4 = 22,
  F4E2M1 = 23,
  F8E8M0 = 24,
  U2 = 25,
  I2 = 26,
};

/// Bits that one element takes in memory; 0 where there is no such type.
constexpr int bitWidth(ElementType Type) {
  switch (Type) {
  case ElementType::Undefined:
  case ElementType::String:
    return 0;
  case ElementType::U2:
  case ElementType::I2:
    return 2;
  case ElementType::U4:
  case ElementType::I4:
  case ElementType::F4E2M1:
    return 4;
  case ElementType::U8:
  case ElementType::I8:
  case ElementType::Bool:
  case ElementType::F8E4M3FN:
  case ElementType::F8E4M3FNUZ:
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
  case ElementType::F8E8M0:
    return 8;
  case ElementType::U16:
  case ElementType::I16:
  case ElementType::F16:
  case ElementType::BF16:
    return 16;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U32:
    return 32;
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::U64:
  case ElementType::C64:
    return 64;
  case ElementType::C128:
    return 128;
  }
  return 0;
}

/// The name that messages and `kpc inspect` print: "f32", "bool", …
constexpr const char *elementTypeName(ElementType Type) {
  switch (Type) {
  case ElementType::Undefined:
    return "undefined";
  case ElementType::F32:
    return "f32";
  case ElementType::U8:
    return "u8";
  case ElementType::I8:
    return "i8";
  case ElementType::U16:
    return "u16";
  case ElementType::I16:
    return "i16";
  case ElementType::I32:
    return "i32";
  case ElementType::I64:
    return "i64";
  case ElementType::String:
    return "string";
  case ElementType::Bool:
    return "bool";
  case ElementType::F16:
    return "f16";
  case ElementType::F64:
    return "f64";
  case ElementType::U32:
    return "u32";
  case ElementType::U64:
    return "u64";
  case ElementType::C64:
    return "c64";
  case ElementType::C128:
    return "c128";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F8E4M3FN:
    return "f8e4m3fn";
  case ElementType::F8E4M3FNUZ:
    return "f8e4m3fnuz";
  case ElementType::F8E5M2:
    return "f8e5m2";
  case ElementType::F8E5M2FNUZ:
    return "f8e5m2fnuz";
  case ElementType::U4:
    return "u4";
  case ElementType::I4:
    return "i4";
  case ElementType::F4E2M1:
    return "f4e2m1";
  case ElementType::F8E8M0:
    return "f8e8m0";
  case ElementType::U2:
    return "u2";
  case ElementType::I2:
    return "i2";
  }
  return "unknown";
}

} // namespace kpc

#endif // KPC_RUNTIME_FORMAT_ELEMENTTYPE_H
