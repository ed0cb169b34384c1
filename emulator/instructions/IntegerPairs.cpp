//===- IntegerPairs.cpp - Pairs of 16-bit integers, and .relu -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Integer Arithmetic Instructions": add, min and max of .u16x2 and
// .s16x2; min and max with .relu, of .s32 and .s16x2, which give 0 for what is
// below it.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

#include <algorithm>

namespace kpc::emulator {

namespace {

template <typename T> struct Add {
  T operator()(T A, T B) const { return T(uint32_t(A) + uint32_t(B)); }
};
template <typename T> struct Min {
  T operator()(T A, T B) const { return std::min(A, B); }
};
template <typename T> struct Max {
  T operator()(T A, T B) const { return std::max(A, B); }
};
template <typename T> struct MinRelu {
  T operator()(T A, T B) const { return std::max(std::min(A, B), T{0}); }
};
template <typename T> struct MaxRelu {
  T operator()(T A, T B) const { return std::max(std::max(A, B), T{0}); }
};

template <typename Op, typename T> struct Two {
  uint32_t operator()(uint32_t A, uint32_t B) const {
    uint32_t Low = uint16_t(Op()(T(A), T(B)));
    uint32_t High = uint16_t(Op()(T(A >> 16), T(B >> 16)));
    return High << 16 | Low;
  }
};

template <template <typename> class Op, typename T> Handler pairs() {
  return lanes<Two<Op<T>, T>, uint32_t, uint32_t, uint32_t>;
}
template <template <typename> class Op> Handler pairs(bool Signed) {
  return Signed ? pairs<Op, int16_t>() : pairs<Op, uint16_t>();
}

Handler pairHandler(std::string_view Opcode, bool Signed, bool Relu) {
  if (Opcode == "add" && !Relu)
    return pairs<Add>(Signed);
  bool IsMin = Opcode == "min";
  if ((!IsMin && Opcode != "max") || (Relu && !Signed))
    return nullptr;
  if (Relu)
    return IsMin ? pairs<MinRelu, int16_t>() : pairs<MaxRelu, int16_t>();
  return IsMin ? pairs<Min>(Signed) : pairs<Max>(Signed);
}

} // namespace

bool decodeIntegerPair(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I, bool Signed) {
  I.Run = pairHandler(S.Opcode, Signed, M.take("relu"));
  if (!I.Run)
    return false;
  for (const ptx::Operand &O : S.Operands)
    if (O.TheKind != ptx::Operand::Kind::Name)
      return D.fail("takes registers only");
  return operands(D, S, I, 32, {32, 32});
}

bool decodeExtremeRelu(Decoder &D, const ptx::Statement &S, Instruction &I,
                       Type T) {
  bool IsMin = S.Opcode == "min";
  if (T != Type::S32 || (!IsMin && S.Opcode != "max"))
    return false;
  I.Run = IsMin ? lanes<MinRelu<int32_t>, int32_t, int32_t, int32_t>
                : lanes<MaxRelu<int32_t>, int32_t, int32_t, int32_t>;
  return operands(D, S, I, 32, {32, 32});
}

} // namespace kpc::emulator
