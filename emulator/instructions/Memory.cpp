//===- Memory.cpp - ld, st and ldu ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions: ld, st". A vector's
// access is as large as all of it and aligned to that.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

#include <bit>
#include <cstring>
#include <optional>

namespace kpc::emulator {

namespace {

/// Element bytes are I.Bytes, register bytes I.Mode & 15; bit 4: sign-extend,
/// bit 5: atomic (volatile, relaxed, acquire, release), bit 6: acquire,
/// release.
enum : uint8_t {
  RegisterBytes = 15,
  SignExtends = 16,
  Strong = 32,
  Ordered = 64
};

/// Whether other blocks may learn of it, or it of them.
bool isStrongGlobal(const Instruction &I, uint64_t Address) {
  return (I.Mode & Strong) &&
         (I.Where == Space::Global ||
          (I.Where == Space::Generic && !(Address & WindowMask)));
}

uint64_t readBytes(const uint8_t *From, unsigned Bytes, bool IsStrong) {
  switch (Bytes) {
  case 1:
    return *From;
  case 2: {
    auto *P = reinterpret_cast<const uint16_t *>(From);
    return IsStrong ? __atomic_load_n(P, __ATOMIC_ACQUIRE) : *P;
  }
  case 4: {
    auto *P = reinterpret_cast<const uint32_t *>(From);
    return IsStrong ? __atomic_load_n(P, __ATOMIC_ACQUIRE) : *P;
  }
  default: {
    auto *P = reinterpret_cast<const uint64_t *>(From);
    return IsStrong ? __atomic_load_n(P, __ATOMIC_ACQUIRE) : *P;
  }
  }
}

void writeBytes(uint8_t *To, unsigned Bytes, bool IsStrong, uint64_t Value) {
  if (!IsStrong) {
    std::memcpy(To, &Value, Bytes);
    return;
  }
  switch (Bytes) {
  case 1:
    *To = uint8_t(Value);
    return;
  case 2:
    __atomic_store_n(reinterpret_cast<uint16_t *>(To), uint16_t(Value),
                     __ATOMIC_RELEASE);
    return;
  case 4:
    __atomic_store_n(reinterpret_cast<uint32_t *>(To), uint32_t(Value),
                     __ATOMIC_RELEASE);
    return;
  default:
    __atomic_store_n(reinterpret_cast<uint64_t *>(To), Value, __ATOMIC_RELEASE);
  }
}

uint64_t extended(uint64_t Value, unsigned Bytes) {
  unsigned Shift = 64 - 8 * Bytes;
  return uint64_t(int64_t(Value << Shift) >> Shift);
}

void load(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  unsigned Bytes = I.Bytes, Register = I.Mode & RegisterBytes;
  bool IsStrong = I.Mode & Strong, Signed = I.Mode & SignExtends;
  MemoryUse Use = IsStrong ? MemoryUse::StrongRead : MemoryUse::Read;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t Address = W.addressOf(I, L);
    uint8_t *From = W.locate(I, Address, Bytes * I.Count, Use, L);
    if (!From)
      return;
    for (unsigned N = 0; N < I.Count; ++N) {
      uint64_t Value = readBytes(From + N * Bytes, Bytes, IsStrong);
      storeLane(W, Rows[N], Register, L,
                Signed ? extended(Value, Bytes) : Value);
    }
    if (isStrongGlobal(I, Address))
      W.observe(Address, I.Mode & Ordered);
  }
}

/// The bytes of an element that `Used`, a bit each, names, and ones elsewhere.
std::optional<uint64_t> readUsed(Warp &W, const Instruction &I,
                                 uint64_t Address, uint64_t Used,
                                 unsigned Lane) {
  bool Whole = Used + 1 == uint64_t{1} << I.Bytes;
  unsigned Step = Whole ? I.Bytes : 1;
  uint64_t Value = ~uint64_t{0};
  for (unsigned At = 0; At < I.Bytes; At += Step) {
    if (!(Used >> At & 1))
      continue;
    uint8_t *From = W.locate(I, Address + At, Step, MemoryUse::Read, Lane);
    if (!From)
      return std::nullopt;
    std::memcpy(reinterpret_cast<uint8_t *>(&Value) + At, From, Step);
  }
  return Value;
}

/// A load of which only some bytes are used: the others may lie behind the end
/// of an allocation or be written by somebody else. In their place stand ones,
/// a NaN.
void loadUsed(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  unsigned Bytes = I.Bytes, Register = I.Mode & RegisterBytes;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t Address = W.addressOf(I, L);
    if (!W.isAligned(I, Address, Bytes * I.Count, L))
      return;
    for (unsigned N = 0; N < I.Count; ++N) {
      uint64_t All = (uint64_t{1} << Bytes) - 1;
      std::optional<uint64_t> Value = readUsed(
          W, I, Address + N * Bytes, I.Immediate >> (N * Bytes) & All, L);
      if (!Value)
        return;
      unsigned Shift = 64 - 8 * Bytes;
      storeLane(W, Rows[N], Register, L,
                I.Mode & SignExtends ? extended(*Value, Bytes)
                                     : *Value << Shift >> Shift);
    }
  }
}

