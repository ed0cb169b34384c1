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
///   RoPE             the second half of the slices is half a head further
///
///   stage   tiles of the slices | rows | scales [blocks, columns] | zeros
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/MmaSync.h"
#include "passes/kernels/gpu/gemm/GemvTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Columns of a tile of codes, and of a slice.
static constexpr int64_t TileColumns = 8;
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
    if (P.Second)
      Own = rem(Slice, ownSlices());
    else if (hasHalves())
      Own = W.add(
          Slice, arith::SelectOp::create(W.B, W.Loc, isInSecondHalf(InTile),
                                         W.index(slicesToOther()), W.index(0)));
    if (hasHalves())
      InMatrix = W.add(mul(Own, TileColumns), InSlice);
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
    Value Memory = Slice == Own ? MemoryB : MemorySecondB;
    if (!P.Second && hasHalves() && Slice >= S.Slices / 2)
      Own += slicesToOther();
    Value Place = W.add(Whole, mul(OfSlice, Own));
    if (!hasWholeTiles())
      Place = W.add(W.mul(inTiles(Column, W.index(Own)), OfSlice), AlongK);
    copy(To, {Memory, Place, Inside, To.Weights, W.index(Slice), Mine});
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

/// Of a thread's column in a slice, g, the scale or zero point of a block, as
/// f32.
Value GemvTile::ofColumn(Value Tile, const Matrix &Of, int64_t Block,
                         int64_t Slice) {
  Value Loaded = load(VectorType::get({1}, Of.Element), Tile, W.index(0), Block,
                      G, Slice * TileColumns);
  return numberOf(vector::ExtractOp::create(W.B, W.Loc, Loaded, 0));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums of 8 rows, added to `Before`, as the product of all ones has them:
/// where each accumulator is, the sum of its row. If squares are asked for, the
/// rows themselves are in the place of the first ones, and what these gave are
/// their products, with the squares on the diagonal.
GemvTile::Values GemvTile::sumsOfRows(const Values &Before,
                                      const Values &Rows) {
  int64_t Bits = P.A.Element.isF16() ? 0x3c00 : 0x3f80;
  Value Ones = i32(Bits << 16 | Bits);
  Values Sums = Before;
  for (int64_t K = 0; K < 4; K += 2) {
    Value First = S.HasSquares ? Rows[K] : Ones,
          Next = S.HasSquares ? Rows[K + 1] : Ones;
    Sums = multiplyFragments(W, P.A.Element, {First, Ones, Next, Ones},
                             {Rows[K], Rows[K + 1]}, Sums);
  }
  return Sums;
}

/// Of two slices and all rows: sums + (a block's products - the sums of its
/// rows · what their operands are more than code - zero) · the scales. Of each
/// 8 rows there are four, two of a slice.
GemvTile::Values GemvTile::scaled(const Stage &From, int64_t Block,
                                  int64_t First, ArrayRef<Values> Products,
                                  ArrayRef<Values> OfRows, bool HasShift,
                                  Values Sums) {
  Type F32 = W.B.getF32Type();
  auto Number = [&](double V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getFloatAttr(F32, V));
  };
  for (int64_t Slice = First; Slice < std::min(First + 2, S.Slices); ++Slice) {
    Value Scale = ofColumn(From.Scales, P.Codes->Scales, Block, Slice), More;
    if (double Factor = Numbers->factor(); Factor != 1)
      Scale = arith::MulFOp::create(W.B, W.Loc, Scale, Number(Factor));
    if (HasShift && P.Codes->Zeros)
      More = arith::SubFOp::create(
          W.B, W.Loc, Number(-Numbers->shift()),
          ofColumn(From.Zeros, *P.Codes->Zeros, Block, Slice));
    else if (HasShift)
      More = Number(-Numbers->shift() - double(codesOf(Slice).Offset));
    for (auto [Half, OfHalf] : llvm::enumerate(Products))
      for (size_t Row = 0; Row < 2; ++Row) {
        size_t I = size_t(Slice - First) * 2 + Row;
        Value Product = OfHalf[I], &Sum = Sums[Half * 4 + I];
        // Both slices' sums of a row are one number.
        if (HasShift)
          Product = LLVM::FMAOp::create(
              W.B, W.Loc, OfRows[Half][S.HasSquares ? 2 + Row : I], More,
              Product);
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
    HasShift |= Numbers->shift() + double(codesOf(Slice).Offset) != 0;
  Values None(4, i32(0)), Start(4, Zero);
  for (int64_t Block = 0; Block < Blocks; ++Block) {
    SmallVector<SmallVector<Values>> Rows; // of each step
    bool HasSums = HasShift || S.HasSquares;
    SmallVector<Values> OfRows(size_t(Halves), HasSums ? Start : Values());
    auto LoadRows = [&](int64_t Part) {
      Rows.emplace_back();
      for (int64_t Half = 0; Half < Halves; ++Half) {
        Rows.back().push_back(rowsOf(From.Rows, Half * 8, Part));
        if (HasSums)
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
        auto PairsOf = [&](int64_t Slice) {
          return Slice < S.Slices
                     ? Numbers->pairsOf(ArrayRef<Value>(Codes[Slice])
                                            .slice(Part * Words, Words))
                     : None;
        };
        for (int64_t Pair = First; Pair < Last; ++Pair) {
          Values One = PairsOf(Pair * 2), Next = PairsOf(Pair * 2 + 1);
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
                   OfRows, HasShift,
                   Values(ArrayRef<Value>(Sums).slice(Own, Halves * 4))),
            Sums.begin() + Own);
      }
    }
    // A thread's two of the products of 8 rows.
    for (size_t I = 0; S.HasSquares && I < size_t(Halves) * 2; ++I) {
      Value &Square = Sums[size_t(productsOfCodes() * 4) + I];
      Square = arith::AddFOp::create(W.B, W.Loc, Square, OfRows[I / 2][I % 2]);
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
