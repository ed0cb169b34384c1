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
///   codes → numbers  a code goes into the mantissa of a larger number, whose
///                    bits are the code's and a constant: one operation for two
///                    codes, and a shift. Such numbers are multiplied as they
///                    are, exact in f16 and bf16
///   sums of rows     a product of all ones has the sum of each row of x. That
///                    times what the numbers are more than code - zero is taken
///                    off the sums of a block
///   scales           multiply the sums of a block, in f32: the product of a
///                    block is exact but for the order of its sum
///   left and right   16 columns of codes are the left operand, and 8 rows the
///                    right one, whose words lie as they are loaded. With more
///                    than 8 rows codes are multiplied again
///   gates            the first half of the slices is of one matrix, the second
///                    half of the other, at the same columns
///
///   stage   tiles of the slices | rows | scales [blocks, columns] | zeros
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/MmaSync.h"
#include "passes/kernels/gpu/gemm/GemvTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Columns of a tile of codes, and of a slice.
static constexpr int64_t TileColumns = 8;
/// Numbers whose last bit is worth 1, and their bits: 1024 in f16, 128 in bf16.
/// The last bit of 64 in f16 is worth 1/16.
static constexpr int64_t OneF16 = 1024, OneBf16 = 128, OneNibbleF16 = 64;
static constexpr int64_t BitsF16 = 0x6400, BitsBf16 = 0x4300,
                         BitsNibbleF16 = 0x5400;
/// Powers of two in bf16.
static constexpr int64_t BitsOfTwo120 = 0x7b80, BitsOfTwo112 = 0x7780;
/// Tables of lop3: (a and b) or c, (a and b) xor c.
static constexpr int64_t AndOr = 0xea, AndXor = 0x6a;
/// What the highest bit of a code of 8 bits is worth.
static constexpr int64_t SignBit = 128;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The number of a slice's tiles among all of N: the last ones where the tile
/// is beyond.
Value GemvTile::inTiles(Value Column, Value Slice) {
  Value Number = W.add(div(Column, TileColumns), Slice);
  return least(Number, sub(W.ceilDiv(Columns, TileColumns), W.index(1)));
}

/// Scales or zero points of a stage: 8 columns of a block are one piece, or
/// two.
void GemvTile::copyOfBlocks(const Stage &To, Value Tile, Value Memory,
                            Value SecondMemory, const Matrix &Of,
                            const Place &From) {
  int64_t Elements = PieceBytes / bytesOf(Of), Pieces = TileColumns / Elements,
          Count = blocksOfStage() * S.Slices * Pieces,
          Stride = *Of.RowStride.asConstant();
  Value Column = firstColumn(From.Tile);
  for (int64_t Start = 0; Start < Count; Start += 32) {
    Value Number = add(Lane, Start);
    Value Is = Start + 32 <= Count ? Value() : W.less(Number, W.index(Count));
    Value InSlice = mul(rem(Number, Pieces), Elements),
          Slice = rem(div(Number, Pieces), S.Slices),
          Block = div(Number, Pieces * S.Slices),
          InTile = W.add(mul(Slice, TileColumns), InSlice);
    Value Own = Slice, InMatrix = InTile;
    if (P.Second) {
      Own = rem(Slice, ownSlices());
      InMatrix = W.add(mul(Own, TileColumns), InSlice);
    }
    Value InRow = hasWholeTiles()
                      ? W.add(Column, InMatrix)
                      : W.add(mul(inTiles(Column, Own), TileColumns), InSlice);
    // Rows are blocks. What lanes have of their own comes first.
    Value Row;
    if (int64_t Each = S.Depth / P.Codes->Block)
      Row = W.add(mul(W.add(mul(Warp, Each), Block), Stride),
                  mul(From.Slice, S.Warps * Each * Stride));
    else
      Row = mul(div(numberOfStage(From), P.Codes->Block / S.Depth), Stride);
    copy(To, {memoryOf(InTile, Memory, SecondMemory), W.add(Row, InRow),
              insideOfSum(From, mul(Block, P.Codes->Block)), Tile, Block,
              InTile, PieceBytes, Is});
  }
}

