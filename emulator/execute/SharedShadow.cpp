//===- SharedShadow.cpp - Who touched which shared byte -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/SharedShadow.h"

namespace kpc::emulator {

std::string Agents::nameOf(AgentId Id) const {
  unsigned Number = Id % perCta() % Warps;
  std::string Warp = "warp " + std::to_string(Number);
  std::string Where =
      Ranks > 1 ? " of cluster rank " + std::to_string(rankOf(Id)) : "";
  switch (kindOf(Id)) {
  case AgentKind::Warp:
    return Warp + Where;
  case AgentKind::Matrix:
    return "a wgmma of " + Warp + Where;
  case AgentKind::Store:
    return "a bulk store of " + Warp + Where;
  case AgentKind::Small:
    return "a cp.async of " + Warp + Where;
  case AgentKind::TensorMatrix:
    return "a tcgen05.mma of " + Warp + Where;
  case AgentKind::TensorCopy:
    return "a tcgen05.cp of " + Warp + Where;
  case AgentKind::TensorLoad:
    return "a tcgen05.ld of " + Warp + Where;
  case AgentKind::TensorStore:
    return "a tcgen05.st of " + Warp + Where;
  case AgentKind::Barrier:
    return "a bulk copy" + Where;
  }
  return {};
}

std::shared_ptr<const ForeignMap>
merged(const std::shared_ptr<const ForeignMap> &A,
       const std::shared_ptr<const ForeignMap> &B) {
  if (!A || !B)
    return A ? A : B;
  auto Out = std::make_shared<ForeignMap>(*A);
  for (const auto &[Cluster, Theirs] : *B) {
    std::vector<uint32_t> &Mine = (*Out)[Cluster];
    Mine.resize(std::max(Mine.size(), Theirs.size()));
    for (size_t N = 0; N < Theirs.size(); ++N)
      Mine[N] = std::max(Mine[N], Theirs[N]);
  }
  return Out;
}

void SharedShadow::reset(uint64_t Bytes, const Agents &TheAgents) {
  Of = TheAgents;
  // Cells of the lower levels are filled when one above is split.
  for (unsigned L = 0; L < Levels; ++L)
    Cells[L].resize((Bytes + 15) / 16 << (4 - Shift[L]));
  std::fill(Cells[Levels - 1].begin(), Cells[Levels - 1].end(), Cell{});
  Pool.clear();
  Free = NoReader;
}

uint32_t SharedShadow::makeReader(const Reader &R) {
  if (Free == NoReader) {
    Pool.push_back(R);
    return static_cast<uint32_t>(Pool.size() - 1);
  }
  uint32_t At = Free;
  Free = Pool[At].Next;
  Pool[At] = R;
  return At;
}

void SharedShadow::freeReaders(Cell &C) {
  while (C.Readers != NoReader) {
    uint32_t At = C.Readers;
    C.Readers = Pool[At].Next;
    Pool[At].Next = Free;
    Free = At;
  }
}

/// The agent's own entry becomes newer; so does one that this read is known to
/// come after.
void SharedShadow::addReader(Cell &C, const SharedAccess &A,
                             const Knowledge &Now) {
  for (uint32_t At = C.Readers; At != NoReader; At = Pool[At].Next) {
    Reader &R = Pool[At];
    if (R.Agent != A.Agent && Now.Known[R.Agent] < R.Clock)
      continue;
    R.Clock = A.Clock;
    R.Statement = A.Statement;
    R.Agent = A.Agent;
    return;
  }
  C.Readers = makeReader({A.Clock, A.Statement, C.Readers, A.Agent});
}

Conflict SharedShadow::check(Cell &C, const SharedAccess &A,
                             const Knowledge &Now) {
  bool Reads = A.Use != SharedUse::Write, Stores = A.Use != SharedUse::Read;
  bool Sync = Of.kindOf(A.Agent) == AgentKind::Warp;
  if (C.Agent == NoAgent) {
    if (Reads)
      return {Conflict::Kind::Uninitialised};
  } else {
    bool Own = C.Agent == A.Agent && (Sync || C.Clock == A.Clock);
    bool BothAtomic = C.Atomic && A.Use == SharedUse::Atomic;
    if (!Own && !BothAtomic && Now.Known[C.Agent] < C.Clock)
      return {Conflict::Kind::Unordered, C.Agent, true, C.Statement, C.Clock};
    bool Generic = Of.kindOf(C.Agent) == AgentKind::Warp ||
                   Of.kindOf(C.Agent) == AgentKind::Small;
    if (A.Async && Reads && Generic && Now.Fenced[C.Agent] < C.Clock)
      return {Conflict::Kind::Unfenced, C.Agent, true, C.Statement, C.Clock};
  }
  if (!Stores) {
    addReader(C, A, Now);
    return {};
  }
  for (uint32_t At = C.Readers; At != NoReader; At = Pool[At].Next) {
    const Reader &R = Pool[At];
    bool Own = R.Agent == A.Agent && Sync;
    if (!Own && Now.Known[R.Agent] < R.Clock)
      return {Conflict::Kind::Unordered, R.Agent, false, R.Statement, R.Clock};
  }
  freeReaders(C);
  C.Clock = A.Clock;
  C.Statement = A.Statement;
  C.Agent = A.Agent;
  C.Atomic = A.Use == SharedUse::Atomic;
  return {};
}

void SharedShadow::split(unsigned Level, uint64_t Index) {
  Cell &Whole = Cells[Level][Index];
  if (Whole.Split)
    return;
  for (uint64_t Part = 0; Part < 4; ++Part) {
    Cell &C = Cells[Level - 1][Index * 4 + Part];
    C = Whole;
    C.Readers = NoReader;
    for (uint32_t At = Whole.Readers; At != NoReader; At = Pool[At].Next) {
      Reader Copy = Pool[At];
      Copy.Next = C.Readers;
      C.Readers = makeReader(Copy);
    }
  }
  freeReaders(Whole);
  Whole.Split = true;
}

Conflict SharedShadow::visit(unsigned Level, uint64_t Index,
                             const SharedAccess &A, const Knowledge &Now) {
  if (Level == 0 || !Cells[Level][Index].Split)
    return check(Cells[Level][Index], A, Now);
  for (uint64_t Part = 0; Part < 4; ++Part)
    if (Conflict C = visit(Level - 1, Index * 4 + Part, A, Now);
        C.TheKind != Conflict::Kind::None)
      return C;
  if (A.Use != SharedUse::Read) { // all parts are alike now
    Cells[Level][Index] = Cells[Level - 1][Index * 4];
  }
  return {};
}

void SharedShadow::clear(unsigned Level, uint64_t Index) {
  Cell &C = Cells[Level][Index];
  if (Level > 0 && C.Split)
    for (uint64_t Part = 0; Part < 4; ++Part)
      clear(Level - 1, Index * 4 + Part);
  else
    freeReaders(C);
  C = Cell{};
}

void SharedShadow::forget(uint64_t Offset, uint64_t Bytes) {
  constexpr unsigned Top = Levels - 1;
  for (uint64_t At = Offset >> Shift[Top]; At << Shift[Top] < Offset + Bytes;
       ++At)
    clear(Top, At);
}

Conflict SharedShadow::access(uint64_t Offset, unsigned Bytes,
                              const SharedAccess &A, const Knowledge &Now) {
  uint64_t End = Offset + Bytes;
  for (uint64_t At = Offset; At < End;) {
    unsigned Level = Levels - 1;
    while (Level > 0 &&
           (At & ((1u << Shift[Level]) - 1) || End - At < 1u << Shift[Level]))
      --Level;
    for (unsigned Above = Levels - 1; Above > Level; --Above)
      split(Above, At >> Shift[Above]);
    Conflict C = visit(Level, At >> Shift[Level], A, Now);
    if (C.TheKind != Conflict::Kind::None)
      return C;
    At += uint64_t{1} << Shift[Level];
  }
  return {};
}

} // namespace kpc::emulator
