//===- GemvTileCodes.cpp - Few rows and weights of 4 and 8 bits -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The copies and products of a stage whose weights are codes in tiles
/// (graph.dequantise_tiles). A lane loads the 16 bytes that it copied: codes of
/// one column and of its 8 elements of each 32 of K, in the fragment's order.
///
///   codes → numbers  code - zero is a whole number of at most 255, exact in
///                    f16 and bf16: the code goes into the mantissa of a number
///                    so large that its last bit is 1, from which that number
///                    and the zero point are taken off
///   scales           multiply the sums of a block, in f32: the product of a
///                    block is exact but for the order of its sum
///
///   stage   tiles of the slices | rows | scales [blocks][columns] | zeros
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Columns of a tile of codes, and of a slice.
static constexpr int64_t TileColumns = 8;
/// Numbers whose last bit is worth 1, and their bits: 1024 in f16, 128 in bf16,
/// 2^23 in f32.
static constexpr int64_t OneF16 = 1024, OneBf16 = 128, OneF32 = 8388608;
static constexpr int64_t BitsF16 = 0x6400, BitsBf16 = 0x4300,
                         BitsF32 = 0x4b000000;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The number of a slice's tiles among all of N: the last ones where the tile
/// is beyond.
Value GemvTile::inTiles(Value Column, int64_t Slice) {
  Value Number = W.add(
      W.B.createOrFold<arith::DivUIOp>(W.Loc, Column, W.index(TileColumns)),
      W.index(Slice));
  Value Last = W.B.createOrFold<arith::SubIOp>(
      W.Loc, W.ceilDiv(Columns, TileColumns), W.index(1));
  return least(Number, Last);
}

/// Scales or zero points of the stage that begins at element `First` of K.
void GemvTile::copyOfBlocks(Value To, Value Base, const Matrix &From,
                            Value Column, Value First) {
  int64_t Bytes = bytesOf(From), Pieces = TileColumns * Bytes / PieceBytes,
          Count = blocksOfStage() * S.Slices * Pieces;
  Value Row =
      W.B.createOrFold<arith::DivUIOp>(W.Loc, First, W.index(P.Codes->Block));
  Value Stride = W.index(*From.RowStride.asConstant() * Bytes);
  Value Last = W.B.createOrFold<arith::SubIOp>(
      W.Loc, W.ceilDiv(Columns, TileColumns), W.index(1));
  Value InTiles =
      W.B.createOrFold<arith::DivUIOp>(W.Loc, Column, W.index(TileColumns));
  for (int64_t Start = 0; Start < Count; Start += 32) {
    Value Number = add32(Lane, Start);
    Value Is =
        Start + 32 <= Count ? Value() : W.less(toIndex(Number), W.index(Count));
    Value Piece = rem32(Number, Pieces),
          Slice = rem32(div32(Number, Pieces), S.Slices),
          Block = toIndex(div32(Number, Pieces * S.Slices));
    Value At = W.add(First, W.mul(Block, W.index(P.Codes->Block)));
    Value Tile = least(W.add(InTiles, toIndex(Slice)), Last);
    Value Offset = W.add(W.mul(W.add(Row, Block), Stride),
                         W.add(W.mul(Tile, W.index(TileColumns * Bytes)),
                               toIndex(mul32(Piece, PieceBytes))));
    copyBytes(add32(To, mul32(Number, PieceBytes)), W.add(Base, Offset),
              W.less(At, Sum), PieceBytes, Is);
  }
}

/// A stage's tiles, one a slice, with what belongs to their blocks.
void GemvTile::copyCodes(Value To, Value Column, Value First) {
  Value Inside = W.less(First, Sum), Depths = W.ceilDiv(Sum, S.Depth);
  Value Depth =
      W.B.createOrFold<arith::DivUIOp>(W.Loc, First, W.index(S.Depth));
  Value Mine = mul32(Lane, PieceBytes);
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
    Value Tile = W.add(W.mul(inTiles(Column, Slice), Depths), Depth);
    Value Offset = W.add(W.mul(Tile, W.index(TileBytes)), toIndex(Mine));
    copyBytes(add32(To, add32(Mine, Slice * TileBytes)), W.add(BaseB, Offset),
              Inside, PieceBytes);
  }
  Value Scales = add32(To, S.weightBytes() + S.rowBytes());
  copyOfBlocks(Scales, BaseScales, P.Codes->Scales, Column, First);
  if (P.Codes->Zeros)
    copyOfBlocks(
        add32(Scales, blocksOfStage() * S.columns() * bytesOf(P.Codes->Scales)),
        BaseZeros, *P.Codes->Zeros, Column, First);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value GemvTile::loadShared(Type Ty, Value At) {
  auto Pointer = LLVM::LLVMPointerType::get(W.B.getContext(), 3);
  Value From = LLVM::IntToPtrOp::create(W.B, W.Loc, Pointer, At);
  return LLVM::LoadOp::create(W.B, W.Loc, Ty, From);
}

