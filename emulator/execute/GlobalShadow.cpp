//===- GlobalShadow.cpp - Who touched which global byte -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/GlobalShadow.h"

namespace kpc::emulator {

GlobalShadow::GlobalShadow(unsigned Threads) : Locks(Threads > 1) {
  Events.emplace_back(); // 0 is nobody
}

GlobalShadow::EventId GlobalShadow::idOf(const GlobalEvent &E, Cache &Near) {
  Cache::Known &K = Near.Events[E.Statement % Near.Events.size()];
  if (K.Id && K.Event == E)
    return K.Id;
  if (Events.size() >= IdMask)
    return 0;
  Events.push_back(E);
  K = {E, static_cast<EventId>(Events.size() - 1)};
  return K.Id;
}

GlobalShadow::Page *GlobalShadow::pageOf(uint64_t Number, Cache &Near) {
  auto &[Which, Found] = Near.Pages[Number % Near.Pages.size()];
  if (Found && Which == Number)
    return Found;
  auto It = Pages.find(Number);
  if (It == Pages.end()) {
    if (Pages.size() >= MaxPages)
      return nullptr;
    It = Pages.emplace(Number, std::make_unique<Page>()).first;
  }
  Which = Number;
  return Found = It->second.get();
}

bool GlobalShadow::isOrdered(const GlobalEvent &E, const GlobalEvent &By,
                             const Knowledge &Now) const {
  if (E.Cluster == By.Cluster) {
    // Threads of a warp go in step; what it has started does not.
    bool Own = E.Agent == By.Agent && (!By.Async || E.Clock == By.Clock);
    return Own || Now.Known[E.Agent] >= E.Clock;
  }
  if (!Now.Foreign)
    return false;
  auto It = Now.Foreign->find(E.Cluster);
  return It != Now.Foreign->end() && It->second[E.Agent] >= E.Clock;
}

const GlobalEvent *GlobalShadow::conflictIn(const uint32_t (&Slots)[2],
                                            uint32_t Bytes,
                                            const GlobalEvent &By,
                                            const Knowledge &Now) const {
  for (uint32_t Slot : Slots) {
    if (!(Slot >> 28 & Bytes))
      continue;
    const GlobalEvent &E = Events[Slot & IdMask];
    if (!(E.Atomic && By.Atomic) && !isOrdered(E, By, Now))
      return &E;
  }
  return nullptr;
}

/// An entry that the new one covers is replaced first, then an empty one, then
/// the older one.
void GlobalShadow::put(uint32_t (&Slots)[2], EventId Id, uint32_t Bytes) {
  for (uint32_t &Slot : Slots)
    if (Slot && (Slot & IdMask) == Id) {
      Slot |= Bytes << 28;
      return;
    }
  uint32_t New = Id | Bytes << 28;
  for (uint32_t &Slot : Slots)
    if (!(Slot >> 28 & ~Bytes)) {
      Slot = New;
      return;
    }
  Slots[0] = Slots[1];
  Slots[1] = New;
}

bool GlobalShadow::access(uint64_t Address, uint64_t Bytes, bool Writes,
                          const GlobalEvent &By, const Knowledge &Now,
                          Cache &Near, GlobalEvent &Other, bool &OtherWrote) {
  std::unique_lock<std::mutex> Guard(Lock, std::defer_lock);
  if (Locks)
    Guard.lock();
  EventId Id = idOf(By, Near);
  if (!Id)
    return true;
  for (uint64_t At = Address, End = Address + Bytes; At < End;) {
    uint64_t Next = std::min(End, (At / CellBytes + 1) * CellBytes);
    uint32_t Touched = ((1u << (Next - At)) - 1) << At % CellBytes;
    Page *P = pageOf(At / PageBytes, Near);
    if (!P)
      return true;
    Cell &C = (*P)[At % PageBytes / CellBytes];
    const GlobalEvent *Bad = conflictIn(C.Writes, Touched, By, Now);
    OtherWrote = Bad != nullptr;
    if (!Bad && Writes)
      Bad = conflictIn(C.Reads, Touched, By, Now);
    if (Bad) {
      Other = *Bad;
      return false;
    }
    if (Writes) {
      put(C.Writes, Id, Touched);
      for (uint32_t &Slot : C.Reads) // what it covers came before
        if (!(Slot >> 28 & ~Touched))
          Slot = 0;
    } else {
      put(C.Reads, Id, Touched);
    }
    At = Next;
  }
  return true;
}

void GlobalShadow::release(uint64_t Address, const ForeignMap &What) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto &At = Released[Address];
  At = merged(At, std::make_shared<const ForeignMap>(What));
}

std::shared_ptr<const ForeignMap> GlobalShadow::found(uint64_t Address) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto It = Released.find(Address);
  return It == Released.end() ? nullptr : It->second;
}

} // namespace kpc::emulator
