//===- Launch.h - A grid of blocks ------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CTAs are taken in order by host threads; one thread gives one order.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_LAUNCH_H
#define KPC_EMULATOR_EXECUTE_LAUNCH_H

#include "emulator/execute/DeviceMemory.h"
#include "emulator/execute/Finding.h"
#include "emulator/program/Program.h"

#include <optional>
#include <vector>

namespace kpc::emulator {

struct LaunchShape {
  uint32_t Grid[3] = {1, 1, 1};
  uint32_t Block[3] = {1, 1, 1};
  uint64_t DynamicShared = 0;
  /// Blocks may wait for each other: one host thread runs all of them in turn.
  bool Cooperative = false;
  /// It may begin before those that it depends on have ended: until a warp has
  /// executed griddepcontrol.wait, it must not touch what kernels write.
  bool BeginsEarly = false;
};

struct LaunchOptions {
  unsigned Threads = 1;
  /// Look for races and for uninitialised shared memory.
  bool Strict = true;
  /// Of the order in which warps and asynchronous instructions go on.
  uint64_t Seed = 1;
  /// Longer is a finding; 0: as long as it takes.
  double Seconds = 0;
};

struct LaunchResult {
  std::optional<Finding> Trouble;
  uint64_t WarpInstructions = 0;
};

/// Runs the kernel to its end. `Parameters` is as long as the kernel says.
LaunchResult launch(const Kernel &K, const LaunchShape &Shape,
                    std::vector<uint8_t> Parameters, DeviceMemory &Memory,
                    const LaunchOptions &Options);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_LAUNCH_H
