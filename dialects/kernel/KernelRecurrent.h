//===- KernelRecurrent.h - Recurrent layers ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_KERNELRECURRENT_H
#define KPC_DIALECTS_KERNEL_KERNELRECURRENT_H

#include "dialects/kernel/Kernel.h"

#define GET_OP_CLASSES
#include "dialects/kernel/KernelRecurrent.h.inc"

namespace kpc::kernel {

/// Where this unit attribute stands at a kernel its blocks wait for each other:
/// the whole grid must run at once, which the runtime asks the driver for.
inline constexpr llvm::StringLiteral CooperativeName = "kernel.cooperative";

} // namespace kpc::kernel

#endif // KPC_DIALECTS_KERNEL_KERNELRECURRENT_H
