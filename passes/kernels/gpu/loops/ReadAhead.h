//===- ReadAhead.h - Loads of the next step ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   for %i = 0 to %n {            %0 = %n > 0 ? load %x[%t] : 0
///     %x_i = load %x[%i + %t]     for %i = 0 to %n carrying %x_i = %0 {
///     …                      →      %1 = load %x[min(%i + 1, %n - 1) + %t]
///                                   …
///                                   yield %1
///
/// A load of memory takes longer than a step that has all its values.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_LOOPS_READAHEAD_H
#define KPC_PASSES_KERNELS_GPU_LOOPS_READAHEAD_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kpc::kernels {

/// Moves loads of the kernel's buffers whose place follows from the step's
/// number alone. They stand in `Steps` itself or in one of `Clamped`, branches
/// that are not taken where there is no element, whose places are inside all
/// the same.
void readAhead(mlir::scf::ForOp Steps,
               const llvm::SmallPtrSetImpl<mlir::Operation *> &Clamped);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_LOOPS_READAHEAD_H
