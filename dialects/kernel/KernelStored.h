//===- KernelStored.h - Rows in memory where they are many ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_KERNELSTORED_H
#define KPC_DIALECTS_KERNEL_KERNELSTORED_H

#include "llvm/ADT/StringRef.h"

namespace kpc::kernel {

/// Of a generic that hands on its first input, an integer: where there are more
/// rows, its second input holds the same.
inline constexpr llvm::StringLiteral StoredAboveName = "kernel.stored_above";
/// Of a function in linalg form, the text of an expression over its arguments:
/// 0 where nothing reads what the kernel writes, else 1.
inline constexpr llvm::StringLiteral LaunchedIfName = "kernel.launched_if";

} // namespace kpc::kernel

#endif // KPC_DIALECTS_KERNEL_KERNELSTORED_H
