//===- WarpAsync.cpp - What a warp has started ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/WarpAsync.h"

#include "emulator/execute/Cta.h"

#include <tuple>

namespace kpc::emulator {

void WarpAsync::start() {
  Small.clear();
  Matrix.clear();
  Stores.clear();
  StoresToRead.clear();
  LastSmall = LastStore = 0;
  PendingGroups.assign(1, {});
  Pending.clear();
  RowStates.assign(W.kernel().MatrixRows.size(), 0);
  Fenced = false;
}

//===----------------------------------------------------------------------===//
// cp.async and bulk stores
//===----------------------------------------------------------------------===//

/// The warp knows of the agent up to this clock.
static void learn(Warp &W, AgentKind Kind, uint32_t Clock) {
  uint32_t &Known = W.Mine.Known[W.block().agent(Kind, W.number())];
  Known = std::max(Known, Clock);
}

void WarpAsync::finishSmall(const std::vector<CommitGroups::Member> &Members) {
  for (const CommitGroups::Member &M : Members) {
    W.block().queue().finish(M.Id);
    learn(W, AgentKind::Small, M.Clock);
  }
}

std::vector<CommitGroups::Member> WarpAsync::pendingSmall() const {
  CommitGroups Copy = Small;
  return Copy.all();
}

void WarpAsync::addStore(unsigned Lane, uint64_t Id, uint32_t Clock) {
  Stores[Lane].add(Id, Clock);
  StoresToRead.insert(Clock);
  LastStore = Clock;
}

void WarpAsync::commitStores(uint32_t Lanes) {
  for (auto &[Lane, Groups] : Stores)
    if (Lanes >> Lane & 1)
      Groups.commit();
}

/// Other lanes' stores may be older: what is known is what nobody still reads.
void WarpAsync::waitStores(uint32_t Lanes, uint64_t Left, bool ReadOnly) {
  for (auto &[Lane, Groups] : Stores) {
    if (!(Lanes >> Lane & 1))
      continue;
    for (const CommitGroups::Member &M : Groups.covered(Left, !ReadOnly)) {
      W.block().queue().finish(M.Id, ReadOnly ? 1 : 2);
      StoresToRead.erase(M.Clock);
    }
  }
  learn(W, AgentKind::Store,
        StoresToRead.empty() ? LastStore : *StoresToRead.begin() - 1);
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

const WarpAsync::PendingRow *WarpAsync::pendingOf(uint32_t Row) const {
  auto It = std::lower_bound(
      Pending.begin(), Pending.end(), Row,
      [](const PendingRow &P, uint32_t Wanted) { return P.Row < Wanted; });
  return It != Pending.end() && It->Row == Row ? &*It : nullptr;
}

uint8_t &WarpAsync::stateOf(uint32_t Row) {
  const std::vector<uint32_t> &All = W.kernel().MatrixRows;
  auto It = std::lower_bound(All.begin(), All.end(), Row);
  return RowStates[static_cast<size_t>(It - All.begin())];
}

bool WarpAsync::objectTo(const Instruction &I, const PendingRow &P) {
  W.report(FindingKind::PendingRegister, I, 0,
           std::string(P.IsResult ? "an accumulator" : "a register of A") +
               " that a wgmma (" + W.kernel().pointOf(P.Statement) +
               ") still uses: no wgmma.wait_group covers it");
  return false;
}

bool WarpAsync::touch(const Instruction &I, uint32_t Mask) {
  const std::vector<uint32_t> &All = W.kernel().MatrixRows;
  const uint32_t *Uses = &W.kernel().Uses[I.Uses];
  for (unsigned N = 0; N < unsigned(I.Reads + I.Writes); ++N) {
    if (!std::binary_search(All.begin(), All.end(), Uses[N]))
      continue;
    bool Writes = N >= I.Reads;
    if (const PendingRow *P = pendingOf(Uses[N]))
      if (Writes || P->IsResult)
        return objectTo(I, *P);
    if (Mask != 0)
      stateOf(Uses[N]) |= Touched | (Writes ? Written : 0);
  }
  return true;
}

bool WarpAsync::mayIssue(const Instruction &I, const MatrixRows &Rows,
                         bool Adds) {
  auto Refuse = [&](FindingKind Kind, const char *Text) {
    W.report(Kind, I, 0, Text);
    return false;
  };
  if (!Fenced)
    return Refuse(FindingKind::MissingMatrixFence,
                  "no wgmma.fence before the first wgmma");
  for (unsigned N = 0; N < Rows.CountA; ++N) {
    if (const PendingRow *P = pendingOf(Rows.A[N]); P && P->IsResult)
      return objectTo(I, *P);
    if (stateOf(Rows.A[N]) & Touched)
      return Refuse(FindingKind::MissingMatrixFence,
                    "no wgmma.fence since a register of A was used");
  }
  for (unsigned N = 0; N < Rows.CountD; ++N) {
    if (const PendingRow *P = pendingOf(Rows.D[N]); P && !P->IsResult)
      return objectTo(I, *P);
    uint8_t State = stateOf(Rows.D[N]);
    if (State & Touched)
      return Refuse(FindingKind::MissingMatrixFence,
                    "no wgmma.fence since an accumulator was used");
    if (Adds && !(State & (Written | IsResult)))
      return Refuse(FindingKind::UninitialisedRegister,
                    "adds to an accumulator that was never written");
  }
  return true;
}

void WarpAsync::addMatrix(const Instruction &I, const MatrixRows &Rows,
                          uint64_t Id, uint32_t Clock) {
  Matrix.add(Id, Clock);
  auto Add = [&](const uint32_t *All, unsigned Count, bool Result) {
    for (unsigned N = 0; N < Count; ++N) {
      PendingRow P{All[N], I.Statement, Result};
      PendingGroups.back().push_back(P);
      auto It = std::lower_bound(
          Pending.begin(), Pending.end(), P.Row,
          [](const PendingRow &Q, uint32_t Wanted) { return Q.Row < Wanted; });
      if (It != Pending.end() && It->Row == P.Row)
        *It = P;
      else
        Pending.insert(It, P);
      if (Result)
        stateOf(P.Row) |= IsResult;
    }
  };
  Add(Rows.D, Rows.CountD, true);
  Add(Rows.A, Rows.CountA, false);
}

void WarpAsync::fenceMatrix() {
  Fenced = true;
  for (uint8_t &State : RowStates)
    State &= uint8_t(~Touched);
}

void WarpAsync::commitMatrix() {
  Matrix.commit();
  PendingGroups.emplace_back();
}

void WarpAsync::waitMatrix(uint64_t Left) {
  for (const CommitGroups::Member &M : Matrix.covered(Left, true)) {
    W.block().queue().finish(M.Id);
    learn(W, AgentKind::Matrix, M.Clock);
  }
  size_t Committed = PendingGroups.size() - 1;
  if (Committed <= Left)
    return;
  PendingGroups.erase(PendingGroups.begin(),
                      PendingGroups.begin() +
                          static_cast<std::ptrdiff_t>(Committed - Left));
  Pending.clear();
  for (const auto &Group : PendingGroups)
    Pending.insert(Pending.end(), Group.begin(), Group.end());
  std::sort(Pending.begin(), Pending.end(),
            [](const PendingRow &A, const PendingRow &B) {
              return std::tie(A.Row, A.Statement) <
                     std::tie(B.Row, B.Statement);
            });
}

} // namespace kpc::emulator
