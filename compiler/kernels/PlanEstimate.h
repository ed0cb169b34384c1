//===- PlanEstimate.h - What a plan is expected to take ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_PLANESTIMATE_H
#define KPC_COMPILER_KERNELS_PLANESTIMATE_H

#include "compiler/CompileReport.h"
#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace kpc {

/// The launches of a GPU target's plan, in order, with the microseconds of the
/// best schedule of each at the optimum sizes. Kernels without a cost model
/// take as long as their bytes and operations. A loop counts once.
std::vector<LaunchEstimate> estimateLaunches(mlir::ModuleOp Plan,
                                             const target::Target &T);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_PLANESTIMATE_H
