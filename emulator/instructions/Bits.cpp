//===- Bits.cpp - and to dp4a: bits ---------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Logic and Shift Instructions" and the bit instructions among the
// integer ones.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

#include <algorithm>
#include <type_traits>

namespace kpc::emulator {

namespace {

struct And {
  template <typename T> T operator()(T A, T B) const { return T(A & B); }
};
struct Or {
  template <typename T> T operator()(T A, T B) const { return T(A | B); }
};
struct Xor {
  template <typename T> T operator()(T A, T B) const { return T(A ^ B); }
};
struct Not {
  template <typename T> T operator()(T A) const { return T(~A); }
};
struct CNot {
  template <typename T> T operator()(T A) const { return T(A == 0); }
};
/// Amounts of the width and more give 0 or the sign.
struct ShiftLeft {
  template <typename T> T operator()(T A, uint32_t By) const {
    return By < 8 * sizeof(T) ? T(uint64_t(A) << By) : T(0);
  }
};
struct ShiftRight {
  template <typename T> T operator()(T A, uint32_t By) const {
    constexpr uint32_t Width = 8 * sizeof(T);
    if (std::is_signed_v<T>)
      return T(A >> std::min(By, Width - 1));
    return By < Width ? T(A >> By) : T(0);
  }
};

template <typename Op>
void onMasks(Warp &W, const Instruction &I, uint32_t Mask) {
  W.writeMask(I.Target[0], Mask,
              Op()(W.mask(I.Source[0]), W.mask(I.Source[1])));
}
void notMask(Warp &W, const Instruction &I, uint32_t Mask) {
  W.writeMask(I.Target[0], Mask, ~W.mask(I.Source[0]));
}

template <typename Op> Handler binary(unsigned Bits) {
  return Bits == 1    ? onMasks<Op>
         : Bits == 16 ? lanes<Op, uint16_t, uint16_t, uint16_t>
         : Bits == 32 ? lanes<Op, uint32_t, uint32_t, uint32_t>
         : Bits == 64 ? lanes<Op, uint64_t, uint64_t, uint64_t>
                      : nullptr;
}
template <typename Op> Handler unary(unsigned Bits) {
  return Bits == 16   ? lanes<Op, uint16_t, uint16_t>
         : Bits == 32 ? lanes<Op, uint32_t, uint32_t>
         : Bits == 64 ? lanes<Op, uint64_t, uint64_t>
                      : nullptr;
}

bool decodeLogic(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  auto T = M.takeType();
  if (!T || (*T != Type::Pred && !isUntyped(*T)))
    return false;
  unsigned Bits = bitsOf(*T);
  bool One = S.Opcode == "not" || S.Opcode == "cnot";
  if (S.Opcode == "not")
    I.Run = Bits == 1 ? notMask : unary<Not>(Bits);
  else if (S.Opcode == "cnot")
    I.Run = unary<CNot>(Bits);
  else
    I.Run = S.Opcode == "and"  ? binary<And>(Bits)
            : S.Opcode == "or" ? binary<Or>(Bits)
                               : binary<Xor>(Bits);
  if (!I.Run)
    return false;
  return One ? operands(D, S, I, Bits, {Bits})
             : operands(D, S, I, Bits, {Bits, Bits});
}

template <typename T, typename Op> Handler shift() {
  return lanes<Op, T, T, uint32_t>;
}

bool decodeShift(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  auto T = M.takeType();
  if (!T || isFloat(*T))
    return false;
  unsigned Bits = bitsOf(*T);
  bool Left = S.Opcode == "shl", Signed = isSigned(*T);
  if (Bits == 16)
    I.Run = Left     ? shift<uint16_t, ShiftLeft>()
            : Signed ? shift<int16_t, ShiftRight>()
                     : shift<uint16_t, ShiftRight>();
  else if (Bits == 32)
    I.Run = Left     ? shift<uint32_t, ShiftLeft>()
            : Signed ? shift<int32_t, ShiftRight>()
                     : shift<uint32_t, ShiftRight>();
  else if (Bits == 64)
    I.Run = Left     ? shift<uint64_t, ShiftLeft>()
            : Signed ? shift<int64_t, ShiftRight>()
                     : shift<uint64_t, ShiftRight>();
  return I.Run && operands(D, S, I, Bits, {Bits, 32});
}

//===----------------------------------------------------------------------===//
// Funnel shifts
//===----------------------------------------------------------------------===//

template <bool Left, bool Wraps> struct Funnel {
  uint32_t operator()(uint32_t Low, uint32_t High, uint32_t By) const {
    uint32_t N = Wraps ? By & 31 : std::min(By, 32u);
    uint64_t Both = uint64_t{High} << 32 | Low;
    return uint32_t(Left ? Both >> (32 - N) : Both >> N);
  }
};

bool decodeFunnel(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  bool Left = M.take("l"), Right = M.take("r");
  auto Mode = M.takeOne({"wrap", "clamp"});
  if (Left == Right || !Mode || !M.take("b32"))
    return false;
  bool Wraps = *Mode == 0;
  using W = uint32_t;
  I.Run = Left ? (Wraps ? lanes<Funnel<true, true>, W, W, W, W>
                        : lanes<Funnel<true, false>, W, W, W, W>)
               : (Wraps ? lanes<Funnel<false, true>, W, W, W, W>
                        : lanes<Funnel<false, false>, W, W, W, W>);
  return operands(D, S, I, 32, {32, 32, 32});
}

//===----------------------------------------------------------------------===//
// Fields and counts
//===----------------------------------------------------------------------===//

template <typename T> struct Extract {
  T operator()(T A, uint32_t Position, uint32_t Length) const {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t Width = 8 * sizeof(T);
    uint32_t At = Position & 0xFF, N = Length & 0xFF;
    if (N == 0)
      return 0;
    bool Fill =
        std::is_signed_v<T> && (U(A) >> std::min(At + N - 1, Width - 1) & 1);
    U Field = At < Width ? U(A) >> At : 0;
    U Mask = N < Width ? (U{1} << N) - 1 : ~U{0};
    if (Width - std::min(At, Width) < N) // beyond the top: the sign again
      Mask &= At < Width ? ~U{0} >> At : 0;
    return T(Fill ? Field | ~Mask : Field & Mask);
  }
};
template <typename U> struct Insert {
  U operator()(U From, U Into, uint32_t Position, uint32_t Length) const {
    constexpr uint32_t Width = 8 * sizeof(U);
    uint32_t At = Position & 0xFF, N = Length & 0xFF;
    if (N == 0 || At >= Width)
      return Into;
    U Mask = (N < Width ? (U{1} << N) - 1 : ~U{0}) << At;
    return (Into & ~Mask) | (From << At & Mask);
  }
};
template <typename T, bool AsShift> struct FindHighest {
  uint32_t operator()(T A) const {
    using U = std::make_unsigned_t<T>;
    U Bits = std::is_signed_v<T> && A < 0 ? U(~U(A)) : U(A);
    if (Bits == 0)
      return ~uint32_t{0};
    uint32_t Zeros = uint32_t(std::countl_zero(Bits));
    return AsShift ? Zeros : 8 * sizeof(T) - 1 - Zeros;
  }
};
template <typename U> struct Reverse {
  U operator()(U A) const {
    return sizeof(U) == 8 ? U(__builtin_bitreverse64(A))
                          : U(__builtin_bitreverse32(uint32_t(A)));
  }
};
template <typename U> struct Population {
  uint32_t operator()(U A) const { return uint32_t(std::popcount(A)); }
};
template <typename U> struct LeadingZeros {
  uint32_t operator()(U A) const { return uint32_t(std::countl_zero(A)); }
};

bool decodeField(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  auto T = M.takeType();
  if (!T)
    return false;
  unsigned Bits = bitsOf(*T);
  if (S.Opcode == "bfi") {
    I.Run = *T == Type::B32   ? lanes<Insert<uint32_t>, uint32_t, uint32_t,
                                      uint32_t, uint32_t, uint32_t>
            : *T == Type::B64 ? lanes<Insert<uint64_t>, uint64_t, uint64_t,
                                      uint64_t, uint32_t, uint32_t>
                              : nullptr;
    return I.Run && operands(D, S, I, Bits, {Bits, Bits, 32, 32});
  }
  auto With = []<typename N>(N) -> Handler {
    return lanes<Extract<N>, N, N, uint32_t, uint32_t>;
  };
  I.Run = *T == Type::U32   ? With(uint32_t{})
          : *T == Type::S32 ? With(int32_t{})
          : *T == Type::U64 ? With(uint64_t{})
          : *T == Type::S64 ? With(int64_t{})
                            : nullptr;
  return I.Run && operands(D, S, I, Bits, {Bits, 32, 32});
}

template <template <typename> class Op> Handler counting(unsigned Bits) {
  return Bits == 32   ? lanes<Op<uint32_t>, uint32_t, uint32_t>
         : Bits == 64 ? lanes<Op<uint64_t>, uint32_t, uint64_t>
                      : nullptr;
}

bool decodeCount(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  bool AsShift = S.Opcode == "bfind" && M.take("shiftamt");
  auto T = M.takeType();
  if (!T)
    return false;
  unsigned Bits = bitsOf(*T);
  if (S.Opcode == "brev") {
    I.Run = Bits == 32 ? lanes<Reverse<uint32_t>, uint32_t, uint32_t>
                       : lanes<Reverse<uint64_t>, uint64_t, uint64_t>;
    return (Bits == 32 || Bits == 64) && operands(D, S, I, Bits, {Bits});
  }
  if (S.Opcode == "popc" || S.Opcode == "clz") {
    I.Run = S.Opcode == "popc" ? counting<Population>(Bits)
                               : counting<LeadingZeros>(Bits);
    return I.Run && operands(D, S, I, 32, {Bits});
  }
  auto With = [&]<typename N>(N) -> Handler {
    return AsShift ? lanes<FindHighest<N, true>, uint32_t, N>
                   : lanes<FindHighest<N, false>, uint32_t, N>;
  };
  I.Run = *T == Type::U32   ? With(uint32_t{})
          : *T == Type::S32 ? With(int32_t{})
          : *T == Type::U64 ? With(uint64_t{})
          : *T == Type::S64 ? With(int64_t{})
                            : nullptr;
  return I.Run && operands(D, S, I, 32, {Bits});
}

//===----------------------------------------------------------------------===//
// lop3, prmt, dp4a
//===----------------------------------------------------------------------===//

void logicOfThree(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t *Out = W.row<uint32_t>(I.Target[0]),
           *A = W.row<uint32_t>(I.Source[0]), *B = W.row<uint32_t>(I.Source[1]),
           *C = W.row<uint32_t>(I.Source[2]);
  forEachLane(Mask, [&](unsigned L) {
    uint32_t R = 0;
    for (unsigned Row = 0; Row < 8; ++Row)
      if (I.Immediate >> Row & 1)
        R |= (Row & 4 ? A[L] : ~A[L]) & (Row & 2 ? B[L] : ~B[L]) &
             (Row & 1 ? C[L] : ~C[L]);
    Out[L] = R;
  });
}

bool decodeLogicOfThree(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  if (!M.take("b32") || S.Operands.size() != 5)
    return false;
  auto Table = D.immediate(S.Operands[4]);
  if (!Table)
    return false;
  I.Immediate = *Table;
  I.Run = logicOfThree;
  ptx::Statement Front = S;
  Front.Operands.pop_back();
  return operands(D, Front, I, 32, {32, 32, 32});
}

uint32_t pickByte(uint64_t Both, uint32_t Selector) {
  auto Byte = uint32_t(Both >> 8 * (Selector & 7) & 0xFF);
  if (Selector & 8)
    return Byte & 0x80 ? 0xFF : 0;
  return Byte;
}

/// The special modes as selectors of the general one (PTX ISA, prmt).
uint32_t selectorOf(unsigned Mode, uint32_t C) {
  static constexpr uint16_t Table[7][4] = {
      {0, 0, 0, 0},                     // general
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return Mode == 0 ? C : Table[Mode][C & 3];
}

void permute(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t *Out = W.row<uint32_t>(I.Target[0]),
           *A = W.row<uint32_t>(I.Source[0]), *B = W.row<uint32_t>(I.Source[1]),
           *C = W.row<uint32_t>(I.Source[2]);
  forEachLane(Mask, [&](unsigned L) {
    uint64_t Both = uint64_t{B[L]} << 32 | A[L];
    uint32_t Selector = selectorOf(I.Mode, C[L]), R = 0;
    for (unsigned Byte = 0; Byte < 4; ++Byte)
      R |= pickByte(Both, Selector >> 4 * Byte & 15) << 8 * Byte;
    Out[L] = R;
  });
}

bool decodePermute(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I) {
  if (!M.take("b32"))
    return false;
  auto Mode = M.takeOne({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  I.Mode = Mode ? uint8_t(*Mode + 1) : 0;
  I.Run = permute;
  return operands(D, S, I, 32, {32, 32, 32});
}

/// Mode: bit 0 a is signed, bit 1 b is; bit 2: dp2a, bit 3: its high half.
void dotProduct(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t *Out = W.row<uint32_t>(I.Target[0]),
           *A = W.row<uint32_t>(I.Source[0]), *B = W.row<uint32_t>(I.Source[1]),
           *C = W.row<uint32_t>(I.Source[2]);
  auto Field = [](uint32_t V, unsigned At, unsigned Bits, bool Signed) {
    uint32_t F = V >> At & ((1u << Bits) - 1);
    return Signed && (F >> (Bits - 1)) ? int64_t(F) - (int64_t{1} << Bits)
                                       : int64_t(F);
  };
  bool Two = I.Mode & 4;
  forEachLane(Mask, [&](unsigned L) {
    int64_t Sum = C[L];
    for (unsigned N = 0; N < (Two ? 2u : 4u); ++N)
      Sum += Field(A[L], (Two ? 16 : 8) * N, Two ? 16 : 8, I.Mode & 1) *
             Field(B[L], 8 * N + (I.Mode & 8 ? 16 : 0), 8, I.Mode & 2);
    Out[L] = uint32_t(Sum);
  });
}

bool decodeDotProduct(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I) {
  bool Two = S.Opcode == "dp2a", High = Two && M.take("hi");
  if (Two && !High && !M.take("lo"))
    return false;
  auto A = M.takeType(), B = M.takeType();
  if (!A || !B || bitsOf(*A) != 32 || bitsOf(*B) != 32)
    return false;
  I.Mode = uint8_t((isSigned(*A) ? 1 : 0) | (isSigned(*B) ? 2 : 0) |
                   (Two ? 4 : 0) | (High ? 8 : 0));
  I.Run = dotProduct;
  return operands(D, S, I, 32, {32, 32, 32});
}

} // namespace

void addBits(OpcodeTable &Table) {
  for (const char *Name : {"and", "or", "xor", "not", "cnot"})
    Table[Name] = decodeLogic;
  Table["shl"] = Table["shr"] = decodeShift;
  Table["shf"] = decodeFunnel;
  Table["bfe"] = Table["bfi"] = decodeField;
  for (const char *Name : {"bfind", "brev", "popc", "clz"})
    Table[Name] = decodeCount;
  Table["lop3"] = decodeLogicOfThree;
  Table["prmt"] = decodePermute;
  Table["dp4a"] = Table["dp2a"] = decodeDotProduct;
}

} // namespace kpc::emulator
