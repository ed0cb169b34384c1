//===- Cluster.cpp - Blocks that run together -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Cluster.h"

namespace kpc::emulator {

/// One in so many turns ends a step of something asynchronous.
static constexpr uint32_t Lateness = 4;
/// One in so many requests to take over a cluster is refused.
static constexpr uint32_t Refusals = 8;

Cluster::Cluster(LaunchState &Launch) : Launch(Launch) {
  const auto &Dims = Launch.K->Source.ClusterSize;
  unsigned Count = 1;
  for (size_t D = 0; D < Dims.size() && D < 3; ++D)
    Count *= Shape[D] = static_cast<uint32_t>(Dims[D]);
  TheAgents.Warps = Cta::warpsOf(Launch);
  TheAgents.Ranks = Count;
  TheAgents.HasTensor = Launch.K->UsesTensor;
  for (unsigned Rank = 0; Rank < Count; ++Rank)
    Blocks.push_back(std::make_unique<Cta>(Launch, *this, Rank));
}

void Cluster::start(uint64_t Which) {
  Number = static_cast<uint32_t>(Which);
  Choose = Choices(Launch.Seed * 1000003 + Number);
  Queue.clear();
  AgentClocks.assign(TheAgents.count(), 0);
  AgentStatements.assign(TheAgents.count(), 0);
  Arrived = 0;
  Phase = 0;
  Joined.reset(TheAgents.count());
  Seen.reset(TheAgents.count());
  uint32_t First[3];
  firstBlockOf(Which, First);
  for (unsigned Rank = 0; Rank < size(); ++Rank) {
    uint32_t In[3] = {Rank % Shape[0], Rank / Shape[0] % Shape[1],
                      Rank / Shape[0] / Shape[1]};
    uint32_t Index[3];
    for (unsigned D = 0; D < 3; ++D)
      Index[D] = First[D] + In[D];
    Blocks[Rank]->start(Index);
  }
}

void Cluster::firstBlockOf(uint64_t Which, uint32_t (&First)[3]) const {
  uint64_t Along[2] = {Launch.Grid[0] / Shape[0], Launch.Grid[1] / Shape[1]};
  const uint64_t At[3] = {Which % Along[0], Which / Along[0] % Along[1],
                          Which / Along[0] / Along[1]};
  for (unsigned D = 0; D < 3; ++D)
    First[D] = static_cast<uint32_t>(At[D]) * Shape[D];
}

bool Cluster::cancelAnother(uint32_t (&First)[3]) {
  if (Choose.below(Refusals) == 0)
    return false;
  uint64_t Which = Launch.Begun++;
  if (Which >= Launch.Clusters)
    return false;
  firstBlockOf(Which, First);
  return true;
}

bool Cluster::isOver() const {
  return std::all_of(Blocks.begin(), Blocks.end(),
                     [](const auto &B) { return B->isOver(); });
}

uint64_t Cluster::steps() const {
  uint64_t All = 0;
  for (const auto &B : Blocks)
    All += B->steps();
  return All;
}

void Cluster::run(uint64_t Number) {
  begin(Number);
  while (takeTurn()) {
  }
}

void Cluster::begin(uint64_t Number) {
  StepsBefore = steps();
  start(Number);
}

bool Cluster::takeTurn() {
  if (Launch.Stop)
    return false;
  if (isOver()) {
    end();
    return false;
  }
  bool Ran = false;
  for (auto &B : Blocks)
    Ran |= B->turn(Choose);
  if (Launch.isLate()) {
    reportLate();
    return false;
  }
  if (!Ran && Queue.empty()) { // nobody can go on, nor has anything to end
    reportStuck();
    return false;
  }
  if (!Queue.empty() && (!Ran || Choose.below(Lateness) == 0))
    Queue.advanceOne(Choose);
  return true;
}

void Cluster::end() {
  if (Launch.Strict)
    checkEnd();
  if (Launch.Stop)
    return;
  Queue.finishAll();
  Launch.Steps += steps() - StepsBefore;
  ++Launch.Ended;
}

//===----------------------------------------------------------------------===//
// Asynchronous instructions
//===----------------------------------------------------------------------===//

Warp::Agent Cluster::begin(AgentId Id, const Instruction &I, bool Proxy) {
  AgentStatements[Id] = I.Statement;
  return {Id, ++AgentClocks[Id], Proxy};
}

void Cluster::reportUnwaited(AgentId Id) {
  Finding F;
  F.Kind = FindingKind::Unwaited;
  F.locate(*Launch.K, AgentStatements[Id]);
  const uint32_t *Index = Blocks[TheAgents.rankOf(Id)]->index();
  std::copy(Index, Index + 3, F.Cta);
  F.Detail = "the block ends, and nobody has waited for " +
             TheAgents.nameOf(Id) + " that this instruction started";
  Launch.report(std::move(F));
}

/// What a block has started it also waits for: its shared memory is another's
/// afterwards.
void Cluster::checkEnd() {
  for (unsigned Id = 0; Id < TheAgents.count(); ++Id) {
    if (AgentClocks[Id] == 0)
      continue;
    uint32_t Most = 0;
    for (auto &B : Blocks)
      Most = std::max(Most, B->mostKnown(static_cast<AgentId>(Id)));
    if (AgentClocks[Id] > Most)
      return reportUnwaited(static_cast<AgentId>(Id));
  }
  for (auto &B : Blocks)
    if (!B->checkEnd())
      return;
}

//===----------------------------------------------------------------------===//
// barrier.cluster
//===----------------------------------------------------------------------===//

void Cluster::arrive(Warp &W, const Instruction &I, bool Releases) {
  if (W.ClusterArrivals != W.ClusterWaits)
    return W.report(FindingKind::BarrierMisuse, I, 0,
                    "arrives again at the cluster's barrier without a wait");
  ++W.ClusterArrivals;
  ++Arrived;
  if (Releases) {
    Joined.join(W.Mine);
    W.tick();
  }
  settle();
}

void Cluster::settle() {
  unsigned Alive = 0;
  for (auto &B : Blocks)
    Alive += B->aliveWarps();
  if (Arrived == 0 || Arrived < Alive)
    return;
  Arrived = 0;
  ++Phase;
  Seen = Joined;
  for (auto &B : Blocks)
    B->wakeForCluster();
}

bool Cluster::wait(Warp &W, const Instruction &I) {
  if (W.ClusterArrivals == W.ClusterWaits) {
    W.report(FindingKind::BarrierMisuse, I, 0,
             "waits at the cluster's barrier without an arrival");
    return true;
  }
  if (Phase < W.ClusterArrivals)
    return false;
  ++W.ClusterWaits;
  W.Mine.join(Seen);
  return true;
}

void Cluster::warpEnded() {
  if (Arrived)
    settle();
}

void Cluster::describe(Finding &F) const {
  F.Kernel = Launch.K->Name;
  const uint32_t *Index = Blocks[0]->index();
  std::copy(Index, Index + 3, F.Cta);
  for (const auto &B : Blocks) {
    if (size() > 1)
      F.Detail += "cluster rank " + std::to_string(B->rank()) + ": ";
    B->describe(F);
    if (B.get() != Blocks.back().get())
      F.Detail += ". ";
  }
}

void Cluster::reportStuck() {
  Finding F;
  F.Kind = FindingKind::Deadlock;
  describe(F);
  Finding Place = F;
  if (std::all_of(Blocks.begin(), Blocks.end(), [&](const auto &B) {
        return B->isOver() || B->locateMismatch(Place);
      })) {
    F = Place;
    F.Kind = FindingKind::BarrierMismatch;
  }
  Launch.report(std::move(F));
}

void Cluster::reportLate() {
  Finding F;
  F.Kind = FindingKind::TimeLimit;
  describe(F);
  F.Detail += ". " + std::to_string(Launch.Ended) + " of " +
              std::to_string(Launch.Clusters) +
              (size() > 1 ? " clusters" : " blocks") + " have ended";
  Launch.report(std::move(F));
}

} // namespace kpc::emulator
