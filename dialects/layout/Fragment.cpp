//===- Fragment.cpp - Which thread holds which element --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/Fragment.h"

namespace kpc::layout {

//===----------------------------------------------------------------------===//
// mma.sync m16n8: eight groups of four threads; a group holds a row of A and C,
// a column of B
//===----------------------------------------------------------------------===//

static int64_t groupOf(int64_t Lane) { return Lane / 4; }
static int64_t quadOf(int64_t Lane) { return Lane % 4; }

/// k of an element, where `Half` counts the registers along k.
static int64_t kOf(int64_t ElementBits, int64_t Lane, int64_t Half,
                   int64_t Element) {
  int64_t Wide = perRegister(ElementBits);
  return Wide * (4 * Half + quadOf(Lane)) + Element;
}

Position mmaA(int64_t ElementBits, int64_t Lane, int64_t Register,
              int64_t Element) {
  return {groupOf(Lane) + 8 * (Register % 2),
          kOf(ElementBits, Lane, Register / 2, Element)};
}

Position mmaB(int64_t ElementBits, int64_t Lane, int64_t Register,
              int64_t Element) {
  return {kOf(ElementBits, Lane, Register, Element), groupOf(Lane)};
}

Position mmaC(int64_t Lane, int64_t Element) {
  return {groupOf(Lane) + 8 * (Element / 2), 2 * quadOf(Lane) + Element % 2};
}

//===----------------------------------------------------------------------===//
// wgmma m64: the four warps one below the other, each as mma.sync
//===----------------------------------------------------------------------===//

Position wgmmaAccumulator(int64_t Thread, int64_t Element) {
  Position P = mmaC(Thread % 32, Element % 4);
  return {16 * (Thread / 32) + P.Row, 8 * (Element / 4) + P.Column};
}

AccumulatorPlace wgmmaAccumulatorPlace(Position P) {
  int64_t Warp = P.Row / 16, Group = P.Row % 8, Lower = P.Row % 16 / 8;
  int64_t Block = P.Column / 8, Quad = P.Column % 8 / 2, Odd = P.Column % 2;
  return {32 * Warp + 4 * Group + Quad, 4 * Block + 2 * Lower + Odd};
}

Position wgmmaA(int64_t ElementBits, int64_t Thread, int64_t Register,
                int64_t Element) {
  Position P = mmaA(ElementBits, Thread % 32, Register, Element);
  return {16 * (Thread / 32) + P.Row, P.Column};
}

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix
//===----------------------------------------------------------------------===//

MatrixRow matrixAddressRole(int64_t Lane) { return {Lane / 8, Lane % 8}; }

Position matrixElement(int64_t Lane, int64_t Element, bool Transposed) {
  int64_t Along = 2 * quadOf(Lane) + Element;
  if (Transposed)
    return {Along, groupOf(Lane)};
  return {groupOf(Lane), Along};
}

/// The k halves are the upper matrices: mmaA's registers go down, then right.
Position matrixAddressOfA(int64_t Lane) {
  MatrixRow R = matrixAddressRole(Lane);
  return {R.Row + 8 * (R.Matrix % 2), 8 * (R.Matrix / 2)};
}

/// mmaB's registers go along k; the second block of n follows.
Position matrixAddressOfB(int64_t Lane) {
  MatrixRow R = matrixAddressRole(Lane);
  return {R.Row + 8 * (R.Matrix / 2), 8 * (R.Matrix % 2)};
}

Position matrixAddressOfTransposedB(int64_t Lane) {
  MatrixRow R = matrixAddressRole(Lane);
  return {R.Row + 8 * (R.Matrix % 2), 8 * (R.Matrix / 2)};
}

//===----------------------------------------------------------------------===//
// tcgen05
//===----------------------------------------------------------------------===//

TensorMemoryPlace tcgen05Result(int64_t CtaGroup, int64_t M, int64_t N,
                                Position P) {
  if (CtaGroup == 1 && M == 64) // 16 lanes of each warp's 32
    return {0, P.Row % 16 + 32 * (P.Row / 16), P.Column};
  if (CtaGroup == 1)
    return {0, P.Row, P.Column};
  if (M == 256)
    return {P.Row / 128, P.Row % 128, P.Column};
  // M = 128 over two CTAs: the halves of n one below the other.
  int64_t Half = N / 2;
  return {P.Row / 64, P.Row % 64 + 64 * (P.Column / Half), P.Column % Half};
}

int64_t tensorMemoryRegisters(TensorMemoryShape Shape, int64_t Repetitions) {
  switch (Shape) {
  case TensorMemoryShape::Lanes32x32b:
  case TensorMemoryShape::Lanes16x64b:
    return Repetitions;
  case TensorMemoryShape::Lanes16x128b:
    return 2 * Repetitions;
  case TensorMemoryShape::Lanes16x256b:
    return 4 * Repetitions;
  }
  return 0;
}

TensorMemoryPlace tensorMemoryRegister(TensorMemoryShape Shape, int64_t Lane,
                                       int64_t Register) {
  int64_t Group = groupOf(Lane), Quad = quadOf(Lane);
  switch (Shape) {
  case TensorMemoryShape::Lanes32x32b:
    return {0, Lane, Register};
  case TensorMemoryShape::Lanes16x64b: // the pair of lanes goes eight down
    return {0, Group + 8 * (Lane % 2), 2 * Register + Quad / 2};
  case TensorMemoryShape::Lanes16x128b:
    return {0, Group + 8 * (Register % 2), 4 * (Register / 2) + Quad};
  case TensorMemoryShape::Lanes16x256b: { // as wgmma leaves its results
    Position P = wgmmaAccumulator(Lane, Register);
    return {0, P.Row, P.Column};
  }
  }
  return {0, 0, 0};
}

} // namespace kpc::layout
