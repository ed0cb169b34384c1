//===- Types.cpp - Numbers of element types -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Types.h"

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torchscript {

using torch::ScalarType;

namespace {
struct Row {
  int64_t Number;
  ScalarType Type;
  std::string_view Name, Short;
};
} // namespace

static constexpr Row Rows[] = {
    {0, ScalarType::Byte, "uint8", "ui8"},
    {1, ScalarType::Char, "int8", "i8"},
    {2, ScalarType::Short, "int16", "i16"},
    {3, ScalarType::Int, "int32", "i32"},
    {4, ScalarType::Long, "int64", "i64"},
    {5, ScalarType::Half, "float16", "f16"},
    {6, ScalarType::Float, "float32", "f32"},
    {7, ScalarType::Double, "float64", "f64"},
    {11, ScalarType::Bool, "bool", "i1"},
    {15, ScalarType::BFloat16, "bfloat16", "bf16"},
};

ScalarType typeOf(int64_t Number) {
  for (const Row &R : Rows)
    if (R.Number == Number)
      return R.Type;
  return ScalarType::Unknown;
}

int64_t numberOf(ScalarType T) {
  for (const Row &R : Rows)
    if (R.Type == T)
      return R.Number;
  return -1;
}

int64_t numberOf(mlir::Type T) {
  for (const Row &R : Rows)
    if (torch::graphType(T.getContext(), R.Type) == T)
      return R.Number;
  return -1;
}

ScalarType typeByName(std::string_view Name) {
  // "torch.int64" as Python prints it, and "u8" beside "ui8".
  if (Name.starts_with("torch."))
    Name.remove_prefix(6);
  if (Name == "u8")
    return ScalarType::Byte;
  for (const Row &R : Rows)
    if (R.Name == Name || R.Short == Name)
      return R.Type;
  return ScalarType::Unknown;
}

} // namespace kpc::torchscript
