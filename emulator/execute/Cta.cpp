//===- Cta.cpp - A block of threads ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Cta.h"

#include "emulator/execute/Cluster.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

/// Instructions of a warp before the next one's turn: a warp may wait in a loop
/// for what another writes. A seed decides how many.
static constexpr uint32_t ShortestTurn = 64, LongestTurn = 8192;
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

unsigned Cta::warpsOf(const LaunchState &Launch) {
  uint64_t Threads =
      uint64_t{Launch.Block[0]} * Launch.Block[1] * Launch.Block[2];
  return static_cast<unsigned>((Threads + WarpSize - 1) / WarpSize);
}

Cta::Cta(LaunchState &Launch, Cluster &Of, unsigned Rank)
    : Launch(Launch), Group(Of), Rank(Rank), SharedBytes(Launch.sharedBytes()) {
  Shared.resize(SharedBytes);
  for (unsigned W = 0; W < warpsOf(Launch); ++W)
    Warps.emplace_back().prepare(*Launch.K);
}

const Agents &Cta::agents() const { return Group.agents(); }
AsyncQueue &Cta::queue() { return Group.queue(); }
Warp::Agent Cta::begin(AgentId Id, const Instruction &I, bool Proxy) {
  return Group.begin(Id, I, Proxy);
}

Cta *Cta::blockOf(uint64_t &Address) {
  uint64_t Of = Address >> RankShift;
  Address &= BlockOffsetMask;
  if (Of == 0)
    return this;
  return Of - 1 < Group.size() ? &Group.block(static_cast<unsigned>(Of - 1))
                               : nullptr;
}

void Cta::start(const uint32_t (&At)[3]) {
  std::copy(At, At + 3, Index);
  std::fill(Shared.begin(), Shared.end(), FreshByte);
  if (Launch.Strict)
    Shadow.reset(SharedBytes, agents());
  for (Barrier &B : Barriers) {
    B = Barrier{};
    B.Joined.reset(agents().count());
  }
  Async.clear();
  NextBarrierAgent = 0;
  FreeRegisters = 0;
  PairStep = {};
  SawRefusal = 0;
  if (Launch.K->UsesTensor)
    Tensor.reset(agents(), Launch.Seed + Index[0]);
  Foreign.clear();
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

bool Cta::turn(Choices &Choose) {
  bool Ran = false;
  for (Warp &W : Warps) {
    if (W.state() != Warp::State::Ready || Launch.Stop || Launch.isLate())
      continue;
    W.run(ShortestTurn + Choose.below(LongestTurn - ShortestTurn));
    Ran = true;
  }
  return Ran;
}

unsigned Cta::aliveWarps() const {
  return static_cast<unsigned>(
      std::count_if(Warps.begin(), Warps.end(), [](const Warp &W) {
        return W.state() != Warp::State::Done;
      }));
}

bool Cta::isOver() const { return aliveWarps() == 0; }

uint64_t Cta::steps() const {
  uint64_t Sum = 0;
  for (const Warp &W : Warps)
    Sum += W.steps();
  return Sum;
}

uint32_t Cta::mostKnown(AgentId Id) const {
  uint32_t Most = 0;
  for (const Warp &W : Warps)
    Most = std::max(Most, W.Mine.Known[Id]);
  return Most;
}

void Cta::wakeForCluster() {
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Waiting && W.WaitsForCluster)
      W.wake();
}

Cta *Cta::peer() {
  unsigned Other = Rank ^ 1;
  return Other < Group.size() ? &Group.block(Other) : nullptr;
}

void Cta::wakeForTensor() {
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Waiting && W.WaitsForTensor)
      W.wake();
}

unsigned Cta::registersAtStart() const {
  constexpr unsigned OfMultiprocessor = 65536, Most = 256, Unit = 8;
  unsigned Each = OfMultiprocessor / (warpCount() * WarpSize);
  return std::min(Most, Each / Unit * Unit);
}

