//===- BulkCopies.cpp - Linear bulk copies and bulk groups ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "cp.async.bulk", "cp.async.bulk.commit_group",
// "cp.async.bulk.wait_group".

#include "emulator/instructions/Copies.h"
#include "emulator/program/Windows.h"

namespace kpc::emulator {

namespace {

constexpr unsigned UnitBytes = 16;

/// Between the blocks of a cluster. Addresses: to, from, mbarrier; Source[1]
/// the size.
void copyAcross(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t To = W.addressOf(A[0], L), From = W.addressOf(A[1], L);
    uint32_t Bytes = W.row<uint32_t>(I.Source[1])[L];
    if (Bytes % UnitBytes || To % UnitBytes || From % UnitBytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "addresses and size are multiples of 16");
    BulkLoad Load;
    Load.Barrier = W.addressOf(A[2], L) & ~WindowMask;
    uint64_t There = To & ~WindowMask;
    Load.Block = W.block().blockOf(Load.Barrier);
    if (!Load.Block || Load.Block != W.block().blockOf(There))
      return W.report(FindingKind::BadOperand, I, L,
                      "destination and mbarrier are not in one block");
    AsyncBarrier *B = barrierForCopy(W, I, *Load.Block, Load.Barrier, L);
    if (!B)
      return;
    Warp::Agent By = W.block().begin(B->Agent, I);
    for (uint32_t At = 0; At < Bytes; At += UnitBytes) {
      uint8_t *Source =
          W.locateAsync(I, From + At, UnitBytes, MemoryUse::Read, L, By);
      uint8_t *Target =
          Source ? W.locateAsync(I, To + At, UnitBytes, MemoryUse::Write, L, By)
                 : nullptr;
      if (!Target)
        return;
      Load.Pieces.push_back({Target, Source, UnitBytes});
    }
    Load.Bytes = Bytes;
    startLoad(W, I, L, std::move(Load), By);
  }
}

bool decodeAcross(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  if (!M.take("mbarrier::complete_tx::bytes"))
    return false;
  if (S.Operands.size() != 4)
    return D.fail("wrong number of operands");
  auto Bytes = D.source(S.Operands[2], 32);
  if (!Bytes || !D.addAddress(S.Operands[0], I, Space::Shared) ||
      !D.addAddress(S.Operands[1], I, Space::Shared) ||
      !D.addAddress(S.Operands[3], I, Space::Shared))
    return false;
  I.Source[1] = *Bytes;
  I.Run = copyAcross;
  return true;
}

/// Mode 1 stores. Addresses: to, from, mbarrier; Source[1] the size.
void copyBulk(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  bool Stores = I.Mode != 0;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t To = W.addressOf(A[0], L), From = W.addressOf(A[1], L);
    uint32_t Bytes = W.row<uint32_t>(I.Source[1])[L];
    if (Bytes % UnitBytes || To % UnitBytes || From % UnitBytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "addresses and size are multiples of 16");
    BulkLoad Load;
    AgentId Id = W.block().agent(AgentKind::Store, W.number());
    if (!Stores) {
      Load.Barrier = W.addressOf(A[2], L) & ~WindowMask;
      uint64_t There = To & ~WindowMask;
      Load.Block = W.block().blockOf(Load.Barrier);
      if (!Load.Block || Load.Block != W.block().blockOf(There))
        return W.report(FindingKind::BadOperand, I, L,
                        "destination and mbarrier are not in one block");
      AsyncBarrier *B = barrierForCopy(W, I, *Load.Block, Load.Barrier, L);
      if (!B)
        return;
      Id = B->Agent;
    }
    Warp::Agent By = W.block().begin(Id, I);
    for (uint32_t At = 0; At < Bytes; At += UnitBytes) {
      uint8_t *Shared =
          W.locateAsync(I, (Stores ? From : To) + At, UnitBytes,
                        Stores ? MemoryUse::Read : MemoryUse::Write, L, By);
      uint8_t *Global =
          Shared ? W.locateDevice(I, (Stores ? To : From) + At, UnitBytes,
                                  Stores ? MemoryUse::Write : MemoryUse::Read,
                                  L, &By)
                 : nullptr;
      if (!Global)
        return;
      Load.Pieces.push_back({Shared, Global, UnitBytes});
    }
    Load.Bytes = Bytes;
    if (Stores)
      startStore(W, L, std::move(Load.Pieces), By);
    else
      startLoad(W, I, L, std::move(Load), By);
  }
}

/// Addresses: to, from; Source[1] the size; Immediate the reduction.
void reduceBulk(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t To = W.addressOf(A[0], L), From = W.addressOf(A[1], L);
    uint32_t Bytes = W.row<uint32_t>(I.Source[1])[L];
    if (Bytes % UnitBytes || To % UnitBytes || From % UnitBytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "addresses and size are multiples of 16");
    Warp::Agent By =
        W.block().begin(W.block().agent(AgentKind::Store, W.number()), I);
    std::vector<CopyPiece> Pieces;
    for (uint32_t At = 0; At < Bytes; At += UnitBytes) {
      uint8_t *Shared =
          W.locateAsync(I, From + At, UnitBytes, MemoryUse::Read, L, By);
      uint8_t *Global = Shared ? W.locateDevice(I, To + At, UnitBytes,
                                                MemoryUse::Atomic, L, &By)
                               : nullptr;
      if (!Global)
        return;
      Pieces.push_back({Shared, Global, UnitBytes});
    }
    startReduction(W, L, std::move(Pieces), Reduction::of(I.Immediate), By);
  }
}

