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
/// begins: keys outside need not be read. Where it says nothing else, it need
/// not be computed between those limits.
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
  /// Its dimension of queries, the last of these, and the first; null: 0.
  std::optional<unsigned> Query = {};
  mlir::Value LastQuery = {};
  /// An index for each other dimension; null where it may be any.
  llvm::SmallVector<mlir::Value> At;
  mlir::Value FirstQuery = {};
};

/// Keys `First` to `End`, index; null: there is no such limit.
struct KeyRange {
  mlir::Value First = {}, End = {};
};

/// Outside of this range the condition holds for no key, whichever the query,
/// but for those that it lets all queries see (`KeyLimits::Lead`).
/// Limits are those of comparisons that it is a conjunction of, if both sides
/// are linear in key and query.
KeyRange keysWhere(GpuWriter &W, const KeyCondition &Of);
/// Inside of this range these comparisons hold for all of the queries.
KeyRange keysOfAll(GpuWriter &W, const KeyCondition &Of);
/// What of the condition these comparisons do not say, at indices of its
/// tensor; null where they say all.
mlir::Value restOf(GpuWriter &W, const KeyCondition &Of, mlir::ValueRange At);

/// What is known of a condition before it is written.
struct KeyLimits {
  bool HasFirst = false, HasEnd = false; ///< some limit of the range
  bool IsAll = false;                    ///< it says nothing else
  int64_t Lead = 0; ///< so many first keys are seen whatever the limits are
  bool RestIsOfKey = false; ///< what else it says is not of the query
  /// Typical ones for query 0 where limits move with the query; none: they do
  /// not, or nothing is known.
  std::optional<int64_t> First, End;

  bool any() const { return HasFirst || HasEnd; }
};

/// `Length` stands for a number in memory: that of a batch's keys.
KeyLimits keyLimits(const KeyCondition &Of, int64_t Length);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_KEYRANGE_H
