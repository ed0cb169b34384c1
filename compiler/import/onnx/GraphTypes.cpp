//===- GraphTypes.cpp - ONNX's types in the graph dialect -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/GraphTypes.h"

using namespace mlir;

namespace kpc::onnx {

Type graphType(MLIRContext *Context, ElementType T) {
  Builder B(Context);
  auto Unsigned = [&](unsigned Bits) {
    return IntegerType::get(Context, Bits, IntegerType::Unsigned);
  };
  switch (T) {
  case ElementType::Float:
    return B.getF32Type();
  case ElementType::Double:
    return B.getF64Type();
  case ElementType::Float16:
    return B.getF16Type();
  case ElementType::Bfloat16:
    return B.getBF16Type();
  case ElementType::Bool:
    return B.getI1Type();
  case ElementType::Int8:
    return B.getIntegerType(8);
  case ElementType::Int16:
    return B.getIntegerType(16);
  case ElementType::Int32:
    return B.getIntegerType(32);
  case ElementType::Int64:
    return B.getIntegerType(64);
  case ElementType::Uint8:
    return Unsigned(8);
  case ElementType::Uint16:
    return Unsigned(16);
  case ElementType::Uint32:
    return Unsigned(32);
  case ElementType::Uint64:
    return Unsigned(64);
  case ElementType::Float8E4M3FN:
    return Float8E4M3FNType::get(Context);
  case ElementType::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(Context);
  case ElementType::Float8E5M2:
    return Float8E5M2Type::get(Context);
  case ElementType::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(Context);
  case ElementType::Float8E8M0:
    return Float8E8M0FNUType::get(Context);
  case ElementType::Float4E2M1:
    return Float4E2M1FNType::get(Context);
  case ElementType::Int4:
    return B.getIntegerType(4);
  case ElementType::Uint4:
    return Unsigned(4);
  case ElementType::Int2:
    return B.getIntegerType(2);
  case ElementType::Uint2:
    return Unsigned(2);
  default:
    return {};
  }
}

} // namespace kpc::onnx
