//===- GpuLaunch.h - How a built kernel is launched -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The attributes of a built kernel: how it is launched, by which schedule it
/// was built, and which other schedules were possible.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GPULAUNCH_H
#define KPC_PASSES_KERNELS_GPU_GPULAUNCH_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kpc::kernels {

/// What a builder tells of the launch.
struct GpuLaunch {
  std::array<std::string, 3> Grid = {"1", "1", "1"};
  std::array<int32_t, 3> Block = {1, 1, 1};
  /// Blocks of a cluster, along x; the grid is a multiple of it.
  int32_t Cluster = 1;
  int64_t SharedBytes = 0; ///< dynamic; kernels in tile are given theirs later
  /// Blocks of a multiprocessor that registers are left for (PTX's
  /// .minnctapersm). 0: ptxas decides, which spills where it makes room for
  /// more blocks than come; a builder that has seen it says so here.
  int32_t ResidentBlocks = 0;
  /// Programmatic dependent launch (PDL): no early trigger
  /// (`griddepcontrol.launch_dependents`). Dependents start when the last block
  /// has ended. Blocks of a dependent that wait lie unevenly on the
  /// multiprocessors, which costs long blocks more than a launch takes.
  bool NoEarlyPdlTrigger = false;
  /// PDL: the kernel itself begins when those that it depends on have ended.
  /// For the same reason: one of few blocks, whose time is that of the
  /// multiprocessor with most of them.
  bool NoEarlyStart = false;
  /// Of weights that are too large to be prefetched as a whole, the first part
  /// is.
  bool PrefetchesPart = false;
  /// Buffers that the function reads and this schedule does not.
  std::vector<unsigned> Unread;
  std::string Schedule;
  /// The best schedules with the parts of their costs.
  std::vector<std::string> Costs;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GPULAUNCH_H
