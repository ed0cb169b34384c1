//===- Unroll.h - The steps of a graph, as often as they run ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A loop of a known length becomes the steps of all its iterations. What data
/// decides becomes conditional nodes, each after a kernel that says whether it
/// runs:
///
///   if c {a} else {b}   →   decide c; if {a}; if not {b}
///
///   while c {a}         →   decide c; while {
///                             a of even iterations; decide c;
///                             if {a of odd iterations; decide c} }
///
/// For what a loop carries alternates between two places. A counter on the
/// device has the number of the iteration; a place that moves with it is copied
/// to scratch memory before the step and back after it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_UNROLL_H
#define KPC_RUNTIME_SRC_CUDA_UNROLL_H

#include "runtime/src/Binding.h"

namespace kpc::rt::cuda {

/// Steps that one graph has at most of those in loops, conditional nodes' among
/// them. 4,096 nodes take about 3 MB of the driver's memory and 4 ms to be
/// instantiated.
inline constexpr int64_t MostLoopSteps = 4096;

struct UnrolledSteps {
  std::unique_ptr<BoundSteps> Steps;
  int64_t Count = 0;         ///< those of bodies as well
  uint64_t ScratchBytes = 0; ///< that they use
  uint32_t Conditions = 0;   ///< handles; If and While have theirs in `Work`
};

/// The steps [First, End) with the parameters of each iteration; `At` is the
/// first control behind their begin. An error where they are more than
/// `MostLoopSteps`, or where conditional nodes cannot do what the plan says.
Result<UnrolledSteps> unroll(Binding &B, uint32_t First, uint32_t End,
                             uint32_t At, bool IsLimited);

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_UNROLL_H
