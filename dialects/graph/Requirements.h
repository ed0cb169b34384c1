//===- Requirements.h - What must hold of a model's sizes -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a node needs more of the sizes than the range and the divisor of one
/// symbol can say, the module's attribute `graph.requirements` says what. A run
/// checks it when it binds.
///
///   graph.requirements = [{left = "k[0]", relation = "at most",
///                          right = "rows", reason = "'TopK_1' (TopK) ..."}]
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_REQUIREMENTS_H
#define KPC_DIALECTS_GRAPH_REQUIREMENTS_H

#include "dialects/shape/Expr.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace kpc::graph {

/// `Left` is `Right`, or at most that.
struct Requirement {
  shape::Expr Left, Right;
  bool Equal = false;
  std::string Reason; ///< a sentence without its full stop, for messages

  friend bool operator==(const Requirement &, const Requirement &) = default;
};

inline constexpr llvm::StringLiteral RequirementsName = "graph.requirements";

std::vector<Requirement> requirements(mlir::ModuleOp Module);
mlir::LogicalResult verifyRequirements(mlir::Operation *Op,
                                       mlir::NamedAttribute Given);
void setRequirements(mlir::ModuleOp Module,
                     const std::vector<Requirement> &List);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_REQUIREMENTS_H
