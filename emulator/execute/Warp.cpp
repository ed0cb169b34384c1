//===- Warp.cpp - Thirty-two threads in step ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/Warp.h"

#include "emulator/execute/Cluster.h"
#include "emulator/program/UnsetRegisters.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kpc::emulator {

static constexpr size_t RowAlignment = 64;

Warp::Warp() = default;
Warp::~Warp() = default;

void Warp::prepare(const Kernel &Of) {
  K = &Of;
  if (Of.UsesTensor)
    Tensor = std::make_unique<WarpTensor>(*this);
  Registers.assign(Of.RegisterBytes + RowAlignment, 0);
  auto Start = reinterpret_cast<uintptr_t>(Registers.data());
  Base = (RowAlignment - Start % RowAlignment) % RowAlignment;
  Locals.assign(Of.LocalBytes * WarpSize, 0);
  for (const ConstantRow &C : Of.Constants) {
    if (C.Bytes == 0)
      mask(C.Row) = static_cast<uint32_t>(C.Value);
    for (unsigned L = 0; C.Bytes && L < WarpSize; ++L)
      std::memcpy(row<uint8_t>(C.Row) + L * C.Bytes, &C.Value, C.Bytes);
  }
}

void Warp::start(Cta &Of, unsigned TheNumber, uint32_t Lanes) {
  Block = &Of;
  Number = TheNumber;
  Live = Started = Lanes;
  Now = State::Ready;
  Again = false;
  HasWaited = !Block->launch().BeginsEarly;
  EndedAt = NoStatement;
  WaitingFor = NoAddress;
  WaitsForCluster = WaitsForRegisters = WaitsForTensor = false;
  RegistersPerThread = Of.registersAtStart();
  ClusterArrivals = ClusterWaits = 0;
  Stack.assign(1, {0, EndOfCode, Lanes});
  Self = Of.agent(AgentKind::Warp, Number);
  Mine.reset(Of.agents().count());
  Mine.Known[Self] = 1;
  FencedRelease.reset();
  Found.reset();
  Async.start();
  if (Tensor)
    Tensor->start();
  SetLanes.assign(K->DoubtfulRows.size(), 0);
  fillSpecials();
}

namespace {
struct Place {
  const LaunchState &Launch;
  const uint32_t *Cta;
  unsigned Warp;
  const uint32_t *Cluster; ///< its blocks along each dim
  unsigned Rank;
};
} // namespace

static uint64_t specialValue(const Place &P, Special What, unsigned Lane) {
  const uint32_t *Block = P.Launch.Block, *Grid = P.Launch.Grid;
  uint64_t Thread = uint64_t{P.Warp} * WarpSize + Lane;
  auto Of = [What](Special First) {
    return static_cast<unsigned>(What) - static_cast<unsigned>(First);
  };
  switch (What) {
  case Special::TidX:
    return Thread % Block[0];
  case Special::TidY:
    return Thread / Block[0] % Block[1];
  case Special::TidZ:
    return Thread / Block[0] / Block[1];
  case Special::NtidX:
  case Special::NtidY:
  case Special::NtidZ:
    return Block[Of(Special::NtidX)];
  case Special::CtaidX:
  case Special::CtaidY:
  case Special::CtaidZ:
    return P.Cta[Of(Special::CtaidX)];
  case Special::NctaidX:
  case Special::NctaidY:
  case Special::NctaidZ:
    return Grid[Of(Special::NctaidX)];
  case Special::LaneId:
    return Lane;
  case Special::WarpId:
    return P.Warp;
  case Special::NWarpId:
    return (uint64_t{Block[0]} * Block[1] * Block[2] + WarpSize - 1) / WarpSize;
  case Special::NSmId:
    return 1;
  case Special::LaneMaskEq:
    return 1u << Lane;
  case Special::LaneMaskLe:
    return (2u << Lane) - 1;
  case Special::LaneMaskLt:
    return (1u << Lane) - 1;
  case Special::LaneMaskGe:
    return ~((1u << Lane) - 1);
  case Special::LaneMaskGt:
    return ~((2u << Lane) - 1);
  case Special::DynamicShared:
    return P.Launch.DynamicShared;
  case Special::TotalShared:
    return P.Launch.sharedBytes();
  case Special::ClusterIdX:
  case Special::ClusterIdY:
  case Special::ClusterIdZ: {
    unsigned D = Of(Special::ClusterIdX);
    return P.Cta[D] / P.Cluster[D];
  }
  case Special::NClusterIdX:
  case Special::NClusterIdY:
  case Special::NClusterIdZ: {
    unsigned D = Of(Special::NClusterIdX);
    return Grid[D] / P.Cluster[D];
  }
  case Special::ClusterCtaIdX:
  case Special::ClusterCtaIdY:
  case Special::ClusterCtaIdZ: {
    unsigned D = Of(Special::ClusterCtaIdX);
    return P.Cta[D] % P.Cluster[D];
  }
  case Special::ClusterNCtaIdX:
  case Special::ClusterNCtaIdY:
  case Special::ClusterNCtaIdZ:
    return P.Cluster[Of(Special::ClusterNCtaIdX)];
  case Special::ClusterNCtaRank:
    return uint64_t{P.Cluster[0]} * P.Cluster[1] * P.Cluster[2];
  case Special::ClusterCtaRank:
    return P.Rank;
  case Special::SmId:
  case Special::GridId:
    return 0;
  }
  return 0;
}

