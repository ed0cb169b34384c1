//===- TensorOperands.h - tcgen05's operands in shared memory ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX ISA, "Shared memory descriptor", "Canonical layouts": where the 16-byte
/// units of a matrix lie, and the elements of a unit.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_TENSOROPERANDS_H
#define KPC_EMULATOR_INSTRUCTIONS_TENSOROPERANDS_H

#include "emulator/numbers/FusedSum.h"

namespace kpc::emulator {

inline constexpr unsigned TensorUnit = 16;
/// K of an instruction takes 32 bytes of each row.
inline constexpr unsigned TensorRowBytes = 32;

struct TensorDescriptor {
  uint64_t Start = 0, Leading = 0, Stride = 0;
  unsigned Span = 0;      ///< bytes of a swizzled line; 0: none
  bool WideAtoms = false; ///< 128-byte lines whose atoms have 32 bytes
  unsigned Base = 0;
  const char *Problem = nullptr;

  explicit TensorDescriptor(uint64_t Bits);
  /// Where the byte `Inner` of the line `Outer` lies; a line goes along k, or
  /// along the rows if Transposed.
  uint64_t addressOf(unsigned Outer, unsigned Inner, bool Transposed) const;
};

/// Elements of an operand. 6-bit types, and 4-bit ones that are not packed
/// (kind::mxf4), have 16 in 16 bytes, with a pad behind.
struct TensorElements {
  MatrixType T = MatrixType::F16;
  bool Packed = false; ///< two 4-bit elements in a byte
  bool Negate = false;

  unsigned bits() const;
  unsigned perUnit() const;
  unsigned k() const { return TensorRowBytes / TensorUnit * perUnit(); }
  /// Element N of a unit.
  MatrixValue at(const uint8_t *Unit, unsigned N) const;
};

/// A matrix of an instruction in the shared memory of one block.
struct TensorTile {
  TensorDescriptor From;
  TensorElements Elements;
  unsigned Lines = 0; ///< rows of A, columns of B
  bool Transposed = false;

  /// Calls Do(address, line, k) for each unit: its first element's place.
  /// False: Do was.
  template <typename F> bool forEachUnit(F Do) const {
    unsigned K = Elements.k(), Step = Elements.perUnit();
    unsigned Bytes = TensorUnit / Step; // only used where elements are whole
    for (unsigned Outer = 0; Outer < (Transposed ? K : Lines); ++Outer)
      for (unsigned Inner = 0; Inner < (Transposed ? Lines : K);
           Inner += Step) {
        uint64_t At =
            Transposed
                ? From.addressOf(Outer, Inner * Bytes, true)
                : From.addressOf(Outer, Inner / Step * TensorUnit, false);
        if (!Do(At, Transposed ? Inner : Outer, Transposed ? Outer : Inner))
          return false;
      }
    return true;
  }
  /// Out[line * Pitch + k].
  void fetch(const uint8_t *Shared, MatrixValue *Out, unsigned Pitch) const;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_TENSOROPERANDS_H
