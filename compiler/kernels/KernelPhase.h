//===- KernelPhase.h - All kernels of a plan, for all targets ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The phase behind the passes: a job for each kernel, variant and target, and
/// what comes of them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELPHASE_H
#define KPC_COMPILER_KERNELS_KERNELPHASE_H

#include "codegen/host/SystemCompiler.h"
#include "codegen/nvptx/Nvdisasm.h"
#include "codegen/nvptx/Nvrtc.h"
#include "codegen/nvptx/Ptxas.h"
#include "compiler/CompileOptions.h"
#include "compiler/CompileReport.h"
#include "compiler/ScheduleFile.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/kernels/TargetKernels.h"
#include "mlir/IR/BuiltinOps.h"

namespace kpc {

/// Errors go to `Diags`; what is told of kernels, and their text where --emit
/// asks for it, to `Report`.
class KernelPhase {
public:
  using Targets = llvm::ArrayRef<const target::Target *>;

  /// A module that holds the plan of a target.
  struct TargetPlan {
    const target::Target *Target;
    mlir::ModuleOp Module;
  };

  /// All three must outlive it.
  KernelPhase(const CompileOptions &Options, Diagnostics &Diags,
              CompileReport &Report)
      : Options(Options), Diags(Diags), Report(Report) {}

  /// Finds the programs that code for the targets needs; false after an error.
  bool findTools(Targets For);
  /// The same of the compilers of custom operators' code, where there is any.
  bool findCompilers(llvm::ArrayRef<TargetPlan> Plans);

  /// The kernels of each target's plan, in the order of the targets; none after
  /// an error.
  std::optional<std::vector<TargetKernels>>
  compile(llvm::ArrayRef<TargetPlan> Plans);

  /// The kernels of a module for this machine's CPU, to be run while compiling;
  /// false after an error.
  bool compileForNow(mlir::ModuleOp Module, TargetKernels &Into);

private:
  /// What came of the jobs; `Results[I]` and `Hits[I]` are of `Jobs[I]`.
  struct Batch {
    std::vector<KernelJob> Jobs;
    std::vector<std::optional<CompiledKernel>> Results;
    std::vector<bool> Hits;
  };

  bool readSchedules(llvm::ArrayRef<TargetPlan> Plans);
  std::vector<KernelJob> jobsFor(mlir::ModuleOp Module, const target::Target &T,
                                 const std::string &Listing);
  void addVariants(mlir::ModuleOp Module, const target::Target &T,
                   std::vector<KernelJob> &Jobs);
  TargetKernels take(const TargetPlan &Plan, Batch &All, size_t First,
                     size_t End);
  void tellSchedule(const KernelJob &Job, const CompiledKernel &Kernel,
                    bool Kept);

  const CompileOptions &Options;
  Diagnostics &Diags;
  CompileReport &Report;
  nvptx::Ptxas Ptxas;
  nvptx::Nvdisasm Nvdisasm;
  nvptx::Nvrtc Nvrtc;
  codegen::SystemCompiler Cxx;
  /// By plan: one name may be another symbol in each.
  llvm::DenseMap<mlir::Operation *, ScheduleFile> Schedules;
};

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELPHASE_H
