//===- AccessMaps.h - How loops over an output reach memory -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Follows pull evaluation without emitting anything: from the indices of an
/// element of a tensor to the buffers that are read for it, as affine functions
/// of those indices. Builders choose loops by it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_ACCESSMAPS_H
#define KPC_PASSES_KERNELS_FORM_ACCESSMAPS_H

#include "passes/kernels/form/FusedKernel.h"

#include "mlir/IR/AffineMap.h"

namespace kpc::kernels {

struct Access {
  mlir::Value Tensor; ///< the view; null for an output
  mlir::Value Memref;
  /// From the root tensor's indices (dims) to the memref's. Reduction loops on
  /// the way are symbols.
  mlir::AffineMap Map;
};

struct AccessMaps {
  llvm::SmallVector<Access> Accesses;
  /// Per dim of the root: whether its index is used as a value, or reaches
  /// memory other than linearly (linalg.index, gathers, floordiv, mod).
  llvm::SmallVector<bool> Opaque;

  /// Elements between neighbours along `Dim` in `A`'s buffer; none if `Dim` is
  /// opaque.
  std::optional<shape::Expr> stride(const Access &A, unsigned Dim) const;

  /// Whether dims `Slow` and `Fast` (the next one that moves) can be walked as
  /// one: every buffer is then walked by one linear step. `FastSize` is the
  /// size of `Fast`.
  bool collapses(unsigned Slow, unsigned Fast,
                 const std::optional<shape::Expr> &FastSize) const;
};

/// The accesses for an element of `Tensor`.
AccessMaps accessesOf(mlir::Value Tensor);

/// The factor of a dim in a linear expression; 0: it does not occur.
int64_t factorOf(mlir::AffineExpr Linear, unsigned Dim);

/// Adds the access of `Memref` at the root's own indices (the output's store).
void addIdentityAccess(AccessMaps &Maps, mlir::Value Memref);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_ACCESSMAPS_H
