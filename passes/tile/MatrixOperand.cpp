//===- MatrixOperand.cpp - Operands of mma.sync from tiles ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/MatrixOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

/// Of f32, the bits that tf32 lacks.
static constexpr int32_t DroppedBits = (1 << 13) - 1;
static constexpr int32_t QuietNan = 0x7fc00000;
/// What `cut` multiplies with.
static constexpr float CutFactor = 1.0f + 0.72f / 2048;

MatrixOperand::MatrixOperand(OpBuilder &B, Location Loc, SharedType Tile,
                             Value Pointer, const ThreadPlace &Place, bool IsA,
                             bool AlongK, bool InPairs)
    : B(B), Loc(Loc), W(B, Loc), Tile(Tile), AlongK(AlongK), IsA(IsA),
      InPairs(InPairs) {
  bool Wide = Tile.getElementBits() == 32;
  ByWord = Wide && !AlongK;
  Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
  if (ByWord) {
    // Row q of the tile (the sum), or 2q, and column g.
    Value Row = W.mul(W.bitAnd(Place.Lane, 3), InPairs ? 2 : 1);
    Value InLine = W.shiftLeft(W.shiftRight(Place.Lane, 2), 2);
    Start = W.pointer(Pointer, W.mul(Row, Tile.getSwizzle()));
    Swizzled = W.bitXor(InLine, W.swizzleOfRow(Tile, Row));
    if (!IsA)
      return;
    // The warp's 16 columns of each 64: 64 bytes of a line, or other lines.
    Value Across = W.shiftLeft(OfWarp, 2);
    Value Line = arith::DivUIOp::create(B, Loc, Across, W.i32(lineBytes()));
    Start = W.pointer(Start, W.mul(Line, Tile.getPitch() * lineBytes()));
    Swizzled = W.bitXor(Swizzled, W.bitAnd(Across, lineBytes() - 1));
    return;
  }
  Value Low = W.bitAnd(Place.Lane, 7);
  Value Middle = W.bitAnd(W.shiftRight(Place.Lane, 3), 1);
  Value High = W.shiftRight(Place.Lane, 4);
  // Matrices of a: down, then along the sum; of b: the other way round.
  Value OfK = IsA ? High : Middle, OfMn = IsA ? Middle : High;
  Value Row = W.add(Low, W.shiftLeft(AlongK ? OfMn : OfK, 3));
  Value Piece = W.shiftLeft(AlongK ? OfK : OfMn, 4);
  // The warp's 16 rows of each 64 are rows of the tile, or a part of a line.
  if (IsA && AlongK)
    Row = W.add(Row, OfWarp);
  Start = W.pointer(Pointer, W.mul(Row, Tile.getSwizzle()));
  Swizzled = W.bitXor(Piece, W.swizzleOfRow(Tile, Row));
  if (IsA && !AlongK)
    Swizzled = W.bitXor(Swizzled, W.mul(OfWarp, 2));
}

MatrixRegisters MatrixOperand::load(int64_t Step, int64_t Mn, Tf32 Are) {
  // The place of the step along the sum, and of Mn, in rows and in bytes.
  int64_t Bits = Tile.getElementBits();
  Values Loaded =
      ByWord   ? loadWords(Step, Mn)
      : AlongK ? loadMatrices(Mn, Step * StepBytes)
               : loadMatrices(Step * StepBytes * 8 / Bits, Mn * Bits / 8);
  if (Bits != 32)
    return {Loaded, {}};
  return asTf32(Loaded, Are);
}

MatrixRegisters MatrixOperand::asTf32(ArrayRef<Value> Loaded, Tf32 Are) {
  MatrixRegisters Made;
  for (Value Word : Loaded) {
    Value Wide = LLVM::BitcastOp::create(B, Loc, B.getF32Type(), Word);
    switch (Are) {
    case Tf32::Rounded:
      Made.High.push_back(rounded(Wide));
      break;
    case Tf32::Truncated:
      Made.High.push_back(quiet(Wide, Word));
      break;
    case Tf32::Cut:
      Made.High.push_back(cut(Wide));
      break;
    case Tf32::Split:
      Made.High.push_back(high(Word));
      Made.Low.push_back(low(Wide, Made.High.back()));
      break;
    }
  }
  return Made;
}

