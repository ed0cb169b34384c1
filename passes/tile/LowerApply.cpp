//===- LowerApply.cpp - Arithmetic on fragments, element by element -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of each 64 rows a thread holds two, 8 apart: those of elements whose bit 1
/// is clear and set. So a column is two values for each 64 rows. In the layout
/// of tensor memory a thread holds one row, and one value of a column.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// The value of the column that belongs to element `I` of a fragment.
int64_t rowOf(int64_t I, FragmentType Fragment) {
  if (Fragment.isTmemLayout())
    return 0;
  int64_t PerBlock = Fragment.getColumns() / 2;
  return I / PerBlock * 2 + I / 2 % 2;
}

struct LowerSplat : TilePattern<SplatOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(SplatOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Type Ty = getTypeConverter()->convertType(Op.getResult().getType());
    size_t Count = cast<LLVM::LLVMStructType>(Ty).getBody().size();
    Rewriter.replaceOp(Op, pack(Rewriter, Op.getLoc(), Ty,
                                SmallVector<Value>(Count, Adaptor.getValue())));
    return success();
  }
};

struct LowerRowNumbers : TilePattern<RowNumbersOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(RowNumbersOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    ColumnType To = Op.getResult().getType();
    SmallVector<Value> Rows;
    if (To.isTmemLayout()) {
      Rows.push_back(W.bitAnd(Place.Thread, WarpgroupThreads - 1));
    } else {
      Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
      Value First = W.add(OfWarp, W.shiftRight(Place.Lane, 2));
      for (int64_t I = 0; I < To.getPerThread(); ++I)
        Rows.push_back(W.add(First, I / 2 * 64 + I % 2 * 8));
    }
    Type Ty = getTypeConverter()->convertType(To);
    Rewriter.replaceOp(Op, pack(Rewriter, Op.getLoc(), Ty, Rows));
    return success();
  }
};

struct LowerApply : TilePattern<ApplyOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ApplyOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SmallVector<SmallVector<Value>> Operands;
    for (Value V : Adaptor.getOperands())
      Operands.push_back(unpack(Rewriter, Loc, V));
    Type Ty = getTypeConverter()->convertType(Op.getResult().getType());
    auto To = dyn_cast<FragmentType>(Op.getResult().getType());
    bool Lanes = To && To.isTmemLayout();
    Value FirstColumn =
        Lanes ? Value() : W.shiftLeft(W.bitAnd(Place.Lane, 3), 1);
    SmallVector<Value> Results;
    Block &Body = Op.getBody().front();
    int64_t Count = cast<LLVM::LLVMStructType>(Ty).getBody().size();
    for (int64_t I = 0; I < Count; ++I) {
      IRMapping Map;
      for (auto [Argument, Operand, Values] :
           llvm::zip(Body.getArguments(), Op.getOperands(), Operands)) {
        bool IsColumn = isa<ColumnType>(Operand.getType());
        Map.map(Argument, Values[To && IsColumn ? rowOf(I, To) : I]);
      }
      if (Lanes) {
        Map.map(Body.getArguments().back(), W.i32(I));
      } else if (To) {
        int64_t InBlock = I % (To.getColumns() / 2);
        Map.map(Body.getArguments().back(),
                W.add(FirstColumn, InBlock / 4 * 8 + InBlock % 2));
      }
      for (Operation &Inner : Body.without_terminator())
        Rewriter.clone(Inner, Map);
      Results.push_back(
          Map.lookupOrDefault(Body.getTerminator()->getOperand(0)));
    }
    Rewriter.replaceOp(Op, pack(Rewriter, Loc, Ty, Results));
    return success();
  }
};

Value combined(OpBuilder &B, Location Loc, ReduceKind Kind, Value A, Value C) {
  if (Kind == ReduceKind::Add)
    return arith::AddFOp::create(B, Loc, A, C);
  return arith::MaxNumFOp::create(B, Loc, A, C);
}

