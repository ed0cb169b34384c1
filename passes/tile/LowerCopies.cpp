//===- LowerCopies.cpp - Copies between shared and global memory ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// One copy: bytes from the start of the tile, and coordinates as PTX wants
/// them, innermost first.
struct Box {
  int64_t Offset;
  SmallVector<Value> At;
};

/// The boxes of the view that a tile is made of: lines side by side, and in
/// each of them rows below each other.
SmallVector<Box> boxesOf(NvvmWriter &W, ViewType View, SharedType Tile,
                         ValueRange At) {
  ArrayRef<int64_t> Size = View.getBox();
  int64_t Rows = 1;
  for (int64_t S : Size.drop_back())
    Rows *= S;
  int64_t LineBytes = Tile.getLineElements() * Tile.getElementBits() / 8;
  SmallVector<Value> Start;
  for (Value V : llvm::reverse(At))
    Start.push_back(W.toI32(V));
  SmallVector<Box> Boxes;
  for (int64_t Column = 0; Column < Tile.getColumns(); Column += Size.back())
    for (int64_t Row = 0; Row < Tile.getRows(); Row += Rows) {
      int64_t Line = Column / Tile.getLineElements();
      Box One{(Line * Tile.getPitch() + Row) * LineBytes, Start};
      One.At[0] = W.add(Start[0], Column);
      if (Row)
        One.At[1] = W.add(Start[1], Row);
      Boxes.push_back(One);
    }
  return Boxes;
}

/// Copies that bring boxes into this block's tile. In a pair the even block's
/// barrier counts the bytes. The operation wants its address as one of this
/// block's window, which is part of the cluster's: as PTX it is the same
/// register.
class Loads {
public:
  Loads(OpBuilder &B, Location Loc, PipeOp Of, Value Full)
      : B(B), Loc(Loc), Pair(Of && Of.getPair()), Barrier(Full) {
    if (!Pair)
      return;
    NvvmWriter W(B, Loc);
    Value Leader =
        LLVM::PtrToIntOp::create(B, Loc, B.getI64Type(), W.leaderBarrier(Full));
    Barrier = LLVM::IntToPtrOp::create(B, Loc, Full.getType(), Leader);
  }

  /// With `Offsets` in im2col mode.
  void begin(Value View, const Box &One, Value Tile, ValueRange Offsets = {}) {
    NvvmWriter W(B, Loc);
    Value To = W.pointer(Tile, One.Offset);
    NVVM::CTAGroupKindAttr Group;
    if (Pair) {
      To = LLVM::AddrSpaceCastOp::create(
          B, Loc, NvvmWriter::clusterPointer(B.getContext()), To);
      Group = NVVM::CTAGroupKindAttr::get(B.getContext(),
                                          NVVM::CTAGroupKind::CTA_2);
    }
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        B, Loc, To, View, One.At, Barrier, Offsets, /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value(),
        Offsets.empty() ? NVVM::TMALoadMode::TILE : NVVM::TMALoadMode::IM2COL,
        /*isCTAOnly=*/!Pair, Group, /*predicate=*/Value());
  }

private:
  OpBuilder &B;
  Location Loc;
  bool Pair;
  Value Barrier;
};

struct LowerTmaLoad : TilePattern<TmaLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaLoadOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    Loads All(Rewriter, Op.getLoc(), Op.getPipe().getDefiningOp<PipeOp>(),
              fullBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(),
                          Adaptor.getStage()));
    for (const Box &One : boxesOf(W, Op.getView().getType(),
                                  Op.getTile().getType(), Adaptor.getAt()))
      All.begin(Adaptor.getView(), One, Adaptor.getTile());
    Rewriter.eraseOp(Op);
    return success();
  }
};

/// One copy for each line of the tile: all its pixels, some channels.
struct LowerTmaLoadIm2col : TilePattern<TmaLoadIm2colOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaLoadIm2colOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    Loads All(Rewriter, Op.getLoc(), Op.getPipe().getDefiningOp<PipeOp>(),
              fullBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(),
                          Adaptor.getStage()));
    // PTX wants both innermost first, and offsets as halfwords.
    SmallVector<Value> Offsets;
    for (Value V : llvm::reverse(Adaptor.getOffsets()))
      Offsets.push_back(arith::IndexCastOp::create(Rewriter, Op.getLoc(),
                                                   Rewriter.getI16Type(), V));
    for (const Box &One : boxesOf(W, Op.getView().getType(),
                                  Op.getTile().getType(), Adaptor.getAt()))
      All.begin(Adaptor.getView(), One, Adaptor.getTile(), Offsets);
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerTmaMulticast : TilePattern<TmaMulticastOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaMulticastOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Barrier = fullBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(),
                                Adaptor.getStage());
    Value All = arith::ConstantIntOp::create(Rewriter, Loc,
                                             (1 << Op.getBlocks()) - 1, 16);
    auto Space = NvvmWriter::clusterPointer(Op.getContext());
    for (const Box &One : boxesOf(W, Op.getView().getType(),
                                  Op.getTile().getType(), Adaptor.getAt())) {
      // A block's own window is part of the cluster's.
      Value To = LLVM::AddrSpaceCastOp::create(
          Rewriter, Loc, Space, W.pointer(Adaptor.getTile(), One.Offset));
      NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
          Rewriter, Loc, To, Adaptor.getView(), One.At, Barrier, ValueRange(),
          All, Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
          NVVM::CTAGroupKindAttr(), Value());
    }
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerTmaStore : TilePattern<TmaStoreOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaStoreOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    for (const Box &One : boxesOf(W, Op.getView().getType(),
                                  Op.getTile().getType(), Adaptor.getAt()))
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          Rewriter, Op.getLoc(), Adaptor.getView(),
          W.pointer(Adaptor.getTile(), One.Offset), One.At, Value(),
          NVVM::TMAStoreMode::TILE, Value());
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerTmaStoreCommit : TilePattern<TmaStoreCommitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaStoreCommitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkCommitGroupOp>(Op);
    return success();
  }
};

struct LowerTmaStoreWait : TilePattern<TmaStoreWaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmaStoreWaitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkWaitGroupOp>(
        Op, Op.getInFlight(), Rewriter.getUnitAttr());
    return success();
  }
};

struct LowerFenceProxy : TilePattern<FenceProxyOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(FenceProxyOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(
        Op, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(Op.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    return success();
  }
};

struct LowerSubviewRows : TilePattern<SubviewRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(SubviewRowsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    SharedType Tile = Op.getTile().getType();
    int64_t LineBytes = Tile.getLineElements() * Tile.getElementBits() / 8;
    Rewriter.replaceOp(
        Op, W.pointer(Adaptor.getTile(),
                      W.mul(W.toI32(Adaptor.getFirst()), LineBytes)));
    return success();
  }
};

} // namespace

void kpc::tile::populateCopyPatterns(const TypeConverter &Types,
                                     RewritePatternSet &Patterns,
                                     const ThreadPlace &Place) {
  Patterns.add<LowerTmaLoad, LowerTmaLoadIm2col, LowerTmaMulticast,
               LowerTmaStore, LowerTmaStoreCommit, LowerTmaStoreWait,
               LowerFenceProxy, LowerSubviewRows>(Types, Patterns.getContext(),
                                                  Place);
}