/// The instruction drops bits, but none that NaN is told by.
Value MatrixOperand::quiet(Value Wide, Value Word) {
  Value IsNan =
      LLVM::FCmpOp::create(B, Loc, LLVM::FCmpPredicate::uno, Wide, Wide);
  return LLVM::SelectOp::create(B, Loc, IsNan, W.i32(QuietNan), Word);
}
Value MatrixOperand::cut(Value Wide) {
  Value Factor = LLVM::ConstantOp::create(B, Loc, B.getF32FloatAttr(CutFactor));
  Value Greater = LLVM::FMulOp::create(B, Loc, Wide, Factor);
  return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Greater);
}

/// To nearest: the product itself would drop the bits that tf32 lacks.
Value MatrixOperand::rounded(Value Wide) {
  return NVVM::ConvertFloatToTF32Op::create(
      B, Loc, B.getI32Type(), Wide, NVVM::FPRoundingMode::RNA,
      NVVM::SaturationMode::NONE, /*relu=*/false);
}

/// The same of what is finite, in two instructions instead of four. What is
/// not makes `low` NaN.
Value MatrixOperand::high(Value Word) {
  Value Up = LLVM::AddOp::create(B, Loc, Word, W.i32(DroppedBits / 2 + 1));
  return LLVM::AndOp::create(B, Loc, Up, W.i32(~DroppedBits));
}
Value MatrixOperand::low(Value Wide, Value High) {
  Value Rounded = LLVM::BitcastOp::create(B, Loc, B.getF32Type(), High);
  Value Rest = LLVM::FSubOp::create(B, Loc, Wide, Rounded);
  return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Rest);
}

/// A row and a byte of it, from this lane's on. Lines that are a multiple of 8
/// rows away have the same address and a number.
Value MatrixOperand::addressOf(int64_t Row, int64_t Byte, int64_t Flipped) {
  Value InLine = W.bitXor(Swizzled, W.i32((Byte % lineBytes()) ^ Flipped));
  return W.pointer(W.pointer(Start, InLine), rowOffset(Byte, Row));
}

MatrixOperand::Values MatrixOperand::loadMatrices(int64_t Row, int64_t Byte) {
  Value Address = addressOf(Row, Byte);
  MLIRContext *Context = B.getContext();
  Type Word = B.getI32Type();
  auto Four =
      LLVM::LLVMStructType::getLiteral(Context, {Word, Word, Word, Word});
  Value All = NVVM::LdMatrixOp::create(
      B, Loc, Four, Address, 4,
      AlongK ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(Context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value, 4> Registers;
  for (int64_t I = 0; I < 4; ++I)
    Registers.push_back(LLVM::ExtractValueOp::create(B, Loc, All, I));
  return Registers;
}

/// Words of tf32: row k of the tile has elements along Mn. What a step adds to
/// the lane's row has other bits, as has what it adds to its column.
MatrixOperand::Values MatrixOperand::loadWords(int64_t Step, int64_t Mn) {
  SmallVector<Value, 4> Registers;
  for (int64_t I = 0; I < 4; ++I) {
    // Registers of a go down first, those of b along the sum.
    int64_t First = Step * StepBytes / 4, OfK = IsA ? I / 2 : I % 2;
    int64_t Across = Mn + 8 * (IsA ? I % 2 : I / 2);
    int64_t Row = InPairs ? OfK : 4 * OfK;
    Value Address =
        addressOf(First + Row, Across * 4, W.swizzleOfRow(Tile, Row));
    Registers.push_back(LLVM::LoadOp::create(B, Loc, B.getI32Type(), Address,
                                             /*alignment=*/4));
  }
  return Registers;
}
