//===- WarpTensor.cpp - What a warp knows of tensor memory ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/WarpTensor.h"

#include "emulator/execute/Cta.h"

namespace kpc::emulator {

void WarpTensor::start() {
  Open.clear();
  Latest.clear();
  Accumulators.clear();
  Seen.reset(W.block().agents().count());
}

AgentId WarpTensor::agent(AgentKind Kind) const {
  return W.block().agent(Kind, W.number());
}

/// Does Do(agent) for every agent of tcgen05's.
template <typename F> static void forEachTensorAgent(const Agents &Of, F Do) {
  for (unsigned Id = 0; Id < Of.count(); ++Id)
    if (Agents::isTensor(Of.kindOf(static_cast<AgentId>(Id))))
      Do(static_cast<AgentId>(Id));
}

void WarpTensor::fenceBefore() {
  forEachTensorAgent(W.block().agents(), [&](AgentId Id) {
    W.Mine.Fenced[Id] = std::max(W.Mine.Fenced[Id], Seen.Known[Id]);
  });
}

void WarpTensor::fenceAfter() {
  forEachTensorAgent(W.block().agents(), [&](AgentId Id) {
    Seen.Known[Id] = std::max(Seen.Known[Id], W.Mine.Fenced[Id]);
  });
  uint32_t Over = Seen.Known[agent(AgentKind::TensorMatrix)];
  std::erase_if(Accumulators,
                [&](const Accumulator &A) { return A.Clock <= Over; });
}

void WarpTensor::waitFor(AgentKind Kind) {
  auto It = Latest.find(agent(Kind));
  if (It == Latest.end())
    return;
  Seen.Known[It->first] = std::max(Seen.Known[It->first], It->second);
  W.Mine.Known[It->first] = std::max(W.Mine.Known[It->first], It->second);
}

void WarpTensor::addIssued(unsigned Lane, const Warp::Agent &By) {
  Latest[By.Id] = By.Clock;
  AgentKind Kind = W.block().agents().kindOf(By.Id);
  if (Kind == AgentKind::TensorMatrix || Kind == AgentKind::TensorCopy)
    Open[Lane].push_back({By.Id, By.Clock});
}

Knowledge WarpTensor::commit(unsigned Lane) {
  Open.erase(Lane);
  Knowledge Out;
  Out.reset(W.block().agents().count());
  const Agents &Of = W.block().agents();
  forEachTensorAgent(Of, [&](AgentId Id) { Out.Fenced[Id] = Seen.Known[Id]; });
  // What an mma has read was copied before: who may overwrite what it read may
  // overwrite the copies too. Ordinary writes are not released.
  for (unsigned Id = 0; Id < Of.count(); ++Id)
    if (Of.kindOf(static_cast<AgentId>(Id)) == AgentKind::Barrier)
      Out.Known[Id] = W.Mine.Known[Id];
  for (AgentKind Kind : {AgentKind::TensorMatrix, AgentKind::TensorCopy}) {
    auto It = Latest.find(agent(Kind));
    if (It == Latest.end())
      continue;
    uint32_t Upto = It->second;
    for (const auto &[Other, Ops] : Open) // those of other threads go on
      for (const Issued &Op : Ops)
        if (Op.Agent == It->first)
          Upto = std::min(Upto, Op.Clock - 1);
    Out.Known[It->first] = Upto;
    Out.Fenced[It->first] = std::max(Out.Fenced[It->first], Upto);
  }
  return Out;
}

Knowledge WarpTensor::behindCopies() const {
  Knowledge Now = Seen;
  AgentId Copy = agent(AgentKind::TensorCopy);
  if (auto It = Latest.find(Copy); It != Latest.end())
    Now.Known[Copy] = It->second;
  return Now;
}

static bool overlap(const TensorArea &A, const TensorArea &B) {
  return A.Column < B.Column + B.Columns && B.Column < A.Column + A.Columns;
}

Knowledge WarpTensor::behindMatrix(const TensorArea &D, uint64_t Shape) {
  Knowledge Now = behindCopies();
  AgentId Matrix = agent(AgentKind::TensorMatrix);
  for (const Accumulator &A : Accumulators)
    if (overlap(A.Area, D) && (A.Shape != Shape || A.Area.Column != D.Column))
      return Now;
  // Those in flight that are not pipelined with this one touch other columns.
  if (auto It = Latest.find(Matrix); It != Latest.end())
    Now.Known[Matrix] = It->second;
  return Now;
}

void WarpTensor::addAccumulator(const TensorArea &D, uint64_t Shape,
                                uint32_t Clock) {
  for (Accumulator &A : Accumulators)
    if (A.Shape == Shape && A.Area.Column == D.Column) {
      A.Clock = Clock;
      return;
    }
  Accumulators.push_back({D, Shape, Clock});
}

std::string textOf(const TensorArea &Area) {
  std::string Out = "lane " + std::to_string(Area.Lane);
  if (Area.Lanes > 1)
    Out = "lanes " + std::to_string(Area.Lane) + " to " +
          std::to_string(Area.Lane + Area.Lanes - 1);
  Out += ", column" + std::string(Area.Columns > 1 ? "s " : " ") +
         std::to_string(Area.Column);
  if (Area.Columns > 1)
    Out += " to " + std::to_string(Area.Column + Area.Columns - 1);
  return Out;
}

/// What the shadow objects to.
void WarpTensor::object(const Instruction &I, unsigned Lane,
                        const TensorUse &Use, const Conflict &C,
                        unsigned Group) {
  TensorArea Where{Group * TensorMemory::GroupLanes, TensorMemory::GroupLanes,
                   Use.Area.Column, Use.Area.Columns};
  std::string Place = textOf(Where);
  if (C.TheKind == Conflict::Kind::Uninitialised)
    return W.report(FindingKind::UninitialisedTensor, I, Lane,
                    "reads " + Place + ", which were never written");
  const Agents &Of = W.block().agents();
  std::string Earlier = Of.nameOf(C.Other) +
                        (C.OtherWrote ? " writes (" : " reads (") +
                        W.kernel().pointOf(C.OtherStatement) + ")";
  if (W.Mine.Fenced[C.Other] >= C.OtherClock)
    return W.report(FindingKind::MissingTensorFence, I, Lane,
                    "no tcgen05.fence::after_thread_sync between the wait and "
                    "this access to " +
                        Place + ", which " + Earlier);
  if (W.Mine.Known[C.Other] >= C.OtherClock)
    return W.report(FindingKind::MissingTensorFence, I, Lane,
                    "no tcgen05.fence::before_thread_sync between where " +
                        Earlier + " and the barrier before this access to " +
                        Place);
  FindingKind Kind = C.OtherWrote && !Use.Writes ? FindingKind::ReadBeforeWait
                     : !C.OtherWrote             ? FindingKind::SlotReused
                                                 : FindingKind::TensorRace;
  W.report(Kind, I, Lane,
           "nothing orders this access to " + Place + " and where " + Earlier);
}

bool WarpTensor::access(const Instruction &I, unsigned Lane,
                        const TensorUse &Use, const Warp::Agent &By,
                        const Knowledge &Now) {
  const TensorArea &A = Use.Area;
  TensorMemory &T = Use.Of->tensor();
  if (Use.Of != &W.block() && Use.Of->isOver()) {
    W.report(FindingKind::EndedBlock, I, Lane, "the peer block has ended");
    return false;
  }
  if (A.Lane + A.Lanes > TensorMemory::Lanes ||
      A.Column + A.Columns > TensorMemory::Columns) {
    W.report(FindingKind::OutOfBounds, I, Lane,
             textOf(A) + " of tensor memory, which has 128 lanes and 512 "
                         "columns");
    return false;
  }
  if (!T.isAllocated(A.Column, A.Columns)) {
    W.report(FindingKind::OutOfBounds, I, Lane,
             textOf(A) + " of tensor memory are not allocated");
    return false;
  }
  bool IsStrict = W.block().launch().Strict;
  for (unsigned L = A.Lane; L < A.Lane + A.Lanes; ++L) {
    if (Use.Only && !(*Use.Only)[L])
      continue;
    for (unsigned C = A.Column; C < A.Column + A.Columns; ++C) {
      if (Use.Needs && IsStrict && !T.isSet(L, C)) {
        W.report(FindingKind::UninitialisedTensor, I, Lane,
                 "reads " + textOf({L, 1, C, 1}) + ", which was never written");
        return false;
      }
      if (Use.Writes)
        T.mark(L, C);
    }
  }
  if (!IsStrict)
    return true;
  SharedAccess Shadowed{By.Id, By.Clock, I.Statement,
                        Use.Writes ? SharedUse::Write : SharedUse::Read, false};
  unsigned Group = 0;
  Conflict C = T.access(A, Shadowed, Now, Group);
  if (C.TheKind == Conflict::Kind::None)
    return true;
  object(I, Lane, Use, C, Group);
  return false;
}

} // namespace kpc::emulator
