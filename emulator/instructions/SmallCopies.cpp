//===- SmallCopies.cpp - cp.async ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "cp.async", "cp.async.commit_group", "cp.async.wait_group",
// "cp.async.mbarrier.arrive". Groups are the warp's, not each thread's.

#include "emulator/instructions/Copies.h"
#include "emulator/program/Windows.h"

#include <cstring>

namespace kpc::emulator {

namespace {

/// What one instruction copies for all lanes.
class SmallOperation final : public AsyncOperation {
public:
  struct Piece {
    uint8_t *To;
    const uint8_t *From;
    unsigned Read, Bytes;
  };
  explicit SmallOperation(std::vector<Piece> Pieces)
      : AsyncOperation(1, NoAgent), Pieces(std::move(Pieces)) {}

private:
  void step(unsigned) override {
    for (const Piece &P : Pieces) {
      std::memset(P.To, 0, P.Bytes);
      if (P.Read)
        std::memcpy(P.To, P.From, P.Read);
    }
  }
  std::vector<Piece> Pieces;
};

/// Where `Read` bytes come from: the address is a multiple of all bytes, but no
/// others are read (PTX ISA, "cp.async": src-size).
const uint8_t *locateRead(Warp &W, const Instruction &Global, uint64_t Address,
                          unsigned Lane, unsigned Read) {
  if (Address % Global.Bytes) {
    W.report(FindingKind::Misaligned, Global, Lane,
             "the global address is no multiple of the size");
    return nullptr;
  }
  // In pieces that are aligned as well.
  unsigned Unit = Read & (0u - Read);
  const uint8_t *First = nullptr;
  for (unsigned Byte = 0; Byte < Read; Byte += Unit) {
    const uint8_t *One =
        W.locate(Global, Address + Byte, Unit, MemoryUse::Read, Lane);
    if (!One)
      return nullptr;
    if (!First)
      First = One;
  }
  return First;
}

/// Source[1]: the bytes that are read, if fewer than Bytes.
void copySmall(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  Instruction Global = I;
  Global.Where = Space::Global;
  Warp::Agent By =
      W.block().begin(W.block().agent(AgentKind::Small, W.number()), I, false);
  std::vector<SmallOperation::Piece> Pieces;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    SmallOperation::Piece P{nullptr, nullptr, I.Bytes, I.Bytes};
    if (I.Source[1] != NoRow)
      P.Read = std::min(P.Read, W.row<uint32_t>(I.Source[1])[L]);
    uint64_t To = W.addressOf(A[0], L) & ~WindowMask;
    if (To % I.Bytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "the shared address is no multiple of the size");
    P.To = W.locateAsync(I, To, I.Bytes, MemoryUse::Write, L, By);
    if (!P.To)
      return;
    if (P.Read)
      P.From = locateRead(W, Global, W.addressOf(A[1], L), L, P.Read);
    if (P.Read && !P.From)
      return;
    Pieces.push_back(P);
  }
  uint64_t Id =
      W.block().start(std::make_unique<SmallOperation>(std::move(Pieces)));
  W.async().addSmall(Id, By.Clock);
}

void commit(Warp &W, const Instruction &, uint32_t) { W.async().commitSmall(); }
void waitFor(Warp &W, const Instruction &I, uint32_t) {
  W.async().waitSmall(I.Immediate);
}
void waitForAll(Warp &W, const Instruction &, uint32_t) {
  W.async().waitAllSmall();
}

bool decodeGroups(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I, bool &Known) {
  auto Which = M.takeOne({"commit_group", "wait_all", "wait_group"});
  Known = Which.has_value();
  if (!Known)
    return true;
  I.Run = *Which == 0 ? commit : *Which == 1 ? waitForAll : waitFor;
  if (*Which != 2)
    return S.Operands.empty();
  auto Left =
      S.Operands.size() == 1 ? D.immediate(S.Operands[0]) : std::nullopt;
  I.Immediate = Left.value_or(0);
  return Left.has_value();
}

//===----------------------------------------------------------------------===//
// cp.async.mbarrier.arrive: Mode 1 is .noinc
//===----------------------------------------------------------------------===//

/// The lanes arrive when what they have started before is done.
class ArriveOperation final : public AsyncOperation {
public:
  ArriveOperation(Warp &W, const Instruction &I, uint64_t Barrier,
                  uint32_t Lanes, std::vector<CommitGroups::Member> Before)
      : AsyncOperation(1, NoAgent), W(W), I(I), Barrier(Barrier), Lanes(Lanes),
        Before(std::move(Before)) {}

private:
  void step(unsigned) override {
    AsyncBarrier *B = W.block().asyncBarrier(Barrier);
    if (!B || B->Pending < Lanes)
      return W.report(FindingKind::BarrierMisuse, I, 0,
                      B ? "more threads arrive than the phase expects"
                        : "the mbarrier was invalidated");
    AgentId Agent = W.block().agent(AgentKind::Small, W.number());
    for (const CommitGroups::Member &M : Before) {
      W.block().queue().finish(M.Id);
      uint32_t &Known = B->Joined.Known[Agent];
      Known = std::max(Known, M.Clock);
    }
    B->Pending -= Lanes;
    B->Arrived |= 1u << W.number();
    W.block().settle(Barrier, *B);
  }
  Warp &W;
  const Instruction &I;
  uint64_t Barrier;
  uint32_t Lanes;
  std::vector<CommitGroups::Member> Before;
};

void arriveBehind(Warp &W, const Instruction &I, uint32_t Mask) {
  uint64_t At = W.addressOf(I, unsigned(std::countr_zero(Mask))) & ~WindowMask;
  AsyncBarrier *B = W.block().asyncBarrier(At);
  if (!B)
    return W.report(FindingKind::BarrierMisuse, I, 0,
                    "no mbarrier was initialised there");
  auto Lanes = unsigned(std::popcount(Mask));
  if (!(I.Mode & 1))
    B->Pending += Lanes;
  W.block().start(std::make_unique<ArriveOperation>(W, I, At, Lanes,
                                                    W.async().pendingSmall()));
}

bool decodeArrive(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  if (!M.take("arrive"))
    return false;
  I.Mode = M.take("noinc");
  I.Where =
      M.takeOne({"shared", "shared::cta"}) ? Space::Shared : Space::Generic;
  I.Run = arriveBehind;
  return M.take("b64") && S.Operands.size() == 1 && D.address(S.Operands[0], I);
}

} // namespace

