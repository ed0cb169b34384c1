//===- HostLoops.h - Loops over work units ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What host builders make their loops over work units with.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_HOST_HOSTLOOPS_H
#define KPC_PASSES_KERNELS_HOST_HOSTLOOPS_H

#include "passes/kernels/form/ElementEmitter.h"
#include "passes/kernels/form/FusedKernel.h"
#include "passes/kernels/form/Loops.h"

#include <string>

namespace kpc::kernels {

/// The two arguments that every host kernel gains.
struct UnitRange {
  mlir::Value Begin;
  mlir::Value End;
};
UnitRange addUnitRange(mlir::func::FuncOp Func);

/// Leaves what the plan needs to launch the kernel.
void setLaunch(mlir::func::FuncOp Func, const shape::Expr &Work, int64_t Grain,
               llvm::StringRef Schedule);

/// Asks LLVM to leave a loop as it is: its body was made for the registers
/// there are, and unrolling it costs compile time alone.
void keepRolled(mlir::scf::ForOp For);

/// Splits `Linear` into indices of dims of `Sizes`, the last the fastest.
llvm::SmallVector<mlir::Value> delinearize(mlir::OpBuilder &B,
                                           mlir::Location Loc,
                                           mlir::Value Linear,
                                           llvm::ArrayRef<mlir::Value> Sizes);

/// The product of `Sizes`, folded.
mlir::Value product(mlir::OpBuilder &B, mlir::Location Loc,
                    ElementEmitter &Emitter, mlir::ValueRange Sizes);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_HOST_HOSTLOOPS_H
