//===- KernelBatch.h - Compiles many kernels at once -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELBATCH_H
#define KPC_COMPILER_KERNELS_KERNELBATCH_H

#include "compiler/CompileOptions.h"
#include "compiler/CompileReport.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/kernels/KernelJob.h"

namespace kpc {

/// Compiles `Jobs` in worker processes, those in the cache excepted. Result I
/// belongs to job I; none where it failed, with an error in `Diags`. `Hits`
/// tells which came from the cache. The job of a worker that broke is saved,
/// and `Report` says how to replay it.
std::vector<std::optional<CompiledKernel>>
compileBatch(const std::vector<KernelJob> &Jobs, const CompileOptions &Options,
             Diagnostics &Diags, CompileReport &Report,
             std::vector<bool> &Hits);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELBATCH_H
