//===- Launch.cpp - A grid of blocks --------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Launch.h"

#include "emulator/execute/Cluster.h"
#include "emulator/program/Windows.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace kpc::emulator {

static constexpr uint64_t MaxBlockThreads = 1024;
/// With the non-portable sizes.
static constexpr uint64_t MaxCluster = 16;
static constexpr uint64_t MaxGrid[3] = {0x7FFFFFFF, 65535, 65535};
static constexpr uint64_t MaxBlock[3] = {1024, 1024, 64};

/// What the driver refuses; empty: nothing.
static std::string problemOf(const Kernel &K, const LaunchShape &Shape,
                             size_t ParameterBytes) {
  uint64_t Threads = 1;
  for (unsigned D = 0; D < 3; ++D) {
    if (Shape.Grid[D] < 1 || Shape.Grid[D] > MaxGrid[D])
      return "a grid of " + std::to_string(Shape.Grid[D]) + " blocks";
    if (Shape.Block[D] < 1 || Shape.Block[D] > MaxBlock[D])
      return "a block of " + std::to_string(Shape.Block[D]) + " threads";
    Threads *= Shape.Block[D];
    if (K.RequiredThreads[D] && K.RequiredThreads[D] != Shape.Block[D])
      return "the block is not the one of .reqntid";
  }
  uint64_t Blocks = 1;
  for (size_t D = 0; D < K.Source.ClusterSize.size(); ++D) {
    uint64_t Size = K.Source.ClusterSize[D];
    Blocks *= Size;
    if (Size < 1 || Size > MaxCluster || Shape.Grid[D] % Size)
      return "the grid is no multiple of the cluster";
  }
  if (Blocks > MaxCluster)
    return "a cluster of " + std::to_string(Blocks) + " blocks";
  if (Threads > MaxBlockThreads)
    return "more than 1024 threads in a block";
  uint64_t Most = K.MaxThreads[0] * K.MaxThreads[1] * K.MaxThreads[2];
  if (Most && Threads > Most)
    return "more threads in a block than .maxntid says";
  if (Shape.DynamicShared > MaxSharedBytes ||
      K.SharedBytes + Shape.DynamicShared > MaxSharedBytes)
    return "more shared memory than a multiprocessor has";
  if (ParameterBytes != K.ParameterBytes)
    return "the parameters have " + std::to_string(ParameterBytes) +
           " bytes, not " + std::to_string(K.ParameterBytes);
  return {};
}

LaunchResult launch(const Kernel &K, const LaunchShape &Shape,
                    std::vector<uint8_t> Parameters, const DeviceMemory &Memory,
                    const LaunchOptions &Options) {
  if (std::string P = problemOf(K, Shape, Parameters.size()); !P.empty()) {
    Finding F;
    F.Kernel = K.Name;
    F.Detail = P;
    return {F, 0};
  }
  LaunchState State;
  State.K = &K;
  std::copy(Shape.Grid, Shape.Grid + 3, State.Grid);
  std::copy(Shape.Block, Shape.Block + 3, State.Block);
  State.DynamicShared = Shape.DynamicShared;
  State.Parameters = std::move(Parameters);
  State.Memory = Memory.snapshot();
  State.Strict = Options.Strict;
  State.Seed = Options.Seed;
  if (Options.Seconds > 0)
    State.Deadline = LaunchState::Clock::now() +
                     std::chrono::duration_cast<LaunchState::Clock::duration>(
                         std::chrono::duration<double>(Options.Seconds));
  if (Options.Strict)
    State.Global = std::make_unique<GlobalShadow>(Options.Threads);
  uint64_t Count = uint64_t{Shape.Grid[0]} * Shape.Grid[1] * Shape.Grid[2];
  for (uint64_t Blocks : K.Source.ClusterSize)
    Count /= Blocks;
  State.Clusters = Count;
  // Nothing that is thrown leaves a thread.
  auto Work = [&] {
    try {
      Cluster Blocks(State);
      for (uint64_t Number = State.Begun++; Number < Count && !State.Stop;
           Number = State.Begun++)
        Blocks.run(Number);
    } catch (const std::exception &E) {
      Finding F;
      F.Kernel = State.K->Name;
      F.Detail = std::string("the emulator failed: ") + E.what();
      State.report(std::move(F));
    }
  };
  auto Threads = static_cast<unsigned>(
      std::min<uint64_t>(std::max(1u, Options.Threads), Count));
  std::vector<std::thread> Others;
  try {
    for (unsigned T = 1; T < Threads; ++T)
      Others.emplace_back(Work);
    // NOLINTNEXTLINE(bugprone-empty-catch): with those that there are
  } catch (const std::system_error &) {
  }
  Work();
  for (std::thread &T : Others)
    T.join();
  return {State.First, State.Steps};
}

} // namespace kpc::emulator
