//===- InputValues.h - Sizes that are elements of inputs --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a model takes a size from the data of an input, the module's attribute
/// `graph.input_values` says which element is which size. A run reads these
/// elements before it binds, and refuses others than the expression says.
///
///   graph.input_values = {"size[0]" = "`size[0]`", "size[1]" = "rows*2"}
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_INPUTVALUES_H
#define KPC_DIALECTS_GRAPH_INPUTVALUES_H

#include "dialects/shape/Expr.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace kpc::graph {

/// An element of an input, and the size that it is.
struct InputValue {
  std::string Input;
  int64_t Element = 0; ///< in row-major order
  shape::Expr Size;
};

/// "size[1]"
std::string inputValueName(llvm::StringRef Input, int64_t Element);

inline constexpr llvm::StringLiteral InputValuesName = "graph.input_values";

/// In the order of their names.
std::vector<InputValue> inputValues(mlir::ModuleOp Module);
mlir::LogicalResult verifyInputValues(mlir::Operation *Op,
                                      mlir::NamedAttribute Given);
void setInputValues(mlir::ModuleOp Module,
                    const std::vector<InputValue> &Values);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_INPUTVALUES_H
