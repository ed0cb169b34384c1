//===- LeastPrefetched.h - Weights worth a prefetch -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_LEASTPREFETCHED_H
#define KPC_DIALECTS_KERNEL_LEASTPREFETCHED_H

#include <cstdint>

namespace kpc::kernel {

/// Bytes of a weight that is worth to be asked for before its kernel's turn
/// (codegen/nvptx/EarlyLaunch.cpp). A kernel has `weight_bytes` if one of its
/// weights is; others stay one kernel wherever they are in a run.
inline constexpr int64_t LeastPrefetched = 64 << 10;

} // namespace kpc::kernel

#endif // KPC_DIALECTS_KERNEL_LEASTPREFETCHED_H
