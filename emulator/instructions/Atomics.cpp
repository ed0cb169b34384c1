//===- Atomics.cpp - atom and red -----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Parallel Synchronization and Communication Instructions: atom,
// red". Lanes go in order; CTAs on other host threads are kept out by the
// host's compare-and-swap.

#include "emulator/instructions/Copies.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"
#include "emulator/program/Windows.h"

#include <cmath>

#include <cstring>

namespace kpc::emulator {

namespace {

enum class Update : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exchange,
  Inc,
  Dec,
  CompareExchange
};

template <typename T>
T updatedNumber(Update What, T Old, T New, bool FlushSums) {
  switch (What) {
  case Update::Add:
    if constexpr (sizeof(T) == 4 && !std::is_integral_v<T>)
      return FlushSums ? flushed(canonical(flushed(Old) + flushed(New)))
                       : canonical(Old + New);
    else if constexpr (std::is_integral_v<T>)
      return T(std::make_unsigned_t<T>(Old) + std::make_unsigned_t<T>(New));
    else if (FlushSums) // global memory: NaN as it is, the operand's first
      return New != New ? New : Old != Old ? Old : Old + New;
    else if (Old != Old || New != New) { // shared memory: quiet
      constexpr uint64_t Quiet = uint64_t{1} << 51;
      return std::bit_cast<T>(std::bit_cast<uint64_t>(Old != Old ? Old : New) |
                              Quiet);
    } else {
      return Old + New;
    }
  case Update::Min:
    return New < Old || Old != Old ? New : Old;
  case Update::Max:
    return New > Old || Old != Old ? New : Old;
  default:
    return New;
  }
}

template <typename T, typename Bits>
Bits numberUpdate(Update What, Bits Old, Bits New, bool FlushSums) {
  return std::bit_cast<Bits>(updatedNumber<T>(
      What, std::bit_cast<T>(Old), std::bit_cast<T>(New), FlushSums));
}

uint16_t halfSum(uint16_t A, uint16_t B, bool IsBrain) {
  return IsBrain ? floatToBrain(brainToFloat(A) + brainToFloat(B))
                 : floatToHalf(halfToFloat(A) + halfToFloat(B));
}

template <typename Bits>
Bits updated(Update What, Type T, Bits Old, Bits New, bool FlushSums) {
  switch (What) {
  case Update::And:
    return Old & New;
  case Update::Or:
    return Old | New;
  case Update::Xor:
    return Old ^ New;
  case Update::Exchange:
    return New;
  case Update::Inc:
    return Old >= New ? 0 : Old + 1;
  case Update::Dec:
    return Old == 0 || Old > New ? New : Old - 1;
  default:
    break;
  }
  if constexpr (sizeof(Bits) == 8) {
    if (T == Type::F64)
      return numberUpdate<double>(What, Old, New, FlushSums);
    if (T == Type::S64)
      return numberUpdate<int64_t>(What, Old, New, false);
    return numberUpdate<uint64_t>(What, Old, New, false);
  } else if constexpr (sizeof(Bits) == 4) {
    if (T == Type::F32)
      return numberUpdate<float>(What, Old, New, FlushSums);
    if (T == Type::S32)
      return numberUpdate<int32_t>(What, Old, New, false);
    if (T == Type::F16x2 || T == Type::BF16x2) {
      bool B = T == Type::BF16x2;
      uint32_t High = halfSum(uint16_t(Old >> 16), uint16_t(New >> 16), B);
      return High << 16 | halfSum(uint16_t(Old), uint16_t(New), B);
    }
    return numberUpdate<uint32_t>(What, Old, New, false);
  } else {
    bool B = T == Type::BF16;
    if (What == Update::Add)
      return halfSum(Old, New, B);
    auto Value = [&](uint16_t Half) {
      return B ? brainToFloat(Half) : halfToFloat(Half);
    };
    if (std::isnan(Value(Old)) || std::isnan(Value(New))) {
      constexpr uint16_t NaN = 0x7FFF;
      return !std::isnan(Value(New)) ? New : std::isnan(Value(Old)) ? NaN : Old;
    }
    // -0 is below +0.
    bool IsBelow = Value(New) < Value(Old) ||
                   (Value(New) == Value(Old) && std::signbit(Value(New)));
    return IsBelow == (What == Update::Min) ? New : Old;
  }
}

/// Immediate is the type; bits of Bytes: 1 acquires, 2 releases.
template <typename Bits>
void atomic(Warp &W, const Instruction &I, uint32_t Mask) {
  auto What = static_cast<Update>(I.Mode);
  auto T = static_cast<Type>(I.Immediate);
  for (; Mask != 0; Mask &= Mask - 1) {
    auto L = unsigned(std::countr_zero(Mask));
    uint64_t Address = W.addressOf(I, L);
    auto *At = reinterpret_cast<Bits *>(
        W.locate(I, Address, sizeof(Bits), MemoryUse::Atomic, L));
    if (!At)
      return;
    bool Global = I.Where == Space::Global ||
                  (I.Where == Space::Generic && !(Address & WindowMask));
    if (Global)
      W.publish(Address, I.Bytes & 2);
    Bits Old = __atomic_load_n(At, __ATOMIC_RELAXED);
    Bits B = W.row<Bits>(I.Source[1])[L];
    if (What == Update::CompareExchange) {
      Old = B;
      __atomic_compare_exchange_n(At, &Old, W.row<Bits>(I.Source[2])[L], false,
                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    } else {
      bool FlushSums = I.Where == Space::Global;
      while (!__atomic_compare_exchange_n(
          At, &Old, updated<Bits>(What, T, Old, B, FlushSums), false,
          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      }
    }
    if (Global)
      W.observe(Address, I.Bytes & 1);
    if (I.Target[0] != NoRow)
      W.row<Bits>(I.Target[0])[L] = Old;
  }
}

bool isAllowed(Update What, Type T) {
  bool Half = T == Type::F16 || T == Type::BF16 || T == Type::F16x2 ||
              T == Type::BF16x2;
  if (Half || T == Type::F32 || T == Type::F64)
    return What == Update::Add || (What == Update::Exchange && !Half);
  unsigned Bits = bitsOf(T);
  if (What == Update::Inc || What == Update::Dec)
    return T == Type::U32;
  return Bits == 32 || Bits == 64 ||
         (Bits == 16 && What == Update::CompareExchange);
}

bool decodeAtomic(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  bool HasResult = S.Opcode == "atom";
  if (!HasResult && M.take("async"))
    return decodeRemoteStore(D, S, M, I, true);
  auto Order = M.takeOne({"relaxed", "acquire", "release", "acq_rel"});
  M.takeOne({"cta", "cluster", "gpu", "sys"});
  auto Where =
      M.takeOne({"global", "shared", "shared::cta", "shared::cluster"});
  if (Where)
    I.Where = *Where == 0 ? Space::Global : Space::Shared;
  auto What = M.takeOne(
      {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"});
  M.take("noftz");
  auto T = M.takeType();
  if (!What || !T || !isAllowed(Update(*What), *T))
    return false;
  bool Compares = Update(*What) == Update::CompareExchange;
  size_t First = HasResult ? 1 : 0, Count = First + (Compares ? 3 : 2);
  if (S.Operands.size() != Count)
    return D.fail("wrong number of operands");
  unsigned Bits = bitsOf(*T);
  if (!D.address(S.Operands[First], I))
    return false;
  for (size_t N = 1; First + N < Count; ++N) {
    auto Row = D.source(S.Operands[First + N], Bits);
    if (!Row)
      return false;
    I.Source[N] = *Row;
  }
  if (HasResult && S.Operands[0].TheKind != ptx::Operand::Kind::Sink) {
    auto Row = D.target(S.Operands[0], Bits);
    if (!Row)
      return false;
    I.Target[0] = *Row;
  }
  I.Bytes = uint8_t(Order.value_or(0));
  I.Mode = uint8_t(*What);
  I.Immediate = uint64_t(*T);
  I.Run = Bits == 16   ? atomic<uint16_t>
          : Bits == 32 ? atomic<uint32_t>
                       : atomic<uint64_t>;
  return true;
}

} // namespace

std::optional<uint8_t> takeReductionKind(Modifiers &M) {
  auto What =
      M.takeOne({"add", "min", "max", "and", "or", "xor", "inc", "dec"});
  if (!What)
    return std::nullopt;
  constexpr Update Kinds[] = {Update::Add, Update::Min, Update::Max,
                              Update::And, Update::Or,  Update::Xor,
                              Update::Inc, Update::Dec};
  return uint8_t(Kinds[*What]);
}

std::optional<Reduction> bulkReduction(uint8_t What, Type T) {
  auto Of = static_cast<Update>(What);
  bool Half = T == Type::F16 || T == Type::BF16;
  bool IsExtreme = Of == Update::Min || Of == Update::Max;
  // 64-bit integers with a sign have no sums and no bits: u64 and b64 do.
  if (T == Type::S64 && !IsExtreme)
    return std::nullopt;
  if (!(Half && IsExtreme) && !isAllowed(Of, T))
    return std::nullopt;
  return Reduction{What, uint8_t(T)};
}

std::optional<Reduction> takeReduction(Modifiers &M) {
  auto What = takeReductionKind(M);
  bool KeepsSmall = M.take("noftz");
  auto T = M.takeType();
  if (!What || !T)
    return std::nullopt;
  bool Half = *T == Type::F16 || *T == Type::BF16;
  if (KeepsSmall != (Half && Update(*What) == Update::Add))
    return std::nullopt;
  return bulkReduction(*What, *T);
}

template <typename Bits>
static void reduceElements(uint8_t *To, const uint8_t *From, unsigned Bytes,
                           const Reduction &How) {
  // Sums of f32 keep small numbers here, unlike those of red.global.
  bool Flushes = Type(How.T) != Type::F32;
  for (unsigned At = 0; At < Bytes; At += sizeof(Bits)) {
    Bits New;
    std::memcpy(&New, From + At, sizeof New);
    auto *Place = reinterpret_cast<Bits *>(To + At);
    Bits Old = __atomic_load_n(Place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        Place, &Old,
        updated<Bits>(Update(How.What), Type(How.T), Old, New, Flushes), false,
        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
  }
}

void reduceInto(uint8_t *To, const uint8_t *From, unsigned Bytes,
                const Reduction &How) {
  switch (bitsOf(Type(How.T))) {
  case 16:
    return reduceElements<uint16_t>(To, From, Bytes, How);
  case 32:
    return reduceElements<uint32_t>(To, From, Bytes, How);
  default:
    return reduceElements<uint64_t>(To, From, Bytes, How);
  }
}

void addAtomics(OpcodeTable &Table) {
  Table["atom"] = Table["red"] = decodeAtomic;
}

} // namespace kpc::emulator
