//===- Arithmetic.cpp - Opcodes of numbers, by their type -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

static bool decodeNumbers(Decoder &D, const ptx::Statement &S, Modifiers &M,
                          Instruction &I) {
  if (auto Signed = M.takeOne({"u16x2", "s16x2"}))
    return decodeIntegerPair(D, S, M, I, *Signed);
  auto T = M.takeType();
  if (!T)
    return D.fail("the instruction has no type that is known");
  switch (*T) {
  case Type::F32:
  case Type::F64:
  case Type::F32x2:
    return decodeFloat(D, S, M, I, *T);
  case Type::F16:
  case Type::BF16:
  case Type::F16x2:
  case Type::BF16x2:
    return decodeHalf(D, S, M, I, *T);
  default:
    return decodeInteger(D, S, M, I, *T);
  }
}

void addArithmetic(OpcodeTable &Table) {
  for (const char *Name :
       {"add", "sub", "mul", "mad",  "fma",      "div",  "rem",   "abs",
        "neg", "min", "max", "sad",  "rcp",      "sqrt", "rsqrt", "ex2",
        "lg2", "sin", "cos", "tanh", "copysign", "addc", "subc",  "madc"})
    Table[Name] = decodeNumbers;
}

} // namespace kpc::emulator
