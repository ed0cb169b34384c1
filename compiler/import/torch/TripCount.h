//===- TripCount.h - How often a loop runs ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_TRIPCOUNT_H
#define KPC_COMPILER_IMPORT_TORCH_TRIPCOUNT_H

#include "compiler/import/torch/NodeImport.h"
#include "dialects/shape/Facts.h"

namespace kpc::torch {

struct TripCount {
  Expr Most; ///< iterations
  /// Whether data may end the loop before.
  bool MayEndEarlier = false;
};

/// Of a loop whose condition compares a counter that each iteration changes by
/// the same number, alone or in a conjunction. None where data alone decides.
std::optional<TripCount> tripCount(const Graph &Condition, const Graph &Body,
                                   ArrayRef<Value> Carried,
                                   ArrayRef<Value> Additional,
                                   const shape::Facts &Facts);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_TRIPCOUNT_H
