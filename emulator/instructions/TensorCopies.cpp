//===- TensorCopies.cpp - Copies of boxes and pixels ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "cp.async.bulk.tensor": tiles and im2col columns between global and
// shared memory.

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/Copies.h"
#include "emulator/program/Windows.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

namespace {

/// Bits of Mode. Addresses: shared, map, mbarrier; Count rows: coordinates, and
/// for im2col loads 16-bit offsets behind them. Source[1]: the mask of blocks.
/// Pair: the mbarrier may be in the other block of the destination's pair.
/// Reduces: stores that update; Immediate has the rank, and the reduction from
/// bit 8 on.
enum : uint8_t {
  Stores = 1,
  Im2col = 2,
  Multicast = 4,
  Pair = 8,
  Reduces = 16
};

unsigned rankOf(const Instruction &I) { return unsigned(I.Immediate & 0xFF); }

/// Of the elements that the map says; nullopt: there is none.
std::optional<Reduction> reductionOf(const Instruction &I,
                                     const TensorMap &Map) {
  // CUtensorMapDataType; bytes and f64 are not for reductions.
  constexpr std::optional<Type> Types[] = {
      std::nullopt, std::nullopt, Type::U32, Type::S32,    Type::U64,
      Type::S64,    Type::F16,    Type::F32, std::nullopt, Type::BF16};
  if (Map.Type >= std::size(Types) || !Types[Map.Type])
    return std::nullopt;
  return bulkReduction(uint8_t(I.Immediate >> 8), *Types[Map.Type]);
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
  const char *Wrong = nullptr;
  if (Copy.TheMark != TensorMap::Mark)
    Wrong = "this is no tensor map that cuTensorMapEncode* made";
  else if (Copy.Rank != rankOf(I))
    Wrong = "the map has another rank than the instruction";
  else if (Copy.Im2col != ((I.Mode & Im2col) != 0))
    Wrong = "the map is tiled where the instruction is im2col, or the reverse";
  else if ((I.Mode & Reduces) && !reductionOf(I, Copy))
    Wrong = "elements of the map's type have no such reduction";
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

/// Where the bytes of one copy lie; false: reported.
bool locatePieces(Warp &W, const Instruction &I, unsigned Lane,
                  const std::vector<CopyUnit> &Units, const Warp::Agent &By,
                  std::vector<CopyPiece> &Out) {
  bool IsStore = I.Mode & Stores;
  MemoryUse Far = I.Mode & Reduces ? MemoryUse::Atomic
                  : IsStore        ? MemoryUse::Write
                                   : MemoryUse::Read;
  for (const CopyUnit &U : Units) {
    uint8_t *Near =
        W.locateAsync(I, U.Shared, 16,
                      IsStore ? MemoryUse::Read : MemoryUse::Write, Lane, By);
    if (!Near)
      return false;
    uint8_t *Global = Near; // of which no byte is copied
    if (U.Valid)
      Global = W.locateDevice(I, U.Global, U.Valid, Far, Lane, &By);
    if (!Global)
      return false;
    Out.push_back({Near, Global, U.Valid});
  }
  return true;
}

/// A load into one block; `Place.Shared` and `Barrier` are in the cluster's
/// shared memory. False: reported.
bool loadBox(Warp &W, const Instruction &I, unsigned L, BulkLoad Load,
             const TensorPlace &Place) {
  uint64_t There = Place.Shared;
  Load.Block = W.block().blockOf(Load.Barrier);
  Cta *To = W.block().blockOf(There);
  bool Near = Load.Block && To &&
              (Load.Block == To ||
               ((I.Mode & Pair) && Load.Block->rank() / 2 == To->rank() / 2));
  if (!Near) {
    W.report(FindingKind::BadOperand, I, L,
             I.Mode & Pair ? "destination and mbarrier are not in one pair of "
                             "blocks of the cluster"
                           : "destination and mbarrier are not in one block of "
                             "the cluster");
    return false;
  }
  AsyncBarrier *B = barrierForCopy(W, I, *Load.Block, Load.Barrier, L);
  if (!B)
    return false;
  Warp::Agent By = W.block().begin(B->Agent, I);
  if (!locatePieces(W, I, L, walk(Load.Map, Place), By, Load.Pieces))
    return false;
  startLoad(W, I, L, std::move(Load), By);
  return true;
}

/// Into the same place of each block that the mask names.
bool multicast(Warp &W, const Instruction &I, unsigned L, const BulkLoad &Load,
               TensorPlace Place, uint32_t Blocks) {
  uint64_t Shared = Place.Shared & BlockOffsetMask,
           Barrier = Load.Barrier & BlockOffsetMask;
  uint64_t Holder = Load.Barrier >> RankShift; // 0: this block
  unsigned Parity = unsigned(Holder ? Holder - 1 : W.block().rank()) & 1;
  for (; Blocks != 0; Blocks &= Blocks - 1) {
    auto To = unsigned(std::countr_zero(Blocks));
    // In pairs all signals go to blocks of the parity of the mbarrier's.
    unsigned Signalled = I.Mode & Pair ? (To & ~1u) | Parity : To;
    BulkLoad One = Load;
    One.Barrier = Barrier | uint64_t{Signalled + 1} << RankShift;
    Place.Shared = Shared | uint64_t{To + 1} << RankShift;
    if (!loadBox(W, I, L, std::move(One), Place))
      return false;
  }
  return true;
}

/// One copy; false: reported.
bool copyBox(Warp &W, const Instruction &I, unsigned L) {
  const AddressOperand *A = addresses(W, I);
  BulkLoad Load;
  const TensorMap *Map = mapOf(W, I, W.addressOf(A[1], L), L, Load.Map);
  if (!Map)
    return false;
  TensorPlace P = placeOf(W, I, L);
  const char *Wrong = nullptr;
  if (P.Shared % 128)
    Wrong = "a box in shared memory is aligned to 128 bytes";
  else if (P.Start[0] * Map->elementBytes() % 16)
    Wrong = "the first coordinate is no multiple of 16 bytes";
  if (Wrong) {
    W.report(FindingKind::Misaligned, I, L, Wrong);
    return false;
  }
  bool IsBelow = false;
  for (size_t D = 0; D < std::size(P.Start) && D < Map->Rank; ++D)
    IsBelow |= P.Start[D] < 0;
  if ((I.Mode & Stores) && IsBelow) {
    W.report(FindingKind::BadOperand, I, L,
             "a store begins at a negative coordinate, which is an illegal "
             "instruction");
    return false;
  }
  Load.HasMap = true;
  Load.Bytes = Map->boxBytes();
  if (I.Mode & Stores) {
    Warp::Agent By =
        W.block().begin(W.block().agent(AgentKind::Store, W.number()), I);
    if (!locatePieces(W, I, L, walk(*Map, P), By, Load.Pieces))
      return false;
    if (I.Mode & Reduces) {
      startReduction(W, L, std::move(Load.Pieces), *reductionOf(I, *Map), By);
      return true;
    }
    startStore(W, L, std::move(Load.Pieces), By);
    return true;
  }
  Load.Barrier = W.addressOf(A[2], L) & ~WindowMask;
  if (!(I.Mode & Multicast))
    return loadBox(W, I, L, std::move(Load), P);
  return multicast(W, I, L, Load, P, W.row<uint16_t>(I.Source[1])[L]);
}

void copyTensor(Warp &W, const Instruction &I, uint32_t Mask) {
  for (; Mask != 0; Mask &= Mask - 1)
    if (!copyBox(W, I, unsigned(std::countr_zero(Mask))))
      return;
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
  size_t Mask = !Out && M.take("multicast::cluster") ? 1 : 0;
  auto Group = Out ? std::nullopt : M.takeOne({"cta_group::1", "cta_group::2"});
  if (Pixels && Rank < 3)
    return D.fail("im2col has at least three dims");
  size_t Offsets = Pixels && !Out ? 1 : 0, Own = Out ? 2 : 3;
  if (!Dims || S.Operands.size() != Own + Offsets + Mask + Hint)
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
  if (Mask) {
    auto Row = D.source(S.Operands[Own + Offsets], 16);
    if (!Row)
      return false;
    I.Source[1] = *Row;
  }
  if (Hint && !D.source(S.Operands.back(), 64))
    return false;
  std::vector<uint32_t> &Vectors = D.kernel().Vectors;
  I.Rows = uint32_t(Vectors.size());
  I.Count = uint8_t(Rows.size());
  I.Immediate = Rank;
  Vectors.insert(Vectors.end(), Rows.begin(), Rows.end());
  I.Mode = uint8_t((Out ? Stores : 0) | (Pixels ? Im2col : 0) |
                   (Mask ? Multicast : 0) | (Group.value_or(0) ? Pair : 0));
  I.Run = copyTensor;
  return true;
}

bool decodeTensorReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  auto What = takeReductionKind(M);
  if (!What || !decodeTensorCopy(D, S, M, I, true))
    return false;
  I.Mode |= Reduces;
  I.Immediate |= uint64_t{*What} << 8;
  return true;
}

} // namespace kpc::emulator
