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
#include <random>
#include <system_error>
#include <thread>

namespace kpc::emulator {

static constexpr uint64_t MaxBlockThreads = 1024;
/// With the non-portable sizes.
static constexpr uint64_t MaxCluster = 16;
static constexpr uint64_t MaxGrid[3] = {0x7FFFFFFF, 65535, 65535};
static constexpr uint64_t MaxBlock[3] = {1024, 1024, 64};

/// Multiprocessors of the emulated device, and the grid that fits on them: who
/// waits for a block that has no room waits for ever.
static constexpr uint64_t Multiprocessors = 132;
static uint64_t mostTogether(const Kernel &K, const LaunchShape &Shape) {
  uint64_t Threads = uint64_t{Shape.Block[0]} * Shape.Block[1] * Shape.Block[2];
  uint64_t Bytes = K.SharedBytes + Shape.DynamicShared + 1024;
  return Multiprocessors *
         std::min<uint64_t>(2048 / Threads, 228 * 1024 / Bytes);
}

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
  uint64_t All = uint64_t{Shape.Grid[0]} * Shape.Grid[1] * Shape.Grid[2];
  if (Shape.Cooperative && All > mostTogether(K, Shape))
    return "a cooperative grid of " + std::to_string(All) +
           " blocks, of which " + std::to_string(mostTogether(K, Shape)) +
           " fit on the device";
  if (ParameterBytes != K.ParameterBytes)
    return "the parameters have " + std::to_string(ParameterBytes) +
           " bytes, not " + std::to_string(K.ParameterBytes);
  return {};
}

/// Blocks that wait for each other take turns on one host thread, in an order
/// that the seed decides anew in each round.
static void runTogether(LaunchState &State, uint64_t Count) {
  std::vector<std::unique_ptr<Cluster>> Running;
  for (uint64_t Number = 0; Number < Count; ++Number) {
    Running.push_back(std::make_unique<Cluster>(State));
    Running.back()->begin(Number);
  }
  std::mt19937 Random(static_cast<unsigned>(State.Seed));
  while (!Running.empty() && !State.Stop) {
    std::shuffle(Running.begin(), Running.end(), Random);
    std::erase_if(Running, [](const auto &One) { return !One->takeTurn(); });
  }
}

LaunchResult launch(const Kernel &K, const LaunchShape &Shape,
                    std::vector<uint8_t> Parameters, DeviceMemory &Memory,
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
  State.Written = std::vector<std::atomic<bool>>(State.Memory->size());
  State.BeginsEarly = Shape.BeginsEarly;
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
      if (Shape.Cooperative)
        return runTogether(State, Count);
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
      Shape.Cooperative
          ? 1
          : std::min<uint64_t>(std::max(1u, Options.Threads), Count));
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
  for (size_t I = 0; I < State.Written.size(); ++I)
    if (State.Written[I])
      Memory.markWritten((*State.Memory)[I].Begin);
  return {State.First, State.Steps};
}

} // namespace kpc::emulator
