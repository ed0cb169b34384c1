//===- LowerMma.cpp - Products as wgmma -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.mma becomes, for each step of 32 bytes of the sum and each 64 rows,
/// one wgmma.mma_async on descriptors of shared memory (PTX ISA 9.7.15); fence
/// in front, commit behind: one group.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"
#include "passes/tile/OperandDescriptors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

NVVM::WGMMATypes elementOf(Type Ty) {
  if (isa<Float8E4M3FNType>(Ty))
    return NVVM::WGMMATypes::e4m3;
  if (isa<Float8E5M2Type>(Ty))
    return NVVM::WGMMATypes::e5m2;
  if (Ty.isInteger(8))
    return Ty.isUnsignedInteger() ? NVVM::WGMMATypes::u8 : NVVM::WGMMATypes::s8;
  return Ty.isF16()    ? NVVM::WGMMATypes::f16
         : Ty.isBF16() ? NVVM::WGMMATypes::bf16
                       : NVVM::WGMMATypes::tf32;
}

/// Elements [First, First + Count) of a struct, as a struct of their own.
Value slice(OpBuilder &B, Location Loc, Value Struct, int64_t First,
            int64_t Count) {
  auto Whole = cast<LLVM::LLVMStructType>(Struct.getType());
  if (First == 0 && Count == int64_t(Whole.getBody().size()))
    return Struct;
  auto Part = LLVM::LLVMStructType::getLiteral(
      B.getContext(), Whole.getBody().slice(First, Count));
  Value Result = LLVM::UndefOp::create(B, Loc, Part);
  for (int64_t I = 0; I < Count; ++I)
    Result = LLVM::InsertValueOp::create(
        B, Loc, Result, LLVM::ExtractValueOp::create(B, Loc, Struct, First + I),
        I);
  return Result;
}

/// The reverse: `Part` becomes elements [First, …) of `Struct`.
Value putBack(OpBuilder &B, Location Loc, Value Struct, Value Part,
              int64_t First) {
  auto Type = cast<LLVM::LLVMStructType>(Part.getType());
  if (Part.getType() == Struct.getType())
    return Part;
  for (int64_t I = 0, E = Type.getBody().size(); I < E; ++I)
    Struct = LLVM::InsertValueOp::create(
        B, Loc, Struct, LLVM::ExtractValueOp::create(B, Loc, Part, I),
        First + I);
  return Struct;
}

