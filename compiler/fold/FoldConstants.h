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
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <functional>

namespace kpc {

/// Compiles the kernels of a module for this machine's CPU; false after an
/// error was reported.
using CompileHostKernels =
    std::function<bool(mlir::ModuleOp Module, TargetKernels &Into)>;

/// A weight that holds `Bytes`. Its name says what it holds, so that plans
/// which make the same value share it.
std::string addComputed(graph::SymbolicTensorType Ty,
                        std::vector<uint8_t> Bytes, WeightStore &Weights);

/// Folds the graphs of all plans of one compile. Plans mostly fold the same
/// values, which are computed once.
class ConstantFolding {
public:
  /// `Weights` must outlive it.
  ConstantFolding(WeightStore &Weights, CompileHostKernels Compile,
                  uint64_t MostBytes)
      : Weights(Weights), Compile(std::move(Compile)), MostBytes(MostBytes) {}

  /// Replaces what depends on constants alone in `@main` of `Module` by weights
  /// "folded#DIGEST". Emits an error and fails where a kernel cannot be made or
  /// run. What would take more memory than is allowed is folded in several
  /// rounds; a value that alone takes more stays for run time.
  mlir::LogicalResult run(mlir::ModuleOp Module);

private:
  mlir::FailureOr<std::vector<std::string>> compute(mlir::ModuleOp Constants,
                                                    mlir::ModuleOp For);

  WeightStore &Weights;
  CompileHostKernels Compile;
  uint64_t MostBytes; ///< that values which are made together take
  /// The weights that a module of constants became, by its text.
  std::map<std::string, std::vector<std::string>> Known;
};

} // namespace kpc

#endif // KPC_COMPILER_FOLD_FOLDCONSTANTS_H
