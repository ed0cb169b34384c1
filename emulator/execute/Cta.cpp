//===- Cta.cpp - A block of threads ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Cta.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

/// Instructions of a warp before the next one's turn: a warp may wait in a loop
/// for what another writes. A seed decides how many.
static constexpr uint32_t ShortestTurn = 64, LongestTurn = 8192;
/// One in so many turns ends a step of something asynchronous.
static constexpr uint32_t Lateness = 4;
/// What fresh shared memory holds.
static constexpr uint8_t FreshByte = 0xFF;

void LaunchState::report(Finding F) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!First)
    First = std::move(F);
  Stop = true;
}

uint64_t LaunchState::sharedBytes() const {
  return K->SharedBytes + DynamicShared;
}

Cta::Cta(LaunchState &Launch)
    : Launch(Launch), SharedBytes(Launch.sharedBytes()) {
  Shared.resize(SharedBytes);
  uint64_t Threads =
      uint64_t{Launch.Block[0]} * Launch.Block[1] * Launch.Block[2];
  for (uint64_t W = 0; W < (Threads + WarpSize - 1) / WarpSize; ++W)
    Warps.emplace_back().prepare(*Launch.K);
  TheAgents.Warps = warpCount();
}

void Cta::start(uint64_t Number) {
  Index[0] = static_cast<uint32_t>(Number % Launch.Grid[0]);
  Index[1] = static_cast<uint32_t>(Number / Launch.Grid[0] % Launch.Grid[1]);
  Index[2] = static_cast<uint32_t>(Number / Launch.Grid[0] / Launch.Grid[1]);
  Choose = Choices(Launch.Seed * 1000003 + Number);
  std::fill(Shared.begin(), Shared.end(), FreshByte);
  if (Launch.Strict)
    Shadow.reset(SharedBytes, TheAgents);
  for (Barrier &B : Barriers) {
    B = Barrier{};
    B.Joined.reset(TheAgents.count());
  }
  Async.clear();
  Queue.clear();
  AgentClocks.assign(TheAgents.count(), 0);
  AgentStatements.assign(TheAgents.count(), 0);
  NextBarrierAgent = 0;
  for (auto &Steps : MatrixSteps)
    Steps.clear();
  std::fill(MatrixCounts, MatrixCounts + MaxWarps, 0);
  uint64_t Threads =
      uint64_t{Launch.Block[0]} * Launch.Block[1] * Launch.Block[2];
  for (unsigned W = 0; W < Warps.size(); ++W) {
    uint64_t Left = Threads - uint64_t{W} * WarpSize;
    uint32_t Lanes =
        Left >= WarpSize ? ~uint32_t{0} : (uint32_t{1} << Left) - 1;
    Warps[W].start(*this, W, Lanes);
  }
}

bool Cta::turn() {
  bool Ran = false;
  for (Warp &W : Warps) {
    if (W.state() != Warp::State::Ready || Launch.Stop)
      continue;
    W.run(ShortestTurn + Choose.below(LongestTurn - ShortestTurn));
    Ran = true;
    if (!Queue.empty() && Choose.below(Lateness) == 0)
      Queue.advanceOne(Choose);
  }
  return Ran;
}

bool Cta::isOver() const {
  return std::all_of(Warps.begin(), Warps.end(), [](const Warp &W) {
    return W.state() == Warp::State::Done;
  });
}

void Cta::run(uint64_t Number) {
  uint64_t Before = 0, After = 0;
  for (Warp &W : Warps)
    Before += W.steps();
  start(Number);
  while (!Launch.Stop && !isOver()) {
    if (turn())
      continue;
    // Nobody can go on: something asynchronous has to.
    if (Queue.empty())
      return reportStuck();
    Queue.advanceOne(Choose);
  }
  if (Launch.Stop)
    return;
  checkEnd();
  Queue.finishAll();
  for (Warp &W : Warps)
    After += W.steps();
  Launch.Steps += After - Before;
}

//===----------------------------------------------------------------------===//
// Asynchronous instructions
//===----------------------------------------------------------------------===//

Warp::Agent Cta::begin(AgentId Id, const Instruction &I, bool Proxy) {
  AgentStatements[Id] = I.Statement;
  return {Id, ++AgentClocks[Id], Proxy};
}

uint64_t Cta::start(std::unique_ptr<AsyncOperation> Op) {
  uint64_t Id = Queue.add(std::move(Op));
  if (!Launch.Strict)
    Queue.finish(Id);
  return Id;
}

