//===- Kernel.h - The kernel dialect ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels hold beside linalg; see Kernel.td and docs/dialects/plan.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_KERNEL_H
#define KPC_DIALECTS_KERNEL_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/kernel/KernelDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/kernel/Kernel.h.inc"

#endif // KPC_DIALECTS_KERNEL_KERNEL_H
