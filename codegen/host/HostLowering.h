//===- HostLowering.h - Loops to the LLVM dialect ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the loops of host builders to the LLVM dialect. Each kernel becomes an
/// internal function `<symbol>.body` with bare pointers (noalias: a kernel's
/// outputs overlap nothing) and an entry of the host ABI:
///
///   void <symbol>(const uint64_t *params, int64_t begin, int64_t end)
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_HOSTLOWERING_H
#define KPC_CODEGEN_HOST_HOSTLOWERING_H

#include "codegen/host/HostTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace kpc::codegen {

/// Adds the dialects and translations that host code generation uses, by name.
void registerHostDialects(mlir::DialectRegistry &Registry);

/// Registers and loads them into a context that is not in use by passes.
void loadHostDialects(mlir::MLIRContext &Context);

/// Lowers every function of `Kernels`, which builders have made loops of.
mlir::LogicalResult lowerHostKernels(mlir::ModuleOp Kernels,
                                     const HostTargetOptions &Options);

/// The pass `kpc-host-lower` over modules.
void registerHostLoweringPass();

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_HOSTLOWERING_H
