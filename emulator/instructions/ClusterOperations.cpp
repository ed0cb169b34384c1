//===- ClusterOperations.cpp - mapa, getctarank, barrier.cluster ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "mapa", "getctarank", "barrier.cluster". How addresses name blocks
// is in execute/Cluster.h.

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

namespace kpc::emulator {

namespace {

/// A rank that no cluster has: the address of one is nobody's.
constexpr uint64_t NoRank = 0xFF;

/// Bytes of an address; Mode 1: it is generic.
void mapAddress(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    uint64_t At = loadLane(W, I.Source[0], I.Bytes, L);
    uint64_t Rank = std::min<uint64_t>(W.row<uint32_t>(I.Source[1])[L], NoRank);
    At = (At & BlockOffsetMask) | (Rank + 1) << RankShift;
    storeLane(W, I.Target[0], I.Bytes, L, At | (I.Mode ? SharedWindow : 0));
  });
}

bool decodeMapAddress(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I) {
  I.Mode = !M.take("shared::cluster");
  auto Size = M.takeOne({"u32", "u64"});
  if (!Size || (I.Mode && *Size == 0))
    return false;
  I.Bytes = *Size ? 8 : 4;
  I.Run = mapAddress;
  unsigned Bits = I.Bytes * 8u;
  return operands(D, S, I, Bits, {Bits, 32});
}

void rankOf(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    uint64_t At = loadLane(W, I.Source[0], I.Bytes, L) & ~WindowMask;
    uint64_t Rank = At >> RankShift;
    W.row<uint32_t>(I.Target[0])[L] =
        Rank ? uint32_t(Rank - 1) : W.block().rank();
  });
}

bool decodeRankOf(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  M.take("shared::cluster");
  auto Size = M.takeOne({"u32", "u64"});
  I.Bytes = Size.value_or(0) ? 8 : 4;
  I.Run = rankOf;
  return Size && operands(D, S, I, 32, {I.Bytes * 8u});
}

//===----------------------------------------------------------------------===//
// barrier.cluster: Mode 1 of an arrival: relaxed
//===----------------------------------------------------------------------===//

bool isWhole(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask == W.live())
    return true;
  W.report(FindingKind::NotConverged, I, unsigned(std::countr_zero(Mask)),
           "not all threads of the warp come here together");
  return false;
}

void arrive(Warp &W, const Instruction &I, uint32_t Mask) {
  if (isWhole(W, I, Mask))
    W.block().cluster().arrive(W, I, I.Mode == 0);
}

void await(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWhole(W, I, Mask))
    return;
  W.WaitsForCluster = !W.block().cluster().wait(W, I);
  if (!W.WaitsForCluster)
    return;
  W.wait();
  W.repeat();
}

} // namespace

bool decodeClusterBarrier(Decoder &, const ptx::Statement &S, Modifiers &M,
                          Instruction &I) {
  auto Which = M.takeOne({"arrive", "wait"});
  if (!Which || !S.Operands.empty())
    return false;
  I.Mode = M.take("relaxed");
  M.takeOne({"release", "acquire"});
  M.take("aligned");
  I.Run = *Which ? await : arrive;
  return true;
}

void addClusterOperations(OpcodeTable &Table) {
  Table["mapa"] = decodeMapAddress;
  Table["getctarank"] = decodeRankOf;
}

} // namespace kpc::emulator
