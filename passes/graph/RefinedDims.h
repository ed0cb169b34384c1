//===- RefinedDims.h - Dimensions that several shapes are made of -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same elements in the same order have several shapes. The coarsest that
/// is as fine as each of them has a border wherever one of them has one:
///
///   [n, 32,     10·h·w]
///   [n, 320,    h, w  ]     →   [n, 32, 10, h, w]
///
/// Dimensions of size 1 are none of its.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REFINEDDIMS_H
#define KPC_PASSES_GRAPH_REFINEDDIMS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

class RefinedDims {
public:
  explicit RefinedDims(llvm::ArrayRef<shape::Expr> Shape);

  /// Whether there is such a shape for `Shape` too; then it is this one.
  bool add(llvm::ArrayRef<shape::Expr> Shape);

  llvm::ArrayRef<shape::Expr> dims() const { return Dims; }

  /// Of each dimension of a shape that was added, the first of dims() that it
  /// is made of; one more entry at the end.
  llvm::SmallVector<unsigned> startsOf(llvm::ArrayRef<shape::Expr> Shape) const;

private:
  llvm::SmallVector<shape::Expr> Dims;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REFINEDDIMS_H