/// A stage's tiles, one a slice, with what belongs to their blocks.
void GemvTile::copyCodes(const Stage &To, const Place &From) {
  Value Inside = insideOfSum(From, W.index(0)),
        Depths = W.ceilDiv(Sum, S.Depth), Mine = mul(Lane, PieceBytes);
  Value OfSlice = mul(Depths, TileBytes), Column = firstColumn(From.Tile);
  Value AlongK = W.add(W.add(mul(Warp, TileBytes), Mine),
                       mul(From.Slice, S.Warps * TileBytes));
  Value Whole = W.add(W.mul(div(Column, TileColumns), OfSlice), AlongK);
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
    int64_t Own = Slice % ownSlices();
    Value Place = W.add(Whole, mul(OfSlice, Own));
    if (!hasWholeTiles())
      Place = W.add(W.mul(inTiles(Column, W.index(Own)), OfSlice), AlongK);
    copy(To, {Slice == Own ? MemoryB : MemorySecondB, Place, Inside, To.Weights,
              W.index(Slice), Mine});
  }
  copyOfBlocks(To, To.Scales, MemoryScales, MemorySecondScales, P.Codes->Scales,
               From);
  if (P.Codes->Zeros)
    copyOfBlocks(To, To.Zeros, MemoryZeros, MemorySecondZeros, *P.Codes->Zeros,
                 From);
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

/// What the operands of a product are more than their codes. Numbers of bf16
/// and 8 bits are whole, -128 … 127.
double GemvTile::shift() const {
  if (P.Codes->Number)
    return 0;
  if (P.A.Element.isF16())
    return P.Codes->Bits == 4 ? OneNibbleF16 : OneF16;
  return P.Codes->Bits == 4 ? OneBf16 : -SignBit;
}

/// Of a thread's column in a slice, g, the scale or zero point of a block, as
/// f32.
Value GemvTile::ofColumn(Value Tile, const Matrix &Of, int64_t Block,
                         int64_t Slice) {
  Value Loaded = load(VectorType::get({1}, Of.Element), Tile, W.index(0), Block,
                      G, Slice * TileColumns);
  return numberOf(vector::ExtractOp::create(W.B, W.Loc, Loaded, 0));
}

/// A thread's 8 weights of a column and 32 elements of K as four pairs, out of
/// their one word (4 bits) or two (8 bits).
GemvTile::Values GemvTile::numbersOf(ArrayRef<Value> Words) {
  if (P.Codes->Number)
    return {floatsOf(Words[0], 0), floatsOf(Words[0], 1), floatsOf(Words[1], 0),
            floatsOf(Words[1], 1)};
  Type Element = P.A.Element;
  bool IsF16 = Element.isF16(), HasNibbles = P.Codes->Bits == 4;
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  auto Taken = [&](Value Word, int64_t Mask, int64_t Large) {
    return selected(Word, Mask, Large, AndOr);
  };
  Values Pairs;
  for (int64_t I = 0; I < 4; ++I) {
    if (HasNibbles) {
      // The last bit of f16 is worth a sixteenth, so that 64 is large enough.
      Value Word = shifted(Words[0], IsF16 ? 4 * I - 4 : 4 * I);
      Pairs.push_back(IsF16 ? Taken(Word, 0x00f0, BitsNibbleF16)
                            : Taken(Word, 0x000f, BitsBf16));
    } else if (IsF16) {
      // Two bytes below the upper one of the large number.
      Pairs.push_back(
          permuted(Words[I / 2], Both(BitsF16), I % 2 ? 0x5351 : 0x5250));
    } else {
      Pairs.push_back(bytesAsBf16(shifted(Words[I / 2], I % 2 * 8)));
    }
  }
  return Pairs;
}

/// In each half of a word the bits of `Mask`, then those of `Other`, joined as
/// the table of lop3 says. ptxas makes two operations of an `and` and an `or`
/// with constants.
Value GemvTile::selected(Value Word, int64_t Mask, int64_t Other,
                         int64_t Table) {
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  return joined(Word, Both(Mask), Both(Other), Table);
}

