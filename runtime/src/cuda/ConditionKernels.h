//===- ConditionKernels.h - What decides conditional nodes ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime's own kernels, as PTX: only a kernel can say which conditional
/// nodes of a graph run (cudaGraphSetConditional, which the driver defines).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_CONDITIONKERNELS_H
#define KPC_RUNTIME_SRC_CUDA_CONDITIONKERNELS_H

namespace kpc::rt::cuda {

/// All parameters have 8 bytes.
enum class OwnKernel : unsigned {
  /// (condition, slot, flags, limit, first node, second node): one thread. The
  /// slot holds the number of iterations that have ended.
  Decide,
  /// (slot, to, bytes per two iterations, from, the same of it, bytes)
  Move
};
inline constexpr const char *OwnKernelNames[] = {"kpc_decide", "kpc_move"};

namespace DecideFlag {
inline constexpr unsigned Counts = 1, ///< writes the slot
    Next = 2,                         ///< one more than in the slot; else 0
    Parity = 4,    ///< the slot's lowest bit is the condition
    HasSecond = 8, ///< sets the second node as well
    Negated = 16,  ///< … to the opposite
    MustEnd = 32;  ///< traps where the condition holds at the limit
} // namespace DecideFlag

extern const char ConditionPtx[];

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_CONDITIONKERNELS_H
