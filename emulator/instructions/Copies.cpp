//===- Copies.cpp - cp.async, bulk and tensor copies ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous Copy",
// "Tensor Data". Copies are done when they are issued, and wait instructions
// have no effect; what a copy writes is known to others through its mbarrier
// only.

#include "emulator/instructions/Copies.h"
#include "emulator/execute/Cta.h"
#include "emulator/execute/Windows.h"
#include "emulator/instructions/Opcodes.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

/// A global address of a copy; the instruction's space is of no account.
uint8_t *locateGlobal(Warp &W, const Instruction &I, uint64_t Address,
                      unsigned Bytes, MemoryUse Use, unsigned Lane) {
  Instruction Plain = I;
  Plain.Where = Space::Global;
  return W.locate(Plain, Address, Bytes, Use, Lane);
}

void complete(Warp &W, const Instruction &I, unsigned Lane, uint64_t Barrier,
              uint64_t Bytes, uint32_t Clock) {
  uint64_t Offset = Barrier & ~WindowMask;
  AsyncBarrier *B = W.block().asyncBarrier(Offset);
  if (!B)
    return W.report(FindingKind::BarrierMisuse, I, Lane,
                    "no mbarrier was initialised there");
  B->Joined[AsyncAgent] = std::max(B->Joined[AsyncAgent], Clock);
  B->Bytes -= int64_t(Bytes);
  W.block().settle(Offset, *B);
}

namespace {

void nothing(Warp &, const Instruction &, uint32_t) {}

//===----------------------------------------------------------------------===//
// cp.async: Bytes in all, Source[1] the bytes that are read
//===----------------------------------------------------------------------===//

void copySmall(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  Instruction Shared = I;
  Shared.Where = Space::Shared;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    unsigned Read = I.Bytes;
    if (I.Source[1] != NoRow)
      Read = std::min(Read, W.row<uint32_t>(I.Source[1])[L]);
    uint8_t *To =
        W.locate(Shared, W.addressOf(A[0], L), I.Bytes, MemoryUse::Write, L);
    if (!To)
      return;
    std::memset(To, 0, I.Bytes);
    if (Read == 0)
      continue;
    uint8_t *From =
        locateGlobal(W, I, W.addressOf(A[1], L), I.Bytes, MemoryUse::Read, L);
    if (!From)
      return;
    std::memcpy(To, From, Read);
  }
}

bool decodeSmall(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  if (M.take("commit_group") || M.take("wait_all") || M.take("wait_group")) {
    I.Run = nothing;
    return true;
  }
  if (!M.takeOne({"ca", "cg"}) || !M.takeOne({"shared", "shared::cta"}) ||
      !M.take("global"))
    return false;
  M.takeOne({"L2::64B", "L2::128B", "L2::256B"});
  if (S.Operands.size() != 3 && S.Operands.size() != 4)
    return D.fail("wrong number of operands");
  auto Bytes = D.immediate(S.Operands[2]);
  if (!Bytes || (*Bytes != 4 && *Bytes != 8 && *Bytes != 16))
    return false;
  I.Bytes = uint8_t(*Bytes);
  if (S.Operands.size() == 4) {
    auto Row = D.source(S.Operands[3], 32);
    if (!Row)
      return false;
    I.Source[1] = *Row;
  }
  I.Run = copySmall;
  return D.addAddress(S.Operands[0], I, Space::Shared) &&
         D.addAddress(S.Operands[1], I, Space::Global);
}

//===----------------------------------------------------------------------===//
// Linear bulk copies: Mode 1 stores. Addresses: to, from, mbarrier
//===----------------------------------------------------------------------===//

void copyBulk(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  bool Stores = I.Mode != 0;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t To = W.addressOf(A[0], L), From = W.addressOf(A[1], L);
    uint32_t Bytes = W.row<uint32_t>(I.Source[1])[L];
    if (Bytes % 16 || To % 16 || From % 16)
      return W.report(FindingKind::Misaligned, I, L,
                      "addresses and size are multiples of 16");
    AgentWrites Agent(W, W.block());
    for (uint32_t At = 0; At < Bytes; At += 16) {
      uint8_t *Shared =
          W.locateAsync(I, (Stores ? From : To) + At, 16,
                        Stores ? MemoryUse::Read : MemoryUse::Write, L);
      uint8_t *Global =
          Shared ? locateGlobal(W, I, (Stores ? To : From) + At, 16,
                                Stores ? MemoryUse::Write : MemoryUse::Read, L)
                 : nullptr;
      if (!Global)
        return;
      std::memcpy(Stores ? Global : Shared, Stores ? Shared : Global, 16);
    }
    if (!Stores)
      complete(W, I, L, W.addressOf(A[2], L), Bytes, Agent.clock());
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool decodeLinear(Decoder &D, const ptx::Statement &S, Instruction &I,
                  bool Stores) {
  if (S.Operands.size() != (Stores ? 3u : 4u))
    return D.fail("wrong number of operands");
  auto Bytes = D.source(S.Operands[2], 32);
  Space To = Stores ? Space::Global : Space::Shared,
        From = Stores ? Space::Shared : Space::Global;
  if (!Bytes || !D.addAddress(S.Operands[0], I, To) ||
      !D.addAddress(S.Operands[1], I, From) ||
      (!Stores && !D.addAddress(S.Operands[3], I, Space::Shared)))
    return false;
  I.Source[1] = *Bytes;
  I.Run = copyBulk;
  return true;
}

bool decodeBulk(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  if (M.take("commit_group") || M.take("wait_group")) {
    M.take("read");
    I.Run = nothing;
    return true;
  }
  bool Tensor = M.take("tensor");
  const std::vector<std::string> &Words = S.Modifiers;
  auto Place = [&](const char *Word) {
    return std::find(Words.begin(), Words.end(), Word) - Words.begin();
  };
  bool Stores = M.take("bulk_group");
  if (!M.take("global") || !M.takeOne({"shared::cta", "shared::cluster"}))
    return false;
  // The destination's space is written first.
  bool GlobalFirst = Place("global") <
                     std::min(Place("shared::cta"), Place("shared::cluster"));
  if (GlobalFirst != Stores ||
      (!Stores && !M.take("mbarrier::complete_tx::bytes")))
    return false;
  I.Mode = Stores;
  return Tensor ? decodeTensorCopy(D, S, M, I, Stores)
                : decodeLinear(D, S, I, Stores);
}

bool decodeCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  if (!M.take("async"))
    return false;
  return M.take("bulk") ? decodeBulk(D, S, M, I) : decodeSmall(D, S, M, I);
}

} // namespace

void addCopies(OpcodeTable &Table) { Table["cp"] = decodeCopy; }

} // namespace kpc::emulator