void store(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  unsigned Bytes = I.Bytes, Register = I.Mode & RegisterBytes;
  bool IsStrong = I.Mode & Strong;
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t Address = W.addressOf(I, L);
    uint8_t *To = W.locate(I, Address, Bytes * I.Count,
                           IsStrong ? MemoryUse::Atomic : MemoryUse::Write, L);
    if (!To)
      return;
    if (isStrongGlobal(I, Address))
      W.publish(Address, I.Mode & Ordered);
    for (unsigned N = 0; N < I.Count; ++N)
      writeBytes(To + N * Bytes, Bytes, IsStrong,
                 loadLane(W, Rows[N], Register, L));
  }
}

/// 128 bits a lane.
void copyWide(Warp &W, const Instruction &I, uint32_t Mask, MemoryUse Use) {
  constexpr unsigned Bytes = 16;
  auto *Row = W.row<unsigned __int128>(W.kernel().Vectors[I.Rows]);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint8_t *At = W.locate(I, W.addressOf(I, L), Bytes, Use, L);
    if (!At)
      return;
    if (Use == MemoryUse::Read)
      std::memcpy(&Row[L], At, Bytes);
    else
      std::memcpy(At, &Row[L], Bytes);
  }
}
void loadWide(Warp &W, const Instruction &I, uint32_t Mask) {
  copyWide(W, I, Mask, MemoryUse::Read);
}
void storeWide(Warp &W, const Instruction &I, uint32_t Mask) {
  copyWide(W, I, Mask, MemoryUse::Write);
}

/// Parameters are the same for all lanes.
template <typename T>
void loadParameter(Warp &W, const Instruction &I, uint32_t Mask) {
  uint8_t *From =
      W.locate(I, uint64_t(I.Offset), sizeof(T), MemoryUse::Read, 0);
  if (!From)
    return;
  T Value;
  std::memcpy(&Value, From, sizeof(T));
  T *Out = W.row<T>(W.kernel().Vectors[I.Rows]);
  forEachLane(Mask, [&](unsigned L) { Out[L] = Value; });
}

bool takeSpace(Modifiers &M, Instruction &I) {
  auto Where = M.takeOne({"global", "shared", "shared::cta", "shared::cluster",
                          "local", "param", "param::entry", "const"});
  constexpr Space Spaces[] = {Space::Global, Space::Shared, Space::Shared,
                              Space::Shared, Space::Local,  Space::Param,
                              Space::Param,  Space::Const};
  if (Where)
    I.Where = Spaces[*Where];
  return true;
}

/// Cache hints change nothing; a policy operand is refused by its modifier.
void takeHints(Modifiers &M) {
  for (const char *Hint :
       {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L2::64B", "L2::128B",
        "L2::256B", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
        "L1::evict_normal", "L1::evict_unchanged", "L2::evict_first",
        "L2::evict_last", "L2::evict_normal"})
    M.take(Hint);
}

/// Bits of Mode.
uint8_t takeStrength(Modifiers &M) {
  M.take("weak");
  auto Which = M.takeOne({"volatile", "relaxed", "acquire", "release"});
  M.takeOne({"cta", "cluster", "gpu", "sys"});
  return Which ? Strong | (*Which >= 2 ? Ordered : 0) : 0;
}

bool decodeAccess(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  bool Stores = S.Opcode == "st";
  if (Stores && M.take("async"))
    return decodeRemoteStore(D, S, M, I, false);
  uint8_t Strength = takeStrength(M);
  takeSpace(M, I);
  takeHints(M);
  auto Vector = M.takeOne({"v2", "v4", "v8"});
  auto T = M.takeType();
  if (!T || S.Operands.size() != 2)
    return false;
  unsigned Bits = bitsOf(*T);
  bool IsWide = Bits == 128 && !Vector && !Strength;
  if (Bits < 8 || (Bits > 64 && !IsWide))
    return false;
  const ptx::Operand &Data = S.Operands[Stores ? 1 : 0];
  unsigned Given = 0;
  if (!D.address(S.Operands[Stores ? 0 : 1], I) ||
      !D.rows(Data, I, !Stores, Bits, Given))
    return false;
  if (I.Count != (Vector ? 2u << *Vector : 1u))
    return D.fail("the number of registers is not the vector's");
  if (Bits / 8 * I.Count > 32)
    return D.fail("more than 32 bytes");
  if (IsWide) {
    I.Run = Stores ? storeWide : loadWide;
    return true;
  }
  if (Given > 64)
    return false;
  I.Bytes = uint8_t(Bits / 8);
  I.Mode = uint8_t(Given / 8 | (isSigned(*T) ? SignExtends : 0) | Strength);
  I.Run = Stores ? store : load;
  uint32_t All = uint32_t((uint64_t{1} << (I.Bytes * I.Count)) - 1);
  if (!Stores && !Strength && (S.UsedBytes & All) != All) {
    I.Immediate = S.UsedBytes;
    I.Run = loadUsed;
    return true;
  }
  if (I.Where == Space::Param && !I.AddressBytes && Given == Bits &&
      I.Count == 1 && !Stores)
    I.Run = Bits == 64   ? loadParameter<uint64_t>
            : Bits == 32 ? loadParameter<uint32_t>
                         : load;
  return true;
}

} // namespace

void addMemory(OpcodeTable &Table) {
  Table["ld"] = Table["ldu"] = {decodeAccess, OperandTypes::Loaded};
  Table["st"] = {decodeAccess, OperandTypes::Stored};
}

} // namespace kpc::emulator
