//===- RemoteStores.cpp - st.async and red.async --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "st.async", "red.async": each lane's element goes to the shared
// memory of a block of the cluster later, and its bytes to an mbarrier there.

#include "emulator/instructions/Copies.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

#include <cstring>

namespace kpc::emulator {

namespace {

constexpr unsigned MaxBytes = 16;

/// A BulkLoad whose bytes come from the instruction's registers.
class RemoteOperation final : public AsyncOperation {
public:
  RemoteOperation(Warp &W, const Instruction &I, unsigned Lane, BulkLoad Load,
                  const Warp::Agent &By, const uint8_t *Data)
      : AsyncOperation(1, NoAgent), W(W), I(I), Lane(Lane),
        Load(std::move(Load)), By(By) {
    std::memcpy(this->Data, Data, MaxBytes);
  }

private:
  void step(unsigned) override {
    uint8_t *To = Load.Pieces[0].Shared;
    if (I.Mode)
      reduceInto(To, Data, Load.Pieces[0].Bytes, Reduction::of(I.Immediate));
    else
      std::memcpy(To, Data, Load.Pieces[0].Bytes);
    finishLoad(W, I, Lane, Load, By);
  }

  Warp &W;
  const Instruction &I;
  unsigned Lane;
  BulkLoad Load;
  Warp::Agent By;
  uint8_t Data[MaxBytes];
};

/// Mode 1 reduces. Addresses: to, mbarrier; Rows: the elements of Bytes each.
void storeRemote(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t To = W.addressOf(A[0], L) & ~WindowMask, There = To;
    unsigned Bytes = unsigned{I.Bytes} * I.Count;
    if (To % Bytes)
      return W.report(FindingKind::Misaligned, I, L,
                      "the address is no multiple of " + std::to_string(Bytes));
    BulkLoad Load;
    Load.Barrier = W.addressOf(A[1], L) & ~WindowMask;
    Load.Block = W.block().blockOf(Load.Barrier);
    if (!Load.Block || Load.Block != W.block().blockOf(There))
      return W.report(FindingKind::BadOperand, I, L,
                      "destination and mbarrier are not in one block");
    AsyncBarrier *B = barrierForCopy(W, I, *Load.Block, Load.Barrier, L);
    if (!B)
      return;
    // In the generic proxy, as ordinary stores.
    Warp::Agent By = W.block().begin(B->Agent, I, false);
    uint8_t *At = W.locateAsync(
        I, To, Bytes, I.Mode ? MemoryUse::Atomic : MemoryUse::Write, L, By);
    if (!At)
      return;
    Load.Pieces.push_back({At, nullptr, Bytes});
    Load.Bytes = Bytes;
    uint8_t Data[MaxBytes] = {};
    for (unsigned N = 0; N < I.Count; ++N) {
      uint64_t Value = loadLane(W, Rows[N], I.Bytes, L);
      std::memcpy(Data + N * I.Bytes, &Value, I.Bytes);
    }
    W.block().start(
        std::make_unique<RemoteOperation>(W, I, L, std::move(Load), By, Data));
  }
}

} // namespace

bool decodeRemoteStore(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I, bool Reduces) {
  M.takeOne({"weak", "relaxed"});
  M.take("cluster");
  M.take("shared::cluster");
  if (!M.take("mbarrier::complete_tx::bytes"))
    return false;
  std::optional<Type> T;
  if (Reduces) {
    auto How = takeReduction(M);
    if (!How)
      return false;
    T = Type(How->T);
    I.Immediate = How->packed();
  }
  auto Vector = M.takeOne({"v2", "v4"});
  if (!T)
    T = M.takeType();
  if (!T || S.Operands.size() != 3)
    return false;
  unsigned Bits = bitsOf(*T), Given = 0;
  if ((Bits != 32 && Bits != 64) ||
      !D.addAddress(S.Operands[0], I, Space::Shared) ||
      !D.rows(S.Operands[1], I, false, Bits, Given) ||
      !D.addAddress(S.Operands[2], I, Space::Shared))
    return false;
  if (Given != Bits || I.Count != (Vector ? 2u << *Vector : 1u) ||
      I.Count * Bits / 8 > MaxBytes || (Reduces && Vector))
    return D.fail("the registers are not those of the type");
  I.Mode = Reduces;
  I.Bytes = uint8_t(Bits / 8);
  I.Run = storeRemote;
  return true;
}

} // namespace kpc::emulator
