//===- IndexMath.h - Index arithmetic in a generic's body -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_INDEXMATH_H
#define KPC_PASSES_GRAPH_LINALG_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/graph/linalg/KernelWriter.h"

namespace kpc::graph {

/// Writes arithmetic on `index` values at a builder's position.
struct IndexMath {
  mlir::OpBuilder &B;
  mlir::Location Loc;

  mlir::Value constant(int64_t V);
  mlir::Value add(mlir::Value X, mlir::Value Y);
  mlir::Value sub(mlir::Value X, mlir::Value Y);
  mlir::Value mul(mlir::Value X, mlir::Value Y);
  mlir::Value floorDiv(mlir::Value X, mlir::Value Y);
  mlir::Value equal(mlir::Value X, mlir::Value Y);
  /// X < Y, signed.
  mlir::Value less(mlir::Value X, mlir::Value Y);
  /// 0 <= X < Y.
  mlir::Value below(mlir::Value X, mlir::Value Y);
  /// Both conditions; the first may be null.
  mlir::Value both(mlir::Value X, mlir::Value Y);

  /// The row-major position of an index, and back.
  mlir::Value linearize(mlir::ValueRange Index, mlir::ValueRange Sizes);
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value Linear,
                                             mlir::ValueRange Sizes);

  /// An integer element as an index; negative ones count from the end.
  mlir::Value wrappedIndex(mlir::Value Element, bool Unsigned,
                           mlir::Value Size);
  /// The same, held in [0, Size).
  mlir::Value clampedIndex(mlir::Value Element, bool Unsigned,
                           mlir::Value Size);
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_INDEXMATH_H
