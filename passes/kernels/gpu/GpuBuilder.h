//===- GpuBuilder.h - Builders of kernels for GPUs --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel in its linalg form becomes the code of one thread: scf, arith,
/// memref, vector and gpu operations (thread ids, shuffles, barriers, shared
/// memory). The registry (KernelFamily.h) gives the possible schedules, and the
/// one that costs least is built. The function becomes a gpu.func in a
/// gpu.module of its own, with its launch contract
/// (dialects/kernel/KernelAttrs.td):
///
///   kernel.launch   = #kernel.launch<grid = ["ceildiv(arg4*64, 256)", "1",
///   "1"],
///                                    block = [256, 1, 1], shared = 33824>
///   kernel.schedule = #kernel.schedule<"map x4">       what was chosen
///
/// If families have costs, the module has `kernel.schedule_costs`, the best
/// schedules with the parts of their costs. A kernel with
/// `kernel.forced_schedule` is built by that schedule, of any family, or
/// refused.
///
/// The code fixes the order of every sum, and no atomics are used. So results
/// are the same from run to run.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GPUBUILDER_H
#define KPC_PASSES_KERNELS_GPU_GPUBUILDER_H

#include "compiler/target/Target.h"
#include "passes/schedule/Refusal.h"
#include "passes/schedule/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <vector>

namespace kpc::kernels {

/// Builds the kernel `Func` and replaces it by a gpu.module of the same name.
/// Fails after a diagnostic.
mlir::FailureOr<mlir::gpu::GPUModuleOp> buildGpuKernel(mlir::func::FuncOp Func,
                                                       const target::Target &T);

/// What there is to choose from for `Func`, the best first; none where the
/// family that takes it has no costs. Writes nothing.
std::vector<schedule::RankedSchedule> rankGpuSchedules(mlir::func::FuncOp Func,
                                                       const target::Target &T);

/// Why families in front of the one that is chosen do not take `Func`, in the
/// order of the registry.
std::vector<schedule::Refusal> gpuRefusals(mlir::func::FuncOp Func,
                                           const target::Target &T);

/// The pass `kpc-gpu-build-kernels` over a module: every func.func in linalg
/// form (one with kernel.buffers) becomes a gpu.module.
void registerGpuBuildPass();

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GPUBUILDER_H
