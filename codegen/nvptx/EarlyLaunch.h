//===- EarlyLaunch.h - Kernels that begin before their turn -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_EARLYLAUNCH_H
#define KPC_CODEGEN_NVPTX_EARLYLAUNCH_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/Module.h"

namespace kpc::nvptx {

/// Lets the kernels of `Llvm` be launched before those in front have ended
/// (programmatic dependent launch). `Module` is what they were translated from,
/// `PtxVersion` what the text will be of.
void launchEarly(mlir::gpu::GPUModuleOp Module, llvm::Module &Llvm,
                 int32_t PtxVersion);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_EARLYLAUNCH_H
