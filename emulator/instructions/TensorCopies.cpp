//===- TensorCopies.cpp - Copies of boxes and pixels ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "cp.async.bulk.tensor": tiles and im2col columns between global and
// shared memory.

#include "emulator/execute/TensorWalk.h"
#include "emulator/execute/Windows.h"
#include "emulator/instructions/Copies.h"

#include <cstring>

namespace kpc::emulator {

namespace {

/// Bits of Mode. Addresses: shared, map, mbarrier; Count rows: coordinates, and
/// for im2col loads 16-bit offsets behind them.
enum : uint8_t { Stores = 1, Im2col = 2 };

unsigned rankOf(const Instruction &I) { return unsigned(I.Immediate); }

/// The map of a lane, checked; nullptr: reported.
const TensorMap *mapOf(Warp &W, const Instruction &I, uint64_t Address,
                       unsigned Lane, TensorMap &Copy) {
  Instruction Plain = I;
  Plain.Where = Space::Generic;
  if (Address % 64) {
    W.report(FindingKind::BadTensorMap, I, Lane,
             "a tensor map is aligned to 64 bytes");
    return nullptr;
  }
  for (unsigned At = 0; At < sizeof Copy; At += 16) {
    uint8_t *From = W.locate(Plain, Address + At, 16, MemoryUse::Read, Lane);
    if (!From)
      return nullptr;
    std::memcpy(reinterpret_cast<uint8_t *>(&Copy) + At, From, 16);
  }
  const char *Wrong = nullptr;
  if (Copy.TheMark != TensorMap::Mark)
    Wrong = "this is no tensor map that cuTensorMapEncode* made";
  else if (Copy.Rank != rankOf(I))
    Wrong = "the map has another rank than the instruction";
  else if (Copy.Im2col != ((I.Mode & Im2col) != 0))
    Wrong = "the map is tiled where the instruction is im2col, or the reverse";
  if (!Wrong)
    return &Copy;
  W.report(FindingKind::BadTensorMap, I, Lane, Wrong);
  return nullptr;
}

TensorPlace placeOf(Warp &W, const Instruction &I, unsigned Lane) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  TensorPlace P;
  unsigned Rank = rankOf(I);
  for (unsigned D = 0; D < Rank; ++D)
    P.Start[D] = int32_t(W.row<uint32_t>(Rows[D])[Lane]);
  for (unsigned D = Rank; D < I.Count; ++D)
    P.Offsets[D - Rank] = W.row<uint16_t>(Rows[D])[Lane];
  P.Shared = W.addressOf(addresses(W, I)[0], Lane) & ~WindowMask;
  return P;
}

/// The bytes of one copy; false: reported.
bool move(Warp &W, const Instruction &I, unsigned Lane, const TensorMap &Map,
          const TensorPlace &Place) {
  bool Out = I.Mode & Stores;
  for (const CopyUnit &U : walk(Map, Place)) {
    uint8_t *Near = W.locateAsync(
        I, U.Shared, 16, Out ? MemoryUse::Read : MemoryUse::Write, Lane);
    if (!Near)
      return false;
    if (U.Valid) {
      uint8_t *Far = W.locateDevice(
          I, U.Global, U.Valid, Out ? MemoryUse::Write : MemoryUse::Read, Lane);
      if (!Far)
        return false;
      std::memcpy(Out ? Far : Near, Out ? Near : Far, U.Valid);
    }
    if (!Out)
      fillUnit(Map, U, Near);
  }
  return true;
}

void copyTensor(Warp &W, const Instruction &I, uint32_t Mask) {
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    const AddressOperand *A = addresses(W, I);
    TensorMap Memory;
    const TensorMap *Map = mapOf(W, I, W.addressOf(A[1], L), L, Memory);
    if (!Map)
      return;
    TensorPlace P = placeOf(W, I, L);
    if (P.Shared % 128)
      return W.report(FindingKind::Misaligned, I, L,
                      "a box in shared memory is aligned to 128 bytes");
    if (P.Start[0] * Map->elementBytes() % 16)
      return W.report(FindingKind::Misaligned, I, L,
                      "the first coordinate is no multiple of 16 bytes");
    AgentWrites Agent(W, W.block());
    if (!move(W, I, L, *Map, P))
      return;
    if (!(I.Mode & Stores))
      complete(W, I, L, W.addressOf(A[2], L), Map->boxBytes(), Agent.clock());
  }
}

} // namespace

/// Offsets of an im2col load: "{%rs1, %rs2}", one for each of W, H, D.
static bool addOffsets(Decoder &D, const ptx::Operand &O, size_t Rank,
                       std::vector<uint32_t> &Rows) {
  if (O.TheKind != ptx::Operand::Kind::Vector || O.Parts.size() != Rank - 2)
    return D.fail("the offsets are not the image's");
  for (const ptx::Operand &Part : O.Parts) {
    auto Row = D.source(Part, 16);
    if (!Row)
      return false;
    Rows.push_back(*Row);
  }
  return true;
}

bool decodeTensorCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, bool Out) {
  auto Dims = M.takeOne({"1d", "2d", "3d", "4d", "5d"});
  bool Pixels = M.take(Out ? "im2col_no_offs" : "im2col");
  if (!Pixels)
    M.take("tile");
  size_t Hint = M.take("L2::cache_hint") ? 1 : 0, Rank = Dims.value_or(0) + 1;
  if (Pixels && Rank < 3)
    return D.fail("im2col has at least three dims");
  size_t Offsets = Pixels && !Out ? 1 : 0, Own = Out ? 2 : 3;
  if (!Dims || S.Operands.size() != Own + Offsets + Hint)
    return D.fail("wrong number of operands");
  std::vector<uint32_t> Rows;
  const ptx::Operand &Near = S.Operands[Out ? 1 : 0],
                     &Map = S.Operands[Out ? 0 : 1];
  if (!D.addAddress(Near, I, Space::Shared) ||
      !D.addAddress(Map, I, Space::Generic, &Rows) ||
      (!Out && !D.addAddress(S.Operands[2], I, Space::Shared)))
    return false;
  if (Rows.size() != Rank)
    return D.fail("the coordinates are not the tensor's");
  if (Offsets && !addOffsets(D, S.Operands[3], Rank, Rows))
    return false;
  if (Hint && !D.source(S.Operands.back(), 64))
    return false;
  std::vector<uint32_t> &Vectors = D.kernel().Vectors;
  I.Rows = uint32_t(Vectors.size());
  I.Count = uint8_t(Rows.size());
  I.Immediate = Rank;
  Vectors.insert(Vectors.end(), Rows.begin(), Rows.end());
  I.Mode = uint8_t((Out ? Stores : 0) | (Pixels ? Im2col : 0));
  I.Run = copyTensor;
  return true;
}

} // namespace kpc::emulator
