//===- TargetKernels.h - The compiled kernels of a target -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_TARGETKERNELS_H
#define KPC_COMPILER_KERNELS_TARGETKERNELS_H

#include "compiler/kernels/KernelJob.h"
#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kpc {

/// A kernel that takes another one's place for some sizes.
struct CompiledVariant {
  std::string Symbol;
  std::vector<schedule::SizeBounds> Where; ///< one of these holds
  CompiledKernel Kernel;
};

/// The compiled kernels of one target, by the symbol of their func.func.
struct TargetKernels {
  const target::Target *Target = nullptr;
  /// The kernels in linalg form, and the plan that launches them. Targets of
  /// one class share it.
  mlir::ModuleOp Plan;
  std::map<std::string, CompiledKernel, std::less<>> Kernels;
  /// By the symbol of the kernel whose place they take; none of a kernel that
  /// is launched with sizes that change in a loop.
  std::map<std::string, std::vector<CompiledVariant>, std::less<>> Variants;
};

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_TARGETKERNELS_H