struct LowerMma : TilePattern<MmaOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(MmaOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    if (isa<PackedType>(Op.getA().getType())) {
      multiplyPacked(Rewriter, Op, Adaptor);
      return success();
    }
    auto TileA = cast<SharedType>(Op.getA().getType());
    SharedType TileB = Op.getB().getType();
    FragmentType D = Op.getD().getType().getFragment();
    OperandDescriptors A(Rewriter, Loc, layout::TensorEngine::Wgmma, TileA,
                         Adaptor.getA(), !Op.getATransposed()),
        B(Rewriter, Loc, layout::TensorEngine::Wgmma, TileB, Adaptor.getB(),
          Op.getBTransposed());
    int64_t K = Op.getATransposed() ? TileA.getRows() : TileA.getColumns();
    int64_t StepK = 256 / int64_t(TileA.getElementBits());
    int64_t PerBlock = D.getColumns() / 2; // values of a thread in 64 rows

    Value Sums = Adaptor.getC();
    if (!Sums)
      Sums = LLVM::UndefOp::create(Rewriter, Loc,
                                   getTypeConverter()->convertType(D));
    NVVM::WgmmaFenceAlignedOp::create(Rewriter, Loc);
    for (int64_t Row = 0; Row < D.getRows(); Row += 64) {
      Value Part = slice(Rewriter, Loc, Sums, Row / 64 * PerBlock, PerBlock);
      for (int64_t Step = 0; Step < K / StepK; ++Step) {
        Value OfA = A.at(Step, Row), OfB = B.at(Step, 0);
        Part = multiply(Rewriter, Op, Part, OfA, OfB, StepK,
                        Adaptor.getC() || Step);
      }
      Sums = putBack(Rewriter, Loc, Sums, Part, Row / 64 * PerBlock);
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(Rewriter, Loc);
    Rewriter.replaceOp(Op, Sums);
    return success();
  }

  static Value multiply(OpBuilder &B, MmaOp Op, Value Sums, Value DescA,
                        Value DescB, int64_t K, bool Add) {
    MLIRContext *Context = Op.getContext();
    int64_t N = Op.getD().getType().getFragment().getColumns();
    NVVM::WGMMATypes OfA = elementOf(
                         cast<SharedType>(Op.getA().getType()).getElement()),
                     OfB = elementOf(Op.getB().getType().getElement());
    auto Shape = NVVM::MMAShapeAttr::get(Context, 64, N, K);
    // NVVM's names: A is row, B is col where K is contiguous.
    NVVM::MMALayout LayoutA =
        Op.getATransposed() ? NVVM::MMALayout::col : NVVM::MMALayout::row;
    NVVM::MMALayout LayoutB =
        Op.getBTransposed() ? NVVM::MMALayout::col : NVVM::MMALayout::row;
    bool AreIntegers =
        Op.getD().getType().getFragment().getElement().isInteger();
    return NVVM::WgmmaMmaAsyncOp::create(
        B, Op.getLoc(), Sums.getType(), Sums, DescA, DescB, Shape, OfA, OfB,
        AreIntegers ? NVVM::WGMMATypes::s32 : NVVM::WGMMATypes::f32,
        Add ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero,
        NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, LayoutA, LayoutB,
        NVVM::MMAIntOverflowAttr());
  }

  /// The left operand from registers: NVVM has no op for it.
  void multiplyPacked(ConversionPatternRewriter &Rewriter, MmaOp Op,
                      OpAdaptor Adaptor) const {
    Location Loc = Op.getLoc();
    FragmentType D = Op.getD().getType().getFragment();
    auto A = cast<PackedType>(Op.getA().getType());
    OperandDescriptors B(Rewriter, Loc, layout::TensorEngine::Wgmma,
                         Op.getB().getType(), Adaptor.getB(),
                         Op.getBTransposed());
    Value Sums = Adaptor.getC();
    if (!Sums)
      Sums = LLVM::UndefOp::create(Rewriter, Loc,
                                   getTypeConverter()->convertType(D));
    // What 32 bytes of a row hold.
    int64_t StepK = 256 / A.getElement().getIntOrFloatBitWidth();
    for (int64_t Step = 0; Step < A.getColumns() / StepK; ++Step) {
      SmallVector<Value> Operands;
      for (int64_t I = 0; I < D.getPerThread(); ++I)
        Operands.push_back(
            LLVM::ExtractValueOp::create(Rewriter, Loc, Sums, I));
      for (int64_t I = 0; I < 4; ++I) // words of a step
        Operands.push_back(LLVM::ExtractValueOp::create(
            Rewriter, Loc, Adaptor.getA(), 4 * Step + I));
      Operands.push_back(B.at(Step, 0));
      Sums = packedStep(Rewriter, Op, Sums.getType(), Operands,
                        Adaptor.getC() || Step, /*First=*/!Step);
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(Rewriter, Loc);
    Rewriter.replaceOp(Op, Sums);
  }

  /// One wgmma of a step of A (PTX ISA 9.7.15.5.1). The first brings the
  /// fence: LLVM copies tied operands right before an asm, which would be
  /// behind a fence that stands by itself.
  static Value packedStep(OpBuilder &B, MmaOp Op, Type Ty,
                          ArrayRef<Value> Operands, bool Add, bool First) {
    int64_t N = Op.getD().getType().getFragment().getColumns(), Sums = N / 2;
    Type OfA = cast<PackedType>(Op.getA().getType()).getElement();
    bool IsCode = OfA.getIntOrFloatBitWidth() == 8;
    auto NameOf = [](Type Ty) {
      return Ty.isF16()                ? "f16"
             : Ty.isBF16()             ? "bf16"
             : isa<Float8E5M2Type>(Ty) ? "e5m2"
                                       : "e4m3";
    };
    std::string Types = std::string(IsCode ? "k32.f32." : "k16.f32.") +
                        NameOf(OfA) + "." +
                        NameOf(Op.getB().getType().getElement()) + " ";
    auto List = [](int64_t First, int64_t Count) {
      std::string Text = "{";
      for (int64_t I = 0; I < Count; ++I)
        Text += (I ? ", $" : "$") + std::to_string(First + I);
      return Text + "}";
    };
    // Inputs that are tied to outputs count among the operands.
    int64_t A = 2 * Sums;
    std::string Text = std::string(First ? "wgmma.fence.sync.aligned; " : "") +
                       "{ .reg .pred p; setp.ne.b32 p, " + (Add ? "1" : "0") +
                       ", 0; wgmma.mma_async.sync.aligned.m64n" +
                       std::to_string(N) + Types + List(0, Sums) + ", " +
                       List(A, 4) + ", $" + std::to_string(A + 4) +
                       ", p, 1, 1" +
                       (IsCode                ? ""
                        : Op.getBTransposed() ? ", 0"
                                              : ", 1") +
                       "; }";
    std::string Constraints, Tied;
    for (int64_t I = 0; I < Sums; ++I) {
      Constraints += I ? ",=f" : "=f";
      Tied += "," + std::to_string(I);
    }
    Constraints += Tied + ",r,r,r,r,l";
    return LLVM::InlineAsmOp::create(
               B, Op.getLoc(), Ty, Operands, Text, Constraints,
               /*has_side_effects=*/true, /*is_align_stack=*/false,
               LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
               ArrayAttr())
        .getResult(0);
  }
};

struct LowerWgmmaWait : TilePattern<WgmmaWaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(WgmmaWaitOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NVVM::WgmmaWaitGroupSyncOp::create(Rewriter, Op.getLoc(), Op.getInFlight());
    Rewriter.replaceOp(Op, Adaptor.getPending());
    return success();
  }
};

