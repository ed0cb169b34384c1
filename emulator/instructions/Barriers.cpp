//===- Barriers.cpp - bar, barrier, fence and membar ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Parallel Synchronization and Communication Instructions". A CTA is
// one host thread, so fences order nothing more than the program does.

#include "emulator/execute/Cta.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

namespace {

void nothing(Warp &, const Instruction &, uint32_t) {}

void deviceFence(Warp &W, const Instruction &, uint32_t) { W.fenceDevice(); }

/// For the whole warp, though each thread fences its own writes.
void proxyFence(Warp &W, const Instruction &, uint32_t) {
  W.block().publishBarriers(W);
  W.fenceProxy();
}
void publishBarriers(Warp &W, const Instruction &, uint32_t) {
  W.block().publishBarriers(W);
  W.tick();
}

/// Mode: bits 0-1 the reduction, bit 2 arrives only, bit 3 the predicate is
/// negated. Sources: barrier, threads, predicate.
enum : uint8_t { Kind = 3, ArrivesOnly = 4, Negates = 8 };

/// One value for the warp.
bool uniform(Warp &W, const Instruction &I, unsigned N, uint32_t Mask,
             uint32_t &Value) {
  if (I.Source[N] == NoRow)
    return true;
  const uint32_t *Row = W.row<uint32_t>(I.Source[N]);
  Value = Row[std::countr_zero(Mask)];
  bool Same = true;
  forEachLane(Mask, [&](unsigned L) { Same &= Row[L] == Value; });
  if (!Same)
    W.report(FindingKind::BadOperand, I, unsigned(std::countr_zero(Mask)),
             "the threads of the warp do not agree on the operand");
  return Same;
}

void barrier(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask != W.live())
    return W.report(FindingKind::NotConverged, I,
                    unsigned(std::countr_zero(Mask)),
                    "not all threads of the warp come here together");
  uint32_t Id = 0, Threads = 0;
  if (!uniform(W, I, 0, Mask, Id) || !uniform(W, I, 1, Mask, Threads))
    return;
  if (Id > 15 || Threads % WarpSize != 0)
    return W.report(FindingKind::BadOperand, I, 0,
                    "barriers are 0 to 15 and wait for whole warps");
  Barrier::Result R{I.Target[0], Mask, uint8_t(I.Mode & Kind)};
  uint32_t True = 0;
  if (R.Kind != ReduceNone)
    True = W.mask(I.Source[2]) ^ (I.Mode & Negates ? ~uint32_t{0} : 0);
  W.block().arrive(W, I, Id, Threads, !(I.Mode & ArrivesOnly), R, True, Mask);
}

void warpBarrier(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t Named = W.row<uint32_t>(I.Source[0])[std::countr_zero(Mask)];
  if (uint32_t Missing = Named & W.live() & ~Mask)
    W.report(FindingKind::InactiveLane, I, unsigned(std::countr_zero(Mask)),
             "lane " + std::to_string(std::countr_zero(Missing)) +
                 " is named in the mask but does not come here");
}

bool decodeReduction(Decoder &D, const ptx::Statement &S, Modifiers &M,
                     Instruction &I, size_t &Next) {
  auto Which = M.takeOne({"popc", "and", "or"});
  auto T = M.takeType();
  if (!Which || !T || S.Operands.size() < 3)
    return false;
  bool Counts = *Which == 0, Negated = false;
  auto To = D.target(S.Operands[0], Counts ? 32 : 1);
  if (!To || !D.predicate(S.Operands.back(), I.Source[2], Negated))
    return false;
  I.Target[0] = *To;
  I.Mode = uint8_t((*Which + 1) | (Negated ? Negates : 0));
  Next = 1;
  return true;
}

bool decodeBarrier(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I) {
  if (M.take("warp")) {
    I.Run = warpBarrier;
    auto Named =
        S.Operands.size() == 1 ? D.source(S.Operands[0], 32) : std::nullopt;
    I.Source[0] = Named.value_or(0);
    return M.take("sync") && Named;
  }
  if (M.take("cluster"))
    return decodeClusterBarrier(D, S, M, I);
  M.take("cta");
  M.take("aligned");
  auto Which = M.takeOne({"sync", "arrive", "red"});
  if (!Which)
    return false;
  size_t Next = 0, End = S.Operands.size();
  if (*Which == 1)
    I.Mode = ArrivesOnly;
  if (*Which == 2) {
    if (!decodeReduction(D, S, M, I, Next))
      return false;
    --End;
  }
  if (End <= Next || End - Next > 2 || (*Which == 1 && End - Next != 2))
    return D.fail("wrong number of operands");
  for (size_t N = 0; Next + N < End; ++N) {
    auto Row = D.source(S.Operands[Next + N], 32);
    if (!Row)
      return false;
    I.Source[N] = *Row;
  }
  I.Run = barrier;
  return true;
}

bool decodeFence(Decoder &D, const ptx::Statement &, Modifiers &M,
                 Instruction &I) {
  if (M.take("proxy")) {
    if (!M.takeOne({"async", "async.shared::cta", "async.global"}))
      return D.fail("this fence between proxies is not supported");
    M.takeOne({"shared::cta", "shared::cluster", "global"});
    I.Run = proxyFence;
    return true;
  }
  I.Run = M.take("mbarrier_init") ? publishBarriers : nothing;
  M.takeOne({"sc", "acq_rel", "acquire", "release"});
  auto Scope = M.takeOne({"cta", "cluster", "gpu", "sys", "gl"});
  if (I.Run == nothing && Scope && *Scope >= 2)
    I.Run = deviceFence;
  return true;
}

} // namespace

void addBarriers(OpcodeTable &Table) {
  Table["bar"] = Table["barrier"] = decodeBarrier;
  Table["fence"] = Table["membar"] = decodeFence;
}

} // namespace kpc::emulator
