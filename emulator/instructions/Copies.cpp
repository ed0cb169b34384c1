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

#include "emulator/execute/Cta.h"
#include "emulator/execute/TensorMap.h"
#include "emulator/execute/Windows.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

namespace {

void nothing(Warp &, const Instruction &, uint32_t) {}

const AddressOperand *addresses(Warp &W, const Instruction &I) {
  return &W.kernel().Addresses[I.Jump];
}

/// A global address of a copy; the instruction's space is of no account.
uint8_t *locateGlobal(Warp &W, const Instruction &I, uint64_t Address,
                      unsigned Bytes, MemoryUse Use, unsigned Lane) {
  Instruction Plain = I;
  Plain.Where = Space::Global;
  return W.locate(Plain, Address, Bytes, Use, Lane);
}

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
// What completes: bytes on an mbarrier
//===----------------------------------------------------------------------===//

/// The clock that the async agent writes with; the issuing warp alone does not
/// know of it afterwards.
class AgentWrites {
public:
  AgentWrites(Warp &W, Cta &Block) : W(W), Before(W.Known[AsyncAgent]) {
    W.Known[AsyncAgent] = Clock = Block.nextAsyncClock();
  }
  ~AgentWrites() { W.Known[AsyncAgent] = Before; }
  AgentWrites(const AgentWrites &) = delete;
  AgentWrites &operator=(const AgentWrites &) = delete;
  uint32_t clock() const { return Clock; }

private:
  Warp &W;
  uint32_t Before, Clock = 0;
};

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
// Tensor copies: Mode 1 stores. Addresses: shared, map, mbarrier
//===----------------------------------------------------------------------===//

struct BoxCopy {
  Warp &W;
  const Instruction &I;
  const TensorMap &Map;
  unsigned Lane;
  uint64_t Shared;
  int64_t Start[5];
  bool Stores;

  bool run();
  bool element(const unsigned (&Index)[5], uint64_t Line);
  uint64_t sharedAt(uint64_t Line, unsigned Inner) const;
};

/// Lines are as far apart as the box is wide, or as the swizzle's span.
uint64_t BoxCopy::sharedAt(uint64_t Line, unsigned Inner) const {
  unsigned Width = Map.extent(0) * Map.elementBytes(), Span = Map.span();
  uint64_t At = Shared + Line * (Span ? Span : Width) + Inner;
  if (Span == 0)
    return At;
  // 16-byte units change places within the span by the 128-byte line's number.
  uint64_t Unit = At / 16, Turn = (At / 128) % (Span / 16);
  return (Unit ^ Turn) * 16 + At % 16;
}

/// A tf32 load rounds to ten bits of mantissa, to nearest even.
void roundTf32(uint8_t *At) {
  uint32_t Bits = 0;
  std::memcpy(&Bits, At, 4);
  if ((Bits & 0x7FFFFFFF) > 0x7F800000)
    Bits = 0x7FFFE000;
  else
    Bits = (Bits + 0xFFF + (Bits >> 13 & 1)) & ~uint32_t{0x1FFF};
  std::memcpy(At, &Bits, 4);
}

bool BoxCopy::element(const unsigned (&Index)[5], uint64_t Line) {
  unsigned Bytes = Map.elementBytes();
  uint64_t Address = Map.Address;
  bool Inside = true;
  for (unsigned D = 0; D < Map.Rank; ++D) {
    int64_t At = Start[D] + int64_t{Index[D]} * Map.Traversal[D];
    Inside &= At >= 0 && uint64_t(At) < Map.Dims[D];
    Address += uint64_t(At) * (D ? Map.Strides[D - 1] : Bytes);
  }
  if (Stores && !Inside)
    return true;
  uint8_t *Near =
      W.locateAsync(I, sharedAt(Line, Index[0] * Bytes), Bytes,
                    Stores ? MemoryUse::Read : MemoryUse::Write, Lane);
  if (!Near)
    return false;
  if (!Inside) { // the pattern is of 16 bits
    for (unsigned B = 0; B < Bytes; ++B)
      Near[B] = !Map.Fill ? 0 : B % 2 ? 0x7F : 0xF7;
    return true;
  }
  uint8_t *Far = locateGlobal(
      W, I, Address, Bytes, Stores ? MemoryUse::Write : MemoryUse::Read, Lane);
  if (!Far)
    return false;
  std::memcpy(Stores ? Far : Near, Stores ? Near : Far, Bytes);
  if (!Stores && Map.Type >= 11)
    roundTf32(Near);
  return true;
}

bool BoxCopy::run() {
  unsigned Index[5] = {};
  uint64_t Line = 0;
  while (true) {
    for (Index[0] = 0; Index[0] < Map.extent(0); ++Index[0])
      if (!element(Index, Line))
        return false;
    Index[0] = 0;
    ++Line;
    unsigned D = 1;
    while (D < Map.Rank && ++Index[D] == Map.extent(D))
      Index[D++] = 0;
    if (D >= Map.Rank)
      return true;
  }
}

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
  if (Copy.TheMark == TensorMap::Mark && Copy.Rank == I.Count)
    return &Copy;
  W.report(FindingKind::BadTensorMap, I, Lane,
           Copy.TheMark == TensorMap::Mark
               ? "the map has another rank than the instruction"
               : "this is no tensor map that cuTensorMapEncodeTiled made");
  return nullptr;
}

