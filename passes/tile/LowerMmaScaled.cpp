//===- LowerMmaScaled.cpp - Lowers tile.mma_scaled ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.mma_scaled becomes, for each step of 32 bytes of the sum, the loads
/// of LowerMmaSync.cpp and an mma.sync with `.block_scale` for each 16 rows and
/// 8 columns (PTX ISA 9.7.14.3). Two codes of FP4 lie in a byte of a register
/// as in memory, so ldmatrix loads them as bytes.
///
/// A word of four scales is one row's. Of the four threads that have a row of
/// the result, a product takes the scales of a from two (thread id 0: the
/// first two, 1: the last two; the even one of them has the upper of the rows
/// that are 8 apart), those of b from one, that of the thread id. So one load
/// is for 16 rows of two blocks of 64, and for 32 columns. The byte id says
/// which of the word's scales the step begins with.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/MatrixOperand.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

constexpr int64_t ScalesOfWord = 4;

/// Words of scales as lanes hold them.
class ScaleWords {
public:
  /// `OfLane`: the row that this lane's word is for, from the first one on.
  ScaleWords(OpBuilder &B, Location Loc, SharedType Tile, Value Pointer,
             Value OfLane)
      : B(B), Loc(Loc), W(B, Loc), RowBytes(Tile.getColumns()),
        Start(W.pointer(Pointer, W.mul(OfLane, 4))) {}

  Value load(int64_t Word, int64_t FirstRow) {
    return LLVM::LoadOp::create(
        B, Loc, B.getI32Type(),
        W.pointer(Start, Word * RowBytes + FirstRow * 4), /*alignment=*/4);
  }

private:
  OpBuilder &B;
  Location Loc;
  NvvmWriter W;
  int64_t RowBytes;
  Value Start;
};

struct LowerMmaScaled : TilePattern<MmaScaledOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MmaScaledOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    FragmentType D = Op.getD().getType();
    MatrixOperand A(Rewriter, Loc, Op.getA().getType(), Adaptor.getA(), Place,
                    /*IsA=*/true, /*AlongK=*/true),
        B(Rewriter, Loc, Op.getB().getType(), Adaptor.getB(), Place,
          /*IsA=*/false, /*AlongK=*/true);
    ScaleWords OfA(Rewriter, Loc, Op.getAScales().getType(),
                   Adaptor.getAScales(), rowOfA(W, Op, Adaptor.getARow())),
        OfB(Rewriter, Loc, Op.getBScales().getType(), Adaptor.getBScales(),
            columnOfB(W, Adaptor.getBRow()));
    int64_t Steps = Op.getA().getType().getColumns() / StepBytes,
            PerStep = Op.getScalesPerStep();
    SmallVector<Value> Sums;
    for (int64_t I = 0; I < D.getPerThread(); ++I)
      Sums.push_back(
          LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getC(), I));
    SmallVector<Value> WordsA, WordsB;
    for (int64_t Step = 0; Step < Steps; ++Step) {
      int64_t Word = Step * PerStep / ScalesOfWord,
              Byte = Step * PerStep % ScalesOfWord;
      if (Byte == 0) {
        WordsA.clear();
        WordsB.clear();
        for (int64_t Row = 0; Row < D.getRows(); Row += 128)
          WordsA.push_back(OfA.load(Word, Row));
        for (int64_t Column = 0; Column < D.getColumns(); Column += 32)
          WordsB.push_back(OfB.load(Word, Column));
      }
      SmallVector<MatrixRegisters> Left;
      for (int64_t Row = 0; Row < D.getRows(); Row += 64)
        Left.push_back(A.load(Step, Row, Tf32::Rounded));
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16) {
        MatrixRegisters Right = B.load(Step, Column, Tf32::Rounded);
        for (auto [Block, Rows] : llvm::enumerate(Left))
          for (int64_t Half = 0; Half < 2; ++Half)
            multiply(Rewriter, Op, Rows.High,
                     ArrayRef(Right.High).slice(2 * Half, 2),
                     {WordsA[Block / 2], Byte, int64_t(Block % 2)},
                     {WordsB[Column / 32], Byte, Column / 8 % 4 + Half},
                     MutableArrayRef(Sums).slice(int64_t(Block) *
                                                         D.getColumns() / 2 +
                                                     (Column + 8 * Half) / 2,
                                                 4));
      }
    }
    Value Result = LLVM::UndefOp::create(Rewriter, Loc,
                                         getTypeConverter()->convertType(D));
    for (auto [I, Sum] : llvm::enumerate(Sums))
      Result = LLVM::InsertValueOp::create(Rewriter, Loc, Result, Sum, I);
    Rewriter.replaceOp(Op, Result);
    return success();
  }

