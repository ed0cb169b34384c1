//===- GpuBuilder.h - Builders of kernels for GPUs --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GPU builder turns a kernel in its linalg form into the code of one thread:
/// scf, arith, memref, vector and gpu operations (thread ids, shuffles,
/// barriers, shared memory). The function becomes a gpu.func in a gpu.module of
/// its own, with
///
///   kpc.grid     = ["ceildiv(arg4*64, 256)", "1", "1"]   blocks, expressions
///                  of dialects/shape over `argN` (N counts all arguments); a
///                  product of 0 means that there is nothing to launch
///   kpc.block    = array<i32: 256, 1, 1>                 threads
///   kpc.shared   = 0 : i64                               dynamic shared bytes
///   kpc.cluster  = 2 : i64                               blocks of a cluster
///                  along x, of which the grid is a multiple; left out: 1
///   kpc.schedule = "map x4"                              what was chosen
///
/// The module has `kpc.schedule_costs`, what there was to choose from, where
/// the family has costs (ScheduleChoice.h). A kernel with
/// `kpc.forced_schedule` is built by that schedule, or refused.
///
/// Every sum is made in an order that the code fixes: results are the same from
/// run to run, and no atomics are used.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GPUBUILDER_H
#define KPC_PASSES_KERNELS_GPU_GPUBUILDER_H

#include "compiler/target/Target.h"
#include "passes/kernels/form/FusedKernel.h"
#include "passes/kernels/gpu/GpuLaunch.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <vector>

namespace kpc::kernels {

/// Builds the kernel `Func` by the builder that fits it, and replaces it by a
/// gpu.module of the same name. Fails after a diagnostic.
mlir::FailureOr<mlir::gpu::GPUModuleOp> buildGpuKernel(mlir::func::FuncOp Func,
                                                       const target::Target &T);

/// What the builder that fits `Func` would choose from, the best first; none
/// where it has no costs. `Func` is of no use behind it: a builder without
/// costs has written into it.
std::vector<schedule::RankedSchedule> rankGpuSchedules(mlir::func::FuncOp Func,
                                                       const target::Target &T);

/// Each builder reports failure after a diagnostic, or returns false, with
/// nothing changed, where the kernel is not its kind. Code is put in front of
/// the function's terminator; shared memory is memref.alloc in the workgroup
/// address space.
using GpuBuild = mlir::FailureOr<bool>(FusedKernel &Form,
                                       const target::Target &T,
                                       GpuLaunch &Launch);
GpuBuild buildGpuTranspose;
/// On tensor cores; those behind take what is left. Products of few rows come
/// first.
GpuBuild buildGpuGemv;
GpuBuild buildAttentionDecode;
GpuBuild buildAttentionHopper;
GpuBuild buildGemmHopper;
GpuBuild buildGemmBlackwell;
GpuBuild buildConvHopper;
GpuBuild buildGemmMmaSync;
GpuBuild buildGpuContraction;
/// Several reductions of the same rows, or one and what is made of it.
GpuBuild buildGpuRows;
GpuBuild buildGpuRowReduction;
GpuBuild buildGpuColumnReduction;
/// Windows that slide over an image, then what else one thread reduces.
GpuBuild buildGpuWindowTile;
GpuBuild buildGpuWindow;
/// Takes every kernel.
GpuBuild buildGpuMap;

/// The pass `kpc-gpu-build-kernels` over a module: every func.func in linalg
/// form (one with kpc.writes) becomes a gpu.module.
void registerGpuBuildPass();

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GPUBUILDER_H
