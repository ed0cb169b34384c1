//===- ElementType.cpp - ONNX element types by their numbers --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/ElementType.h"

#include <array>

namespace kpc::onnx {

namespace {
struct TypeRow {
  std::string_view Name;
  unsigned Bits;
};
} // namespace

/// In the order of the numbers.
static constexpr std::array<TypeRow, 29> Types = {{
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", 0},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
    {"float6e2m3", 6},     {"float6e3m2", 6},
}};

std::optional<ElementType> elementType(int64_t Number) {
  if (Number < 0 || Number >= static_cast<int64_t>(Types.size()))
    return std::nullopt;
  return static_cast<ElementType>(Number);
}

std::optional<ElementType> elementTypeByName(std::string_view Name) {
  std::string Low(Name);
  for (char &C : Low)
    if (C >= 'A' && C <= 'Z')
      C = static_cast<char>(C + 32);
  for (size_t I = 1; I < Types.size(); ++I)
    if (Types[I].Name == Low)
      return static_cast<ElementType>(I);
  return std::nullopt;
}

std::string elementTypeName(ElementType T) {
  auto N = static_cast<int64_t>(T);
  if (!elementType(N))
    return "type " + std::to_string(N);
  return std::string(Types[static_cast<size_t>(N)].Name);
}

unsigned elementBits(ElementType T) {
  auto N = static_cast<int64_t>(T);
  return elementType(N) ? Types[static_cast<size_t>(N)].Bits : 0;
}

std::optional<uint64_t> storedBytes(ElementType T, uint64_t Count) {
  uint64_t Bits = 0;
  if (__builtin_mul_overflow(Count, uint64_t(elementBits(T)), &Bits) ||
      Bits > UINT64_MAX - 7)
    return std::nullopt;
  return (Bits + 7) / 8;
}

} // namespace kpc::onnx
