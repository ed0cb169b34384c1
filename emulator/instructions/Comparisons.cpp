//===- Comparisons.cpp - setp and testp -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Comparison and Selection Instructions".

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"

#include <cmath>
#include <cstring>

namespace kpc::emulator {

namespace {

enum class Relation : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <Relation R> struct Holds {
  template <typename T> bool operator()(T A, T B) const {
    bool Unordered = A != A || B != B;
    switch (R) {
    case Relation::Eq:
      return A == B;
    case Relation::Ne: // false on NaN
      return !Unordered && A != B;
    case Relation::Lt:
      return A < B;
    case Relation::Le:
      return A <= B;
    case Relation::Gt:
      return A > B;
    case Relation::Ge:
      return A >= B;
    case Relation::Equ:
      return Unordered || A == B;
    case Relation::Neu:
      return Unordered || A != B;
    case Relation::Ltu:
      return Unordered || A < B;
    case Relation::Leu:
      return Unordered || A <= B;
    case Relation::Gtu:
      return Unordered || A > B;
    case Relation::Geu:
      return Unordered || A >= B;
    case Relation::Num:
      return !Unordered;
    case Relation::Nan:
      return Unordered;
    }
    return false;
  }
};

struct HalfBits {
  uint16_t Bits;
  operator float() const { return halfToFloat(Bits); }
};
struct BrainBits {
  uint16_t Bits;
  operator float() const { return brainToFloat(Bits); }
};
struct FlushedBits {
  float Value;
  operator float() const { return flushed(Value); }
};

/// How the comparison is joined with a predicate.
enum : uint8_t { JoinNone, JoinAnd, JoinOr, JoinXor, JoinNegated = 4 };

/// p, q = (a R b) join c, !(a R b) join c.
void finish(Warp &W, const Instruction &I, uint32_t Mask, uint32_t True) {
  uint32_t False = ~True;
  if (I.Mode & 3) {
    uint32_t C = W.mask(I.Source[2]) ^ (I.Mode & JoinNegated ? ~0u : 0);
    auto Join = [&](uint32_t V) {
      return (I.Mode & 3) == JoinAnd  ? V & C
             : (I.Mode & 3) == JoinOr ? V | C
                                      : V ^ C;
    };
    True = Join(True);
    False = Join(False);
  }
  W.writeMask(I.Target[0], Mask, True);
  if (I.Target[1] != NoRow)
    W.writeMask(I.Target[1], Mask, False);
}

template <typename Op, typename T, typename As>
void compare(Warp &W, const Instruction &I, uint32_t Mask) {
  const T *A = W.row<T>(I.Source[0]), *B = W.row<T>(I.Source[1]);
  uint32_t True = 0;
  for (unsigned L = 0; L < WarpSize; ++L)
    True |= uint32_t(Op()(As(A[L]), As(B[L]))) << L;
  finish(W, I, Mask, True);
}

template <Relation R> Handler compareAs(Type T, bool Flush) {
  using H = Holds<R>;
  switch (T) {
  case Type::F32:
    return Flush ? compare<H, FlushedBits, float> : compare<H, float, float>;
  case Type::F64:
    return compare<H, double, double>;
  case Type::F16:
    return compare<H, HalfBits, float>;
  case Type::BF16:
    return compare<H, BrainBits, float>;
  default:
    break;
  }
  if constexpr (R <= Relation::Ge) {
    switch (T) {
    case Type::B16:
    case Type::U16:
      return compare<H, uint16_t, uint16_t>;
    case Type::S16:
      return compare<H, int16_t, int16_t>;
    case Type::B32:
    case Type::U32:
      return compare<H, uint32_t, uint32_t>;
    case Type::S32:
      return compare<H, int32_t, int32_t>;
    case Type::B64:
    case Type::U64:
      return compare<H, uint64_t, uint64_t>;
    case Type::S64:
      return compare<H, int64_t, int64_t>;
    default:
      break;
    }
  }
  return nullptr;
}

Handler compareBy(Relation R, Type T, bool Flush) {
  using enum Relation;
  switch (R) {
  case Eq:
    return compareAs<Eq>(T, Flush);
  case Ne:
    return compareAs<Ne>(T, Flush);
  case Lt:
    return compareAs<Lt>(T, Flush);
  case Le:
    return compareAs<Le>(T, Flush);
  case Gt:
    return compareAs<Gt>(T, Flush);
  case Ge:
    return compareAs<Ge>(T, Flush);
  case Equ:
    return compareAs<Equ>(T, Flush);
  case Neu:
    return compareAs<Neu>(T, Flush);
  case Ltu:
    return compareAs<Ltu>(T, Flush);
  case Leu:
    return compareAs<Leu>(T, Flush);
  case Gtu:
    return compareAs<Gtu>(T, Flush);
  case Geu:
    return compareAs<Geu>(T, Flush);
  case Num:
    return compareAs<Num>(T, Flush);
  case Nan:
    return compareAs<Nan>(T, Flush);
  }
  return nullptr;
}

bool decodeSetPredicate(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  auto R = M.takeOne({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu",
                      "leu", "gtu", "geu", "num", "nan"});
  if (!R) { // unsigned orders by their other names
    auto Other = M.takeOne({"lo", "ls", "hi", "hs"});
    if (!Other)
      return false;
    constexpr size_t As[] = {2, 3, 4, 5};
    R = As[*Other];
  }
  auto Join = M.takeOne({"and", "or", "xor"});
  bool Flush = M.take("ftz");
  auto T = M.takeType();
  if (!T || S.Operands.size() != (Join ? 4u : 3u))
    return false;
  I.Run = compareBy(static_cast<Relation>(*R), *T, Flush);
  if (!I.Run)
    return false;
  const ptx::Operand &To = S.Operands[0];
  bool Both = To.TheKind == ptx::Operand::Kind::Pair;
  auto First = D.target(Both ? To.Parts[0] : To, 1);
  auto A = D.source(S.Operands[1], bitsOf(*T)),
       B = D.source(S.Operands[2], bitsOf(*T));
  if (!First || !A || !B)
    return false;
  I.Target[0] = *First;
  I.Source[0] = *A;
  I.Source[1] = *B;
  if (Both) {
    auto Second = D.target(To.Parts[1], 1);
    if (!Second)
      return false;
    I.Target[1] = *Second;
  }
  if (Join) {
    bool Negated = false;
    if (!D.predicate(S.Operands[3], I.Source[2], Negated))
      return false;
    I.Mode = uint8_t((*Join + 1) | (Negated ? JoinNegated : 0));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// testp
//===----------------------------------------------------------------------===//

template <typename T, int Which>
void test(Warp &W, const Instruction &I, uint32_t Mask) {
  const T *A = W.row<T>(I.Source[0]);
  uint32_t True = 0;
  forEachLane(Mask, [&](unsigned L) {
    int Kind = std::fpclassify(A[L]);
    bool Is = Which == 0   ? Kind != FP_NAN && Kind != FP_INFINITE
              : Which == 1 ? Kind == FP_INFINITE
              : Which == 2 ? Kind != FP_NAN
              : Which == 3 ? Kind == FP_NAN
              : Which == 4 ? Kind == FP_NORMAL || Kind == FP_ZERO
                           : Kind == FP_SUBNORMAL;
    True |= uint32_t(Is) << L;
  });
  W.writeMask(I.Target[0], Mask, True);
}

template <int Which> Handler testAs(Type T) {
  return T == Type::F32 ? test<float, Which> : test<double, Which>;
}

bool decodeTest(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  auto Which = M.takeOne(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  auto T = M.takeType();
  if (!Which || !T || (*T != Type::F32 && *T != Type::F64))
    return false;
  constexpr Handler (*Tests[])(Type) = {testAs<0>, testAs<1>, testAs<2>,
                                        testAs<3>, testAs<4>, testAs<5>};
  I.Run = Tests[*Which](*T);
  return operands(D, S, I, 1, {bitsOf(*T)});
}

} // namespace

void addComparisons(OpcodeTable &Table) {
  Table["setp"] = decodeSetPredicate;
  Table["testp"] = decodeTest;
}

} // namespace kpc::emulator