static std::string pointOf(const Kernel &K, uint32_t Statement) {
  const ptx::Statement &S = K.Source.Body[Statement];
  return S.text() + ", line " + std::to_string(S.Line);
}

bool Cta::agreeOnMatrix(Warp &W, const Instruction &I,
                        const uint64_t (&Key)[3]) {
  unsigned Group = W.number() / 4;
  if (Group * 4 + 4 > warpCount()) {
    W.report(FindingKind::WarpgroupMismatch, I, 0,
             "the block has not all four warps of this warpgroup");
    return false;
  }
  auto &Steps = MatrixSteps[Group];
  size_t At = MatrixCounts[W.number()]++;
  if (At == Steps.size()) {
    Steps.push_back({{Key[0], Key[1], Key[2]}, I.Statement});
    return true;
  }
  const MatrixStep &S = Steps[At];
  if (S.Statement == I.Statement && std::equal(Key, Key + 3, S.Key))
    return true;
  W.report(FindingKind::WarpgroupMismatch, I, 0,
           "another warp of the warpgroup is at " +
               pointOf(*Launch.K, S.Statement) +
               (S.Statement == I.Statement
                    ? " with other descriptors or another scale-d"
                    : ""));
  return false;
}

void Cta::reportUnwaited(AgentId Id) {
  Finding F;
  F.Kernel = Launch.K->Name;
  F.Kind = FindingKind::Unwaited;
  const ptx::Statement &S = Launch.K->Source.Body[AgentStatements[Id]];
  F.Instruction = S.text();
  F.Line = S.Line;
  std::copy(Index, Index + 3, F.Cta);
  F.Detail = "the block ends, and nobody has waited for " +
             TheAgents.nameOf(Id) + " that this instruction started";
  Launch.report(std::move(F));
}

/// What a block has started it also waits for: its shared memory is another's
/// afterwards.
void Cta::checkEnd() {
  if (!Launch.Strict)
    return;
  for (unsigned Id = 0; Id < TheAgents.count(); ++Id) {
    uint32_t Most = 0;
    for (const Warp &W : Warps)
      Most = std::max(Most, W.Mine.Known[Id]);
    if (AgentClocks[Id] > Most)
      return reportUnwaited(static_cast<AgentId>(Id));
  }
  for (unsigned W = 0; W < warpCount(); ++W)
    if (size_t All = MatrixSteps[W / 4].size(); MatrixCounts[W] != All) {
      Finding F;
      F.Kernel = Launch.K->Name;
      F.Kind = FindingKind::WarpgroupMismatch;
      F.Detail = "warp " + std::to_string(W) + " has issued " +
                 std::to_string(MatrixCounts[W]) +
                 " wgmma, another warp of its warpgroup " + std::to_string(All);
      std::copy(Index, Index + 3, F.Cta);
      return Launch.report(std::move(F));
    }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Cta::arrive(Warp &W, const Instruction &I, unsigned Id, uint32_t Expected,
                 bool Waits, const Barrier::Result &Result, uint32_t True,
                 uint32_t Asked) {
  Barrier &B = Barriers[Id];
  if (Expected == 0)
    Expected = warpCount() * WarpSize;
  if (B.Expected != 0 && B.Expected != Expected)
    return W.report(FindingKind::BarrierMismatch, I, 0,
                    "barrier " + std::to_string(Id) + " waits for " +
                        std::to_string(B.Expected) + " threads, not " +
                        std::to_string(Expected));
  B.Expected = Expected;
  B.Arrived += WarpSize;
  B.Joined.join(W.Mine);
  B.Count += static_cast<uint32_t>(__builtin_popcount(True & Asked));
  B.All &= (True & Asked) == Asked;
  B.Any |= (True & Asked) != 0;
  if (Waits) {
    B.Waiting |= 1u << W.number();
    B.Results[W.number()] = Result;
    W.WaitingAt = Id;
    W.wait();
  } else {
    W.tick(); // what it does from here on is not ordered
  }
  if (B.Arrived > B.Expected)
    return W.report(FindingKind::BarrierMismatch, I, 0,
                    "more threads come to barrier " + std::to_string(Id) +
                        " than the " + std::to_string(B.Expected) +
                        " that it waits for");
  if (B.Arrived == B.Expected)
    release(B);
}

void Cta::release(Barrier &B) {
  for (Warp &W : Warps) {
    if (!(B.Waiting >> W.number() & 1))
      continue;
    W.Mine.join(B.Joined);
    W.tick();
    const Barrier::Result &R = B.Results[W.number()];
    if (R.Kind == ReduceCount) {
      for (unsigned L = 0; L < WarpSize; ++L)
        if (R.Lanes >> L & 1)
          W.row<uint32_t>(R.Row)[L] = B.Count;
    } else if (R.Kind != ReduceNone) {
      bool Value = R.Kind == ReduceAnd ? B.All : B.Any;
      W.writeMask(R.Row, R.Lanes, Value ? ~uint32_t{0} : 0);
    }
    W.wake();
  }
  B = Barrier{};
  B.Joined.reset(TheAgents.count());
}

AsyncBarrier *Cta::asyncBarrier(uint64_t Offset) {
  auto It = Async.find(Offset);
  return It == Async.end() ? nullptr : &It->second;
}

void Cta::initialise(const Warp &W, uint64_t Offset, uint32_t Count) {
  AsyncBarrier B;
  B.Expected = B.Pending = Count;
  B.Joined.reset(TheAgents.count());
  B.Seen.reset(TheAgents.count());
  B.Agent = agent(AgentKind::Barrier, NextBarrierAgent++ % Agents::Barriers);
  B.By = W.self();
  B.Clock = W.Mine.Known[W.self()];
  Async[Offset] = std::move(B);
}

void Cta::publishBarriers(const Warp &W) {
  for (auto &[Offset, B] : Async)
    if (B.By == W.self() && B.FenceClock == 0)
      B.FenceClock = W.Mine.Known[W.self()];
}

void Cta::settle(uint64_t Offset, AsyncBarrier &B) {
  if (B.Pending != 0 || B.Bytes != 0)
    return;
  ++B.Phase;
  B.Pending = B.Expected;
  B.Seen = B.Joined;
  B.Arrived = 0;
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Waiting && W.WaitingFor == Offset)
      W.wake();
}

