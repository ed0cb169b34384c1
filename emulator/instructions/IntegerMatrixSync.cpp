//===- IntegerMatrixSync.cpp - mma.sync of integers and bits --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "mma.sync": m16n8 and m8n8 shapes of 8-bit and 4-bit integers, and
// of single bits, whose product is .and or .xor and whose sum is a count. Sums
// are exact; they wrap, or saturate if asked to.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/MatrixFragments.h"
#include "emulator/instructions/Opcodes.h"

#include <algorithm>

namespace kpc::emulator {

namespace {

/// Immediate; Vectors: D, A, B, C.
struct IntegerPlan {
  unsigned Bits = 8, K = 0;
  bool SignedA = false, SignedB = false, Saturate = false, Xor = false,
       Short = false; ///< eight rows
  uint64_t packed() const {
    return Bits | K << 8 | uint64_t{SignedA} << 32 | uint64_t{SignedB} << 33 |
           uint64_t{Saturate} << 34 | uint64_t{Xor} << 35 |
           uint64_t{Short} << 36;
  }
  static IntegerPlan of(uint64_t V) {
    return {unsigned(V & 0xFF), unsigned(V >> 8 & 0xFFFF), (V >> 32 & 1) != 0,
            (V >> 33 & 1) != 0, (V >> 34 & 1) != 0,        (V >> 35 & 1) != 0,
            (V >> 36 & 1) != 0};
  }
  unsigned registersB() const { return K * Bits / 128; }
  unsigned registersA() const { return registersB() * (Short ? 1 : 2); }
  unsigned results() const { return Short ? 2 : 4; }
};

constexpr unsigned MaxK = 64, MaxWords = 8;

uint32_t finish(int64_t Sum, bool Saturate) {
  if (Saturate)
    Sum = std::min<int64_t>(std::max<int64_t>(Sum, INT32_MIN), INT32_MAX);
  return uint32_t(Sum);
}

void multiplyNumbers(Warp &W, const IntegerPlan &P, const uint32_t *D) {
  const uint32_t *A = D + P.results(), *B = A + P.registersA();
  int8_t Left[FragmentRows][MaxK] = {}, Right[FragmentColumns][MaxK] = {};
  auto Number = [&](uint32_t Raw, bool Signed) {
    unsigned Shift = 32 - P.Bits;
    return Signed ? int32_t(Raw << Shift) >> Shift : int32_t(Raw);
  };
  // Unsigned bytes as what they are less 128, put right in the sum.
  int32_t OffA = P.Bits == 8 && !P.SignedA ? 128 : 0,
          OffB = P.Bits == 8 && !P.SignedB ? 128 : 0;
  forEachElement(W, A, P.registersA(), !P.Short, P.Bits,
                 [&](unsigned Line, unsigned K, uint32_t Raw) {
                   Left[Line][K] = int8_t(Number(Raw, P.SignedA) - OffA);
                 });
  forEachElement(W, B, P.registersB(), false, P.Bits,
                 [&](unsigned Line, unsigned K, uint32_t Raw) {
                   Right[Line][K] = int8_t(Number(Raw, P.SignedB) - OffB);
                 });
  auto Sum = [&](unsigned Row, unsigned Column, uint32_t In) {
    int64_t S = int32_t(In);
    for (unsigned K = 0; K < P.K; ++K)
      S += (Left[Row][K] + OffA) * (Right[Column][K] + OffB);
    return finish(S, P.Saturate);
  };
  accumulate(W, D, false, B + P.registersB(), false, Sum, P.results());
}

void multiplyBits(Warp &W, const IntegerPlan &P, const uint32_t *D) {
  const uint32_t *A = D + P.results(), *B = A + P.registersA();
  uint32_t Left[FragmentRows][MaxWords] = {},
           Right[FragmentColumns][MaxWords] = {};
  forEachElement(W, A, P.registersA(), !P.Short, 32,
                 [&](unsigned Line, unsigned Word, uint32_t Bits) {
                   Left[Line][Word] = Bits;
                 });
  forEachElement(W, B, P.registersB(), false, 32,
                 [&](unsigned Line, unsigned Word, uint32_t Bits) {
                   Right[Line][Word] = Bits;
                 });
  auto Sum = [&](unsigned Row, unsigned Column, uint32_t In) {
    for (unsigned N = 0; N < P.K / 32; ++N) {
      uint32_t X = Left[Row][N], Y = Right[Column][N];
      In += uint32_t(std::popcount(P.Xor ? X ^ Y : X & Y));
    }
    return In;
  };
  accumulate(W, D, false, B + P.registersB(), false, Sum, P.results());
}

void multiply(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  IntegerPlan P = IntegerPlan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  if (P.Bits == 1)
    multiplyBits(W, P, D);
  else
    multiplyNumbers(W, P, D);
}

/// "s32.u8.s8.s32"; false: none.
bool takeTypes(const ptx::Statement &S, Modifiers &M, IntegerPlan &P) {
  std::vector<std::string> Types;
  for (const std::string &Word : S.Modifiers)
    for (const char *Known : {"s32", "s8", "u8", "s4", "u4", "b1"})
      if (Word == Known && M.take(Word))
        Types.push_back(Word);
  if (Types.size() != 4 || Types[0] != "s32" || Types[3] != "s32" ||
      Types[1].substr(1) != Types[2].substr(1) || Types[1] == "s32")
    return false;
  P.Bits = unsigned(Types[1][1] - '0');
  P.SignedA = Types[1][0] == 's';
  P.SignedB = Types[2][0] == 's';
  return true;
}

/// The shape's k is one or two registers of B; false: none.
bool takeShape(Modifiers &M, IntegerPlan &P) {
  for (unsigned Registers : {1u, 2u})
    for (bool Short : {false, true}) {
      unsigned K = 128 / P.Bits * Registers;
      std::string Word = (Short ? "m8n8k" : "m16n8k") + std::to_string(K);
      if ((Short && Registers == 2) || !M.take(Word))
        continue;
      P.K = K;
      P.Short = Short;
      return true;
    }
  return false;
}

} // namespace

bool decodeIntegerMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I) {
  IntegerPlan P;
  P.Saturate = M.take("satfinite");
  if (!takeTypes(S, M, P) || !takeShape(M, P))
    return false;
  if (P.Bits == 1) {
    P.Xor = M.take("xor");
    if (P.Saturate || (!P.Xor && !M.take("and")) || !M.take("popc"))
      return false;
  }
  const unsigned Counts[] = {P.results(), P.registersA(), P.registersB(),
                             P.results()};
  if (!decodeFragments(D, S, I, Counts, 32))
    return false;
  I.Immediate = P.packed();
  I.Run = multiply;
  return true;
}

} // namespace kpc::emulator
