//===- LaunchControl.cpp - clusterlaunchcontrol ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.
// query_cancel": a running cluster takes over one that has not begun. The
// response is written by the async proxy, and reported to an mbarrier; here it
// is the first block's place in the grid and a mark. Some requests are refused
// although clusters are left (the seed says which), as a chip may do.

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/Copies.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

#include <cstring>

namespace kpc::emulator {

namespace {

struct Response {
  static constexpr uint32_t Cancelled = 0xCA9CE11E, Refused = 0x4EF05ED0;
  uint32_t First[3] = {0, 0, 0};
  uint32_t Mark = Refused;
};
constexpr unsigned ResponseBytes = sizeof(Response);
static_assert(ResponseBytes == 16);

/// Into one block, or into all of the cluster.
class CancelOperation final : public AsyncOperation {
public:
  struct Destination {
    uint8_t *To;
    BulkLoad Load;
    Warp::Agent By;
  };
  CancelOperation(Warp &W, const Instruction &I, unsigned Lane,
                  std::vector<Destination> All)
      : AsyncOperation(1, NoAgent), W(W), I(I), Lane(Lane),
        All(std::move(All)) {}

private:
  void step(unsigned) override {
    Response R;
    if (W.block().cluster().cancelAnother(R.First))
      R.Mark = Response::Cancelled;
    for (const Destination &D : All) {
      std::memcpy(D.To, &R, ResponseBytes);
      finishLoad(W, I, Lane, D.Load, D.By);
    }
  }

  Warp &W;
  const Instruction &I;
  unsigned Lane;
  std::vector<Destination> All;
};

/// A place for the response; false: reported.
bool addDestination(Warp &W, const Instruction &I, unsigned L, uint64_t To,
                    uint64_t Barrier,
                    std::vector<CancelOperation::Destination> &All) {
  BulkLoad Load;
  Load.Barrier = Barrier;
  Load.Bytes = ResponseBytes;
  uint64_t There = To;
  Load.Block = W.block().blockOf(Load.Barrier);
  if (!Load.Block || Load.Block != W.block().blockOf(There)) {
    W.report(FindingKind::BadOperand, I, L,
             "the response and the mbarrier are not in one block");
    return false;
  }
  AsyncBarrier *B = barrierForCopy(W, I, *Load.Block, Load.Barrier, L);
  if (!B)
    return false;
  Warp::Agent By = W.block().begin(B->Agent, I);
  uint8_t *Place = W.locateAsync(I, To, ResponseBytes, MemoryUse::Write, L, By);
  if (!Place)
    return false;
  All.push_back({Place, std::move(Load), By});
  return true;
}

/// Addresses: the response's and the mbarrier's. Mode 1: in every block of the
/// cluster.
bool tryCancelOne(Warp &W, const Instruction &I, unsigned L) {
  const AddressOperand *A = addresses(W, I);
  uint64_t To = W.addressOf(A[0], L) & ~WindowMask,
           Barrier = W.addressOf(A[1], L) & ~WindowMask;
  if (W.block().SawRefusal >> W.number() & 1) {
    W.report(FindingKind::BadOperand, I, L,
             "the warp asks again, and has seen that a request was refused");
    return false;
  }
  std::vector<CancelOperation::Destination> All;
  unsigned Ranks = I.Mode ? W.block().cluster().size() : 1;
  for (unsigned Rank = 0; Rank < Ranks; ++Rank) {
    uint64_t Of = I.Mode ? uint64_t{Rank + 1} << RankShift : 0;
    uint64_t Mask = I.Mode ? BlockOffsetMask : ~uint64_t{0};
    if (!addDestination(W, I, L, (To & Mask) | Of, (Barrier & Mask) | Of, All))
      return false;
  }
  W.block().start(std::make_unique<CancelOperation>(W, I, L, std::move(All)));
  return true;
}

void tryCancel(Warp &W, const Instruction &I, uint32_t Mask) {
  for (; Mask != 0; Mask &= Mask - 1)
    if (!tryCancelOne(W, I, unsigned(std::countr_zero(Mask))))
      return;
}

/// A lane's response; nullopt: reported.
std::optional<Response> responseOf(Warp &W, const Instruction &I, unsigned L) {
  Response R;
  std::memcpy(&R, &W.row<unsigned __int128>(I.Source[0])[L], ResponseBytes);
  if (R.Mark == Response::Cancelled || R.Mark == Response::Refused)
    return R;
  W.report(FindingKind::BadOperand, I, L,
           "this is no response of clusterlaunchcontrol.try_cancel");
  return std::nullopt;
}

void isCancelled(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t True = 0;
  for (uint32_t Left = Mask; Left != 0; Left &= Left - 1) {
    auto L = unsigned(std::countr_zero(Left));
    auto R = responseOf(W, I, L);
    if (!R)
      return;
    if (R->Mark == Response::Cancelled)
      True |= 1u << L;
    else
      W.block().SawRefusal |= 1u << W.number();
  }
  W.writeMask(I.Target[0], Mask, True);
}

/// Mode: the dim of one row; 3: Vectors are four rows, the last unused.
void firstBlock(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    auto R = responseOf(W, I, L);
    if (!R)
      return;
    if (R->Mark != Response::Cancelled)
      return W.report(FindingKind::BadOperand, I, L,
                      "the request was refused: there is no first block");
    if (I.Mode < 3) {
      W.row<uint32_t>(Rows[0])[L] = R->First[I.Mode];
      continue;
    }
    for (unsigned D = 0; D < 3; ++D)
      W.row<uint32_t>(Rows[D])[L] = R->First[D];
  }
}

bool decodeQuery(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  bool Asks = M.take("is_canceled");
  auto Dim = M.takeOne({"get_first_ctaid::x", "get_first_ctaid::y",
                        "get_first_ctaid::z", "get_first_ctaid"});
  if (Asks == Dim.has_value() || !M.take(Asks ? "pred" : "b32") ||
      !M.take("b128") || S.Operands.size() != 2)
    return false;
  auto From = D.source(S.Operands[1], 128);
  if (!From)
    return false;
  I.Source[0] = *From;
  if (Asks) {
    auto To = D.target(S.Operands[0], 1);
    I.Target[0] = To.value_or(0);
    I.Run = isCancelled;
    return To.has_value();
  }
  I.Mode = uint8_t(*Dim);
  unsigned Bits = 0, Count = *Dim == 3 ? 4 : 1;
  if ((*Dim == 3 && !M.take("v4")) || !D.rows(S.Operands[0], I, true, 32, Bits))
    return false;
  if (Bits != 32 || I.Count != Count)
    return D.fail("wrong registers");
  I.Run = firstBlock;
  return true;
}

bool decodeLaunchControl(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I) {
  if (M.take("query_cancel"))
    return decodeQuery(D, S, M, I);
  if (!M.take("try_cancel") || !M.take("async") ||
      !M.take("mbarrier::complete_tx::bytes") || !M.take("b128"))
    return false;
  M.take("shared::cta");
  I.Mode = M.take("multicast::cluster::all");
  if (S.Operands.size() != 2)
    return D.fail("wrong number of operands");
  I.Run = tryCancel;
  return D.addAddress(S.Operands[0], I, Space::Shared) &&
         D.addAddress(S.Operands[1], I, Space::Shared);
}

} // namespace

void addLaunchControl(OpcodeTable &Table) {
  Table["clusterlaunchcontrol"] = decodeLaunchControl;
}

} // namespace kpc::emulator
