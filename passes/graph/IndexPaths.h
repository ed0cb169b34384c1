//===- IndexPaths.h - How often a kernel computes an element ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel makes an element of its result from those that it needs, at the
/// indices at which it needs them. Elementwise users ask at their own index;
/// every other user asks at one that follows from it:
///
///   y = z + shift(z)      z at i and i - 2                  2 paths
///   z = x + shift(x)      x at i, i - 1, i - 2 and i - 3    4 paths
///
/// So what a running product by doublings computes grows with its length,
/// where it is one kernel.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_INDEXPATHS_H
#define KPC_PASSES_GRAPH_INDEXPATHS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"

namespace kpc::graph {

class IndexPaths {
public:
  /// `Op` is its kernel's last.
  void start(mlir::Operation *Op);
  /// `Op` joins the kernel of those users that are `Inside`. What is `Kept` by
  /// the kernel, as rows are, is asked for once. False, and `Op` is as it was,
  /// where its elements would be computed in more than `Most` places.
  bool join(mlir::Operation *Op,
            llvm::function_ref<bool(mlir::Operation *)> Inside,
            llvm::function_ref<bool(mlir::Operation *)> Kept);

private:
  static constexpr unsigned Most = 64;
  /// A path by the movements on it; 0 is the result's own index.
  using Paths = llvm::SmallSet<size_t, 8>;
  llvm::DenseMap<mlir::Operation *, Paths> PathsOf;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_INDEXPATHS_H