bool decodeReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  bool Right = M.take("async") && M.take("bulk");
  bool Tensor = M.take("tensor");
  Right &= M.take("global") && M.take("shared::cta") && M.take("bulk_group");
  if (Tensor)
    return Right && decodeTensorReduce(D, S, M, I);
  std::optional<Reduction> How = Right ? takeReduction(M) : std::nullopt;
  if (!How)
    return false;
  size_t Hint = M.take("L2::cache_hint") ? 1 : 0;
  if (S.Operands.size() != 3 + Hint)
    return D.fail("wrong number of operands");
  auto Bytes = D.source(S.Operands[2], 32);
  if (!Bytes || !D.addAddress(S.Operands[0], I, Space::Global) ||
      !D.addAddress(S.Operands[1], I, Space::Shared) ||
      (Hint && !D.source(S.Operands.back(), 64)))
    return false;
  I.Source[1] = *Bytes;
  I.Immediate = How->packed();
  I.Run = reduceBulk;
  return true;
}

void commit(Warp &W, const Instruction &, uint32_t Mask) {
  W.async().commitStores(Mask);
}
/// Mode 1: .read.
void waitFor(Warp &W, const Instruction &I, uint32_t Mask) {
  W.async().waitStores(Mask, I.Immediate, I.Mode != 0);
}

bool decodeLinear(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I, bool Stores) {
  size_t Hint = M.take("L2::cache_hint") ? 1 : 0;
  if (S.Operands.size() != (Stores ? 3u : 4u) + Hint)
    return D.fail("wrong number of operands");
  auto Bytes = D.source(S.Operands[2], 32);
  Space To = Stores ? Space::Global : Space::Shared,
        From = Stores ? Space::Shared : Space::Global;
  if (!Bytes || !D.addAddress(S.Operands[0], I, To) ||
      !D.addAddress(S.Operands[1], I, From) ||
      (!Stores && !D.addAddress(S.Operands[3], I, Space::Shared)) ||
      (Hint && !D.source(S.Operands.back(), 64)))
    return false;
  I.Source[1] = *Bytes;
  I.Mode = Stores;
  I.Run = copyBulk;
  return true;
}

/// What is asked for must be there, as a copy's source must.
void prefetchBulk(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t From = W.addressOf(A[0], L);
    uint32_t Bytes = W.row<uint32_t>(I.Source[1])[L];
    if (Bytes % UnitBytes || From % UnitBytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "address and size are multiples of 16");
    for (uint32_t At = 0; At < Bytes; At += UnitBytes)
      if (!W.locateDevice(I, From + At, UnitBytes, MemoryUse::Read, L))
        return;
  }
}

bool decodePrefetch(Decoder &D, const ptx::Statement &S, Modifiers &M,
                    Instruction &I) {
  size_t Hint = M.take("L2::cache_hint") ? 1 : 0;
  if (!M.take("global") || S.Operands.size() != 2 + Hint)
    return D.fail("expected an address of global memory and a size");
  auto Bytes = D.source(S.Operands[1], 32);
  if (!Bytes || !D.addAddress(S.Operands[0], I, Space::Global) ||
      (Hint && !D.source(S.Operands.back(), 64)))
    return false;
  I.Source[1] = *Bytes;
  I.Run = prefetchBulk;
  return true;
}

bool decodeWait(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  auto Left =
      S.Operands.size() == 1 ? D.immediate(S.Operands[0]) : std::nullopt;
  I.Mode = M.take("read");
  I.Immediate = Left.value_or(0);
  I.Run = waitFor;
  return Left.has_value();
}

} // namespace

bool decodeBulkReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I) {
  return decodeReduce(D, S, M, I);
}

bool decodeBulkCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                    Instruction &I) {
  if (M.take("wait_group"))
    return decodeWait(D, S, M, I);
  if (M.take("commit_group")) {
    I.Run = commit;
    return S.Operands.empty();
  }
  if (M.take("prefetch"))
    return M.take("L2") && decodePrefetch(D, S, M, I);
  bool Tensor = M.take("tensor");
  const std::vector<std::string> &Words = S.Modifiers;
  auto Place = [&](const char *Word) {
    return std::find(Words.begin(), Words.end(), Word) - Words.begin();
  };
  bool Stores = M.take("bulk_group");
  bool Global = M.take("global");
  if (!Global && !Tensor && !Stores && M.take("shared::cluster") &&
      M.take("shared::cta"))
    return decodeAcross(D, S, M, I);
  if (!Global || !M.takeOne({"shared::cta", "shared::cluster"}))
    return false;
  // The destination's space is written first.
  bool GlobalFirst = Place("global") <
                     std::min(Place("shared::cta"), Place("shared::cluster"));
  if (GlobalFirst != Stores ||
      (!Stores && !M.take("mbarrier::complete_tx::bytes")))
    return false;
  return Tensor ? decodeTensorCopy(D, S, M, I, Stores)
                : decodeLinear(D, S, M, I, Stores);
}

} // namespace kpc::emulator