/// The wait has no data edge to the sums, so that LLVM might read them above
/// it: an empty asm that takes and gives them ties them to this place.
struct LowerAwait : TilePattern<AwaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(AwaitOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    bool Lanes = Op.getFragment().getType().isTmemLayout(); // of tensor memory
    if (Lanes)
      NVVM::Tcgen05WaitOp::create(Rewriter, Loc, NVVM::Tcgen05WaitKind::LOAD);
    else
      NVVM::WgmmaWaitGroupSyncOp::create(Rewriter, Loc, Op.getInFlight());
    auto Type = cast<LLVM::LLVMStructType>(Adaptor.getPending().getType());
    SmallVector<Value> Sums;
    std::string Outputs, Inputs;
    for (int64_t I = 0, E = Type.getBody().size(); I < E; ++I) {
      Sums.push_back(
          LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getPending(), I));
      Outputs += I ? "," : "";
      Outputs += Lanes ? "=r" : "=f";
      Inputs += "," + std::to_string(I);
    }
    Value Tied =
        LLVM::InlineAsmOp::create(Rewriter, Loc, Type, Sums, /*asm_string=*/"",
                                  Outputs + Inputs, /*has_side_effects=*/true,
                                  /*is_align_stack=*/false,
                                  LLVM::tailcallkind::TailCallKind::None,
                                  LLVM::AsmDialectAttr(), ArrayAttr())
            .getResult(0);
    Rewriter.replaceOp(Op, Lanes ? numbersOf(Rewriter, Op, Tied) : Tied);
    return success();
  }

  /// Words as the fragment's elements.
  Value numbersOf(OpBuilder &B, AwaitOp Op, Value Words) const {
    FragmentType To = Op.getFragment().getType();
    Value Numbers = LLVM::UndefOp::create(B, Op.getLoc(),
                                          getTypeConverter()->convertType(To));
    for (int64_t I = 0; I < To.getPerThread(); ++I) {
      Value Word = LLVM::ExtractValueOp::create(B, Op.getLoc(), Words, I);
      Value Number =
          LLVM::BitcastOp::create(B, Op.getLoc(), To.getElement(), Word);
      Numbers = LLVM::InsertValueOp::create(B, Op.getLoc(), Numbers, Number, I);
    }
    return Numbers;
  }
};

} // namespace

void kpc::tile::populateMmaPatterns(const TypeConverter &Types,
                                    RewritePatternSet &Patterns,
                                    const ThreadPlace &Place) {
  Patterns.add<LowerMma, LowerWgmmaWait, LowerAwait>(
      Types, Patterns.getContext(), Place);
}
