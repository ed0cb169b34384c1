//===- KernelVariants.h - Kernels for parts of the sizes --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel whose sizes are known only when a shape is bound is compiled for
/// its optimum, and again for those parts of its sizes where that schedule is
/// a bad one (passes/schedule/Variants.h). A variant is the same function
/// with other facts of its arguments:
///
///   func.func @fc(…, %n: index {kernel.size = #kernel.size<max = 4096, optimum
///   = 1024>}) func.func @fc_v2(…, %n: index {kernel.size = #kernel.size<max =
///   16, optimum = 16>})
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELVARIANTS_H
#define KPC_COMPILER_KERNELS_KERNELVARIANTS_H

#include "compiler/kernels/KernelJob.h"
#include "compiler/target/Target.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kpc {

/// The sizes that a kernel's schedule is chosen for, by what the launch gives:
/// "batch*seq=2048, seq=128". Of a variant they may lie outside of what it is
/// for: a schedule that is the best nowhere there can be the best elsewhere.
std::string chosenFor(mlir::func::FuncOp Kernel, plan::LaunchOp Launch);

/// Finds the variants of the kernels of a plan for one GPU.
class VariantFinder {
public:
  /// At most `Most` for each kernel.
  VariantFinder(mlir::ModuleOp Module, const target::Target &T, size_t Most);

  /// The jobs of the variants of the kernel that `Base` is of.
  std::vector<KernelJob> jobsFor(const KernelJob &Base);

private:
  std::string unusedSymbol(const std::string &Of, unsigned &Number);

  mlir::ModuleOp Module;
  const target::Target &T;
  size_t Most;
  shape::Facts Facts;
  llvm::StringMap<llvm::SmallVector<plan::LaunchOp>> Launches;
};

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELVARIANTS_H
