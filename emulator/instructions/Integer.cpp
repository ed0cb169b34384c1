//===- Integer.cpp - add to sad of integers -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions". Sums and products wrap; a division by zero, which
// PTX leaves open, gives all ones as the hardware does.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

#include <limits>
#include <type_traits>

namespace kpc::emulator {

namespace {

// Unsigned and wide enough that nothing promotes to int.
template <typename T>
using Wrapping =
    std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 8,
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
/// Twice the bits of T.
template <typename T>
using Twice = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T> struct Add {
  T operator()(T A, T B) const { return T(Wrapping<T>(A) + Wrapping<T>(B)); }
};
template <typename T> struct Sub {
  T operator()(T A, T B) const { return T(Wrapping<T>(A) - Wrapping<T>(B)); }
};
template <typename T> struct AddSaturated {
  T operator()(T A, T B) const {
    T R;
    if (!__builtin_add_overflow(A, B, &R))
      return R;
    return B < 0 ? std::numeric_limits<T>::min()
                 : std::numeric_limits<T>::max();
  }
};
template <typename T> struct SubSaturated {
  T operator()(T A, T B) const {
    T R;
    if (!__builtin_sub_overflow(A, B, &R))
      return R;
    return B > 0 ? std::numeric_limits<T>::min()
                 : std::numeric_limits<T>::max();
  }
};
template <typename T> struct MulLow {
  T operator()(T A, T B) const { return T(Wrapping<T>(A) * Wrapping<T>(B)); }
};
template <typename T> struct MulHigh {
  T operator()(T A, T B) const {
    return T((Wide<T>(A) * Wide<T>(B)) >> (8 * sizeof(T)));
  }
};
template <typename T> struct MulWide {
  Twice<T> operator()(T A, T B) const { return Twice<T>(A) * Twice<T>(B); }
};
template <typename T> struct MadLow {
  T operator()(T A, T B, T C) const {
    return T(Wrapping<T>(A) * Wrapping<T>(B) + Wrapping<T>(C));
  }
};
template <typename T> struct MadHigh {
  T operator()(T A, T B, T C) const { return Add<T>()(MulHigh<T>()(A, B), C); }
};
template <typename T> struct MadWide {
  Twice<T> operator()(T A, T B, Twice<T> C) const {
    return Add<Twice<T>>()(MulWide<T>()(A, B), C);
  }
};
template <typename T> struct Div {
  T operator()(T A, T B) const {
    if (B == 0)
      return T(~T{0});
    if (std::is_signed_v<T> && B == T(-1))
      return Sub<T>()(0, A);
    return T(A / B);
  }
};
template <typename T> struct Rem {
  T operator()(T A, T B) const {
    if (B == 0)
      return A;
    if (std::is_signed_v<T> && B == T(-1))
      return 0;
    return T(A % B);
  }
};
template <typename T> struct Abs {
  T operator()(T A) const { return A < 0 ? Sub<T>()(0, A) : A; }
};
template <typename T> struct Neg {
  T operator()(T A) const { return Sub<T>()(0, A); }
};
template <typename T> struct Min {
  T operator()(T A, T B) const { return A < B ? A : B; }
};
template <typename T> struct Max {
  T operator()(T A, T B) const { return A > B ? A : B; }
};
template <typename T> struct Sad {
  T operator()(T A, T B, T C) const {
    return Add<T>()(A < B ? Sub<T>()(B, A) : Sub<T>()(A, B), C);
  }
};

/// C++ types by PTX type; nullptr for others.
template <template <typename> class Op, size_t Sources> struct Pick {
  template <typename T> static Handler with() {
    if constexpr (Sources == 1)
      return lanes<Op<T>, T, T>;
    else if constexpr (Sources == 2)
      return lanes<Op<T>, T, T, T>;
    else
      return lanes<Op<T>, T, T, T, T>;
  }
  static Handler of(Type T) {
    switch (T) {
    case Type::U16:
    case Type::B16:
      return with<uint16_t>();
    case Type::S16:
      return with<int16_t>();
    case Type::U32:
    case Type::B32:
      return with<uint32_t>();
    case Type::S32:
      return with<int32_t>();
    case Type::U64:
    case Type::B64:
      return with<uint64_t>();
    case Type::S64:
      return with<int64_t>();
    default:
      return nullptr;
    }
  }
};

template <template <typename> class Op, bool HasThird>
Handler pickWide(Type T) {
  auto With = []<typename N>(N) -> Handler {
    if constexpr (HasThird)
      return lanes<Op<N>, Twice<N>, N, N, Twice<N>>;
    else
      return lanes<Op<N>, Twice<N>, N, N>;
  };
  switch (T) {
  case Type::U16:
    return With(uint16_t{});
  case Type::S16:
    return With(int16_t{});
  case Type::U32:
    return With(uint32_t{});
  case Type::S32:
    return With(int32_t{});
  default:
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Carries: Mode bit 0 reads the flag, bit 1 writes it; bit 2 subtracts
//===----------------------------------------------------------------------===//

enum : uint8_t { ReadsCarry = 1, WritesCarry = 2, Subtracts = 4 };

template <typename T>
void addWithCarry(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t &Flag = W.mask(static_cast<uint32_t>(I.Immediate));
  T *Out = W.row<T>(I.Target[0]), *A = W.row<T>(I.Source[0]),
    *B = W.row<T>(I.Source[1]);
  uint32_t After = Flag;
  forEachLane(Mask, [&](unsigned L) {
    T In = (I.Mode & ReadsCarry) ? (Flag >> L & 1) : 0, R, Carry;
    if (I.Mode & Subtracts) {
      T Part = A[L] - B[L];
      R = Part - In;
      Carry = (A[L] < B[L]) | (Part < In);
    } else {
      T Part = A[L] + B[L];
      R = Part + In;
      Carry = (Part < B[L]) | (R < In);
    }
    Out[L] = R;
    After = (After & ~(1u << L)) | uint32_t(Carry) << L;
  });
  if (I.Mode & WritesCarry)
    Flag = After;
}

/// mad{c}.{lo,hi}{.cc}: Offset is 1 for the high half.
template <typename T>
void madWithCarry(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t &Flag = W.mask(static_cast<uint32_t>(I.Immediate));
  T *Out = W.row<T>(I.Target[0]), *A = W.row<T>(I.Source[0]),
    *B = W.row<T>(I.Source[1]), *C = W.row<T>(I.Source[2]);
  uint32_t After = Flag;
  forEachLane(Mask, [&](unsigned L) {
    T Product = I.Offset ? MulHigh<T>()(A[L], B[L]) : MulLow<T>()(A[L], B[L]);
    T In = (I.Mode & ReadsCarry) ? (Flag >> L & 1) : 0;
    T Part = Product + C[L], R = Part + In;
    After = (After & ~(1u << L)) | uint32_t((Part < Product) | (R < In)) << L;
    Out[L] = R;
  });
  if (I.Mode & WritesCarry)
    Flag = After;
}

bool decodeCarry(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I, Type T, bool Writes) {
  bool Mad = S.Opcode.starts_with("mad");
  bool Reads = S.Opcode == "addc" || S.Opcode == "subc" || S.Opcode == "madc";
  unsigned Bits = bitsOf(T);
  if ((Bits != 32 && Bits != 64) || (Mad && isSigned(T) && M.take("hi")))
    return false;
  if (Mad) {
    auto Half = M.takeOne({"lo", "hi"});
    if (!Half || !operands(D, S, I, Bits, {Bits, Bits, Bits}))
      return false;
    I.Offset = int64_t(*Half);
    I.Run = Bits == 32 ? madWithCarry<uint32_t> : madWithCarry<uint64_t>;
  } else {
    if (!operands(D, S, I, Bits, {Bits, Bits}))
      return false;
    I.Run = Bits == 32 ? addWithCarry<uint32_t> : addWithCarry<uint64_t>;
  }
  I.Immediate = D.carry();
  I.Mode = uint8_t((Reads ? ReadsCarry : 0) | (Writes ? WritesCarry : 0) |
                   (S.Opcode.starts_with("sub") ? Subtracts : 0));
  return true;
}

bool decodeMultiply(Decoder &D, const ptx::Statement &S, Modifiers &M,
                    Instruction &I, Type T) {
  bool Mad = S.Opcode == "mad";
  auto Part = M.takeOne({"lo", "hi", "wide"});
  if (!Part)
    return D.fail("needs .lo, .hi or .wide");
  unsigned Bits = bitsOf(T), Result = *Part == 2 ? 2 * Bits : Bits;
  if (*Part == 2)
    I.Run = Mad ? pickWide<MadWide, true>(T) : pickWide<MulWide, false>(T);
  else if (*Part == 1)
    I.Run = Mad ? Pick<MadHigh, 3>::of(T) : Pick<MulHigh, 2>::of(T);
  else
    I.Run = Mad ? Pick<MadLow, 3>::of(T) : Pick<MulLow, 2>::of(T);
  if (!I.Run)
    return false;
  return Mad ? operands(D, S, I, Result, {Bits, Bits, Result})
             : operands(D, S, I, Result, {Bits, Bits});
}

struct Simple {
  const char *Opcode;
  size_t Sources;
  Handler (*Of)(Type);
};
constexpr Simple SimpleOnes[] = {
    {"add", 2, Pick<Add, 2>::of}, {"sub", 2, Pick<Sub, 2>::of},
    {"div", 2, Pick<Div, 2>::of}, {"rem", 2, Pick<Rem, 2>::of},
    {"min", 2, Pick<Min, 2>::of}, {"max", 2, Pick<Max, 2>::of},
    {"abs", 1, Pick<Abs, 1>::of}, {"neg", 1, Pick<Neg, 1>::of},
    {"sad", 3, Pick<Sad, 3>::of}};

} // namespace

bool decodeInteger(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I, Type T) {
  bool Writes = M.take("cc");
  if (Writes || S.Opcode == "addc" || S.Opcode == "subc" || S.Opcode == "madc")
    return decodeCarry(D, S, M, I, T, Writes);
  if (S.Opcode == "mul" || S.Opcode == "mad")
    return decodeMultiply(D, S, M, I, T);
  if (M.take("relu"))
    return decodeExtremeRelu(D, S, I, T);
  unsigned Bits = bitsOf(T);
  if (M.take("sat")) {
    if (T != Type::S32 || (S.Opcode != "add" && S.Opcode != "sub"))
      return false;
    I.Run = S.Opcode == "add"
                ? lanes<AddSaturated<int32_t>, int32_t, int32_t, int32_t>
                : lanes<SubSaturated<int32_t>, int32_t, int32_t, int32_t>;
    return operands(D, S, I, Bits, {Bits, Bits});
  }
  for (const Simple &One : SimpleOnes) {
    if (S.Opcode != One.Opcode)
      continue;
    I.Run = One.Of(T);
    if (!I.Run)
      return false;
    if (One.Sources == 1)
      return operands(D, S, I, Bits, {Bits});
    if (One.Sources == 2)
      return operands(D, S, I, Bits, {Bits, Bits});
    return operands(D, S, I, Bits, {Bits, Bits, Bits});
  }
  return false;
}

} // namespace kpc::emulator
