//===- RootShape.h - The loops of a root op ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_ROOTSHAPE_H
#define KPC_PASSES_KERNELS_FORM_ROOTSHAPE_H

#include "passes/kernels/form/AccessMaps.h"

#include "dialects/shape/Facts.h"

namespace kpc::kernels {

/// A kernel whose outputs have the root generic's own shape: each output
/// element is made of the root results at its own indices, and perhaps of
/// those in the other half of one dim.
struct RootShape {
  mlir::linalg::LinalgOp Root;
  llvm::SmallVector<mlir::OpFoldResult> LoopSizes;
  /// Loops by kind, in order; output dim i is loop Parallel[i].
  llvm::SmallVector<unsigned> Parallel, Reduction;
  /// What an output element reads and writes.
  AccessMaps Access;
  /// The output's dim, of two halves, in the other one of which an element
  /// reads as well.
  std::optional<unsigned> RotateHalf;

  shape::Expr size(unsigned Loop) const { return *sizeExpr(LoopSizes[Loop]); }

  /// None where the kernel is of another kind, or exchanges halves.
  static std::optional<RootShape> read(const FusedKernel &Form);
  /// The same for builders that know what to do with `RotateHalf`.
  static std::optional<RootShape> readWithRotateHalf(const FusedKernel &Form);
};

/// What the kernel's arguments say of `argN`.
shape::Facts factsOf(mlir::func::FuncOp Func);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_ROOTSHAPE_H
