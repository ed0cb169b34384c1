//===- CompileCustom.h - The kernel of a custom operator --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_COMPILECUSTOM_H
#define KPC_COMPILER_KERNELS_COMPILECUSTOM_H

#include "compiler/kernels/KernelJob.h"
#include "compiler/target/Target.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// The op that is all of a kernel which a user wrote; null for others.
kernel::CustomOp customIn(mlir::func::FuncOp Kernel);

/// By NVRTC and ptxas, or by the system's C++ compiler. `Custom` is the job's.
llvm::Expected<CompiledKernel> compileCustom(const KernelJob &Job,
                                             const target::Target &T,
                                             kernel::CustomOp Custom);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_COMPILECUSTOM_H