void copyTensor(Warp &W, const Instruction &I, uint32_t Mask) {
  const AddressOperand *A = addresses(W, I);
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    TensorMap Memory;
    const TensorMap *Map = mapOf(W, I, W.addressOf(A[1], L), L, Memory);
    if (!Map)
      return;
    uint64_t Shared = W.addressOf(A[0], L) & ~WindowMask;
    BoxCopy C{W, I, *Map, L, Shared, {}, I.Mode != 0};
    for (unsigned D = 0; D < Map->Rank; ++D)
      C.Start[D] = int32_t(W.row<uint32_t>(Rows[D])[L]);
    if (Shared % 128)
      return W.report(FindingKind::Misaligned, I, L,
                      "a box in shared memory is aligned to 128 bytes");
    if (C.Start[0] * Map->elementBytes() % 16)
      return W.report(FindingKind::Misaligned, I, L,
                      "the first coordinate is no multiple of 16 bytes");
    AgentWrites Agent(W, W.block());
    if (!C.run())
      return;
    if (!C.Stores)
      complete(W, I, L, W.addressOf(A[2], L), Map->boxBytes(), Agent.clock());
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool decodeTensor(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I, bool Stores) {
  auto Rank = M.takeOne({"1d", "2d", "3d", "4d", "5d"});
  M.take("tile");
  if (!Rank || S.Operands.size() != (Stores ? 2u : 3u))
    return D.fail("wrong number of operands");
  std::vector<uint32_t> Coordinates;
  const ptx::Operand &Near = S.Operands[Stores ? 1 : 0],
                     &Map = S.Operands[Stores ? 0 : 1];
  if (!D.addAddress(Near, I, Space::Shared) ||
      !D.addAddress(Map, I, Space::Generic, &Coordinates) ||
      (!Stores && !D.addAddress(S.Operands[2], I, Space::Shared)))
    return false;
  if (Coordinates.size() != *Rank + 1)
    return D.fail("the coordinates are not the tensor's");
  std::vector<uint32_t> &Vectors = D.kernel().Vectors;
  I.Rows = uint32_t(Vectors.size());
  I.Count = uint8_t(Coordinates.size());
  Vectors.insert(Vectors.end(), Coordinates.begin(), Coordinates.end());
  I.Run = copyTensor;
  return true;
}

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
  return Tensor ? decodeTensor(D, S, M, I, Stores)
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
