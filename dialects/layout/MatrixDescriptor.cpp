//===- MatrixDescriptor.cpp - What tensor cores are told of operands ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/MatrixDescriptor.h"

namespace kpc::layout {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Bits 62-63 for wgmma, 61-63 for tcgen05, both at bit 61.
static uint64_t swizzleCode(SwizzleMode Mode) {
  switch (Mode) {
  case SwizzleMode::None:
    return 0;
  case SwizzleMode::B128Atom32:
    return 1;
  case SwizzleMode::B128:
    return 2;
  case SwizzleMode::B64:
    return 4;
  case SwizzleMode::B32:
    return 6;
  }
  return 0;
}

uint64_t MatrixDescriptor::encode() const {
  uint64_t Out = encodeBytes(Start) | encodeBytes(Leading) << 16 |
                 encodeBytes(Stride) << 32 |
                 static_cast<uint64_t>(BaseOffset & 7) << 49 |
                 swizzleCode(Mode) << 61;
  if (Engine == TensorEngine::Tcgen05)
    Out |= uint64_t{1} << 46; // the version of the format
  return Out;
}

static std::string mnMajorProblem(TensorEngine Engine, const SharedTile &Tile,
                                  int64_t Bits) {
  bool Atom32 = Tile.Mode == SwizzleMode::B128Atom32;
  if (Engine == TensorEngine::Wgmma)
    return Bits == 16 ? "" : "wgmma takes MN-major operands of 16 bits only";
  if (Bits == 32 && !Atom32)
    return "tcgen05 takes MN-major tf32 with 32-byte swizzle atoms only";
  if (Bits < 32 && Atom32)
    return "tcgen05 takes 32-byte swizzle atoms for tf32 only";
  return {};
}

/// Types that tcgen05 never takes MN-major.
static bool isNarrowFloat(ElementType Type) {
  return Type == ElementType::E2M1 || Type == ElementType::E2M3 ||
         Type == ElementType::E3M2;
}

std::string operandProblem(TensorEngine Engine, const SharedTile &Tile,
                           ElementType Type) {
  if (std::string P = Tile.problem(); !P.empty())
    return P;
  // 4-bit elements of kind f8f6f4 come in containers of 8 bits.
  bool InContainers = Type == ElementType::E2M1 && Tile.ElementBits == 8;
  if (Tile.ElementBits != elementBits(Type) && !InContainers)
    return "the tile's elements are not of the type's size";
  if (Tile.Mn % 8 != 0)
    return "tensor cores take rows by eights";
  if (Tile.K % kPerStep(Tile) != 0)
    return "k is no multiple of an instruction's";
  if (Engine == TensorEngine::Wgmma && Tile.Mode == SwizzleMode::B128Atom32)
    return "wgmma has no 32-byte swizzle atoms";
  if (Tile.Order == Major::K)
    return {};
  if (isNarrowFloat(Type))
    return "4- and 6-bit operands are K-major only";
  return mnMajorProblem(Engine, Tile, Tile.ElementBits);
}

MatrixDescriptor describe(TensorEngine Engine, const SharedTile &Tile,
                          int64_t TileAddress) {
  MatrixDescriptor D{.Engine = Engine, .Start = TileAddress, .Mode = Tile.Mode};
  int64_t Pattern = rowsPerStride(Tile.Mode) * Tile.lineBytes();
  bool Swizzled = Tile.Mode != SwizzleMode::None;
  // The leading offset of a swizzled K-major operand is not read.
  int64_t Chunk = Tile.chunkBytes();
  if (Tile.Order == Major::K) {
    D.Leading = Swizzled ? 16 : Chunk;
    D.Stride = Pattern;
  } else {
    D.Leading = Swizzled ? Chunk : Pattern;
    D.Stride = Swizzled ? Pattern : Chunk;
  }
  return D;
}

int64_t kPerStep(const SharedTile &Tile) {
  return KStepBytes * 8 / Tile.ElementBits;
}

int64_t kSteps(const SharedTile &Tile) { return Tile.K / kPerStep(Tile); }

int64_t operandOffset(const SharedTile &Tile, int64_t KStep, int64_t MnStart) {
  return Tile.plainOffset(MnStart, KStep * kPerStep(Tile));
}

uint64_t encodedOffset(const SharedTile &Tile, int64_t KStep, int64_t MnStart) {
  return encodeBytes(operandOffset(Tile, KStep, MnStart));
}

//===----------------------------------------------------------------------===//
// tcgen05.mma's instruction descriptor
//===----------------------------------------------------------------------===//

/// Bits 7-9 and 10-12; -1: not of the kind.
static int operandCode(Tcgen05Kind Kind, ElementType Type) {
  switch (Kind) {
  case Tcgen05Kind::F16:
    return Type == ElementType::F16 ? 0 : Type == ElementType::BF16 ? 1 : -1;
  case Tcgen05Kind::TF32:
    return Type == ElementType::TF32 ? 2 : -1;
  case Tcgen05Kind::I8:
    return Type == ElementType::U8 ? 0 : Type == ElementType::S8 ? 1 : -1;
  case Tcgen05Kind::F8F6F4:
    break;
  }
  switch (Type) {
  case ElementType::E4M3:
    return 0;
  case ElementType::E5M2:
    return 1;
  case ElementType::E2M3:
    return 3;
  case ElementType::E3M2:
    return 4;
  case ElementType::E2M1:
    return 5;
  default:
    return -1;
  }
}

/// Bits 4-5; -1: not of the kind.
static int resultCode(Tcgen05Kind Kind, ElementType A, ElementType D) {
  if (Kind == Tcgen05Kind::I8)
    return D == ElementType::S32 ? 2 : -1;
  if (D == ElementType::F32)
    return 1;
  bool HalfResult = (Kind == Tcgen05Kind::F16 && A == ElementType::F16) ||
                    Kind == Tcgen05Kind::F8F6F4;
  return D == ElementType::F16 && HalfResult ? 0 : -1;
}

std::string InstructionDescriptor::problem() const {
  if (operandCode(Kind, A) < 0 || operandCode(Kind, B) < 0)
    return "the kind does not take operands of this type";
  if (Kind == Tcgen05Kind::F16 && A != B)
    return "A and B of kind f16 are of one type";
  if (resultCode(Kind, A, D) < 0)
    return "the kind does not give results of this type";
  if (Kind == Tcgen05Kind::I8 && (NegateA || NegateB))
    return "kind i8 does not negate";
  if (Kind != Tcgen05Kind::I8 && Saturate)
    return "only kind i8 saturates";
  return {};
}

static uint32_t bitsOf(int64_t Value, unsigned Width, unsigned At) {
  return (static_cast<uint32_t>(Value) & ((1u << Width) - 1)) << At;
}

uint32_t InstructionDescriptor::encode() const {
  constexpr auto Bits = bitsOf;
  return Bits(Saturate, 1, 3) | Bits(resultCode(Kind, A, D), 2, 4) |
         Bits(operandCode(Kind, A), 3, 7) | Bits(operandCode(Kind, B), 3, 10) |
         Bits(NegateA, 1, 13) | Bits(NegateB, 1, 14) |
         Bits(AOrder == Major::MN, 1, 15) | Bits(BOrder == Major::MN, 1, 16) |
         Bits(N >> 3, 6, 17) | Bits(M >> 4, 5, 24);
}

/// Bits 7-9 and 10-12; -1: not of the kind.
static int scaledCode(ScaledKind Kind, ElementType Type) {
  if (Kind == ScaledKind::MXF8F6F4)
    return operandCode(Tcgen05Kind::F8F6F4, Type);
  return Type == ElementType::E2M1 ? 1 : -1;
}

std::string ScaledInstruction::problem() const {
  if (scaledCode(Kind, A) < 0 || scaledCode(Kind, B) < 0)
    return "the kind does not take operands of this type";
  if (!PowerScales && Kind != ScaledKind::MXF4NVF4)
    return "scales of the kind are of E8M0";
  if (FirstScale % scales() || FirstScale + scales() > 4)
    return "the scales do not lie in one word";
  return {};
}

uint32_t ScaledInstruction::encode() const {
  constexpr auto Bits = bitsOf;
  return Bits(FirstScale, 2, 4) | Bits(scaledCode(Kind, A), 3, 7) |
         Bits(scaledCode(Kind, B), 3, 10) | Bits(N >> 3, 6, 17) |
         Bits(PowerScales, 1, 23) | Bits(M >> 4, 5, 24) |
         Bits(FirstScale, 2, 29);
}

MatrixDescriptor describePlainRows(int64_t Address) {
  constexpr int64_t RowBytes = 16;
  return {.Engine = TensorEngine::Tcgen05,
          .Start = Address,
          .Leading = RowBytes,
          .Stride = 8 * RowBytes};
}

} // namespace kpc::layout