bool Cta::takeRegisters(Warp &W, unsigned PerThread) {
  unsigned Has = W.RegistersPerThread;
  if (PerThread > Has && PerThread - Has > FreeRegisters)
    return false;
  FreeRegisters += Has;
  FreeRegisters -= PerThread;
  W.RegistersPerThread = PerThread;
  for (Warp &Other : Warps)
    if (Other.state() == Warp::State::Waiting && Other.WaitsForRegisters)
      Other.wake();
  return true;
}

void Cta::warpEnded() { Group.warpEnded(); }

void Cta::noteForeign(const SharedAccess &A) {
  auto &Last = Foreign[A.Agent];
  Last = {std::max(Last.first, A.Clock), A.Statement};
}

//===----------------------------------------------------------------------===//
// Asynchronous instructions
//===----------------------------------------------------------------------===//

uint64_t Cta::start(std::unique_ptr<AsyncOperation> Op) {
  uint64_t Id = queue().add(std::move(Op));
  if (!Launch.Strict)
    queue().finish(Id);
  return Id;
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
               Launch.K->pointOf(S.Statement) +
               (S.Statement == I.Statement
                    ? " with other descriptors or another scale-d"
                    : ""));
  return false;
}

/// What others do here is over, and known to be, before the block's end; all
/// warps of a group have issued the same.
bool Cta::checkEnd() {
  Finding F;
  F.Kernel = Launch.K->Name;
  std::copy(Index, Index + 3, F.Cta);
  for (const auto &[Id, Last] : Foreign)
    if (mostKnown(Id) < Last.first) {
      F.Kind = FindingKind::EndedBlock;
      F.Detail =
          "nothing orders the end of cluster rank " + std::to_string(Rank) +
          " after an access to its shared "
          "memory by " +
          agents().nameOf(Id) + " (" + Launch.K->pointOf(Last.second) + ")";
      Launch.report(std::move(F));
      return false;
    }
  for (const TensorMemory::Allocation &A : Tensor.allocations()) {
    F.Kind = FindingKind::TensorLeak;
    F.locate(*Launch.K, A.Statement);
    F.Detail = "the block ends, and nobody has deallocated columns " +
               std::to_string(A.Column) + " to " +
               std::to_string(A.Column + A.Columns - 1) +
               " of tensor memory that this instruction allocated";
    Launch.report(std::move(F));
    return false;
  }
  for (unsigned W = 0; W < warpCount(); ++W)
    if (size_t All = MatrixSteps[W / 4].size(); MatrixCounts[W] != All) {
      F.Kind = FindingKind::WarpgroupMismatch;
      F.Detail = "warp " + std::to_string(W) + " has issued " +
                 std::to_string(MatrixCounts[W]) +
                 " wgmma, another warp of its warpgroup " + std::to_string(All);
      Launch.report(std::move(F));
      return false;
    }
  return true;
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
                        std::to_string(Expected) +
                        "; warps came: " + listOf(B.Came, B.Points));
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
    return W.report(
        FindingKind::BarrierMismatch, I, 0,
        "more threads come to barrier " + std::to_string(Id) + " than the " +
            std::to_string(B.Expected) +
            " that it waits for; warps came: " + listOf(B.Came, B.Points));
  B.Came |= 1u << W.number();
  B.Points[W.number()] = I.Statement;
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
  B.Joined.reset(agents().count());
}

AsyncBarrier *Cta::asyncBarrier(uint64_t Offset) {
  auto It = Async.find(Offset);
  return It == Async.end() ? nullptr : &It->second;
}

void Cta::initialise(const Warp &W, uint64_t Offset, uint32_t Count) {
  AsyncBarrier B;
  B.Expected = B.Pending = Count;
  B.Joined.reset(agents().count());
  B.Seen.reset(agents().count());
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

} // namespace kpc::emulator
