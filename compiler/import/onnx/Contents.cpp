//===- Contents.cpp - What is known of a tensor's elements ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Contents.h"

namespace kpc::onnx {

using shape::Expr;

std::optional<std::vector<int64_t>> Contents::integers() const {
  if (isReal())
    return std::nullopt;
  std::vector<int64_t> Values;
  for (const Expr &E : Whole) {
    std::optional<int64_t> V = E.asConstant();
    if (!V)
      return std::nullopt;
    Values.push_back(*V);
  }
  return Values;
}

std::optional<std::vector<double>> Contents::reals() const {
  if (isReal())
    return Real;
  std::optional<std::vector<int64_t>> Values = integers();
  if (!Values)
    return std::nullopt;
  return std::vector<double>(Values->begin(), Values->end());
}

std::optional<Contents> Contents::of(const Tensor &T) {
  if (T.count() > MostElements)
    return std::nullopt;
  Contents C;
  C.Type = T.Type;
  C.Dims = T.Dims;
  if (C.isReal()) {
    C.Real = *T.reals();
    return C;
  }
  // An unsigned number above int64_t's range would read as negative.
  std::optional<std::vector<int64_t>> Values = T.integers();
  if (!Values)
    return std::nullopt;
  for (int64_t V : *Values) {
    if (T.Type == ElementType::Uint64 && V < 0)
      return std::nullopt;
    C.Whole.push_back(Expr(T.Type == ElementType::Bool ? V != 0 : V));
  }
  return C;
}

} // namespace kpc::onnx
