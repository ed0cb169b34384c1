//===- CompileKernel.h - A worker's job, done -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_COMPILEKERNEL_H
#define KPC_COMPILER_KERNELS_COMPILEKERNEL_H

#include "compiler/kernels/KernelJob.h"
#include "llvm/Support/Error.h"

#include <string_view>

namespace kpc {

/// Builds and compiles one kernel in this process. The error names the kernel.
/// LLVM may still abort: callers run it in a worker (see compileKernelJob).
llvm::Expected<CompiledKernel> compileKernel(const KernelJob &Job);

/// One job of a worker process: a kernel for a target. See KernelJob.h.
struct JobReply;
JobReply compileKernelJob(std::string_view Job);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_COMPILEKERNEL_H
