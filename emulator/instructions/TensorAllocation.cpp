//===- TensorAllocation.cpp - tcgen05.alloc and dealloc -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".
// With cta_group::2 a warp of each block of the pair comes, and both blocks get
// the same columns.

#include "emulator/instructions/Tensor.h"
#include "emulator/program/Windows.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

bool isWholeWarp(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask == ~uint32_t{0})
    return true;
  W.report(FindingKind::NotConverged, I, unsigned(std::countr_zero(Mask)),
           "not all 32 threads of the warp come here together");
  return false;
}

bool findBlocks(Warp &W, const Instruction &I, unsigned Lane, unsigned Group,
                TensorBlocks &Out) {
  Out = {{&W.block(), nullptr}, 1};
  if (Group == 1)
    return true;
  Cta *Peer = W.block().peer();
  if (!Peer) {
    W.report(FindingKind::TensorMisuse, I, Lane,
             "cta_group::2 needs a cluster of pairs of blocks; this block has "
             "no peer");
    return false;
  }
  Out.Count = 2;
  Out.Of[W.block().rank() & 1] = &W.block();
  Out.Of[(W.block().rank() & 1) ^ 1] = Peer;
  return true;
}

unsigned takeGroup(Decoder &D, Modifiers &M) {
  auto Which = M.takeOne({"cta_group::1", "cta_group::2"});
  if (!Which) {
    D.fail("'.cta_group::1' or '.cta_group::2' is missing");
    return 0;
  }
  auto Group = uint8_t(*Which + 1);
  Kernel &K = D.kernel();
  if (K.TensorGroup == 0)
    K.TensorGroup = Group;
  if (K.TensorGroup == Group)
    return Group;
  D.fail("all tcgen05 instructions of a kernel have the same cta_group");
  return 0;
}

namespace {

/// Immediate: the group; Source[1]: columns.
void misuse(Warp &W, const Instruction &I, std::string Text) {
  W.report(FindingKind::TensorMisuse, I, 0, std::move(Text));
}

bool isCount(Warp &W, const Instruction &I, uint32_t Count) {
  if (Count >= TensorMemory::Unit && Count <= TensorMemory::Columns &&
      std::has_single_bit(Count))
    return true;
  misuse(W, I,
         std::to_string(Count) +
             " columns: the number is a power of two from 32 to 512");
  return false;
}

void sleep(Warp &W) {
  W.WaitsForTensor = true;
  W.wait();
  W.repeat();
}

/// The warp has its columns.
void give(Warp &W, const Instruction &I, unsigned Column, uint32_t Count) {
  W.WaitsForTensor = false;
  W.block().tensor().allocate({Column, Count, I.Statement});
  uint64_t At = W.addressOf(I, 0);
  if (uint8_t *To = W.locate(I, At, 4, MemoryUse::Write, 0)) {
    uint32_t Address = Column;
    std::memcpy(To, &Address, 4);
  }
}

/// Columns that are free in both blocks.
std::vector<unsigned> placesInBoth(Cta &A, Cta &B, unsigned Count) {
  std::vector<unsigned> Mine = A.tensor().placesFor(Count),
                        Other = B.tensor().placesFor(Count), Out;
  std::set_intersection(Mine.begin(), Mine.end(), Other.begin(), Other.end(),
                        std::back_inserter(Out));
  return Out;
}

void allocatePair(Warp &W, const Instruction &I, uint32_t Count) {
  Cta &Block = W.block(), &Peer = *Block.peer();
  TensorStep &Mine = Block.PairStep, &Theirs = Peer.PairStep;
  if (Mine.Who == &W && Mine.Done) {
    unsigned Column = Mine.Column;
    Mine = {};
    return give(W, I, Column, Count);
  }
  if (Mine.Who && Mine.Who != &W)
    return sleep(W);
  Mine = {&W, Count, 0, false};
  if (!Theirs.Who || Theirs.Done)
    return sleep(W);
  if (Theirs.Columns != Count)
    return misuse(W, I,
                  "the peer block allocates " + std::to_string(Theirs.Columns) +
                      " columns, not " + std::to_string(Count));
  std::vector<unsigned> Places = placesInBoth(Block, Peer, Count);
  if (Places.empty())
    return sleep(W);
  unsigned Column = Block.tensor().choose(Places);
  Theirs.Column = Column;
  Theirs.Done = true;
  Mine = {};
  Peer.wakeForTensor();
  give(W, I, Column, Count);
}

void allocate(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeWarp(W, I, Mask))
    return;
  uint32_t Count = W.row<uint32_t>(I.Source[1])[0];
  TensorMemory &T = W.block().tensor();
  TensorBlocks Blocks;
  if (!isCount(W, I, Count) ||
      !findBlocks(W, I, 0, unsigned(I.Immediate), Blocks))
    return;
  if (!T.MayAllocate)
    return misuse(W, I,
                  "the block has given up its permit to allocate "
                  "(tcgen05.relinquish_alloc_permit)");
  if (Count > T.Least)
    return misuse(W, I,
                  std::to_string(Count) + " columns after an allocation of " +
                      std::to_string(T.Least) +
                      ": later allocations may not be larger");
  if (Blocks.Count == 2)
    return allocatePair(W, I, Count);
  std::vector<unsigned> Places = T.placesFor(Count);
  if (Places.empty())
    return sleep(W);
  give(W, I, T.choose(Places), Count);
}