struct LowerThreadReduce : TilePattern<ThreadReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ThreadReduceOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    FragmentType From = Op.getFragment().getType();
    auto Chains = int64_t(Op.getChains());
    SmallVector<Value> Elements = unpack(Rewriter, Loc, Adaptor.getFragment());
    SmallVector<Value> Initial;
    if (Adaptor.getInitial())
      Initial = unpack(Rewriter, Loc, Adaptor.getInitial());
    // A few values for each row; they are joined at the end.
    int64_t Rows = Op.getResult().getType().getPerThread();
    SmallVector<SmallVector<Value>> Sums(Rows, SmallVector<Value>(Chains));
    SmallVector<int64_t> Seen(Rows, 0);
    for (int64_t Row = 0; Row < Rows; ++Row)
      if (!Initial.empty())
        Sums[Row][0] = Initial[Row];
    for (auto [I, Element] : llvm::enumerate(Elements)) {
      int64_t Row = rowOf(I, From);
      Value &Sum = Sums[Row][Seen[Row]++ % Chains];
      Sum = Sum ? combined(Rewriter, Loc, Op.getKind(), Sum, Element) : Element;
    }
    SmallVector<Value> Results;
    for (SmallVector<Value> &Row : Sums) {
      Value All = Row[0];
      for (Value Other : ArrayRef<Value>(Row).drop_front())
        All = combined(Rewriter, Loc, Op.getKind(), All, Other);
      Results.push_back(All);
    }
    Type Ty = getTypeConverter()->convertType(Op.getResult().getType());
    Rewriter.replaceOp(Op, pack(Rewriter, Loc, Ty, Results));
    return success();
  }
};

struct LowerLaneReduce : TilePattern<LaneReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LaneReduceOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    if (Op.getParts().getType().isTmemLayout()) {
      Rewriter.replaceOp(Op, Adaptor.getParts());
      return success();
    }
    NvvmWriter W(Rewriter, Loc);
    SmallVector<Value> Values = unpack(Rewriter, Loc, Adaptor.getParts());
    for (int64_t Distance : {1, 2})
      for (Value &V : Values) {
        Value Other = NVVM::ShflOp::create(
            Rewriter, Loc, V.getType(), W.i32(-1), V, W.i32(Distance),
            W.i32(31), NVVM::ShflKind::bfly, UnitAttr());
        V = combined(Rewriter, Loc, Op.getKind(), V, Other);
      }
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc, Adaptor.getParts().getType(), Values));
    return success();
  }
};

struct LowerWarpAbove : TilePattern<WarpAboveOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(WarpAboveOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Any;
    for (Value V : unpack(Rewriter, Loc, Adaptor.getColumn())) {
      Value Above = arith::CmpFOp::create(
          Rewriter, Loc, arith::CmpFPredicate::OGT, V, Adaptor.getBound());
      Any = Any ? arith::OrIOp::create(Rewriter, Loc, Any, Above).getResult()
                : Above;
    }
    Rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
        Op, Rewriter.getI1Type(), W.i32(-1), Any, NVVM::VoteSyncKind::any);
    return success();
  }
};

struct LowerPackWords : TilePattern<PackWordsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(PackWordsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Type Ty = getTypeConverter()->convertType(Op.getResult().getType());
    Rewriter.replaceOp(Op, pack(Rewriter, Op.getLoc(), Ty,
                                SmallVector<Value>(Adaptor.getWords())));
    return success();
  }
};

