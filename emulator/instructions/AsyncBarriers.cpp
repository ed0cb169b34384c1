//===- AsyncBarriers.cpp - mbarrier ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "mbarrier". A wait that is not satisfied blocks the warp: try_wait
// may wait as long as it likes, so a wait that nothing can satisfy is a
// deadlock that is reported. A state is the number of completed phases.

#include "emulator/execute/Cta.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

#include <algorithm>

namespace kpc::emulator {

namespace {

/// 2^20 - 1: of arrivals and of the tx-count.
constexpr int64_t Limit = (1 << 20) - 1;

enum class Step : uint8_t {
  Init,
  Invalidate,
  ExpectBytes,
  CompleteBytes,
  Arrive,
  ArriveExpect,
  Drop
};

void misuse(Warp &W, const Instruction &I, unsigned Lane, const char *Text) {
  W.report(FindingKind::BarrierMisuse, I, Lane, Text);
}

/// The barrier of a lane, and the block that it is in; nullptr: reported.
AsyncBarrier *barrierOf(Warp &W, const Instruction &I, unsigned Lane,
                        uint64_t &Offset, Cta *&Of) {
  Offset = W.addressOf(I, Lane) & ~WindowMask;
  Of = W.block().blockOf(Offset);
  AsyncBarrier *B = Of ? Of->asyncBarrier(Offset) : nullptr;
  if (!B) {
    misuse(W, I, Lane, "no mbarrier was initialised there");
    return nullptr;
  }
  bool IsStrict = W.block().launch().Strict;
  if (Of != &W.block() && Of->isOver()) {
    W.report(FindingKind::EndedBlock, I, Lane,
             "the mbarrier's block has ended");
    return nullptr;
  }
  if (Of != &W.block() && IsStrict)
    Of->noteForeign({W.self(), W.Mine.Known[W.self()], I.Statement,
                     SharedUse::Atomic, false});
  bool Knows = W.self() == B->By || W.Mine.Known[B->By] >= B->Clock;
  if (Knows || !IsStrict)
    return B;
  misuse(W, I, Lane,
         "nothing orders this and the mbarrier's initialisation by another "
         "warp");
  return nullptr;
}

void arrive(Warp &W, const Instruction &I, unsigned L, AsyncBarrier &B,
            uint32_t Count, bool Drops) {
  if (Count == 0 || Count > B.Pending)
    return misuse(W, I, L, "more threads arrive than the phase expects");
  B.Joined.join(W.Mine);
  B.Arrived |= 1u << W.number();
  B.Points[W.number()] = I.Statement;
  B.Pending -= Count;
  if (Drops)
    B.Expected -= Count;
}

void change(Warp &W, const Instruction &I, uint32_t Mask) {
  auto What = static_cast<Step>(I.Mode);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t Offset = W.addressOf(I, L) & ~WindowMask;
    uint32_t Value = I.Source[1] == NoRow ? 1 : W.row<uint32_t>(I.Source[1])[L];
    if (What == Step::Init) {
      if (Offset % 8 || Value < 1 || Value > Limit)
        return misuse(W, I, L, "a wrong address or count");
      if (!W.locate(I, Offset, 8, MemoryUse::Write, L))
        return;
      W.block().initialise(W, Offset, Value);
      continue;
    }
    Cta *Of = nullptr;
    AsyncBarrier *B = barrierOf(W, I, L, Offset, Of);
    if (!B)
      return;
    if (I.Target[0] != NoRow)
      W.row<uint64_t>(I.Target[0])[L] = B->Phase;
    switch (What) {
    case Step::Invalidate:
      Of->invalidate(Offset);
      continue;
    case Step::ExpectBytes:
    case Step::ArriveExpect:
      B->Bytes += Value;
      break;
    case Step::CompleteBytes:
      B->Bytes -= Value;
      break;
    default:
      break;
    }
    if (What >= Step::Arrive)
      arrive(W, I, L, *B, What == Step::ArriveExpect ? 1 : Value,
             What == Step::Drop);
    if (W.state() == Warp::State::Done)
      return;
    if (B->Bytes > Limit || B->Bytes < -Limit)
      return misuse(W, I, L, "the tx-count is beyond 2^20 - 1");
    Of->settle(Offset, *B);
  }
  if (What >= Step::Arrive)
    W.tick();
}

bool decodeChange(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I, Step What) {
  bool Arrives = What == Step::Arrive || What == Step::Drop;
  bool Expects = M.take("expect_tx");
  if (Arrives && Expects) {
    if (What == Step::Drop)
      return false;
    What = Step::ArriveExpect;
  }
  I.Mode = uint8_t(What);
  size_t Next = 0;
  if (Arrives) {
    if (S.Operands.empty())
      return false;
    bool HasState = S.Operands[0].TheKind != ptx::Operand::Kind::Address;
    if (HasState) {
      Next = 1;
      if (S.Operands[0].TheKind != ptx::Operand::Kind::Sink) {
        auto To = D.target(S.Operands[0], 64);
        if (!To)
          return false;
        I.Target[0] = *To;
      }
    }
  }
  if (S.Operands.size() <= Next || !D.address(S.Operands[Next], I))
    return false;
  ++Next;
  bool MayLack =
      What == Step::Arrive || What == Step::Drop || What == Step::Invalidate;
  if (S.Operands.size() > Next + 1 || (S.Operands.size() == Next && !MayLack))
    return D.fail("wrong number of operands");
  if (S.Operands.size() > Next) {
    auto Row = D.source(S.Operands[Next], 32);
    if (!Row)
      return false;
    I.Source[1] = *Row;
  }
  I.Run = change;
  return true;
}

//===----------------------------------------------------------------------===//
// Waits: Mode bit 0 parity, bit 1 blocks
//===----------------------------------------------------------------------===//

void await(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t True = 0;
  for (uint32_t Left = Mask; Left != 0; Left &= Left - 1) {
    auto L = unsigned(std::countr_zero(Left));
    uint64_t Offset = 0;
    Cta *Of = nullptr;
    AsyncBarrier *B = barrierOf(W, I, L, Offset, Of);
    if (!B)
      return;
    if (Of != &W.block())
      return misuse(W, I, L, "waits for another block's mbarrier");
    bool Over = false;
    if (I.Mode & 1) {
      Over = (B->Phase & 1) != (W.row<uint32_t>(I.Source[1])[L] & 1);
    } else {
      uint64_t State = W.row<uint64_t>(I.Source[1])[L];
      if (State + 1 < B->Phase)
        return misuse(W, I, L, "waits for a phase before the last one");
      Over = State < B->Phase;
    }
    if (!Over && (I.Mode & 2)) {
      W.WaitingFor = Offset;
      W.wait();
      W.repeat();
      return;
    }
    if (Over)
      W.Mine.join(B->Seen);
    True |= uint32_t(Over) << L;
  }
  W.WaitingFor = Warp::NoAddress;
  W.writeMask(I.Target[0], Mask, True);
}

bool decodeWait(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I, bool Blocks) {
  bool Parity = M.take("parity");
  if (S.Operands.size() != 3 && !(Blocks && S.Operands.size() == 4))
    return D.fail("wrong number of operands");
  auto To = D.target(S.Operands[0], 1);
  if (!To || !D.address(S.Operands[1], I))
    return false;
  auto State = D.source(S.Operands[2], Parity ? 32 : 64);
  if (!State)
    return false;
  I.Target[0] = *To;
  I.Source[1] = *State;
  I.Mode = uint8_t((Parity ? 1 : 0) | (Blocks ? 2 : 0));
  I.Run = await;
  return true;
}

bool decodeAsyncBarrier(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  M.takeOne({"relaxed", "acquire", "release"});
  M.takeOne({"cta", "cluster"});
  I.Where = M.takeOne({"shared", "shared::cta", "shared::cluster"})
                ? Space::Shared
                : Space::Generic;
  if (!M.take("b64"))
    return false;
  auto What = M.takeOne({"init", "inval", "complete_tx", "arrive",
                         "arrive_drop", "test_wait", "try_wait"});
  if (!What) // expect_tx is also a word of arrive
    return decodeChange(D, S, M, I, Step::ExpectBytes);
  constexpr Step Steps[] = {Step::Init, Step::Invalidate, Step::CompleteBytes,
                            Step::Arrive, Step::Drop};
  if (*What < std::size(Steps))
    return decodeChange(D, S, M, I, Steps[*What]);
  return decodeWait(D, S, M, I, *What == 6);
}

} // namespace

void addAsyncBarriers(OpcodeTable &Table) {
  Table["mbarrier"] = decodeAsyncBarrier;
}

} // namespace kpc::emulator
