//===- Standing.cpp - Where a block's warps stand -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For a deadlock, a barrier that ended warps do not come to, and a kernel that
// takes too long.

#include "emulator/execute/Cluster.h"

#include <bit>

namespace kpc::emulator {

std::string Cta::listOf(uint32_t Which, const WarpPoints &Points) const {
  std::string Out;
  if (warpCount() < MaxWarps)
    Which &= (uint32_t{1} << warpCount()) - 1;
  for (unsigned W = 0; W < warpCount(); ++W) {
    if (!(Which >> W & 1))
      continue;
    Out += (Out.empty() ? "" : ", ") + std::to_string(W);
    uint32_t Later = W + 1 < MaxWarps ? Which >> (W + 1) : 0;
    unsigned Next = W + 1 + static_cast<unsigned>(std::countr_zero(Later));
    if (Later == 0 || Points[Next] != Points[W])
      Out += " (" + Launch.K->pointOf(Points[W]) + ")";
  }
  return Out;
}

void Cta::describeBarriers(Finding &F) const {
  for (unsigned Id = 0; Id < 16; ++Id) {
    const Barrier &B = Barriers[Id];
    if (B.Waiting == 0)
      continue;
    F.Detail += "barrier " + std::to_string(Id) + " has " +
                std::to_string(B.Arrived) + " of " +
                std::to_string(B.Expected) +
                " threads; warps wait: " + listOf(B.Waiting, B.Points);
    if (uint32_t Others = B.Came & ~B.Waiting)
      F.Detail += "; warps arrived: " + listOf(Others, B.Points);
    F.Detail += "; ";
  }
}

/// What a warp at an mbarrier misses.
void Cta::describeAsyncBarriers(Finding &F) const {
  for (const Warp &W : Warps) {
    if (W.state() != Warp::State::Waiting || W.WaitingFor == Warp::NoAddress)
      continue;
    auto It = Async.find(W.WaitingFor);
    if (It == Async.end())
      continue;
    const AsyncBarrier &B = It->second;
    F.Detail += "warp " + std::to_string(W.number()) + " waits (" +
                Launch.K->pointOf(W.standsAt()) + ") for phase " +
                std::to_string(B.Phase) + " of the mbarrier at " +
                std::to_string(W.WaitingFor) + ", which misses " +
                std::to_string(B.Pending) + " of " +
                std::to_string(B.Expected) + " arrivals and " +
                std::to_string(B.Bytes) + " bytes";
    if (B.Arrived)
      F.Detail += ", warps came: " + listOf(B.Arrived, B.Points);
    F.Detail += "; ";
  }
}

void Cta::describe(Finding &F) const {
  uint32_t Ended = 0, Ready = 0, AtCluster = 0, AtRegisters = 0, AtTensor = 0;
  WarpPoints Points = {};
  for (const Warp &W : Warps) {
    uint32_t Bit = uint32_t{1} << W.number();
    Points[W.number()] = W.standsAt();
    if (W.state() == Warp::State::Done)
      Ended |= Bit;
    else if (W.state() == Warp::State::Ready)
      Ready |= Bit;
    else if (W.WaitsForCluster)
      AtCluster |= Bit;
    else if (W.WaitsForRegisters)
      AtRegisters |= Bit;
    else if (W.WaitsForTensor)
      AtTensor |= Bit;
  }
  describeBarriers(F);
  describeAsyncBarriers(F);
  if (Ready)
    F.Detail += "warps run: " + listOf(Ready, Points) + "; ";
  if (AtCluster)
    F.Detail +=
        "at the cluster's barrier wait warps: " + listOf(AtCluster, Points) +
        "; ";
  if (AtRegisters)
    F.Detail += "for registers (setmaxnreg.inc), of which " +
                std::to_string(FreeRegisters * WarpSize) +
                " are free, wait warps: " + listOf(AtRegisters, Points) + "; ";
  if (AtTensor)
    F.Detail += "at tcgen05.alloc, for free columns or for the peer block's, "
                "wait warps: " +
                listOf(AtTensor, Points) + "; ";
  F.Detail += Ended ? "warps have ended: " + listOf(Ended, Points)
                    : "no warp has ended";
}

bool Cta::locateMismatch(Finding &F) const {
  const Warp *First = nullptr;
  bool Ended = false;
  for (const Warp &W : Warps) {
    Ended |= W.state() == Warp::State::Done;
    if (W.state() != Warp::State::Waiting)
      continue;
    if (W.WaitingFor != Warp::NoAddress || W.WaitsForCluster ||
        W.WaitsForRegisters || W.WaitsForTensor)
      return false;
    if (!First)
      First = &W;
  }
  if (!Ended || !First)
    return false;
  First->place(F, Barriers[First->WaitingAt].Points[First->number()], 0);
  return true;
}

} // namespace kpc::emulator
