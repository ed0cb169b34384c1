//===- CodeOperand.h - Operands as codes, scales and zero points *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An operand of a GEMM or convolution that is made of codes, however that is
/// spelled: (codes - zero) * scale by arithmetic on elements, graph.dequantise,
/// or integers alone.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CODEOPERAND_H
#define KPC_PASSES_GRAPH_CODEOPERAND_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

struct CodeOperand {
  /// In the operand's order of dims.
  mlir::Value Codes;
  /// A scalar, or a vector along the operand's dim that is not summed up; null:
  /// there is none.
  mlir::Value Scale;
  /// The same in i32, of codes that are integers.
  mlir::Value Zero;

  /// None where the operand is something else; `Kept` is its dim that is not
  /// summed up, -1: there is none. What is made stands in front of the owner.
  static std::optional<CodeOperand> read(mlir::OpOperand &Of, int64_t Kept);

  /// Codes without a sign whose zero point is 128 become signed ones whose zero
  /// point is 0, and signed ones of -128 the reverse; others stay.
  void moveZero(mlir::OpBuilder &B, mlir::Location Loc);
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CODEOPERAND_H