private:
  /// Lane (g, q) of a warp has the word of row g, of odd q of row g + 8; of q
  /// from 2 on of the next 64 rows, where there are such.
  Value rowOfA(NvvmWriter &W, MmaScaledOp Op, Value First) const {
    Value Row = W.add(W.shiftRight(Place.Lane, 2),
                      W.shiftLeft(W.bitAnd(Place.Lane, 1), 3));
    Row = W.add(Row, W.shiftLeft(W.bitAnd(Place.Warp, 3), 4));
    if (Op.getD().getType().getRows() % 128 == 0)
      Row = W.add(Row, W.shiftLeft(W.bitAnd(Place.Lane, 2), 5));
    return W.add(Row, W.toI32(First));
  }

  /// That of column g + 8q.
  Value columnOfB(NvvmWriter &W, Value First) const {
    Value Column = W.add(W.shiftRight(Place.Lane, 2),
                         W.shiftLeft(W.bitAnd(Place.Lane, 3), 3));
    return W.add(Column, W.toI32(First));
  }

  struct Scale {
    Value Word;
    int64_t Byte, Thread;
  };

  /// 16 rows × 8 columns more of the product.
  static void multiply(OpBuilder &B, MmaScaledOp Op, ArrayRef<Value> Left,
                       ArrayRef<Value> Right, const Scale &OfA,
                       const Scale &OfB, MutableArrayRef<Value> Sums) {
    Location Loc = Op.getLoc();
    Type F32 = B.getF32Type();
    auto Four =
        LLVM::LLVMStructType::getLiteral(B.getContext(), {F32, F32, F32, F32});
    auto Id = [&](int64_t V) -> Value {
      return LLVM::ConstantOp::create(B, Loc, B.getI16IntegerAttr(int16_t(V)));
    };
    bool IsFp8 = Op.getFormat() == BlockFormat::Mxfp8,
         IsNvfp4 = Op.getFormat() == BlockFormat::Nvfp4;
    auto Mma = NVVM::MmaBlockScaleOp::create(
        B, Loc, Four, Left, Right, SmallVector<Value>(Sums), OfA.Word,
        Id(OfA.Byte), Id(OfA.Thread), OfB.Word, Id(OfB.Byte), Id(OfB.Thread),
        ArrayRef<int64_t>{16, 8, IsFp8 ? 32 : 64},
        std::array<NVVM::MMATypes, 2>{
            elementOf(Op.getA().getType().getElement()),
            elementOf(Op.getB().getType().getElement())},
        IsFp8     ? NVVM::ScaleVecSize::X1
        : IsNvfp4 ? NVVM::ScaleVecSize::X4
                  : NVVM::ScaleVecSize::X2,
        IsNvfp4 ? NVVM::BlockScaleFormat::UE4M3 : NVVM::BlockScaleFormat::UE8M0,
        IsFp8     ? NVVM::MMABlockScaleKind::MXF8F6F4
        : IsNvfp4 ? NVVM::MMABlockScaleKind::MXF4NVF4
                  : NVVM::MMABlockScaleKind::MXF4);
    for (auto [I, One] : llvm::enumerate(Sums))
      One = LLVM::ExtractValueOp::create(B, Loc, Mma, I);
  }

  static NVVM::MMATypes elementOf(Type Ty) {
    return isa<Float8E4M3FNType>(Ty) ? NVVM::MMATypes::e4m3
           : isa<Float8E5M2Type>(Ty) ? NVVM::MMATypes::e5m2
                                     : NVVM::MMATypes::e2m1;
  }
};

} // namespace

void kpc::tile::populateScaledPatterns(const TypeConverter &Types,
                                       RewritePatternSet &Patterns,
                                       const ThreadPlace &Place) {
  Patterns.add<LowerMmaScaled>(Types, Patterns.getContext(), Place);
}
