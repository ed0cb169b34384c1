//===- SharedMemory.h - Outputs in the memory of inputs ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_SHAREDMEMORY_H
#define KPC_COMPILER_SHAREDMEMORY_H

#include "compiler/CompileOptions.h"
#include "compiler/diagnostics/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"

namespace kpc {

/// Whether each output that --alias names may take the memory of its input;
/// reports those that may not, and why.
bool checkAliases(mlir::ModuleOp Plan, const CompileOptions &Options,
                  Diagnostics &Diags);

} // namespace kpc

#endif // KPC_COMPILER_SHAREDMEMORY_H