void Warp::fillSpecials() {
  Place P{Block->launch(), Block->index(), Number, Block->cluster().shape(),
          Block->rank()};
  for (const SpecialRow &S : K->Specials)
    for (unsigned L = 0; L < WarpSize; ++L) {
      uint64_t Value = specialValue(P, S.What, L);
      std::memcpy(row<uint8_t>(S.Row) + L * S.Bytes, &Value, S.Bytes);
    }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Warp::run(uint64_t Budget) {
  const Instruction *Code = K->Code.data();
  auto Size = static_cast<uint32_t>(K->Code.size());
  uint64_t Done = 0;
  while (Now == State::Ready && Done < Budget) {
    Frame &F = Stack.back();
    if (F.Mask == 0 || F.Pc == F.Reconverge) {
      Stack.pop_back();
      if (Stack.empty()) {
        Now = State::Done;
        Block->warpEnded();
      }
      continue;
    }
    if (F.Pc >= Size) { // the end of the text is an exit
      EndedAt = NoStatement;
      end(F.Mask);
      continue;
    }
    const Instruction &I = Code[F.Pc];
    uint32_t Mask = F.Mask;
    if (I.Guard != NoRow)
      Mask &= mask(I.Guard) ^ (I.GuardNegated ? ~uint32_t{0} : 0);
    ++Done;
    if (I.Checks && !check(I, F.Mask, Mask))
      break;
    if (I.TheFlow != Flow::Next) {
      control(I, Mask);
      continue;
    }
    if (Mask != 0)
      I.Run(*this, I, Mask);
    if (Again) {
      Again = false;
      break;
    }
    ++F.Pc;
  }
  Steps += Done;
}

void Warp::control(const Instruction &I, uint32_t Mask) {
  Frame &F = Stack.back();
  if (I.TheFlow == Flow::Exit) {
    ++F.Pc;
    EndedAt = I.Statement;
    end(Mask);
  } else if (I.TheFlow == Flow::Table) {
    table(I, Mask);
  } else if (Mask == F.Mask) {
    F.Pc = I.Jump;
  } else if (Mask == 0) {
    ++F.Pc;
  } else {
    diverge(I, Mask, I.Jump);
  }
}

/// The lanes in `Taken` go to `To`, the others on; both wait at the branch's
/// reconvergence point.
void Warp::diverge(const Instruction &I, uint32_t Taken, uint32_t To) {
  Frame &F = Stack.back();
  uint32_t Next = F.Pc + 1, Others = F.Mask & ~Taken;
  F.Pc = I.Reconverge;
  // A frame that has come to its own meeting point is covered by the one
  // below: loops that lanes leave one by one do not pile up frames.
  if (I.Reconverge == F.Reconverge)
    Stack.pop_back();
  if (Next != I.Reconverge)
    Stack.push_back({Next, I.Reconverge, Others});
  if (To != I.Reconverge)
    Stack.push_back({To, I.Reconverge, Taken});
}

/// brx.idx: the lanes of each target are split off in turn.
void Warp::table(const Instruction &I, uint32_t Mask) {
  const std::vector<uint32_t> &Targets = K->Tables[I.Jump];
  const uint32_t *Index = row<uint32_t>(I.Source[0]);
  uint32_t All = Stack.back().Mask, Next = Stack.back().Pc + 1;
  std::vector<Frame> Sides;
  if (All & ~Mask)
    Sides.push_back({Next, I.Reconverge, All & ~Mask});
  for (uint32_t T = 0; T < Targets.size(); ++T) {
    uint32_t Lanes = 0;
    for (uint32_t Left = Mask; Left; Left &= Left - 1)
      if (unsigned L = std::countr_zero(Left); Index[L] == T)
        Lanes |= 1u << L;
    if (Lanes)
      Sides.push_back({Targets[T], I.Reconverge, Lanes});
    Mask &= ~Lanes;
  }
  if (Mask != 0)
    return report(FindingKind::BadOperand, I, std::countr_zero(Mask),
                  "the index is beyond the list of targets");
  Frame &F = Stack.back();
  F.Pc = I.Reconverge;
  if (I.Reconverge == F.Reconverge)
    Stack.pop_back();
  Stack.insert(Stack.end(), Sides.begin(), Sides.end());
}

void Warp::end(uint32_t Lanes) {
  Live &= ~Lanes;
  for (Frame &F : Stack)
    F.Mask &= ~Lanes;
  if (Live == 0) {
    Stack.clear();
    Now = State::Done;
    Block->warpEnded();
  }
}

//===----------------------------------------------------------------------===//
// What is looked at before an instruction
//===----------------------------------------------------------------------===//

/// `Reached`: lanes that come here, `Mask`: those whose guard is true.
bool Warp::check(const Instruction &I, uint32_t Reached, uint32_t Mask) {
  bool Strict = Block->launch().Strict;
  if ((I.Checks & UsesMatrixRow) && !Async.touch(I, Mask))
    return false;
  return !Strict || !(I.Checks & ~UsesMatrixRow) ||
         checkUnset(I, Reached, Mask);
}

bool Warp::checkUnset(const Instruction &I, uint32_t Reached, uint32_t Mask) {
  const std::vector<uint32_t> &All = K->DoubtfulRows;
  uint32_t Unset = 0;
  for (unsigned N = 0; N < unsigned(I.Reads + I.Writes); ++N) {
    uint32_t Row = K->Uses[I.Uses + N];
    auto It = std::lower_bound(All.begin(), All.end(), Row);
    if (It == All.end() || *It != Row)
      continue;
    uint32_t &Set = SetLanes[static_cast<size_t>(It - All.begin())];
    if (N < I.Reads)
      Unset |= (Row == I.Guard ? Reached : Mask) & ~Set;
    else
      Set = (Set | Mask) & ~(passesUnset(*K, I) ? Unset : 0);
  }
  if (Unset == 0 || passesUnset(*K, I))
    return true;
  report(FindingKind::UninitialisedRegister, I,
         unsigned(std::countr_zero(Unset)),
         "reads a register that the thread never wrote");
  return false;
}

void Warp::fenceProxy() {
  for (AgentId A : {Self, Block->agent(AgentKind::Small, Number)})
    Mine.Fenced[A] = Mine.Known[A];
  tick();
}

uint32_t Warp::standsAt() const {
  if (Now == State::Done)
    return EndedAt;
  if (Stack.empty() || Stack.back().Pc >= K->Code.size())
    return NoStatement;
  return K->Code[Stack.back().Pc].Statement;
}

void Warp::place(Finding &F, uint32_t Statement, unsigned Lane) const {
  F.locate(*K, Statement);
  Place P{Block->launch(), Block->index(), Number, Block->cluster().shape(),
          Block->rank()};
  for (unsigned D = 0; D < 3; ++D) {
    F.Cta[D] = P.Cta[D];
    F.Thread[D] = static_cast<uint32_t>(specialValue(
        P, static_cast<Special>(static_cast<unsigned>(Special::TidX) + D),
        Lane));
  }
}

void Warp::report(FindingKind Kind, const Instruction &I, unsigned Lane,
                  std::string Detail) {
  Finding F;
  F.Kind = Kind;
  place(F, I.Statement, Lane);
  F.Detail = std::move(Detail);
  Now = State::Done;
  Block->launch().report(std::move(F));
}

} // namespace kpc::emulator
