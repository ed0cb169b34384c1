//===- Loops.h - Loops as builders write them -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One scf.for whose body a function writes.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_LOOPS_H
#define KPC_PASSES_KERNELS_FORM_LOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kpc::kernels {

/// A loop with one step; `Body` gets the index, and the carried values if any,
/// and returns what is carried on.
using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Value Index, mlir::ValueRange Carried)>;
mlir::scf::ForOp makeLoop(mlir::OpBuilder &B, mlir::Location Loc,
                          mlir::Value Lower, mlir::Value Upper,
                          mlir::Value Step, mlir::ValueRange Carried,
                          LoopBody Body);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_LOOPS_H