/// Everything that touched the columns is over, and known to be.
bool mayRelease(Warp &W, const Instruction &I, const TensorArea &Area) {
  if (!W.block().launch().Strict)
    return true;
  SharedAccess A{W.self(), W.Mine.Known[W.self()], I.Statement,
                 SharedUse::Write, false};
  unsigned Group = 0;
  Conflict C = W.block().tensor().access(Area, A, W.Mine, Group);
  if (C.TheKind == Conflict::Kind::None)
    return true;
  W.report(
      C.OtherWrote ? FindingKind::TensorRace : FindingKind::SlotReused, I, 0,
      "nothing orders this and where " + W.block().agents().nameOf(C.Other) +
          (C.OtherWrote ? " writes (" : " reads (") +
          W.kernel().pointOf(C.OtherStatement) + ") these columns");
  return false;
}

void release(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeWarp(W, I, Mask))
    return;
  uint32_t Address = W.row<uint32_t>(I.Source[0])[0],
           Count = W.row<uint32_t>(I.Source[1])[0];
  TensorBlocks Blocks;
  if (!isCount(W, I, Count) ||
      !findBlocks(W, I, 0, unsigned(I.Immediate), Blocks))
    return;
  TensorMemory &T = W.block().tensor();
  unsigned Column = tensorColumn(Address);
  bool Known = tensorLane(Address) == 0;
  if (Known)
    Known = std::any_of(T.allocations().begin(), T.allocations().end(),
                        [&](const TensorMemory::Allocation &A) {
                          return A.Column == Column && A.Columns == Count;
                        });
  if (!Known)
    return misuse(W, I,
                  "no allocation is " + std::to_string(Count) +
                      " columns from column " + std::to_string(Column) +
                      (tensorLane(Address) ? " at another lane than 0" : ""));
  if (!mayRelease(W, I, {0, TensorMemory::Lanes, Column, Count}))
    return;
  T.release(Column, Count);
  for (unsigned B = 0; B < Blocks.Count; ++B)
    Blocks.Of[B]->wakeForTensor();
}

void relinquish(Warp &W, const Instruction &I, uint32_t Mask) {
  if (isWholeWarp(W, I, Mask))
    W.block().tensor().MayAllocate = false;
}

bool isAligned(Decoder &D, Modifiers &M, Instruction &I) {
  I.Immediate = takeGroup(D, M);
  return I.Immediate && M.take("sync") && M.take("aligned");
}

} // namespace

bool decodeTensorAlloc(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I) {
  if (!isAligned(D, M, I) || !M.take("b32") || S.Operands.size() != 2)
    return false;
  I.Where =
      M.takeOne({"shared::cta", "shared"}) ? Space::Shared : Space::Generic;
  auto Count = D.source(S.Operands[1], 32);
  if (!Count || !D.address(S.Operands[0], I))
    return false;
  I.Source[1] = *Count;
  I.Run = allocate;
  return true;
}

bool decodeTensorDealloc(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I) {
  if (!isAligned(D, M, I) || !M.take("b32") || S.Operands.size() != 2)
    return false;
  auto Address = D.source(S.Operands[0], 32),
       Count = D.source(S.Operands[1], 32);
  if (!Address || !Count)
    return false;
  I.Source[0] = *Address;
  I.Source[1] = *Count;
  I.Run = release;
  return true;
}

bool decodeTensorRelinquish(Decoder &D, const ptx::Statement &S, Modifiers &M,
                            Instruction &I) {
  I.Run = relinquish;
  return isAligned(D, M, I) && S.Operands.empty();
}

} // namespace kpc::emulator
