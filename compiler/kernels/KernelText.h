//===- KernelText.h - A kernel as a worker reads it -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELTEXT_H
#define KPC_COMPILER_KERNELS_KERNELTEXT_H

#include "compiler/kernels/KernelJob.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kpc {

/// Gives the job its text, and its entry the name "matmul_0123456789ab": the
/// root op of `Launch`, which may be null, and a digest of the text and of the
/// schedule that the user forces. A job for people to read, with a listing or
/// with the lines of one, keeps its symbol. All other fields must be set.
void setText(KernelJob &Job, mlir::func::FuncOp Kernel, plan::LaunchOp Launch);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELTEXT_H
