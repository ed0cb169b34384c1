//===- Cta.h - A block of threads -------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A CTA's shared memory, barriers and warps. Cluster.h runs it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_CTA_H
#define KPC_EMULATOR_EXECUTE_CTA_H

#include "emulator/execute/Warp.h"
#include "emulator/execute/WarpTensor.h"

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace kpc::emulator {

/// What all CTAs of a launch share.
struct LaunchState {
  const Kernel *K = nullptr;
  uint32_t Grid[3] = {1, 1, 1}, Block[3] = {1, 1, 1};
  uint64_t DynamicShared = 0;
  std::vector<uint8_t> Parameters;
  std::shared_ptr<const MemoryMap> Memory;
  /// Of each range of memory, whether the launch has written to it.
  std::vector<std::atomic<bool>> Written;
  bool BeginsEarly = false; ///< LaunchShape
  bool Strict = true;
  std::unique_ptr<GlobalShadow> Global; ///< nullptr: not looked at
  uint64_t Seed = 1;
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> Deadline;
  bool isLate() const { return Deadline && Clock::now() > *Deadline; }
  std::atomic<bool> Stop{false};
  std::atomic<uint64_t> Steps{0};
  /// Clusters of the grid, and how many have begun or were taken over.
  uint64_t Clusters = 0;
  std::atomic<uint64_t> Begun{0}, Ended{0};
  std::mutex Lock;
  std::optional<Finding> First;
  void report(Finding F);
  uint64_t sharedBytes() const;
};

/// A statement for each warp of a block: where it stands, or was.
using WarpPoints = std::array<uint32_t, MaxWarps>;

/// One of a CTA's 16 barriers.
struct Barrier {
  uint32_t Expected = 0; ///< threads, by warps; 0: nobody came yet
  uint32_t Arrived = 0;
  uint32_t Waiting = 0; ///< warps, a bit each
  uint32_t Came = 0;    ///< those that wait, and those that only arrived
  WarpPoints Points = {};
  Knowledge Joined;
  // bar.red
  uint32_t Count = 0;
  bool All = true, Any = false;
  /// Row and kind of the result in each waiting warp.
  struct Result {
    uint32_t Row = NoRow, Lanes = 0;
    uint8_t Kind = 0;
  };
  Result Results[MaxWarps];
};

/// An mbarrier (PTX ISA, "mbarrier"), by its address in shared memory.
struct AsyncBarrier {
  uint32_t Expected = 0, Pending = 0;
  int64_t Bytes = 0;    ///< tx-count
  uint64_t Phase = 0;   ///< completed phases
  Knowledge Joined;     ///< of what arrived
  Knowledge Seen;       ///< of what the last completed phase knows
  AgentId Agent = 0;    ///< of the copies that report here
  uint32_t Arrived = 0; ///< warps in this phase, a bit each
  WarpPoints Points = {};
  // Who initialised it, and the clock of the fence that publishes it to the
  // async proxy; 0: none yet.
  AgentId By = 0;
  uint32_t Clock = 0, FenceClock = 0;
};

/// bar.red's kinds.
enum : uint8_t { ReduceNone, ReduceCount, ReduceAnd, ReduceOr };

class Cluster;

/// A tcgen05.alloc of a pair of blocks that waits for the other one's.
struct TensorStep {
  const Warp *Who = nullptr;
  unsigned Columns = 0, Column = 0;
  bool Done = false;
};

class Cta {
public:
  Cta(LaunchState &Launch, Cluster &Of, unsigned Rank);
  static unsigned warpsOf(const LaunchState &Launch);
  /// The block of this place in the grid.
  void start(const uint32_t (&At)[3]);
  /// One turn of each warp; whether one ran.
  bool turn(Choices &Choose);
  bool isOver() const;
  unsigned aliveWarps() const;
  uint64_t steps() const;
  // Standing.cpp.
  /// Adds where each warp stands, and what it waits for.
  void describe(Finding &F) const;
  /// A warp waits at a barrier for others that have ended. Then the finding is
  /// at the warp's instruction.
  bool locateMismatch(Finding &F) const;
  /// False: reported.
  bool checkEnd();
  /// How far one of the warps has seen the agent.
  uint32_t mostKnown(AgentId Id) const;
  void wakeForCluster();
  /// Of a thread, before any setmaxnreg.
  unsigned registersAtStart() const;
  /// A warp has so many registers a thread from here on; false: there are not
  /// enough yet.
  bool takeRegisters(Warp &W, unsigned PerThread);
  void warpEnded();

  Cluster &cluster() { return Group; }
  unsigned rank() const { return Rank; }
  /// The block that an address in the cluster's shared memory is of, and the
  /// offset there; nullptr: none.
  Cta *blockOf(uint64_t &Address);
  /// Another block's access to this shared memory.
  void noteForeign(const SharedAccess &A);

  /// A warp comes to a barrier; it goes on when `Expected` threads (0: all)
  /// came.
  void arrive(Warp &W, const Instruction &I, unsigned Id, uint32_t Expected,
              bool Waits, const Barrier::Result &Result, uint32_t True,
              uint32_t Asked);

  /// nullptr: nothing was initialised there.
  AsyncBarrier *asyncBarrier(uint64_t Offset);
  void initialise(const Warp &W, uint64_t Offset, uint32_t Count);
  void invalidate(uint64_t Offset) { Async.erase(Offset); }
  /// The phase ends if nothing is missing; who waits goes on.
  void settle(uint64_t Offset, AsyncBarrier &B);
  /// What a warp's fence makes of the barriers that it has initialised.
  void publishBarriers(const Warp &W);

  const Agents &agents() const;
  AgentId agent(AgentKind Kind, unsigned Number) const {
    return agents().of(Kind, Number, Rank);
  }
  /// The next time of an agent that `I` starts.
  Warp::Agent begin(AgentId Id, const Instruction &I, bool Proxy = true);
  /// Done later, or at once where lateness is not looked for; its number.
  uint64_t start(std::unique_ptr<AsyncOperation> Op);
  AsyncQueue &queue();
  /// The wgmma that a warp is about to issue is the one that the other warps
  /// of its group issue; false: reported.
  bool agreeOnMatrix(Warp &W, const Instruction &I, const uint64_t (&Key)[3]);

  TensorMemory &tensor() { return Tensor; }
  /// Of two blocks that tcgen05 works with together; nullptr: there is none.
  Cta *peer();
  TensorStep PairStep;
  /// Warps that have seen clusterlaunchcontrol refuse, a bit each.
  uint32_t SawRefusal = 0;
  void wakeForTensor();

  LaunchState &launch() { return Launch; }
  uint8_t *shared() { return Shared.data(); }
  uint64_t sharedBytes() const { return SharedBytes; }
  SharedShadow *shadow() { return Launch.Strict ? &Shadow : nullptr; }
  const uint32_t *index() const { return Index; }
  unsigned warpCount() const { return static_cast<unsigned>(Warps.size()); }

private:
  void release(Barrier &B);
  /// "0, 1 (bar.sync, line 12), 2 (bar.sync, line 14)".
  std::string listOf(uint32_t Warps, const WarpPoints &Points) const;
  void describeBarriers(Finding &F) const;
  void describeAsyncBarriers(Finding &F) const;

  LaunchState &Launch;
  Cluster &Group;
  const unsigned Rank;
  std::vector<uint8_t> Shared;
  uint64_t SharedBytes = 0;
  SharedShadow Shadow;
  TensorMemory Tensor;
  std::deque<Warp> Warps;
  Barrier Barriers[16];
  std::map<uint64_t, AsyncBarrier> Async;
  unsigned NextBarrierAgent = 0;
  unsigned FreeRegisters = 0; ///< of a thread, summed over warps
  /// Agents of other blocks that came to this shared memory, and when last.
  std::map<AgentId, std::pair<uint32_t, uint32_t>> Foreign;
  /// wgmma of each warpgroup in order, and how many each warp has issued.
  struct MatrixStep {
    uint64_t Key[3];
    uint32_t Statement;
  };
  std::vector<MatrixStep> MatrixSteps[MaxWarps / 4];
  size_t MatrixCounts[MaxWarps] = {};
  uint32_t Index[3] = {0, 0, 0};
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_CTA_H