/// lop3 of three words.
Value GemvTile::joined(Value Word, Value Mask, Value Other, int64_t Table) {
  return NVVM::InlinePtxOp::create(W.B, W.Loc, TypeRange{W.B.getI32Type()},
                                   ValueRange{Word, Mask, Other}, ValueRange(),
                                   "lop3.b32 {$w0}, {$r0}, {$r1}, {$r2}, " +
                                       std::to_string(Table) + ";",
                                   Value())
      .getResult(0);
}

/// To lower bits, or to upper ones where `Right` is negative.
Value GemvTile::shifted(Value Word, int64_t Right) {
  return Right < 0 ? W.B.createOrFold<arith::ShLIOp>(W.Loc, Word, i32(-Right))
                   : W.B.createOrFold<arith::ShRUIOp>(W.Loc, Word, i32(Right));
}

/// Four bytes by their numbers among those of two words.
Value GemvTile::permuted(Value Low, Value High, int64_t Bytes) {
  return NVVM::InlinePtxOp::create(
             W.B, W.Loc, TypeRange{W.B.getI32Type()},
             ValueRange{Low, High, i32(Bytes)}, ValueRange(),
             "prmt.b32 {$w0}, {$r0}, {$r1}, {$r2};", Value())
      .getResult(0);
}

/// The lower byte of each half less 128, as bf16. Such a number has 8 bits, so
/// seven go into the mantissa of 128, and the eighth says what is taken off:
/// 256 where it is 0, else 128.
Value GemvTile::bytesAsBf16(Value Two) {
  Type I32 = W.B.getI32Type();
  auto Pair = VectorType::get({2}, P.A.Element);
  auto Number = [&](Value Bits) -> Value {
    return LLVM::BitcastOp::create(W.B, W.Loc, Pair, Bits);
  };
  Value Seven = Number(selected(Two, 0x007f, BitsBf16, AndOr)),
        Off = Number(selected(Two, 0x0080, BitsBf16 | 0x8080, AndXor));
  // Exact, and on every chip: sm_80 adds no pairs of bf16.
  Value One = arith::ConstantOp::create(
      W.B, W.Loc,
      DenseElementsAttr::get(Pair, W.B.getFloatAttr(P.A.Element, 1.0)));
  return LLVM::BitcastOp::create(
      W.B, W.Loc, I32, LLVM::FMAOp::create(W.B, W.Loc, Seven, One, Off));
}

/// What the operands of a product have to be multiplied by. Exponents of E4M3
/// count from 7, those of f16 from 15.
double GemvTile::factorOfCodes() const {
  bool IsSmaller = P.Codes->Number && P.A.Element.isF16() && !On.ConvertsFp8 &&
                   isa<Float8E4M3FNType>(P.Codes->Number);
  return IsSmaller ? 0x1p8 : 1;
}

