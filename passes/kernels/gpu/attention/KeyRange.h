//===- KeyRange.h - Between which keys a condition holds --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A buffer of keys is longer than what counts of it. A mask that compares the
/// places of keys with numbers says where that ends, and a window where it
/// begins: keys outside need not be read.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_KEYRANGE_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_KEYRANGE_H

#include "passes/kernels/gpu/GpuThreads.h"

namespace kpc::kernels {

/// A condition for each key of a batch.
struct KeyCondition {
  mlir::Value Tensor; ///< of i1
  unsigned Key = 3;   ///< its dimension of keys
  /// Its dimension of queries, and the last of these; the first is 0.
  std::optional<unsigned> Query = {};
  mlir::Value LastQuery = {};
  /// An index for each other dimension; null where it may be any.
  llvm::SmallVector<mlir::Value> At;
};

/// Keys `First` to `End`, index; null: there is no such limit.
struct KeyRange {
  mlir::Value First = {}, End = {};
};

/// Outside of this range the condition holds for no key, whichever the query.
/// Limits are those of comparisons that it is a conjunction of, if both sides
/// are linear in key and query.
KeyRange keysWhere(GpuWriter &W, const KeyCondition &Of);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_KEYRANGE_H
