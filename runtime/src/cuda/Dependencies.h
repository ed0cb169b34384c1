//===- Dependencies.h - Which steps must wait for which ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Data edges of a bound plan: a step waits for those that wrote what it reads
/// (RAW), that wrote what it writes (WAW) and that read what it writes (WAR).
/// Bytes decide, after packing: so a reused piece of the arena orders its
/// users, and branches that share nothing run side by side.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_DEPENDENCIES_H
#define KPC_RUNTIME_SRC_CUDA_DEPENDENCIES_H

#include "runtime/src/Binding.h"

#include <vector>

namespace kpc::rt::cuda {

/// For each step the earlier steps it waits for, ascending. Empty steps wait
/// for none and none waits for them. `Aliases[output]`: the input whose memory
/// it may take, or -1. What follows from other waits is left out, so that a
/// chain with long edges beside it is a chain to the driver as well.
std::vector<std::vector<uint32_t>>
findDependencies(const BoundSteps &B, size_t InputCount,
                 std::span<const int32_t> Aliases);

/// The same as one chain: each step waits for the one before it.
std::vector<std::vector<uint32_t>> oneChain(const BoundSteps &B);

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_DEPENDENCIES_H
