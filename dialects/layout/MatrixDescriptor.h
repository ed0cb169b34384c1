//===- MatrixDescriptor.h - What tensor cores are told of operands *- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The 64-bit descriptors of operands in shared memory (wgmma: PTX ISA
/// "Matrix-descriptor for wgmma.mma_async"; tcgen05: "Shared memory
/// descriptor") and the 32-bit instruction descriptor of tcgen05.mma.
///
/// A kernel makes the descriptor of the tile once and adds encodedOffset() of a
/// k step to it: only the address field changes, and no carry leaves it.
///
///   auto D = describe(TensorEngine::Wgmma, A, /*TileAddress=*/0x400);
///   D.encode()                    // 0x4000'0040'0001'0040
///   encodedOffset(A, /*KStep=*/1) // 2: 32 bytes further along the lines
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_LAYOUT_MATRIXDESCRIPTOR_H
#define KPC_DIALECTS_LAYOUT_MATRIXDESCRIPTOR_H

#include "dialects/layout/ElementType.h"
#include "dialects/layout/SharedTile.h"

#include <string>

namespace kpc::layout {

enum class TensorEngine { Wgmma, Tcgen05 };

/// Bytes of K that one instruction takes of each row, whatever the type.
inline constexpr int64_t KStepBytes = 32;

/// An 18-bit address or offset in units of 16 bytes, as descriptors hold it.
constexpr uint64_t encodeBytes(int64_t Bytes) {
  return (static_cast<uint64_t>(Bytes) & 0x3FFFF) >> 4;
}

/// All in bytes.
struct MatrixDescriptor {
  TensorEngine Engine = TensorEngine::Wgmma;
  int64_t Start = 0;   ///< address in the CTA's shared window
  int64_t Leading = 0; ///< LBO
  int64_t Stride = 0;  ///< SBO
  SwizzleMode Mode = SwizzleMode::None;
  /// Not 0 where the pattern's start is not aligned to its period.
  unsigned BaseOffset = 0;

  uint64_t encode() const;
  friend bool operator==(const MatrixDescriptor &,
                         const MatrixDescriptor &) = default;
};

/// Why `Engine` cannot read the tile with elements of `Type`; empty: it can.
std::string operandProblem(TensorEngine Engine, const SharedTile &Tile,
                           ElementType Type);

/// The descriptor of the tile at `TileAddress`, which is aligned.
MatrixDescriptor describe(TensorEngine Engine, const SharedTile &Tile,
                          int64_t TileAddress);

/// k of one instruction: 32 bytes of elements.
int64_t kPerStep(const SharedTile &Tile);
/// Instructions from the tile's first k to its last.
int64_t kSteps(const SharedTile &Tile);

/// Bytes from the tile's start to where the descriptor of a k step, and of the
/// row (column of B) `MnStart`, points. MnStart is a multiple of 8, in an
/// MN-major tile of the elements in W bytes.
int64_t operandOffset(const SharedTile &Tile, int64_t KStep,
                      int64_t MnStart = 0);
/// The same as is added to the (low half of the) encoded descriptor.
uint64_t encodedOffset(const SharedTile &Tile, int64_t KStep,
                       int64_t MnStart = 0);

//===----------------------------------------------------------------------===//
// tcgen05.mma's instruction descriptor
//===----------------------------------------------------------------------===//

enum class Tcgen05Kind { F16, TF32, F8F6F4, I8 };

struct InstructionDescriptor {
  Tcgen05Kind Kind = Tcgen05Kind::F16;
  ElementType A = ElementType::F16, B = ElementType::F16, D = ElementType::F32;
  int64_t M = 128, N = 256; ///< of the pair where cta_group is 2
  Major AOrder = Major::K, BOrder = Major::K;
  bool NegateA = false, NegateB = false;
  bool Saturate = false; ///< kind i8

  /// Why there is no such instruction; empty: there is. M and N are checked by
  /// InstructionShapes.h.
  std::string problem() const;
  uint32_t encode() const;
};

/// Kinds whose operands have scales of blocks of K.
enum class ScaledKind { MXF8F6F4, MXF4, MXF4NVF4 };

/// The instruction descriptor of those kinds; D is f32, both operands K-major.
struct ScaledInstruction {
  ScaledKind Kind = ScaledKind::MXF8F6F4;
  ElementType A = ElementType::E4M3, B = ElementType::E4M3;
  int64_t M = 128, N = 128; ///< of the pair where cta_group is 2
  /// The first byte of a word of four scales that the instruction reads.
  unsigned FirstScale = 0;
  /// Scales are of E8M0; else, of kind mxf4nvf4 alone, of E4M3.
  bool PowerScales = true;

  /// Scales of a row that the instruction reads: NVFP4's blocks are of 16.
  unsigned scales() const {
    return Kind == ScaledKind::MXF8F6F4 ? 1 : PowerScales ? 2 : 4;
  }
  /// Why there is no such instruction; empty: there is.
  std::string problem() const;
  uint32_t encode() const;
};

/// Reads rows of 16 bytes that lie side by side: what tcgen05.cp takes scales
/// from.
MatrixDescriptor describePlainRows(int64_t Address);

} // namespace kpc::layout

#endif // KPC_DIALECTS_LAYOUT_MATRIXDESCRIPTOR_H
