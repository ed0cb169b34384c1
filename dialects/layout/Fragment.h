//===- Fragment.h - Which thread holds which element ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the elements of tensor-core operands and results are among threads,
/// registers and tensor memory. Thread numbers are within the warp (0-31), for
/// wgmma within the warpgroup (0-127). In a register the lowest element has the
/// lowest bits.
///
///   wgmmaAccumulator(5, 2)  // thread 5 = group 1, quad 1 -> {9, 2}
///   mmaA(16, 5, 0, 1)       // row 1, k 3
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_FRAGMENT_H
#define KPC_DIALECTS_LAYOUT_FRAGMENT_H

#include <cstdint>

namespace kpc::layout {

/// Row and column of a matrix: (m, n) of results, (m, k) of A, (k, n) of B.
struct Position {
  int64_t Row, Column;
  friend bool operator==(const Position &, const Position &) = default;
};

//===----------------------------------------------------------------------===//
// mma.sync m16n8
//===----------------------------------------------------------------------===//

/// Elements that a 32-bit register holds.
constexpr int64_t perRegister(int64_t ElementBits) { return 32 / ElementBits; }

/// Registers of A (16 x K) and of B (K x 8), spread over 32 threads.
constexpr int64_t mmaARegisters(int64_t ElementBits, int64_t K) {
  return K * ElementBits / 64;
}
constexpr int64_t mmaBRegisters(int64_t ElementBits, int64_t K) {
  return K * ElementBits / 128;
}

/// (m, k) of element `Element` of register `Register`.
Position mmaA(int64_t ElementBits, int64_t Lane, int64_t Register,
              int64_t Element);
/// (k, n).
Position mmaB(int64_t ElementBits, int64_t Lane, int64_t Register,
              int64_t Element);
/// (m, n) of accumulator element 0-3: an f32 or s32 register each, two halves
/// of an f16 register.
Position mmaC(int64_t Lane, int64_t Element);

//===----------------------------------------------------------------------===//
// wgmma m64
//===----------------------------------------------------------------------===//

/// (m, n) of accumulator element `Element`, 0 to n/2 - 1 (f16: elements 2r and
/// 2r+1 share register r).
Position wgmmaAccumulator(int64_t Thread, int64_t Element);
/// The inverse: who holds (m, n).
struct AccumulatorPlace {
  int64_t Thread, Element;
  friend bool operator==(const AccumulatorPlace &,
                         const AccumulatorPlace &) = default;
};
AccumulatorPlace wgmmaAccumulatorPlace(Position P);

/// (m, k) of A from registers; four of 32 bits.
Position wgmmaA(int64_t ElementBits, int64_t Thread, int64_t Register,
                int64_t Element);

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix, m8n8.b16
//===----------------------------------------------------------------------===//

/// Whose address thread `Lane` gives: row `Row` of the 8x8 matrix `Matrix`.
/// Only lanes below 8 * (number of matrices) are asked.
struct MatrixRow {
  int64_t Matrix, Row;
  friend bool operator==(const MatrixRow &, const MatrixRow &) = default;
};
MatrixRow matrixAddressRole(int64_t Lane);

/// The 16-bit element (0 low, 1 high) of a matrix that `Lane` gets (ldmatrix)
/// or gives (stmatrix) in the matrix's register.
Position matrixElement(int64_t Lane, int64_t Element, bool Transposed);

/// Where in a K-major 16x16 tile of A (row, k) the address of `Lane` points for
/// ldmatrix.x4 to give mmaA's four registers of 16-bit elements.
Position matrixAddressOfA(int64_t Lane);
/// Where in a K-major 16x16 tile of B (n, k), two n8 blocks: registers 0 and 1
/// are the first block's mmaB, 2 and 3 the second's.
Position matrixAddressOfB(int64_t Lane);
/// Where in an MN-major 16x16 tile of B (k, n), with .trans; registers as
/// above.
Position matrixAddressOfTransposedB(int64_t Lane);

//===----------------------------------------------------------------------===//
// tcgen05, dense
//===----------------------------------------------------------------------===//

/// A 32-bit word of tensor memory; Cta is the rank in the pair.
struct TensorMemoryPlace {
  int64_t Cta, Lane, Column;
  friend bool operator==(const TensorMemoryPlace &,
                         const TensorMemoryPlace &) = default;
};

/// Where element (m, n) of an M x N result is, from the instruction's d
/// address; cta_group 1: M 64 and 128, cta_group 2: M 128 and 256.
TensorMemoryPlace tcgen05Result(int64_t CtaGroup, int64_t M, int64_t N,
                                Position P);

/// Shapes of tcgen05.ld and tcgen05.st: lanes × bits of one repetition.
enum class TensorMemoryShape {
  Lanes32x32b,
  Lanes16x64b,
  Lanes16x128b,
  Lanes16x256b
};
/// Registers of a thread for so many repetitions (.xN).
int64_t tensorMemoryRegisters(TensorMemoryShape Shape, int64_t Repetitions);
/// Lane and column, from the instruction's address, of register `Register` of
/// thread `Lane` of the warp.
TensorMemoryPlace tensorMemoryRegister(TensorMemoryShape Shape, int64_t Lane,
                                       int64_t Register);
/// The first lane that a warp reaches, by its number in the block.
constexpr int64_t firstLaneOfWarp(int64_t Warp) { return Warp % 4 * 32; }

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_FRAGMENT_H
