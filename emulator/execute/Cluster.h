//===- Cluster.h - Blocks that run together ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One host thread runs a cluster: its blocks' warps in turn. Without
/// .reqnctapercluster a block is a cluster of its own. An address in a
/// cluster's shared memory has the block's rank, plus one, in bits 24 and on;
/// without, it is the own block's.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_CLUSTER_H
#define KPC_EMULATOR_EXECUTE_CLUSTER_H

#include "emulator/execute/Cta.h"

namespace kpc::emulator {

inline constexpr unsigned RankShift = 24;
inline constexpr uint64_t BlockOffsetMask = (uint64_t{1} << RankShift) - 1;

class Cluster {
public:
  explicit Cluster(LaunchState &Launch);
  /// Runs the cluster of this number to its end, or to a finding.
  void run(uint64_t Number);
  /// The same in parts, for clusters that wait for each other: begins, lets
  /// each block have a turn (false: it has ended, or there was a finding).
  void begin(uint64_t Number);
  bool takeTurn();

  const Agents &agents() const { return TheAgents; }
  unsigned size() const { return static_cast<unsigned>(Blocks.size()); }
  /// Blocks of the cluster along each dim.
  const uint32_t *shape() const { return Shape; }
  uint32_t number() const { return Number; }
  Cta &block(unsigned Rank) { return *Blocks[Rank]; }
  AsyncQueue &queue() { return Queue; }
  /// Takes over a cluster that has not begun; its first block's place in the
  /// grid. False: none is given.
  bool cancelAnother(uint32_t (&First)[3]);

  /// The next time of an agent that `I` starts.
  Warp::Agent begin(AgentId Id, const Instruction &I, bool Proxy);

  // barrier.cluster: of all warps that have not ended.
  /// `Releases`: what the warp did before is seen by who waits.
  void arrive(Warp &W, const Instruction &I, bool Releases);
  /// False: the warp waits.
  bool wait(Warp &W, const Instruction &I);
  void warpEnded();

private:
  void start(uint64_t Number);
  void end();
  uint64_t steps() const;
  void firstBlockOf(uint64_t Number, uint32_t (&First)[3]) const;
  bool isOver() const;
  void settle();
  void checkEnd();
  void reportUnwaited(AgentId Id);
  /// Where every warp stands.
  void describe(Finding &F) const;
  void reportStuck();
  void reportLate();

  LaunchState &Launch;
  Agents TheAgents;
  uint32_t Shape[3] = {1, 1, 1};
  std::vector<std::unique_ptr<Cta>> Blocks;
  AsyncQueue Queue;
  Choices Choose;
  uint32_t Number = 0; ///< in the grid
  uint64_t StepsBefore = 0;
  /// Of each agent: its clock, and the instruction that last set it.
  std::vector<uint32_t> AgentClocks, AgentStatements;
  // The barrier of the cluster.
  unsigned Arrived = 0;
  uint64_t Phase = 0;
  Knowledge Joined, Seen;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_CLUSTER_H
