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

#include "passes/tile/MatrixOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

/// Steps whose products are summed up by tensor cores, which truncate where
/// they add, before f32 arithmetic adds them to the rest. Of K = 64 the error
/// of split factors is 2.3 times that of f32 with four steps, and 1.0 with one.
constexpr int64_t StepsOfSum = 2;

bool isFp8(Type Ty) { return isa<Float8E4M3FNType, Float8E5M2Type>(Ty); }

NVVM::MMATypes elementOf(Type Ty) {
  if (Ty.isInteger(8))
    return Ty.isUnsignedInteger() ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return Ty.isF16()    ? NVVM::MMATypes::f16
         : Ty.isBF16() ? NVVM::MMATypes::bf16
                       : NVVM::MMATypes::tf32;
}

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
    SmallVector<Value> Sums;
    for (int64_t I = 0; I < D.getPerThread(); ++I)
      Sums.push_back(
          LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getC(), I));
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
    Value Result = LLVM::UndefOp::create(Rewriter, Loc,
                                         getTypeConverter()->convertType(D));
    for (auto [I, Sum] : llvm::enumerate(Sums))
      Result = LLVM::InsertValueOp::create(Rewriter, Loc, Result, Sum, I);
    Rewriter.replaceOp(Op, Result);
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

  /// A thread's sums of 16 rows × 8 columns.
  static MutableArrayRef<Value> sumsOf(MutableArrayRef<Value> Sums,
                                       MmaSyncOp Op, int64_t Block,
                                       int64_t Column) {
    int64_t PerBlock = Op.getD().getType().getColumns() / 2; // in 64 rows
    return Sums.slice(Block * PerBlock + Column / 2, 4);
  }

  static void multiplyAll(OpBuilder &Builder, MmaSyncOp Op, LoadLeft A,
                          MatrixOperand &B, int64_t Steps,
                          MutableArrayRef<Value> Sums) {
    FragmentType D = Op.getD().getType();
    for (int64_t Step = 0; Step < Steps; ++Step) {
      SmallVector<MatrixRegisters> Left;
      for (int64_t Row = 0; Row < D.getRows(); Row += 64)
        Left.push_back(A(Step, Row));
      for (int64_t Column = 0; Column < D.getColumns(); Column += 16) {
        MatrixRegisters Right = B.load(Step, Column, Op.getTf32());
        for (auto [Block, Rows] : llvm::enumerate(Left))
          for (int64_t Half = 0; Half < 2; ++Half)
            multiply(Builder, Op, Rows.High,
                     ArrayRef(Right.High).slice(2 * Half, 2),
                     sumsOf(Sums, Op, int64_t(Block), Column + 8 * Half));
      }
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
    using Part = SmallVector<Value, 4> MatrixRegisters::*;
    constexpr std::pair<Part, Part> Products[] = {
        {&MatrixRegisters::Low, &MatrixRegisters::High},
        {&MatrixRegisters::High, &MatrixRegisters::Low},
        {&MatrixRegisters::High, &MatrixRegisters::High}};
    auto Kinds = Op.getTf32() == Tf32::Split ? ArrayRef(Products)
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
          for (auto [OfA, OfB] : Kinds)
            for (int64_t Part = 0; Part < Blocks * 2; ++Part)
              multiply(Builder, Op, Rows[Part / 2].*OfA,
                       ArrayRef(Right.*OfB).slice(2 * (Part % 2), 2),
                       MutableArrayRef<Value>(Parts).slice(4 * Part, 4));
        }
        for (int64_t Part = 0; Part < Blocks * 2; ++Part)
          for (auto [Sum, More] :
               llvm::zip(sumsOf(Sums, Op, Part / 2, Column + 8 * (Part % 2)),
                         ArrayRef(Parts).slice(4 * Part, 4)))
            Sum = LLVM::FAddOp::create(Builder, Loc, Sum, More);
      }
    }
  }

  /// 16 rows × 8 columns more of the product.
  static void multiply(OpBuilder &B, MmaSyncOp Op, ArrayRef<Value> Left,
                       ArrayRef<Value> Right, MutableArrayRef<Value> Sums) {
    Location Loc = Op.getLoc();
    Type Element = leftFactor(Op.getA().getType(), false).Element,
         OtherElement = Op.getB().getType().getElement();
    auto Turn = [&](ArrayRef<Value> Words) {
      SmallVector<Value, 4> All;
      for (Value Word : Words)
        All.push_back(Element.isF16()
                          ? LLVM::BitcastOp::create(
                                B, Loc, VectorType::get(2, Element), Word)
                                .getResult()
                          : Word); // all but f16 as they are
      return All;
    };
    Type Sum = Op.getD().getType().getElement();
    auto Four =
        LLVM::LLVMStructType::getLiteral(B.getContext(), {Sum, Sum, Sum, Sum});
    SmallVector<Value, 4> OfA = Turn(Left), OfB = Turn(Right);
    if (isFp8(Element)) {
      multiplyFp8(B, Loc, Element, OtherElement, Four, OfA, OfB, Sums);
      return;
    }
    std::optional<NVVM::MMAIntOverflow> Overflow;
    if (Sum.isInteger())
      Overflow = NVVM::MMAIntOverflow::wrapped;
    int64_t K = StepBytes * 8 / int64_t(Element.getIntOrFloatBitWidth());
    auto Mma =
        NVVM::MmaOp::create(B, Loc, Four, OfA, OfB, SmallVector<Value, 4>(Sums),
                            ArrayRef<int64_t>{16, 8, K}, std::nullopt, Overflow,
                            std::array<NVVM::MMATypes, 2>{
                                elementOf(Element), elementOf(OtherElement)},
                            std::array<NVVM::MMALayout, 2>{
                                NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (auto [I, One] : llvm::enumerate(Sums))
      One = LLVM::ExtractValueOp::create(B, Loc, Mma, I);
  }

  /// NVVM's op has no FP8, LLVM's intrinsics have.
  static void multiplyFp8(OpBuilder &B, Location Loc, Type A, Type Other,
                          Type Four, ArrayRef<Value> OfA, ArrayRef<Value> OfB,
                          MutableArrayRef<Value> Sums) {
    auto Word = [](Type Ty) {
      return isa<Float8E4M3FNType>(Ty) ? "e4m3" : "e5m2";
    };
    SmallVector<Value> Operands(OfA);
    Operands.append(OfB.begin(), OfB.end());
    Operands.append(Sums.begin(), Sums.end());
    auto Mma = LLVM::CallIntrinsicOp::create(
        B, Loc, Four,
        B.getStringAttr(Twine("llvm.nvvm.mma.m16n8k32.row.col.f32.") + Word(A) +
                        "." + Word(Other) + ".f32"),
        Operands);
    for (auto [I, One] : llvm::enumerate(Sums))
      One = LLVM::ExtractValueOp::create(B, Loc, Mma.getResult(0), I);
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
  Patterns.add<LowerMmaSync, LowerLoadPacked>(Types, Patterns.getContext(),
                                              Place);
}
