//===- RegionRoles.h - What an op is to the kernels around it ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What forming of regions asks of one op and its uses, whatever regions there
/// are.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_REGIONROLES_H
#define KPC_PASSES_GRAPH_REGIONROLES_H

#include "dialects/shape/Facts.h"
#include "mlir/IR/Operation.h"

namespace kpc::graph {

/// How an op takes part in regions.
enum class Role {
  Source, ///< constants and weights: always an input
  View,   ///< the same memory under other sizes, or a part of it
  Map,    ///< each result element from few operand elements
  Root,   ///< each result element from many
};
Role roleOf(mlir::Operation *Op);

/// Whether the op reads each element of an operand at most about once.
bool readsOnce(mlir::Operation *Op);

/// A permutation of heads whose rows stay contiguous: other strides, to a
/// builder of attention.
bool isOrderOfHeads(mlir::Operation *Op);

/// Whether the op takes some of the heads that lie in one tensor, and
/// everything that uses it turns them to where attention has heads: a place to
/// begin at, to a builder of attention.
bool isSliceOfHeads(mlir::Operation *Op);

/// Whether `Op` gives each matrix of a batched product's operand as one of a
/// stack, by the indices of a vector: groups of rows by matrices of their own.
bool picksMatrices(mlir::Operation *Op, mlir::Operation *Product);

/// Whether the op only takes neighbours along the last dimension from another
/// place, where they are neighbours as well: an index, to a concat too.
bool keepsLines(mlir::Operation *Op);

/// Whether `Op` is a transpose that brings neighbours together for `Gather`,
/// which reads lines of them, each many times.
bool makesGatheredLines(mlir::Operation *Op, mlir::Operation *Gather,
                        const shape::Facts &Facts);

/// Whether `Op` is a product whose first operand is codes.
bool isCodeProduct(mlir::Operation *Op);
/// Whether a kernel of products computes `Op` as the last it does.
bool isGemmEpilogue(mlir::Operation *Op);
/// The same of a product of codes: what scales and quantises it is worth a
/// kernel of its own least of all.
bool isCodeEpilogue(mlir::Operation *Op);

/// The users of `Op`, seen through the broadcasts that each region clones.
void forEachRealUser(
    mlir::Operation *Op,
    llvm::function_ref<void(mlir::Operation *User, bool Through)> Visit,
    bool Through = false);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_REGIONROLES_H
