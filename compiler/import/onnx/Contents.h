//===- Contents.h - What is known of a tensor's elements --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shapes travel through ONNX graphs as tensors: Shape, Gather, Concat,
/// Reshape. The importer follows such small tensors by their contents, each
/// element an expression over the model's symbols or a number, so that a
/// computed shape is a shape again.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_CONTENTS_H
#define KPC_COMPILER_IMPORT_ONNX_CONTENTS_H

#include "compiler/import/onnx/model/Model.h"
#include "dialects/shape/Expr.h"

namespace kpc::onnx {

struct Contents {
  /// Longer ones are data, not shapes.
  static constexpr int64_t MostElements = 1024;

  ElementType Type = ElementType::Int64;
  std::vector<int64_t> Dims;
  /// Elements of an integer or bool tensor; bools are 0 or 1.
  std::vector<shape::Expr> Whole;
  /// Elements of a float tensor.
  std::vector<double> Real;

  bool isReal() const {
    return Type == ElementType::Float || Type == ElementType::Double ||
           Type == ElementType::Float16 || Type == ElementType::Bfloat16;
  }
  size_t count() const { return isReal() ? Real.size() : Whole.size(); }
  /// The elements, if all are numbers.
  std::optional<std::vector<int64_t>> integers() const;
  std::optional<std::vector<double>> reals() const;

  /// None if the tensor is too long or of another kind.
  static std::optional<Contents> of(const Tensor &T);
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_CONTENTS_H