/// Two codes of FP8, bytes 0 and 2 of a word or bytes 1 and 3, as numbers.
Value GemvTile::floatsOf(Value Word, int64_t Pair) {
  bool IsF16 = P.A.Element.isF16(),
       IsE4M3 = isa<Float8E4M3FNType>(P.Codes->Number);
  Type I32 = W.B.getI32Type();
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  // A code of E5M2 is the upper byte of f16.
  if (IsF16 && !IsE4M3)
    return Pair ? W.B.createOrFold<arith::AndIOp>(W.Loc, Word, Both(0xff00))
                : permuted(Word, i32(0), 0x2404);
  if (IsF16 && On.ConvertsFp8) {
    auto Bytes = VectorType::get({2}, W.B.getI8Type()),
         Pairs = VectorType::get({2}, W.B.getI16Type());
    Value All = LLVM::BitcastOp::create(
        W.B, W.Loc, Pairs, permuted(Word, i32(0), Pair ? 0x4431 : 0x4420));
    Value Two = LLVM::BitcastOp::create(
        W.B, W.Loc, Bytes, vector::ExtractOp::create(W.B, W.Loc, All, 0));
    return LLVM::BitcastOp::create(
        W.B, W.Loc, I32,
        NVVM::ConvertF8x2ToF16x2Op::create(
            W.B, W.Loc, VectorType::get({2}, P.A.Element), Two,
            /*relu=*/W.B.getBoolAttr(false), TypeAttr::get(P.Codes->Number)));
  }
  // Exponent and mantissa go to their places, the sign to its own.
  int64_t Place = IsF16 ? 7 : IsE4M3 ? 4 : 5;
  Value Magnitude = shifted(Word, Pair ? 8 - Place : -Place),
        Sign = shifted(Word, Pair ? 0 : -8);
  int64_t Mask = int64_t(0x7f) << Place;
  if (IsF16)
    return joined(Magnitude, Both(Mask),
                  W.B.createOrFold<arith::AndIOp>(W.Loc, Sign, Both(0x8000)),
                  AndOr);
  // Exponents of bf16 count from 127. Its smallest numbers are subnormal, but a
  // product in f32 would lose them. The factor has the sign.
  int64_t Factor = IsE4M3 ? BitsOfTwo120 : BitsOfTwo112;
  auto Two = VectorType::get({2}, P.A.Element);
  auto Number = [&](Value Bits) -> Value {
    return LLVM::BitcastOp::create(W.B, W.Loc, Two, Bits);
  };
  Value Small = Number(
            W.B.createOrFold<arith::AndIOp>(W.Loc, Magnitude, Both(Mask))),
        By = Number(selected(Sign, 0x8000, Factor, AndOr)),
        Nothing = arith::ConstantOp::create(
            W.B, W.Loc,
            DenseElementsAttr::get(Two, W.B.getFloatAttr(P.A.Element, -0.0)));
  return LLVM::BitcastOp::create(
      W.B, W.Loc, I32, LLVM::FMAOp::create(W.B, W.Loc, Small, By, Nothing));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums of 8 rows, added to `Before`, as the product of all ones has them:
/// where each accumulator is, the sum of its row.
GemvTile::Values GemvTile::sumsOfRows(const Values &Before,
                                      const Values &Rows) {
  int64_t Bits = P.A.Element.isF16() ? 0x3c00 : 0x3f80;
  Value Ones = i32(Bits << 16 | Bits);
  Values Sums = Before;
  for (int64_t K = 0; K < 4; K += 2)
    Sums = multiplyFragments(W, P.A.Element, {Ones, Ones, Ones, Ones},
                             {Rows[K], Rows[K + 1]}, Sums);
  return Sums;
}

/// Of two slices and all rows: sums + (a block's products - the sums of its
/// rows · what their operands are more than code - zero) · the scales. Of each
/// 8 rows there are four, two of a slice.
GemvTile::Values GemvTile::scaled(const Stage &From, int64_t Block,
                                  int64_t First, ArrayRef<Values> Products,
                                  ArrayRef<Values> OfRows, Values Sums) {
  Type F32 = W.B.getF32Type();
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getFloatAttr(F32, V));
  };
  bool HasShift = !OfRows.front().empty();
  for (int64_t Slice = First; Slice < std::min(First + 2, S.Slices); ++Slice) {
    Value Scale = ofColumn(From.Scales, P.Codes->Scales, Block, Slice), More;
    if (double Factor = factorOfCodes(); Factor != 1)
      Scale = arith::MulFOp::create(W.B, W.Loc, Scale, Number(Factor));
    if (HasShift && P.Codes->Zeros)
      More = arith::SubFOp::create(
          W.B, W.Loc, Number(-shift()),
          ofColumn(From.Zeros, *P.Codes->Zeros, Block, Slice));
    else if (HasShift)
      More = Number(-shift() - double(codesOf(Slice).Offset));
    for (auto [Half, OfHalf] : llvm::enumerate(Products))
      for (size_t Row = 0; Row < 2; ++Row) {
        size_t I = size_t(Slice - First) * 2 + Row;
        Value Product = OfHalf[I], &Sum = Sums[Half * 4 + I];
        if (HasShift)
          Product =
              LLVM::FMAOp::create(W.B, W.Loc, OfRows[Half][I], More, Product);
        Sum = LLVM::FMAOp::create(W.B, W.Loc, Product, Scale, Sum);
      }
  }
  return Sums;
}