/// A float as f32.
Value GemvTile::numberOf(Value V) {
  Type F32 = W.B.getF32Type();
  return V.getType() == F32 ? V
                            : Value(arith::ExtFOp::create(W.B, W.Loc, F32, V));
}

/// What is taken off a column's large numbers, negated: f32.
Value GemvTile::zeroPoint(Value From, int64_t Block, int64_t Slice) {
  bool IsF16 = P.A.Element.isF16();
  int64_t One = IsF16 ? OneF16 : P.Codes->Bits == 4 ? OneBf16 : OneF32;
  Type F32 = W.B.getF32Type();
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getFloatAttr(F32, V));
  };
  if (!P.Codes->Zeros)
    return Number(-double(One + P.Codes->Offset));
  Value At = add32(
      From, S.weightBytes() + S.rowBytes() +
                blocksOfStage() * S.columns() * bytesOf(P.Codes->Scales) +
                (Block * S.columns() + Slice * TileColumns) * ElementBytes);
  At = add32(At, mul32(G, ElementBytes));
  Value Zero = numberOf(loadShared(P.Codes->Zeros->Element, At));
  return arith::SubFOp::create(W.B, W.Loc, Number(-double(One)), Zero);
}

/// Two codes of 8 bits as bf16, by way of f32: bf16 has too few bits for their
/// large numbers.
GemvTile::Values GemvTile::numbersBeside(Value Word, ArrayRef<int64_t> Bytes,
                                         Value Zero) {
  Type I32 = W.B.getI32Type(), F32 = W.B.getF32Type();
  Values Two;
  for (int64_t Byte : Bytes) {
    // That byte, then the upper three of the large number.
    Value Bits =
        NVVM::InlinePtxOp::create(
            W.B, W.Loc, TypeRange{I32},
            ValueRange{Word, i32(BitsF32), i32(0x7440 + Byte)}, ValueRange(),
            "prmt.b32 {$w0}, {$r0}, {$r1}, {$r2};", Value())
            .getResult(0);
    Value Large = arith::BitcastOp::create(W.B, W.Loc, F32, Bits);
    Two.push_back(arith::AddFOp::create(W.B, W.Loc, Large, Zero));
  }
  return Two;
}

