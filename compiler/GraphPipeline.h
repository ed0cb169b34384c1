//===- GraphPipeline.h - The passes of each phase -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_GRAPHPIPELINE_H
#define KPC_COMPILER_GRAPHPIPELINE_H

#include "compiler/CompileOptions.h"
#include "mlir/Pass/PassManager.h"

namespace kpc {

/// Model as imported → graph as --emit graph shows it.
void addGraphPasses(mlir::OpPassManager &Passes, const CompileOptions &Options);

/// Graph → kernels in linalg form and a plan.
void addKernelPasses(mlir::OpPassManager &Passes,
                     const CompileOptions &Options);

} // namespace kpc

#endif // KPC_COMPILER_GRAPHPIPELINE_H
