//===- LowerMmaSync.cpp - Lowers tile.mma_sync ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.mma_sync becomes, for each step of 32 bytes of the sum, one
/// ldmatrix.x4 for each 64 rows of a (16 of them are the warp's) and one for
/// each 16 columns of b, and an mma.sync for each 16 rows and 8 columns (PTX
/// ISA 9.7.14.5). A matrix of ldmatrix has eight rows of 16 bytes: 8 elements
/// of 16 bits, 4 of tf32, 16 of 8 bits. `.trans` turns elements of 16 bits
/// alone, so that tf32 that is not contiguous along the sum is loaded word by
/// word. What is packed in registers has the four words of each 16 columns
/// side by side.
///
/// tile.load_factors and tile.mma_factors are one such step in two ops: the
/// words of a, then those of b.
///
/// With `cut` a word of f32 is made greater by what the instruction drops of it
/// on average: half the last bit of tf32 over the mean of 1 / mantissa, which
/// is 0.72 = 1 / (2 ln 2) where mantissas are spread as those of products are.
///
/// With `split` a word x of f32 is high + low: high is x rounded to tf32, low
/// the rest, of which the product drops what is less than 2^-23 of x. Left out
/// is low·low alone (Ootomo and Yokota, "Recovering single precision accuracy
/// from Tensor Cores while surpassing the FP32 theoretical peak performance",
/// 2022).
///
/// With `promoted`, products of FP8 are summed up in parts as those are: Ada's
/// tensor cores keep 13 bits below the largest term (microsoft/MMA-Sim, arXiv
/// 2511.10909).
///
//===----------------------------------------------------------------------===//

#include "passes/tile/SyncProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

/// Steps whose products are summed up by tensor cores, which truncate where
/// they add, before f32 arithmetic adds them to the rest. Of K = 64 the error
/// of split factors is 2.3 times that of f32 with four steps, and 1.0 with one.
constexpr int64_t StepsOfSum = 2;

struct LowerMmaSync : TilePattern<MmaSyncOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MmaSyncOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SharedType TileB = Op.getB().getType();
    FragmentType D = Op.getD().getType();
    std::optional<MatrixOperand> A;
    if (auto TileA = dyn_cast<SharedType>(Op.getA().getType()))
      A.emplace(Rewriter, Loc, TileA, Adaptor.getA(), Place, /*IsA=*/true,
                !Op.getATransposed());
    bool IsWide = TileB.getElementBits() == 32;
    MatrixOperand B(Rewriter, Loc, TileB, Adaptor.getB(), Place, /*IsA=*/false,
                    Op.getBTransposed(), /*InPairs=*/!A && IsWide);
    int64_t K = Op.getBTransposed() ? TileB.getColumns() : TileB.getRows();
    int64_t Steps = K * TileB.getElementBits() / 8 / StepBytes;
    SmallVector<Value> Sums = unpack(Rewriter, Loc, Adaptor.getC());
    auto Left = [&](int64_t Step, int64_t Row) -> MatrixRegisters {
      if (A)
        return A->load(Step, Row, Op.getTf32());
      SmallVector<Value, 4> Packed =
          packedWords(Rewriter, Loc, Adaptor.getA(), Row / 64 * Steps + Step);
      return IsWide ? B.asTf32(Packed, Op.getTf32())
                    : MatrixRegisters{Packed, {}};
    };
    if (Op.getTf32() == Tf32::Split || Op.getPromoted())
      multiplyInParts(Rewriter, Op, Left, B, Steps, Sums);
    else
      multiplyAll(Rewriter, Op, Left, B, Steps, Sums);
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc, getTypeConverter()->convertType(D), Sums));
    return success();
  }

  /// The registers of 16 rows and columns of what is packed.
  static SmallVector<Value, 4> packedWords(OpBuilder &B, Location Loc,
                                           Value Packed, int64_t Number) {
    SmallVector<Value, 4> Words;
    for (int64_t I = 0; I < 4; ++I)
      Words.push_back(
          LLVM::ExtractValueOp::create(B, Loc, Packed, 4 * Number + I));
    return Words;
  }

  /// Loads a step of 16 rows of each 64.
  using LoadLeft =
      llvm::function_ref<MatrixRegisters(int64_t Step, int64_t Row)>;

  static Kinds kindsOf(MmaSyncOp Op) {
    return {leftFactor(Op.getA().getType(), false).Element,
            Op.getB().getType().getElement(), Op.getD().getType().getElement()};
  }

  static void multiplyAll(OpBuilder &Builder, MmaSyncOp Op, LoadLeft A,
                          MatrixOperand &B, int64_t Steps,
                          MutableArrayRef<Value> Sums) {
    FragmentType D = Op.getD().getType();
    SyncProducts Products(Builder, Op.getLoc(), kindsOf(Op));
    for (int64_t Step = 0; Step < Steps; ++Step) {
      SmallVector<Value> Left;
      for (int64_t Row = 0; Row < D.getRows(); Row += 64)
        llvm::append_range(Left, A(Step, Row).High);
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16)
        Products.multiplyColumns(Left, B.load(Step, Column, Op.getTf32()).High,
                                 D.getColumns(), Column, Sums);
    }
  }

  /// With `split` three products for one, the small ones first. Each kind is
  /// begun for all rows of 16 columns before the next, which waits for it.
  static void multiplyInParts(OpBuilder &Builder, MmaSyncOp Op, LoadLeft A,
                              MatrixOperand &B, int64_t Steps,
                              MutableArrayRef<Value> Sums) {
    FragmentType D = Op.getD().getType();
    Location Loc = Op.getLoc();
    int64_t Blocks = D.getRows() / 64;
    SyncProducts Multiply(Builder, Loc, kindsOf(Op));
    using Part = SmallVector<Value, 4> MatrixRegisters::*;
    constexpr std::pair<Part, Part> Products[] = {
        {&MatrixRegisters::Low, &MatrixRegisters::High},
        {&MatrixRegisters::High, &MatrixRegisters::Low},
        {&MatrixRegisters::High, &MatrixRegisters::High}};
    auto Used = Op.getTf32() == Tf32::Split ? ArrayRef(Products)
                                            : ArrayRef(Products).take_back();
    Value Zero =
        LLVM::ConstantOp::create(Builder, Loc, Builder.getF32FloatAttr(0));
    for (int64_t First = 0; First < Steps; First += StepsOfSum) {
      int64_t End = std::min(First + StepsOfSum, Steps);
      SmallVector<MatrixRegisters> Left;
      for (int64_t Step = First; Step < End; ++Step)
        for (int64_t Block = 0; Block < Blocks; ++Block)
          Left.push_back(A(Step, 64 * Block));
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16) {
        SmallVector<Value> Parts(Blocks * 2 * 4, Zero);
        for (int64_t Step = First; Step < End; ++Step) {
          MatrixRegisters Right = B.load(Step, Column, Op.getTf32());
          auto Rows = ArrayRef(Left).slice((Step - First) * Blocks, Blocks);
          for (auto [OfA, OfB] : Used)
            for (int64_t Part = 0; Part < Blocks * 2; ++Part)
              Multiply.multiply(
                  Rows[Part / 2].*OfA,
                  ArrayRef(Right.*OfB).slice(2 * (Part % 2), 2),
                  MutableArrayRef<Value>(Parts).slice(4 * Part, 4));
        }
        for (int64_t Part = 0; Part < Blocks * 2; ++Part)
          for (auto [Sum, More] :
               llvm::zip(SyncProducts::sumsOf(Sums, D.getColumns(), Part / 2,
                                              Column + 8 * (Part % 2)),
                         ArrayRef(Parts).slice(4 * Part, 4)))
            Sum = LLVM::FAddOp::create(Builder, Loc, Sum, More);
      }
    }
  }
};