/// A thread's 8 weights of a column and 32 elements of K as four pairs, out of
/// their one word (4 bits) or two (8 bits).
GemvTile::Values GemvTile::numbersOf(ArrayRef<Value> Words, Value Zero) {
  Type I32 = W.B.getI32Type(), Element = P.A.Element;
  auto Pair = VectorType::get({2}, Element);
  bool IsF16 = Element.isF16(), HasNibbles = P.Codes->Bits == 4;
  Values Pairs;
  auto Push = [&](Value Two) {
    Pairs.push_back(LLVM::BitcastOp::create(W.B, W.Loc, I32, Two));
  };
  if (!IsF16 && !HasNibbles) {
    for (int64_t I = 0; I < 4; ++I) {
      Values Two =
          numbersBeside(Words[I / 2], {I % 2 * 2, I % 2 * 2 + 1}, Zero);
      auto Wide = VectorType::get({2}, W.B.getF32Type());
      Value Both = vector::FromElementsOp::create(W.B, W.Loc, Wide, Two);
      Push(arith::TruncFOp::create(W.B, W.Loc, Pair, Both));
    }
    return Pairs;
  }
  int64_t Bits = IsF16 ? BitsF16 : BitsBf16;
  Value Large = i32(Bits << 16 | Bits);
  Value Narrow = arith::TruncFOp::create(W.B, W.Loc, Element, Zero);
  Value Off = vector::BroadcastOp::create(W.B, W.Loc, Pair, Narrow);
  Value One = arith::ConstantOp::create(
      W.B, W.Loc, DenseElementsAttr::get(Pair, W.B.getFloatAttr(Element, 1.0)));
  for (int64_t I = 0; I < 4; ++I) {
    Value Two;
    if (HasNibbles) {
      Value Shifted =
          W.B.createOrFold<arith::ShRUIOp>(W.Loc, Words[0], i32(4 * I));
      Value Codes =
          W.B.createOrFold<arith::AndIOp>(W.Loc, Shifted, i32(0x000f000f));
      Two = arith::OrIOp::create(W.B, W.Loc, Codes, Large);
    } else {
      // Bytes 2 i and 2 i + 1 below the upper one of the large number.
      Two = NVVM::InlinePtxOp::create(
                W.B, W.Loc, TypeRange{I32},
                ValueRange{Words[I / 2], Large, i32(I % 2 ? 0x5352 : 0x5150)},
                ValueRange(), "prmt.b32 {$w0}, {$r0}, {$r1}, {$r2};", Value())
                .getResult(0);
    }
    Two = LLVM::BitcastOp::create(W.B, W.Loc, Pair, Two);
    // Exact, and on every chip: sm_80 adds no pairs of bf16.
    Push(LLVM::FMAOp::create(W.B, W.Loc, Two, One, Off));
  }
  return Pairs;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums + a block's product · the scales of its columns 2 t and 2 t + 1.
Value GemvTile::scaled(Value Product, Value ScalesAt, Value Sums) {
  auto Pair = VectorType::get({2}, P.Codes->Scales.Element);
  Value Two = loadShared(Pair, ScalesAt);
  Values Scale, Parts;
  for (int64_t I = 0; I < 2; ++I)
    Scale.push_back(numberOf(vector::ExtractOp::create(W.B, W.Loc, Two, I)));
  for (int64_t I = 0; I < 4; ++I) {
    Value One = vector::ExtractOp::create(W.B, W.Loc, Product, I);
    Value Before = vector::ExtractOp::create(W.B, W.Loc, Sums, I);
    Parts.push_back(LLVM::FMAOp::create(W.B, W.Loc, One, Scale[I % 2], Before));
  }
  return vector::FromElementsOp::create(W.B, W.Loc, Sums.getType(), Parts);
}

GemvTile::Values GemvTile::multiplyCodes(Value Stage, ValueRange Before) {
  Values Sums(Before);
  Value RowsAt = add32(Stage, S.weightBytes());
  int64_t Bytes = bytesOf(P.Codes->Scales), Blocks = blocksOfStage(),
          Steps = S.Depth / StepK / Blocks, Words = P.Codes->Bits / 4;
  Value ScalesAt = add32(add32(RowsAt, S.rowBytes()), mul32(T, 2 * Bytes));
  SmallVector<Values> Codes;
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
    Codes.push_back(load16(
        add32(Stage, add32(mul32(Lane, PieceBytes), Slice * TileBytes))));
  auto Four = VectorType::get({4}, W.B.getF32Type());
  Value None = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Four));
  for (int64_t Block = 0; Block < Blocks; ++Block) {
    Values Products(S.Slices, None);
    for (int64_t Step = 0; Step < Steps; ++Step) {
      int64_t Part = Block * Steps + Step;
      Values Upper = rowsOf(RowsAt, 0, Part);
      Values Lower(4, i32(0));
      if (HasLower)
        Lower = rowsOf(RowsAt, 8, Part);
      for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
        Value Zero = zeroPoint(Stage, Block, Slice);
        Values Weights = numbersOf(
            ArrayRef<Value>(Codes[Slice]).slice(Part * Words, Words), Zero);
        for (int64_t Half = 0; Half < 2; ++Half)
          Products[Slice] =
              multiply(Upper, Lower, Weights, Half, Products[Slice]);
      }
    }
    for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
      Sums[Slice] = scaled(
          Products[Slice],
          add32(ScalesAt, (Block * S.columns() + Slice * TileColumns) * Bytes),
          Sums[Slice]);
  }
  return Sums;
}

} // namespace kpc::kernels
