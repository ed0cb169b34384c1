//===- TensorProduct.h - One tcgen05.mma ------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an mma is by its text, its instruction descriptor and its operands, and
/// where its parts lie (TensorMatrix.cpp); how it is computed
/// (TensorArithmetic.cpp).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_TENSORPRODUCT_H
#define KPC_EMULATOR_INSTRUCTIONS_TENSORPRODUCT_H

#include "emulator/instructions/Tensor.h"
#include "emulator/instructions/TensorOperands.h"

namespace kpc::emulator {

enum class TensorKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};
inline bool isScaled(TensorKind K) { return K >= TensorKind::MXF8F6F4; }

/// As written.
struct TensorText {
  TensorKind Kind = TensorKind::F16;
  unsigned Group = 1;
  bool AInTensor = false, HasMask = false;
  unsigned Scales = 1;     ///< of a row in an instruction
  unsigned ShiftDown = 0;  ///< scale-input-d
  bool Stationary = false; ///< .ws
  uint64_t packed() const {
    return uint64_t(Kind) | uint64_t{Group} << 8 | uint64_t{Scales} << 16 |
           uint64_t{ShiftDown} << 24 | uint64_t{AInTensor} << 32 |
           uint64_t{HasMask} << 33 | uint64_t{Stationary} << 34;
  }
  static TensorText of(uint64_t V) {
    return {TensorKind(V & 0xFF),     unsigned(V >> 8 & 0xFF),
            (V >> 32 & 1) != 0,       (V >> 33 & 1) != 0,
            unsigned(V >> 16 & 0xFF), unsigned(V >> 24 & 0xFF),
            (V >> 34 & 1) != 0};
  }
};

/// The instruction descriptor.
struct TensorForm {
  unsigned M = 0, N = 0;
  MatrixType A = MatrixType::F16, B = MatrixType::F16;
  bool HalfD = false, Saturate = false;
  bool NegateA = false, NegateB = false, TransposeA = false, TransposeB = false;
  unsigned ScaleA = 0, ScaleB = 0; ///< first byte of a word of scales
  bool PowerScales = true;         ///< ue8m0, not ue4m3
  std::string Problem;
  TensorForm(uint32_t Bits, const TensorText &T);
};

/// Rows of a lane: element (Row, First + c) of D is in the lane's column c.
struct TensorLine {
  bool Used = false;
  unsigned Row = 0, First = 0;
};

struct TensorProduct {
  TensorText Text;
  TensorForm Form;
  TensorBlocks Blocks;
  bool Adds = false;
  uint32_t D = 0, A = 0, ScalesA = 0,
           ScalesB = 0;     ///< addresses in tensor memory
  TensorTile TileA, TileB;  ///< of each block, in its own shared memory
  std::vector<bool> Masked; ///< lanes that stay as they are, by block

  /// Columns of D in each lane.
  unsigned width() const;
  TensorLine lineOf(unsigned Block, unsigned Lane) const;
  unsigned columnsOfA() const { return TensorRowBytes / 4; }
  /// Columns of words of scales.
  unsigned scaleColumnsA() const;
  unsigned scaleColumnsB() const;
  bool writes(unsigned Block, unsigned Lane) const {
    return lineOf(Block, Lane).Used &&
           !(Text.HasMask && Masked[Block * TensorMemory::Lanes + Lane]);
  }
  void compute() const;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_TENSORPRODUCT_H
