//===- InferTypes.h - Result types that are checked first -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parser infers result types before any verifier has seen the operands,
/// and sizes may leave every range: what is wrong must be a diagnostic.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_INFERTYPES_H
#define KPC_DIALECTS_GRAPH_INFERTYPES_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Fails unless every operand is a symbolic tensor.
mlir::LogicalResult checkTensors(std::optional<mlir::Location> Loc,
                                 mlir::ValueRange Operands);

/// Appends the type, or fails with what its verifier says.
mlir::LogicalResult appendTensor(std::optional<mlir::Location> Loc,
                                 llvm::ArrayRef<shape::Expr> Dims,
                                 mlir::Type Element,
                                 llvm::SmallVectorImpl<mlir::Type> &Types);

/// The type of a tensor of elements of less than a byte once it is packed: a
/// vector of bytes.
SymbolicTensorType packedType(SymbolicTensorType Ty);

/// Fails unless a weight's recipe has steps that can be and its type's sizes
/// are numbers.
mlir::LogicalResult verifyRecipe(mlir::Operation *Op, SymbolicTensorType Ty,
                                 mlir::ArrayAttr Recipe);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_INFERTYPES_H