struct LowerLoadFactors : TilePattern<LoadFactorsOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(LoadFactorsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    FactorsType Ty = Op.getFactors().getType();
    MatrixOperand A(Rewriter, Loc, Op.getA().getType(), Adaptor.getA(), Place,
                    /*IsA=*/true, !Op.getATransposed());
    MatrixOperand B(Rewriter, Loc, Op.getB().getType(), Adaptor.getB(), Place,
                    /*IsA=*/false, Op.getBTransposed());
    SmallVector<Value> Words;
    for (int64_t Row = 0; Row < Ty.getRows(); Row += 64)
      llvm::append_range(Words, A.load(Op.getStep(), Row, Op.getTf32()).High);
    for (int64_t Column = 0; Column < Ty.getColumns(); Column += 16)
      llvm::append_range(Words,
                         B.load(Op.getStep(), Column, Op.getTf32()).High);
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc, getTypeConverter()->convertType(Ty), Words));
    return success();
  }
};

struct LowerMmaFactors : TilePattern<MmaFactorsOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MmaFactorsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    FactorsType Ty = Op.getFactors().getType();
    FragmentType D = Op.getD().getType();
    SmallVector<Value> Words = unpack(Rewriter, Loc, Adaptor.getFactors()),
                       Sums = unpack(Rewriter, Loc, Adaptor.getC());
    ArrayRef<Value> Left = ArrayRef(Words).take_front(Ty.getRows() / 16),
                    Right = ArrayRef(Words).drop_front(Left.size());
    SyncProducts Products(Rewriter, Loc,
                          {Ty.getA(), Ty.getB(), D.getElement()});
    for (int64_t Column = 0; Column < D.getColumns(); Column += 16)
      Products.multiplyColumns(Left, Right.slice(Column / 4, 4), D.getColumns(),
                               Column, Sums);
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc, getTypeConverter()->convertType(D), Sums));
    return success();
  }
};

struct LowerLoadPacked : TilePattern<LoadPackedOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(LoadPackedOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SharedType Tile = Op.getTile().getType();
    MatrixOperand A(Rewriter, Loc, Tile, Adaptor.getTile(), Place, /*IsA=*/true,
                    /*AlongK=*/true);
    Value Packed = LLVM::UndefOp::create(
        Rewriter, Loc,
        getTypeConverter()->convertType(Op.getPacked().getType()));
    int64_t Number = 0;
    for (int64_t Row = 0; Row < Tile.getRows(); Row += 64)
      for (int64_t Step = 0; Step < Tile.getColumns() / 16; ++Step)
        for (Value Word : A.load(Step, Row, Tf32::Rounded).High)
          Packed = LLVM::InsertValueOp::create(Rewriter, Loc, Packed, Word,
                                               Number++);
    Rewriter.replaceOp(Op, Packed);
    return success();
  }
};

} // namespace

void kpc::tile::populateMultiplyPatterns(const TypeConverter &Types,
                                         RewritePatternSet &Patterns,
                                         const ThreadPlace &Place) {
  Patterns
      .add<LowerMmaSync, LowerLoadPacked, LowerLoadFactors, LowerMmaFactors>(
          Types, Patterns.getContext(), Place);
}
