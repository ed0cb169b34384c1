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
/// for what another writes.
static constexpr uint64_t Turn = 20000;
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
  Warps.resize((Threads + WarpSize - 1) / WarpSize);
  for (Warp &W : Warps)
    W.prepare(*Launch.K);
}

void Cta::run(uint64_t Number) {
  Index[0] = static_cast<uint32_t>(Number % Launch.Grid[0]);
  Index[1] = static_cast<uint32_t>(Number / Launch.Grid[0] % Launch.Grid[1]);
  Index[2] = static_cast<uint32_t>(Number / Launch.Grid[0] / Launch.Grid[1]);
  std::fill(Shared.begin(), Shared.end(), FreshByte);
  if (Launch.Strict)
    Shadow.reset(SharedBytes, warpCount());
  for (Barrier &B : Barriers)
    B = Barrier{};
  Async.clear();
  ProxyFences.fill(0);
  AsyncClock = 0;
  uint64_t Threads =
      uint64_t{Launch.Block[0]} * Launch.Block[1] * Launch.Block[2];
  for (unsigned W = 0; W < Warps.size(); ++W) {
    uint64_t Left = Threads - uint64_t{W} * WarpSize;
    uint32_t Lanes =
        Left >= WarpSize ? ~uint32_t{0} : (uint32_t{1} << Left) - 1;
    Warps[W].start(*this, W, Lanes);
  }
  uint64_t Before = 0, After = 0;
  for (Warp &W : Warps)
    Before += W.steps();
  bool Alive = true;
  while (Alive && !Launch.Stop) {
    bool Ran = false;
    Alive = false;
    for (Warp &W : Warps) {
      if (W.state() == Warp::State::Ready && !Launch.Stop) {
        W.run(Turn);
        Ran = true;
      }
      Alive |= W.state() != Warp::State::Done;
    }
    if (Alive && !Ran)
      return reportStuck();
  }
  for (Warp &W : Warps)
    After += W.steps();
  Launch.Steps += After - Before;
}

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
  for (size_t V = 0; V < B.Joined.size(); ++V)
    B.Joined[V] = std::max(B.Joined[V], W.Known[V]);
  B.Count += static_cast<uint32_t>(__builtin_popcount(True & Asked));
  B.All &= (True & Asked) == Asked;
  B.Any |= (True & Asked) != 0;
  if (Waits) {
    B.Waiting |= 1u << W.number();
    B.Results[W.number()] = Result;
    W.WaitingAt = Id;
    W.wait();
  } else {
    ++W.Known[W.number()]; // what it does from here on is not ordered
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
    W.Known = B.Joined;
    ++W.Known[W.number()];
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
}

AsyncBarrier *Cta::asyncBarrier(uint64_t Offset) {
  auto It = Async.find(Offset);
  return It == Async.end() ? nullptr : &It->second;
}

void Cta::initialise(uint64_t Offset, uint32_t Count) {
  AsyncBarrier B;
  B.Expected = B.Pending = Count;
  Async[Offset] = B;
}

void Cta::settle(uint64_t Offset, AsyncBarrier &B) {
  if (B.Pending != 0 || B.Bytes != 0)
    return;
  ++B.Phase;
  B.Pending = B.Expected;
  B.Seen = B.Joined;
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Waiting && W.WaitingFor == Offset)
      W.wake();
}

/// Nobody can go on: says who waits where, and who is missing.
void Cta::reportStuck() {
  Finding F;
  F.Kernel = Launch.K->Name;
  F.Kind = FindingKind::Deadlock;
  std::string Ended;
  bool OnAsync = false;
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Done)
      Ended += " " + std::to_string(W.number());
  for (unsigned Id = 0; Id < 16; ++Id) {
    const Barrier &B = Barriers[Id];
    if (B.Waiting == 0)
      continue;
    F.Detail += "barrier " + std::to_string(Id) + " has " +
                std::to_string(B.Arrived) + " of " +
                std::to_string(B.Expected) + " threads; warps wait:";
    for (unsigned W = 0; W < warpCount(); ++W)
      if (B.Waiting >> W & 1)
        F.Detail += " " + std::to_string(W);
    F.Detail += "; ";
  }
  for (Warp &W : Warps)
    if (W.state() == Warp::State::Waiting && W.WaitingFor != Warp::NoAddress) {
      const AsyncBarrier &B = Async[W.WaitingFor];
      F.Detail += "warp " + std::to_string(W.number()) + " waits for phase " +
                  std::to_string(B.Phase) + " of the mbarrier at " +
                  std::to_string(W.WaitingFor) + ", which misses " +
                  std::to_string(B.Pending) + " arrivals and " +
                  std::to_string(B.Bytes) + " bytes; ";
      OnAsync = true;
    }
  F.Detail += Ended.empty() ? "no warp has ended" : "warps have ended:" + Ended;
  if (!Ended.empty() && !OnAsync)
    F.Kind = FindingKind::BarrierMismatch;
  std::copy(Index, Index + 3, F.Cta);
  Launch.report(std::move(F));
}

} // namespace kpc::emulator
