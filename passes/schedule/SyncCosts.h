//===- SyncCosts.h - What products by mma.sync take -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the schedules of kernels on mma.sync count with, apart from the
/// target's descriptor: rates of one multiprocessor, measured on an H200.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_SYNCCOSTS_H
#define KPC_PASSES_SCHEDULE_SYNCCOSTS_H

#include "compiler/target/Target.h"

namespace kpc::schedule::sync {

/// Of the peak rate, where that is another instruction's (wgmma, tcgen05).
inline constexpr double SyncShare = 0.62;
/// ldmatrix.x4 for each mma.sync that shared memory keeps up with, apart from
/// what copies write: 4 cycles of it each, where sm_90 begins 0.62 products a
/// cycle.
inline constexpr double LoadsPerProduct = 0.3;
/// Threads of a multiprocessor that hide each other's waits.
inline constexpr double BusyThreads = 512, FewThreadsShare = 0.9;
/// A multiprocessor's share of the second cache, and its issue slots, in a
/// microsecond.
inline constexpr double CacheBytes = 76800, IssueSlots = 1600.0 * 128;
/// What a piece of a copy takes of the issue slots: a cp.async with its
/// address.
inline constexpr double SlotsPerPiece = 3;
inline constexpr double LaunchTime = 2.0;
/// Of targets without figures.
inline constexpr double AnySmCount = 100, AnyTflops = 100;
/// Registers of a thread without its accumulators.
inline constexpr int64_t OtherRegisters = 96;
/// What the system keeps of shared memory for each block.
inline constexpr int64_t SystemShared = 1024;

/// Of the chip's peak rate of `mma.sync`.
inline double shareOf(const target::Target &T) {
  // A multiprocessor with tcgen05 has twice wgmma's rate, by tcgen05 alone. PTX
  // for every chip from Hopper on has Hopper's peak rate, which wgmma reaches.
  return T.Can.Tcgen05                        ? SyncShare / 2
         : T.Compute >= 90 && T.Compute < 100 ? SyncShare
                                              : 1.0;
}

} // namespace kpc::schedule::sync

#endif // KPC_PASSES_SCHEDULE_SYNCCOSTS_H