struct LowerPack : TilePattern<PackOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(PackOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    Type Element = Op.getResult().getType().getElement();
    bool IsF32 = Element.isF32(), IsCode = isa<Float8E4M3FNType>(Element);
    auto Pair = VectorType::get(2, Element);
    auto Word = [&](Value V) -> Value {
      return LLVM::BitcastOp::create(Rewriter, Loc, Rewriter.getI32Type(), V);
    };
    SmallVector<SmallVector<Value>> Parts;
    for (Value Fragment : Adaptor.getFragments())
      Parts.push_back(unpack(Rewriter, Loc, Fragment));
    // The columns of all fragments, of each 64 rows in turn.
    size_t Blocks = Op.getResult().getType().getRows() / 64;
    SmallVector<Value> Words;
    for (size_t Block = 0; Block < Blocks; ++Block)
      for (ArrayRef<Value> Part : Parts) {
        size_t PerBlock = Part.size() / Blocks;
        ArrayRef<Value> From = Part.slice(Block * PerBlock, PerBlock);
        // Two rows of two columns: a takes both rows of a column first.
        for (size_t I = 0; IsF32 && I < PerBlock; I += 4)
          for (size_t Of : {0, 2, 1, 3})
            Words.push_back(Word(From[I + Of]));
        // Two columns of each of two blocks of 8, of both rows in turn.
        for (size_t I = 0; IsCode && I < PerBlock; I += 8)
          for (size_t Row : {0, 2})
            Words.push_back(codes(Rewriter, Loc, Element,
                                  {From[I + Row], From[I + Row + 1],
                                   From[I + Row + 4], From[I + Row + 5]}));
        for (size_t I = 0; !IsF32 && !IsCode && I < PerBlock; I += 2) {
          // The high half comes first.
          Value Both;
          if (Element.isF16())
            Both = NVVM::ConvertF32x2ToF16x2Op::create(
                Rewriter, Loc, Pair, From[I + 1], From[I], Value(),
                NVVM::FPRoundingMode::RN);
          else
            Both = NVVM::ConvertF32x2ToBF16x2Op::create(
                Rewriter, Loc, Pair, From[I + 1], From[I], Value(),
                NVVM::FPRoundingMode::RN);
          Words.push_back(Word(Both));
        }
      }
    Type Ty = getTypeConverter()->convertType(Op.getResult().getType());
    Rewriter.replaceOp(Op, pack(Rewriter, Loc, Ty, Words));
    return success();
  }

  /// A word of four codes, the first in the lowest byte. One instruction
  /// converts two and saturates.
  static Value codes(OpBuilder &B, Location Loc, Type Element,
                     ArrayRef<Value> From) {
    auto Bytes = VectorType::get(2, B.getI8Type());
    auto Halves = VectorType::get(2, B.getI16Type());
    Value Word = LLVM::UndefOp::create(B, Loc, Halves);
    for (int64_t Half : {0, 1}) {
      // The high byte comes first.
      Value Two = NVVM::ConvertF32x2ToF8x2Op::create(
          B, Loc, Bytes, From[2 * Half + 1], From[2 * Half],
          NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
          /*relu=*/false, Element);
      Value Code = LLVM::BitcastOp::create(B, Loc, B.getI16Type(), Two);
      Word = LLVM::InsertElementOp::create(
          B, Loc, Word, Code,
          LLVM::ConstantOp::create(B, Loc, B.getI32IntegerAttr(int32_t(Half))));
    }
    return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Word);
  }
};

struct LowerApproximate : TilePattern<ApproximateOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ApproximateOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    StringRef Name = Op.getFunction() == Function::Exp2
                         ? "llvm.nvvm.ex2.approx.ftz.f"
                         : "llvm.nvvm.rcp.approx.ftz.f";
    Rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        Op, Rewriter.getF32Type(), Rewriter.getStringAttr(Name),
        ValueRange{Adaptor.getX()});
    return success();
  }
};

} // namespace

void kpc::tile::populateApplyPatterns(const TypeConverter &Types,
                                      RewritePatternSet &Patterns,
                                      const ThreadPlace &Place) {
  Patterns.add<LowerSplat, LowerRowNumbers, LowerApply, LowerThreadReduce,
               LowerLaneReduce, LowerWarpAbove, LowerPack, LowerPackWords,
               LowerApproximate>(Types, Patterns.getContext(), Place);
}
