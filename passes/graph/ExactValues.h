//===- ExactValues.h - Values of which an absolute error counts -----*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_EXACTVALUES_H
#define KPC_PASSES_GRAPH_EXACTVALUES_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/MapVector.h"

namespace kpc::graph {

/// Of a launch: its kernel has a sum that tf32 is too coarse for, as
/// lower-regions says. The pass allow-tf32 takes it off.
constexpr llvm::StringLiteral ExactAttr = "graph.exact";

/// Angles, coordinates, and what becomes an index, with all that they are
/// computed from. They stay f32: 16 bits keep the leading digits of such a
/// number, and what counts are those at a fixed place.
class ExactValues {
public:
  explicit ExactValues(mlir::func::FuncOp Func);

  /// The op that an exact weight or an exact result of a region is for; null:
  /// the value may be rounded. Views count as what they are views of.
  mlir::Operation *reasonOf(mlir::Value V) const;
  bool contains(mlir::Value V) const { return reasonOf(V); }
  /// Whether it is a sum of few terms that are exact themselves.
  bool isExactSum(mlir::Operation *Contraction) const {
    return Sums.contains(Contraction);
  }

private:
  void add(mlir::Value V, mlir::Operation *Reason);
  void follow(mlir::Value V);
  void followOperands(mlir::Operation *Op, mlir::Operation *Reason);

  llvm::DenseMap<mlir::Value, mlir::Operation *> Reasons;
  llvm::DenseSet<mlir::Operation *> Sums;
  llvm::SmallVector<mlir::Value> Worklist;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_EXACTVALUES_H
