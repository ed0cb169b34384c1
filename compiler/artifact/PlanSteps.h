//===- PlanSteps.h - A plan's steps as a target's ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches with what their kernels need on a target, copies, loops and
/// branches, in order.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_PLANSTEPS_H
#define KPC_COMPILER_ARTIFACT_PLANSTEPS_H

#include "compiler/artifact/PlanBuffers.h"
#include "compiler/kernels/TargetKernels.h"

namespace kpc {

class StepBuilder {
public:
  /// The kernels of `T`, by symbol; `Symbols`, those that expressions name,
  /// grow where a kernel asks for more. All must outlive it.
  StepBuilder(const PlanBuffers &Buffers, const TargetKernels &Compiled,
              const std::map<std::string, uint32_t, std::less<>> &KernelIndex,
              std::vector<artifact::Symbol> &Symbols, artifact::Target &T)
      : Buffers(Buffers), Compiled(Compiled), KernelIndex(KernelIndex),
        Symbols(Symbols), T(T) {}

  /// Puts the steps and controls of a block behind those of the target.
  llvm::Error add(mlir::Block &Body);

private:
  llvm::Error add(mlir::Operation &Op);
  llvm::Error addLoop(plan::LoopOp Loop);
  llvm::Error addIf(plan::IfOp If);
  llvm::Expected<artifact::Launch> launch(plan::LaunchOp Op);
  llvm::Expected<artifact::Launch> launchOf(llvm::StringRef Symbol,
                                            const CompiledKernel &Kernel,
                                            plan::LaunchOp Op);
  llvm::Error addVariants(artifact::Launch &L, plan::LaunchOp Op,
                          llvm::ArrayRef<CompiledVariant> Variants);
  std::string multiprocessors();

  const PlanBuffers &Buffers;
  const TargetKernels &Compiled;
  const std::map<std::string, uint32_t, std::less<>> &KernelIndex;
  std::vector<artifact::Symbol> &Symbols;
  artifact::Target &T;
};

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_PLANSTEPS_H
