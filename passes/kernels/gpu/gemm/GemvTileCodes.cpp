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
///   stage   tiles of the slices | rows | scales [blocks, columns] | zeros
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
Value GemvTile::inTiles(Value Column, Value Slice) {
  Value Number = W.add(div(Column, TileColumns), Slice);
  return least(Number, sub(W.ceilDiv(Columns, TileColumns), W.index(1)));
}

/// Scales or zero points of the stage that begins at element `First` of K: 8
/// columns of a block are one piece, or two.
void GemvTile::copyOfBlocks(const Stage &To, Value Tile, Value Memory,
                            const Matrix &From, Value Column, Value First) {
  int64_t Elements = PieceBytes / bytesOf(From),
          Pieces = TileColumns / Elements,
          Count = blocksOfStage() * S.Slices * Pieces;
  Value Row = div(First, P.Codes->Block);
  for (int64_t Start = 0; Start < Count; Start += 32) {
    Value Number = add(Lane, Start);
    Value Is = Start + 32 <= Count ? Value() : W.less(Number, W.index(Count));
    Value InSlice = mul(rem(Number, Pieces), Elements),
          Slice = rem(div(Number, Pieces), S.Slices),
          Block = div(Number, Pieces * S.Slices);
    Value At = W.add(First, mul(Block, P.Codes->Block));
    Value InRow = W.add(mul(inTiles(Column, Slice), TileColumns), InSlice);
    copy(To,
         {Memory,
          W.add(mul(W.add(Row, Block), *From.RowStride.asConstant()), InRow),
          W.less(At, Sum), Tile, Block, W.add(mul(Slice, TileColumns), InSlice),
          PieceBytes, Is});
  }
}

/// A stage's tiles, one a slice, with what belongs to their blocks.
void GemvTile::copyCodes(const Stage &To, Value Column, Value First) {
  Value Inside = W.less(First, Sum), Depths = W.ceilDiv(Sum, S.Depth),
        Depth = div(First, S.Depth), Mine = mul(Lane, PieceBytes);
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
    Value Number = W.index(Slice);
    Value Tile = W.add(W.mul(inTiles(Column, Number), Depths), Depth);
    copy(To, {MemoryB, W.add(mul(Tile, TileBytes), Mine), Inside, To.Weights,
              Number, Mine});
  }
  copyOfBlocks(To, To.Scales, MemoryScales, P.Codes->Scales, Column, First);
  if (P.Codes->Zeros)
    copyOfBlocks(To, To.Zeros, MemoryZeros, *P.Codes->Zeros, Column, First);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// A float as f32.
Value GemvTile::numberOf(Value V) {
  Type F32 = W.B.getF32Type();
  return V.getType() == F32 ? V
                            : Value(arith::ExtFOp::create(W.B, W.Loc, F32, V));
}

/// What is taken off a column's large numbers, negated: f32.
Value GemvTile::zeroPoint(const Stage &From, int64_t Block, int64_t Slice) {
  bool IsF16 = P.A.Element.isF16();
  int64_t One = IsF16 ? OneF16 : P.Codes->Bits == 4 ? OneBf16 : OneF32;
  Type F32 = W.B.getF32Type();
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getFloatAttr(F32, V));
  };
  if (!P.Codes->Zeros)
    return Number(-double(One + P.Codes->Offset));
  Value Zero = load(VectorType::get({1}, P.Codes->Zeros->Element), From.Zeros,
                    W.index(Block), 0, G, Slice * TileColumns);
  Zero = numberOf(vector::ExtractOp::create(W.B, W.Loc, Zero, int64_t(0)));
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
Value GemvTile::scaled(Value Product, Value Two, Value Sums) {
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

GemvTile::Values GemvTile::multiplyCodes(const Stage &From, ValueRange Before) {
  Values Sums(Before);
  int64_t Blocks = blocksOfStage(), Steps = S.Depth / StepK / Blocks,
          Words = P.Codes->Bits / 4;
  Value First = W.index(0), Mine = mul(Lane, PieceBytes), Column = mul(T, 2);
  SmallVector<Values> Codes;
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
    Codes.push_back(load16(From.Weights, First, Slice, Mine, 0));
  auto Pair = VectorType::get({2}, P.Codes->Scales.Element);
  auto Four = VectorType::get({4}, W.B.getF32Type());
  Value None = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Four));
  for (int64_t Block = 0; Block < Blocks; ++Block) {
    Values Products(S.Slices, None);
    for (int64_t Step = 0; Step < Steps; ++Step) {
      int64_t Part = Block * Steps + Step;
      Values Upper = rowsOf(From.Rows, 0, Part);
      Values Lower(4, i32(0));
      if (HasLower)
        Lower = rowsOf(From.Rows, 8, Part);
      for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
        Value Zero = zeroPoint(From, Block, Slice);
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
          load(Pair, From.Scales, First, Block, Column, Slice * TileColumns),
          Sums[Slice]);
  }
  return Sums;
}

} // namespace kpc::kernels
