//===- FoldConstants.h - Computes constants when compiling ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The middle one of three ways to fold: small integers fold in the IR, weights
/// are prepared by recipes, and what lies between (a scaled filter, the root of
/// a batch-norm's variance) is computed here by kpc's own host kernels, all in
/// one batch. Results become weights.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_FOLD_FOLDCONSTANTS_H
#define KPC_COMPILER_FOLD_FOLDCONSTANTS_H

#include "compiler/import/WeightStore.h"
#include "compiler/kernels/TargetKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kpc {

/// Compiles the kernels of a module for this machine's CPU; false after an
/// error was reported.
using CompileHostKernels =
    llvm::function_ref<bool(mlir::ModuleOp Module, TargetKernels &Into)>;

/// Replaces what depends on constants alone in `@main` of `Module` by weights
/// "folded#0", "folded#1"… in `Weights`. Emits an error and fails where a
/// kernel cannot be made or run.
mlir::LogicalResult foldConstants(mlir::ModuleOp Module, WeightStore &Weights,
                                  CompileHostKernels Compile);

} // namespace kpc

#endif // KPC_COMPILER_FOLD_FOLDCONSTANTS_H