bool decodeSmallCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                     Instruction &I) {
  if (M.take("mbarrier"))
    return decodeArrive(D, S, M, I);
  bool Known = false;
  if (bool Right = decodeGroups(D, S, M, I, Known); Known || !Right)
    return Right;
  if (!M.takeOne({"ca", "cg"}) || !M.takeOne({"shared", "shared::cta"}) ||
      !M.take("global"))
    return false;
  M.takeOne({"L2::64B", "L2::128B", "L2::256B"});
  size_t Hint = M.take("L2::cache_hint") ? 1 : 0;
  size_t Count = S.Operands.size() - std::min(Hint, S.Operands.size());
  if (Count != 3 && Count != 4)
    return D.fail("wrong number of operands");
  auto Bytes = D.immediate(S.Operands[2]);
  if (!Bytes || (*Bytes != 4 && *Bytes != 8 && *Bytes != 16))
    return false;
  I.Bytes = uint8_t(*Bytes);
  if (Count == 4) {
    auto Row = D.source(S.Operands[3], 32);
    if (!Row)
      return false;
    I.Source[1] = *Row;
  }
  I.Run = copySmall;
  return D.addAddress(S.Operands[0], I, Space::Shared) &&
         D.addAddress(S.Operands[1], I, Space::Global);
}

} // namespace kpc::emulator
