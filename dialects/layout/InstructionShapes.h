//===- InstructionShapes.h - Which matrix instructions there are *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Data: the types, shapes and operand orders of wgmma, mma.sync and tcgen05
/// (PTX ISA 9; dense forms). Builders ask here before they choose a tile.
///
///   findShape(MatrixInstruction::Wgmma, ElementType::BF16, ElementType::BF16,
///             ElementType::F32)->allows(64, 128, 16)   // true
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_INSTRUCTIONSHAPES_H
#define KPC_DIALECTS_LAYOUT_INSTRUCTIONSHAPES_H

#include "dialects/layout/ElementType.h"
#include "dialects/layout/SharedTile.h"

#include <span>

namespace kpc::layout {

enum class MatrixInstruction {
  MmaSync,
  Wgmma,
  Tcgen05,    ///< cta_group 1
  Tcgen05Pair ///< cta_group 2: m and n are the pair's
};

/// n of an instruction: from Low to High in steps, and a few smaller ones.
struct ColumnRange {
  int64_t Low, High, Step;
  int64_t Extra[4] = {0, 0, 0, 0}; ///< allowed besides; 0: none
  bool contains(int64_t N) const;
};

struct InstructionShape {
  MatrixInstruction Instruction;
  ElementType A, B, D;
  int64_t M[2]; ///< allowed m; the second 0: one only
  ColumnRange N;
  int64_t K;
  bool TransposesA, TransposesB; ///< takes MN-major operands of shared memory
  /// Lowest compute capability (80, 89, 90, 100), exact for wgmma (90a) and
  /// tcgen05 (100 to 110, a and f).
  int64_t Architecture;
  bool allows(int64_t M, int64_t N, int64_t K) const;
};

/// All rows; those of one instruction follow each other.
std::span<const InstructionShape> instructionShapes();

/// The row of these types with the largest k (and k = `K`, if given), or
/// nullptr.
const InstructionShape *findShape(MatrixInstruction Instruction, ElementType A,
                                  ElementType B, ElementType D, int64_t K = 0);

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_INSTRUCTIONSHAPES_H