static std::string warps(uint32_t Bits) {
  std::string Out;
  for (unsigned W = 0; W < MaxWarps; ++W)
    if (Bits >> W & 1)
      Out += " " + std::to_string(W);
  return Out;
}

/// Who waits at which barrier, and what it misses.
void Cta::describeBarriers(Finding &F) const {
  for (unsigned Id = 0; Id < 16; ++Id) {
    const Barrier &B = Barriers[Id];
    if (B.Waiting == 0)
      continue;
    F.Detail += "barrier " + std::to_string(Id) + " has " +
                std::to_string(B.Arrived) + " of " +
                std::to_string(B.Expected) +
                " threads; warps wait:" + warps(B.Waiting) + "; ";
  }
  for (const Warp &W : Warps) {
    if (W.state() != Warp::State::Waiting || W.WaitingFor == Warp::NoAddress)
      continue;
    auto It = Async.find(W.WaitingFor);
    if (It == Async.end())
      continue;
    const AsyncBarrier &B = It->second;
    const Instruction *I = W.current();
    F.Detail +=
        "warp " + std::to_string(W.number()) + " waits" +
        (I ? " (line " + std::to_string(Launch.K->lineOf(*I)) + ")" : "") +
        " for phase " + std::to_string(B.Phase) + " of the mbarrier at " +
        std::to_string(W.WaitingFor) + ", which misses " +
        std::to_string(B.Pending) + " of " + std::to_string(B.Expected) +
        " arrivals and " + std::to_string(B.Bytes) + " bytes" +
        (B.Arrived ? ", warps came:" + warps(B.Arrived) : "") + "; ";
  }
}

/// Nobody can go on: says who waits where, and who is missing.
void Cta::reportStuck() {
  Finding F;
  F.Kernel = Launch.K->Name;
  F.Kind = FindingKind::Deadlock;
  uint32_t Ended = 0;
  bool OnAsync = false;
  for (const Warp &W : Warps) {
    Ended |= uint32_t{W.state() == Warp::State::Done} << W.number();
    OnAsync |=
        W.state() == Warp::State::Waiting && W.WaitingFor != Warp::NoAddress;
  }
  describeBarriers(F);
  F.Detail += Ended ? "warps have ended:" + warps(Ended) : "no warp has ended";
  if (Ended && !OnAsync)
    F.Kind = FindingKind::BarrierMismatch;
  std::copy(Index, Index + 3, F.Cta);
  Launch.report(std::move(F));
}

} // namespace kpc::emulator