/// The products of a stage. Of up to 8 rows all columns are multiplied at once;
/// of more, 32 after 32, so that registers hold few sums of a block and codes.
GemvTile::Values GemvTile::multiplyCodes(const Stage &From, ValueRange Before) {
  Values Sums(Before);
  int64_t Blocks = blocksOfStage(), Steps = S.Depth / StepK / Blocks,
          Words = P.Codes->Bits / 4, Pairs = (S.Slices + 1) / 2,
          Halves = halvesOfRows(), Together = Halves > 1 ? 2 : Pairs;
  Value Mine = mul(Lane, PieceBytes);
  SmallVector<Values> Codes;
  Value Zero = arith::ConstantOp::create(W.B, W.Loc,
                                         W.B.getFloatAttr(W.B.getF32Type(), 0));
  bool HasShift = P.Codes->Zeros.has_value();
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
    HasShift |= shift() + double(codesOf(Slice).Offset) != 0;
  Values None(4, i32(0)), Start(4, Zero);
  for (int64_t Block = 0; Block < Blocks; ++Block) {
    SmallVector<SmallVector<Values>> Rows; // of each step
    SmallVector<Values> OfRows(size_t(Halves), HasShift ? Start : Values());
    auto LoadRows = [&](int64_t Part) {
      Rows.emplace_back();
      for (int64_t Half = 0; Half < Halves; ++Half) {
        Rows.back().push_back(rowsOf(From.Rows, Half * 8, Part));
        if (HasShift)
          OfRows[Half] = sumsOfRows(OfRows[Half], Rows.back()[Half]);
      }
    };
    for (int64_t First = 0; First < Pairs; First += Together) {
      int64_t Last = std::min(First + Together, Pairs);
      while (int64_t(Codes.size()) < std::min(Last * 2, S.Slices))
        Codes.push_back(
            load16(From.Weights, W.index(0), int64_t(Codes.size()), Mine, 0));
      SmallVector<Values> Products(size_t((Last - First) * Halves), Start);
      for (int64_t Step = 0; Step < Steps; ++Step) {
        int64_t Part = Block * Steps + Step;
        if (First == 0)
          LoadRows(Part);
        auto Numbers = [&](int64_t Slice) {
          return Slice < S.Slices ? numbersOf(ArrayRef<Value>(Codes[Slice])
                                                  .slice(Part * Words, Words))
                                  : None;
        };
        for (int64_t Pair = First; Pair < Last; ++Pair) {
          Values One = Numbers(Pair * 2), Next = Numbers(Pair * 2 + 1);
          for (int64_t Half = 0; Half < Halves; ++Half)
            for (int64_t K = 0; K < 4; K += 2) {
              Values &Product = Products[(Pair - First) * Halves + Half];
              const Values &Of = Rows[Step][Half];
              Product = multiplyFragments(
                  W, P.A.Element, {One[K], Next[K], One[K + 1], Next[K + 1]},
                  {Of[K], Of[K + 1]}, Product);
            }
        }
      }
      for (int64_t Pair = First; Pair < Last; ++Pair) {
        size_t Own = size_t(Pair * Halves) * 4;
        llvm::copy(
            scaled(From, Block, Pair * 2,
                   ArrayRef(Products).slice((Pair - First) * Halves, Halves),
                   OfRows,
                   Values(ArrayRef<Value>(Sums).slice(Own, Halves * 4))),
            Sums.begin() + Own);
      }
    }
  }
  return Sums;
}

/// Sums whose rows are columns of codes: element (2 t, g) of a slice, (2 t + 1,
/// g), then those of the next slice.
void GemvTile::storeColumns(ValueRange Sums) {
  auto One = VectorType::get({1}, W.B.getF32Type());
  Value First = W.add(mul(Warp, stageRows()), mul(T, 2));
  int64_t Most = std::min(P.Facts.range(P.M).Max, stageRows()),
          Halves = halvesOfRows();
  for (int64_t Slice = 0; Slice < S.Slices; ++Slice)
    for (int64_t Half = 0; Half < Halves; ++Half) {
      Values All = sumsOf(Sums, Slice / 2 * Halves + Half);
      for (int64_t Row = 0; Row < std::min<int64_t>(Most - Half * 8, 2);
           ++Row) {
        Value Sum = vector::FromElementsOp::create(
            W.B, W.Loc, One, All[size_t(Slice % 2 * 2 + Row)]);
        tile::StoreVectorOp::create(W.B, W.Loc, Sum, Partial, First,
                                    Half * 8 + Row, G, Slice * TileColumns);
      }
    }
}

} // namespace kpc::kernels
