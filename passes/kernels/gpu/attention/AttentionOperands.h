//===- AttentionOperands.h - Where heads lie in memory ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What stands between memory and the operands of a kernel.attention, and costs
/// nothing: other types, other orders, some of the heads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONOPERANDS_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONOPERANDS_H

#include "passes/kernels/gpu/attention/AttentionKernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kpc::kernels {

/// A tensor, which of its dimensions each of another's is, and from where on.
struct Permuted {
  mlir::Value Tensor;
  std::array<unsigned, 4> Dims = {0, 1, 2, 3};
  std::array<int64_t, 4> Start = {0, 0, 0, 0};
  mlir::Type Code = {}; ///< what bytes are read as; null: they are no codes
  double Factor = 1;    ///< that elements are multiplied by on the way
  /// The argument whose one number is another factor.
  std::optional<unsigned> FactorArgument = {};
  /// What they become behind that, within its limits; null: nothing else.
  mlir::Type Narrowed = {};
  /// What each row, all dims but the last, is multiplied by.
  mlir::Value RowFactor = {};

  bool hasFactor() const { return Factor != 1 || FactorArgument || RowFactor; }
};

/// Follows copies in front of a tensor that change its type or its order.
Permuted throughCopies(Permuted At);

/// The constant that a tensor is filled with, or that fills what it repeats.
std::optional<double> filledWith(mlir::Value Tensor);

/// Where `Memref` is, its dimension `Dims[I]` being dimension I of the heads.
std::optional<HeadsInMemory> place(mlir::Value Memref,
                                   const std::array<unsigned, 4> &Dims);

/// `RowFactor`: where the factor of each row goes, if there may be one.
std::optional<HeadsInMemory> operandIn(mlir::Value Tensor,
                                       mlir::Value *RowFactor = nullptr);

/// Heads whose rows are those of a cache and new ones.
struct JoinedHeads {
  HeadsInMemory Past, New, Present;
  mlir::OpFoldResult PastSize; ///< null where rows are chosen by `Choice`
  std::optional<CacheRows> Choice;
  mlir::OpFoldResult Rows; ///< how many are stored
  int64_t Lead = 0;        ///< rows of zeros before these, which are not
};

/// `Output` is where the joined rows are stored.
std::optional<JoinedHeads> joinedIn(mlir::Value Tensor,
                                    const KernelOutput &Output);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONOPERANDS_H
