//===- WarpMemory.cpp - Addresses to host memory, checked -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/AddressText.h"
#include "emulator/execute/Cluster.h"
#include "emulator/program/Windows.h"

namespace kpc::emulator {

uint8_t *Warp::outside(const Instruction &I, unsigned Bytes, unsigned Lane,
                       const std::string &What) {
  report(FindingKind::OutOfBounds, I, Lane,
         std::to_string(Bytes) + " bytes at " + What);
  return nullptr;
}

static Space spaceOf(const Instruction &I, uint64_t Address) {
  if (I.Where != Space::Generic)
    return I.Where;
  uint64_t Window = Address & WindowMask;
  return Window == SharedWindow  ? Space::Shared
         : Window == LocalWindow ? Space::Local
         : Window == ParamWindow ? Space::Param
                                 : Space::Global;
}

static bool isInDevice(Space Where) {
  return Where == Space::Global || Where == Space::Const;
}

bool Warp::isAligned(const Instruction &I, uint64_t Address, unsigned Bytes,
                     unsigned Lane) {
  if (!(Address & (Bytes - 1)))
    return true;
  bool InDevice = isInDevice(spaceOf(I, Address));
  if (I.Where == Space::Generic && !InDevice)
    Address &= ~WindowMask;
  report(FindingKind::Misaligned, I, Lane,
         "address " +
             (InDevice ? addressText(Block->launch(), Address) + ","
                       : hexadecimal(Address)) +
             " is no multiple of " + std::to_string(Bytes));
  return false;
}

uint8_t *Warp::locate(const Instruction &I, uint64_t Address, unsigned Bytes,
                      MemoryUse Use, unsigned Lane) {
  if (!isAligned(I, Address, Bytes, Lane))
    return nullptr;
  Space Where = spaceOf(I, Address);
  if (I.Where == Space::Generic && !isInDevice(Where))
    Address &= ~WindowMask;
  switch (Where) {
  case Space::Shared:
    return locateShared(I, Address, Bytes, Use, Lane, nullptr);
  case Space::Local: {
    uint64_t Size = K->LocalBytes;
    if (Address > Size || Size - Address < Bytes)
      return outside(I, Bytes, Lane, hexadecimal(Address) + " of local memory");
    return Locals.data() + Lane * Size + Address;
  }
  case Space::Param: {
    std::vector<uint8_t> &P = Block->launch().Parameters;
    if (Address > P.size() || P.size() - Address < Bytes)
      return outside(I, Bytes, Lane,
                     hexadecimal(Address) + " of the parameters");
    if (Use != MemoryUse::Read && Use != MemoryUse::StrongRead) {
      report(FindingKind::WriteToReadOnly, I, Lane, "parameters are read-only");
      return nullptr;
    }
    return P.data() + Address;
  }
  default:
    return locateDevice(I, Address, Bytes, Use, Lane);
  }
}

uint8_t *Warp::locateDevice(const Instruction &I, uint64_t Address,
                            unsigned Bytes, MemoryUse Use, unsigned Lane,
                            const Agent *By) {
  bool Inside = Address >= Recent.Begin && Address < Recent.End &&
                Recent.End - Address >= Bytes;
  if (!Inside) {
    const MemoryRange *R = findRange(*Block->launch().Memory, Address);
    if (R && !R->Live) {
      report(FindingKind::UseAfterFree, I, Lane,
             std::to_string(Bytes) + " bytes at " +
                 addressText(Block->launch(), Address));
      return nullptr;
    }
    if (!R || R->End - Address < Bytes)
      return outside(I, Bytes, Lane,
                     addressText(Block->launch(), Address) +
                         (R ? ", cross its end" : ""));
    Recent = *R;
    RecentNumber = size_t(R - Block->launch().Memory->data());
  }
  bool Writes = Use == MemoryUse::Write || Use == MemoryUse::Atomic;
  if (!HasWaited && (Writes || Recent.Written)) {
    report(FindingKind::BeforeGridWait, I, Lane,
           std::string(Writes ? "writes to " : "reads what a kernel wrote, ") +
               addressText(Block->launch(), Address) +
               ", while kernels that it depends on may still run");
    return nullptr;
  }
  if (Writes)
    Block->launch().Written[RecentNumber].store(true,
                                                std::memory_order_relaxed);
  if (Writes && Recent.ReadOnly) {
    report(FindingKind::WriteToReadOnly, I, Lane,
           placeOf(Block->launch(), Address) + " is .const");
    return nullptr;
  }
  if (Block->launch().Global && !Recent.ReadOnly &&
      !checkGlobal(I, Address, Bytes, Use, Lane, By))
    return nullptr;
  return reinterpret_cast<uint8_t *>(Address);
}

bool Warp::checkGlobal(const Instruction &I, uint64_t Address, unsigned Bytes,
                       MemoryUse Use, unsigned Lane, const Agent *By) {
  bool Writes = Use == MemoryUse::Write || Use == MemoryUse::Atomic;
  uint32_t Clock = this->Mine.Known[Self];
  if (By)
    Clock = By->Clock;
  else if (Use == MemoryUse::Atomic && FencedRelease)
    Clock = FenceClock; // who learns what was before the fence learns this, too
  GlobalEvent Mine{
      Block->cluster().number(), Clock,        I.Statement, By ? By->Id : Self,
      Use >= MemoryUse::Atomic,  By != nullptr};
  GlobalEvent Other;
  bool OtherWrote = false;
  if (Block->launch().Global->access(Address, Bytes, Writes, Mine, this->Mine,
                                     Near, Other, OtherWrote))
    return true;
  std::string Whose =
      Other.Cluster == Mine.Cluster
          ? std::string()
          : (Block->cluster().size() > 1 ? " of cluster " : " of block ") +
                std::to_string(Other.Cluster);
  report(FindingKind::GlobalRace, I, Lane,
         "nothing orders this access to " + placeOf(Block->launch(), Address) +
             " and where " + Block->agents().nameOf(Other.Agent) + Whose +
             (OtherWrote ? " writes (" : " reads (") +
             K->pointOf(Other.Statement) + ")");
  return false;
}

ForeignMap Warp::released() const {
  ForeignMap Out;
  if (Mine.Foreign)
    Out = *Mine.Foreign;
  Out[Block->cluster().number()] = Mine.Known;
  return Out;
}

void Warp::acquire(const ForeignMap &What) {
  Mine.Foreign = merged(Mine.Foreign, std::make_shared<const ForeignMap>(What));
  auto It = What.find(Block->cluster().number());
  if (It == What.end())
    return;
  for (size_t N = 0; N < It->second.size(); ++N)
    Mine.Known[N] = std::max(Mine.Known[N], It->second[N]);
}

void Warp::fenceDevice() {
  if (!Block->launch().Global)
    return;
  if (Found)
    acquire(*Found);
  Found.reset();
  FencedRelease = std::make_shared<const ForeignMap>(released());
  FenceClock = Mine.Known[Self];
  tick();
}

void Warp::publish(uint64_t Address, bool Releases) {
  GlobalShadow *G = Block->launch().Global.get();
  if (!G)
    return;
  if (Releases) {
    G->release(Address, released());
    tick();
  } else if (FencedRelease) {
    G->release(Address, *FencedRelease);
  }
}

void Warp::observe(uint64_t Address, bool Acquires) {
  GlobalShadow *G = Block->launch().Global.get();
  auto There = G ? G->found(Address) : nullptr;
  if (!There)
    return;
  if (Acquires)
    acquire(*There);
  else
    Found = merged(Found, There);
}

/// What the shadow objects to.
uint8_t *Warp::object(const Instruction &I, uint64_t Offset, unsigned Lane,
                      const Conflict &C, const SharedAccess &A) {
  std::string Byte = "byte " + std::to_string(Offset);
  if (C.TheKind == Conflict::Kind::Uninitialised) {
    report(FindingKind::UninitialisedShared, I, Lane,
           Byte + " was never written");
    return nullptr;
  }
  const Agents &Of = Block->agents();
  std::string Earlier = Of.nameOf(C.Other) +
                        (C.OtherWrote ? " writes (" : " reads (") +
                        K->pointOf(C.OtherStatement) + ")";
  if (C.TheKind == Conflict::Kind::Unfenced) {
    report(FindingKind::MissingProxyFence, I, Lane,
           "no fence.proxy.async by the writer between where " + Earlier +
               " and this access to " + Byte + " by the async proxy");
    return nullptr;
  }
  bool OtherIsAsync = Of.kindOf(C.Other) != AgentKind::Warp;
  bool IsAsync = Of.kindOf(A.Agent) != AgentKind::Warp;
  auto Kind = FindingKind::SharedRace;
  if (OtherIsAsync && C.OtherWrote && A.Use == SharedUse::Read)
    Kind = FindingKind::ReadBeforeWait;
  else if (!C.OtherWrote && (OtherIsAsync || IsAsync))
    Kind = FindingKind::SlotReused;
  report(Kind, I, Lane,
         "nothing orders this access to " + Byte + " and where " + Earlier);
  return nullptr;
}

uint8_t *Warp::locateShared(const Instruction &I, uint64_t Offset,
                            unsigned Bytes, MemoryUse Use, unsigned Lane,
                            const Agent *By) {
  uint64_t Size = Block->sharedBytes();
  Cta *Of = Block->blockOf(Offset);
  if (!Of || Offset > Size || Size - Offset < Bytes)
    return outside(
        I, Bytes, Lane,
        hexadecimal(Offset) + " of shared memory" +
            (Of ? ", which has " + std::to_string(Size) + " bytes"
                : std::string(" of a block that the cluster has not")));
  if (Of != Block && Of->isOver()) {
    report(FindingKind::EndedBlock, I, Lane,
           "the block of cluster rank " + std::to_string(Of->rank()) +
               " has ended");
    return nullptr;
  }
  if (SharedShadow *S = Of->shadow()) {
    SharedAccess A{By ? By->Id : Self, By ? By->Clock : Mine.Known[Self],
                   I.Statement,
                   Use == MemoryUse::StrongRead ? SharedUse::Atomic
                                                : static_cast<SharedUse>(Use),
                   By && By->Proxy};
    Conflict C = S->access(Offset, Bytes, A, Mine);
    if (C.TheKind != Conflict::Kind::None)
      return object(I, Offset, Lane, C, A);
    if (Of != Block && Block->agents().rankOf(A.Agent) != Of->rank())
      Of->noteForeign(A);
  }
  return Of->shared() + Offset;
}

uint8_t *Warp::locateAsync(const Instruction &I, uint64_t Offset,
                           unsigned Bytes, MemoryUse Use, unsigned Lane,
                           const Agent &By) {
  return locateShared(I, Offset & ~WindowMask, Bytes, Use, Lane, &By);
}

} // namespace kpc::emulator
