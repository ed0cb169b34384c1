//===- KernelLoop.h - Loops whose steps are one kernel ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_KERNELLOOP_H
#define KPC_DIALECTS_KERNEL_KERNELLOOP_H

#include "dialects/kernel/Kernel.h"

#define GET_OP_CLASSES
#include "dialects/kernel/KernelLoop.h.inc"

#endif // KPC_DIALECTS_KERNEL_KERNELLOOP_H
