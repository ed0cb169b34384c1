//===- TensorSync.cpp - tcgen05 fences, waits and commits -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "tcgen05.fence", "tcgen05.wait", "tcgen05.commit", and the opcode's
// table. mma and cp of a thread are done in the order of issue; a commit comes
// behind them, and arrives at its mbarrier.

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/Copies.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/instructions/Tensor.h"
#include "emulator/program/Windows.h"

namespace kpc::emulator {

AgentId tensorChain(Warp &W) {
  return W.block().agent(AgentKind::TensorMatrix, W.number());
}

namespace {

void fenceBefore(Warp &W, const Instruction &, uint32_t) {
  W.tensor().fenceBefore();
}
void fenceAfter(Warp &W, const Instruction &, uint32_t) {
  W.tensor().fenceAfter();
}

bool decodeFence(const ptx::Statement &S, Modifiers &M, Instruction &I) {
  I.Run = M.take("fence::before_thread_sync") ? fenceBefore : nullptr;
  if (!I.Run && M.take("fence::after_thread_sync"))
    I.Run = fenceAfter;
  return I.Run && S.Operands.empty();
}

/// Mode 1: of st.
void waitFor(Warp &W, const Instruction &I, uint32_t Mask) {
  if (isWholeWarp(W, I, Mask))
    W.tensor().waitFor(I.Mode ? AgentKind::TensorStore : AgentKind::TensorLoad);
}

bool decodeWait(const ptx::Statement &S, Modifiers &M, Instruction &I) {
  I.Mode = M.take("wait::st");
  if (!I.Mode && !M.take("wait::ld"))
    return false;
  I.Run = waitFor;
  return M.take("sync") && M.take("aligned") && S.Operands.empty();
}

//===----------------------------------------------------------------------===//
// commit: Source[1] the mask of blocks
//===----------------------------------------------------------------------===//

class CommitOperation final : public AsyncOperation {
public:
  CommitOperation(Warp &W, const Instruction &I, unsigned Lane, Cta &Block,
                  uint64_t Barrier, Knowledge Learned)
      : AsyncOperation(1, tensorChain(W)), W(W), I(I), Lane(Lane), Block(Block),
        Barrier(Barrier), Learned(std::move(Learned)) {}

private:
  void step(unsigned) override {
    AsyncBarrier *B = Block.asyncBarrier(Barrier);
    if (!B || B->Pending == 0)
      return W.report(FindingKind::BarrierMisuse, I, Lane,
                      B ? "more arrivals than the phase expects"
                        : "the mbarrier was invalidated before the end of what "
                          "this commits");
    B->Joined.join(Learned);
    B->Arrived |= 1u << W.number();
    --B->Pending;
    Block.settle(Barrier, *B);
  }

  Warp &W;
  const Instruction &I;
  unsigned Lane;
  Cta &Block;
  uint64_t Barrier;
  Knowledge Learned;
};

/// False: reported.
bool commitTo(Warp &W, const Instruction &I, unsigned Lane, uint64_t Address,
              const Knowledge &Learned) {
  Cta *Of = W.block().blockOf(Address);
  if (!Of || Of->isOver()) {
    W.report(Of ? FindingKind::EndedBlock : FindingKind::OutOfBounds, I, Lane,
             Of ? "the mbarrier's block has ended"
                : "the mbarrier is in a block that the cluster has not");
    return false;
  }
  if (!barrierForCopy(W, I, *Of, Address, Lane))
    return false;
  W.block().start(
      std::make_unique<CommitOperation>(W, I, Lane, *Of, Address, Learned));
  return true;
}

void commit(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    if (W.state() == Warp::State::Done)
      return;
    Knowledge Learned = W.tensor().commit(L);
    uint64_t Address = W.addressOf(I, L) & ~WindowMask;
    if (I.Source[1] == NoRow) {
      commitTo(W, I, L, Address, Learned);
      return;
    }
    uint32_t Blocks = W.row<uint16_t>(I.Source[1])[L];
    for (; Blocks != 0; Blocks &= Blocks - 1)
      if (!commitTo(W, I, L,
                    (Address & BlockOffsetMask) |
                        uint64_t(std::countr_zero(Blocks) + 1) << RankShift,
                    Learned))
        return;
  });
}

bool decodeCommit(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  if (!takeGroup(D, M) || !M.take("mbarrier::arrive::one") || !M.take("b64"))
    return false;
  I.Where = M.take("shared::cluster") ? Space::Shared : Space::Generic;
  bool Many = M.take("multicast::cluster");
  if (S.Operands.size() != (Many ? 2u : 1u) || !D.address(S.Operands[0], I))
    return false;
  if (Many) {
    auto Row = D.source(S.Operands[1], 16);
    if (!Row)
      return false;
    I.Source[1] = *Row;
  }
  I.Run = commit;
  return true;
}

bool decodeTensor(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  auto Word = S.Modifiers.empty() ? std::string() : S.Modifiers[0];
  D.kernel().UsesTensor = true;
  if (Word.starts_with("fence"))
    return decodeFence(S, M, I);
  if (Word.starts_with("wait"))
    return decodeWait(S, M, I);
  auto Which = M.takeOne({"alloc", "dealloc", "relinquish_alloc_permit",
                          "commit", "ld", "st", "cp", "mma", "shift"});
  if (!Which)
    return false;
  switch (*Which) {
  case 0:
    return decodeTensorAlloc(D, S, M, I);
  case 1:
    return decodeTensorDealloc(D, S, M, I);
  case 2:
    return decodeTensorRelinquish(D, S, M, I);
  case 3:
    return decodeCommit(D, S, M, I);
  case 4:
  case 5:
    return decodeTensorMove(D, S, M, I, *Which == 5);
  case 6:
    return decodeTensorCopyIn(D, S, M, I);
  case 7:
    return decodeTensorMatrix(D, S, M, I);
  default:
    return D.fail("tcgen05.shift is refused: which lanes it moves is not "
                  "confirmed");
  }
}

} // namespace

void addTensor(OpcodeTable &Table) { Table["tcgen05"] = decodeTensor; }

} // namespace kpc::emulator
