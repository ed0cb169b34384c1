//===- MatrixFragments.h - Registers of mma.sync ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fragments of the m16n8 shapes: a thread's group (lane / 4) and quad
/// (lane % 4) say its row of A, its column of B, and its places in C and D.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENTS_H
#define KPC_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENTS_H

#include "emulator/execute/Warp.h"
#include "emulator/program/Decoder.h"

namespace kpc::emulator {

inline constexpr unsigned FragmentRows = 16, FragmentColumns = 8;

/// Reported if a part of the warp comes.
bool isWholeMatrixWarp(Warp &W, const Instruction &I, uint32_t Mask);

/// D, A, B and C of so many registers each, one behind the other in Vectors.
bool decodeFragments(Decoder &D, const ptx::Statement &S, Instruction &I,
                     const unsigned (&Counts)[4], unsigned RegisterBits);

/// Do(line, k, bits) for each element of A or B. A's registers alternate
/// between the upper and the lower eight rows, and go along k in pairs.
template <typename F>
void forEachElement(Warp &W, const uint32_t *Registers, unsigned Count,
                    bool IsA, unsigned Bits, F Do) {
  unsigned Each = 32 / Bits;
  for (unsigned R = 0; R < Count; ++R) {
    unsigned Lower = IsA ? R & 1 : 0, Along = IsA ? R >> 1 : R;
    const uint32_t *Row = W.row<uint32_t>(Registers[R]);
    for (unsigned L = 0; L < WarpSize; ++L)
      for (unsigned E = 0; E < Each; ++E) {
        uint32_t Value = Row[L];
        if (Bits < 32)
          Value = Value >> (E * Bits) & ((1u << Bits) - 1);
        Do((L >> 2) + 8 * Lower, Along * 4 * Each + (L & 3) * Each + E, Value);
      }
  }
}

/// Do(row, column, bits) for each element of C. `Count`: of a thread, two where
/// there are only eight rows. 16-bit elements lie in pairs in a register.
template <typename F>
void forEachAccumulator(Warp &W, const uint32_t *C, bool IsHalf, unsigned Count,
                        F Do) {
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned N = 0; N < Count; ++N) {
      uint32_t In = W.row<uint32_t>(C[IsHalf ? N >> 1 : N])[L];
      if (IsHalf)
        In = In >> 16 * (N & 1) & 0xFFFF;
      Do((L >> 2) + 8 * (N >> 1), 2 * (L & 3) + (N & 1), In);
    }
}

/// D = Value(row, column). C's registers may be D's: it was read before.
template <typename F>
void storeAccumulators(Warp &W, const uint32_t *D, bool IsHalf, unsigned Count,
                       F Value) {
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned N = 0; N < Count; N += IsHalf ? 2 : 1) {
      unsigned Row = (L >> 2) + 8 * (N >> 1), Column = 2 * (L & 3) + (N & 1);
      uint32_t Bits = Value(Row, Column);
      if (IsHalf)
        Bits = (Bits & 0xFFFF) | Value(Row, Column + 1) << 16;
      W.row<uint32_t>(D[IsHalf ? N / 2 : N])[L] = Bits;
    }
}

/// D = Sum(row, column, C's bits).
template <typename F>
void accumulate(Warp &W, const uint32_t *D, bool HalfD, const uint32_t *C,
                bool HalfC, F Sum, unsigned Count = 4) {
  uint32_t Results[FragmentRows][FragmentColumns];
  forEachAccumulator(W, C, HalfC, Count,
                     [&](unsigned Row, unsigned Column, uint32_t In) {
                       Results[Row][Column] = Sum(Row, Column, In);
                     });
  storeAccumulators(W, D, HalfD, Count, [&](unsigned Row, unsigned Column) {
    return Results[Row][Column];
  });
}

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENTS_H
