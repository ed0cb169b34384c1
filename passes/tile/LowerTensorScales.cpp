//===- LowerTensorScales.cpp - tcgen05 with block scales ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.tmem_copy becomes one tcgen05.cp for each word of scales of 128 rows
/// (PTX ISA, tcgen05.cp, 32x128b.warpx4), a tile.tmem_mma_scaled one
/// tcgen05.mma with block scales for each step of 32 bytes of K. Which bytes of
/// a word it takes stands in its instruction descriptor, which word in the
/// addresses of scales.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"
#include "passes/tile/OperandDescriptors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

/// Columns that the words of 128 rows take, one of each row, and their bytes.
constexpr int64_t WordColumns = 4, WordBytes = 512;

NVVM::CTAGroupKind groupOf(bool Pair) {
  return Pair ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

struct LowerTmemPart : TilePattern<TmemPartOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemPartOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    Rewriter.replaceOp(
        Op, W.pointer(Adaptor.getMemory(), W.toI32(Adaptor.getFirst())));
    return success();
  }
};

struct LowerTmemCopy : TilePattern<TmemCopyOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemCopyOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Address = LLVM::PtrToIntOp::create(
        Rewriter, Loc, Rewriter.getI32Type(), Adaptor.getScales());
    // Shared addresses have 18 bits; descriptors count 16 bytes.
    Value Start = W.shiftRight(W.bitAnd(Address, 0x3FFFF), 4);
    uint64_t Fixed = layout::describePlainRows(0).encode();
    // Products that read these columns are known to be over by a barrier: what
    // is begun behind it stays behind (PTX ISA 9.7.16.6).
    NVVM::Tcgen05FenceOp::create(Rewriter, Loc,
                                 NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    int64_t Panels = Op.getPanels(),
            Words =
                Op.getMemory().getType().getColumns() / WordColumns / Panels;
    for (int64_t Word = 0; Word < Words; ++Word)
      for (int64_t Panel = 0; Panel < Panels; ++Panel) {
        int64_t From = (Panel * Words + Word) * WordBytes,
                To = (Word * Panels + Panel) * WordColumns;
        Value Low = W.add(Start, int64_t(layout::encodeBytes(From)));
        Value Wide =
            arith::ExtUIOp::create(Rewriter, Loc, Rewriter.getI64Type(), Low);
        Value High =
            arith::ConstantIntOp::create(Rewriter, Loc, int64_t(Fixed), 64);
        NVVM::Tcgen05CpOp::create(
            Rewriter, Loc, NVVM::Tcgen05CpShape::SHAPE_32x128b,
            groupOf(Op.getPair()), NVVM::Tcgen05CpMulticast::WARPX4,
            NVVM::Tcgen05CpSrcFormatAttr(), W.pointer(Adaptor.getMemory(), To),
            arith::OrIOp::create(Rewriter, Loc, Wide, High));
      }
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerTmemMmaScaled : TilePattern<TmemMmaScaledOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemMmaScaledOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    constexpr int64_t StepBytes = 32, ScalesOfWord = 4;
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SharedType TileA = Op.getA().getType();
    OperandDescriptors A(Rewriter, Loc, layout::TensorEngine::Tcgen05, TileA,
                         Adaptor.getA(), /*KIsContiguous=*/true),
        B(Rewriter, Loc, layout::TensorEngine::Tcgen05, Op.getB().getType(),
          Adaptor.getB(), /*KIsContiguous=*/true);
    layout::ScaledInstruction Described = describe(Op);
    int64_t PerStep = Described.scales();
    int64_t Words = scaleWords(Op.getFormat(), TileA.getColumns());
    auto ColumnsOfWord = [&](TensorMemoryType Scales) {
      return Scales.getColumns() / Words;
    };
    int64_t OfA = ColumnsOfWord(Op.getAScales().getType()),
            OfB = ColumnsOfWord(Op.getBScales().getType());
    bool IsNvfp4 = Op.getFormat() == BlockFormat::Nvfp4;
    Value Add = Adaptor.getAdd();
    for (int64_t Step = 0; Step < TileA.getColumns() / StepBytes; ++Step) {
      int64_t First = Step * PerStep, Word = First / ScalesOfWord;
      Described.FirstScale = unsigned(First % ScalesOfWord);
      Value DescA = A.at(Step, 0), DescB = B.at(Step, 0);
      NVVM::Tcgen05MMABlockScaleOp::create(
          Rewriter, Loc, kindOf(Described.Kind), groupOf(Op.getPair()),
          IsNvfp4 ? NVVM::Tcgen05MMABlockScale::BLOCK16
                  : NVVM::Tcgen05MMABlockScale::BLOCK32,
          NVVM::Tcgen05MMACollectorOp::DISCARD, Adaptor.getD(), DescA, DescB,
          W.i32(int64_t(Described.encode())), Add,
          W.pointer(Adaptor.getAScales(), Word * OfA),
          W.pointer(Adaptor.getBScales(), Word * OfB));
      if (!Step)
        Add = arith::ConstantIntOp::create(Rewriter, Loc, 1, /*width=*/1);
    }
    Rewriter.eraseOp(Op);
    return success();
  }

  static NVVM::MMABlockScaleKind kindOf(layout::ScaledKind Kind) {
    switch (Kind) {
    case layout::ScaledKind::MXF8F6F4:
      return NVVM::MMABlockScaleKind::MXF8F6F4;
    case layout::ScaledKind::MXF4:
      return NVVM::MMABlockScaleKind::MXF4;
    case layout::ScaledKind::MXF4NVF4:
      return NVVM::MMABlockScaleKind::MXF4NVF4;
    }
    llvm_unreachable("all kinds are named");
  }

  /// M and N are those of the pair.
  static layout::ScaledInstruction describe(TmemMmaScaledOp Op) {
    layout::ScaledInstruction I;
    auto FactorOf = [](Type Element) {
      return Element.isInteger() ? layout::ElementType::E2M1
                                 : tensorMemoryFactor(Element);
    };
    I.Kind = Op.getFormat() == BlockFormat::Mxfp8 ? layout::ScaledKind::MXF8F6F4
             : Op.getFormat() == BlockFormat::Mxfp4
                 ? layout::ScaledKind::MXF4
                 : layout::ScaledKind::MXF4NVF4;
    I.A = FactorOf(Op.getA().getType().getElement());
    I.B = FactorOf(Op.getB().getType().getElement());
    I.M = TensorMemoryRows * (Op.getPair() ? 2 : 1);
    I.N = Op.getD().getType().getColumns();
    I.PowerScales = Op.getFormat() != BlockFormat::Nvfp4;
    return I;
  }
};

} // namespace

void kpc::tile::populateTensorScalePatterns(const TypeConverter &Types,
                                            RewritePatternSet &Patterns,
                                            const ThreadPlace &Place) {
  Patterns.add<LowerTmemPart, LowerTmemCopy, LowerTmemMmaScaled>(
      Types, Patterns.getContext(), Place);
}
