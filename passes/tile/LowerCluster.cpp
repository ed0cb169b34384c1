//===- LowerCluster.cpp - Blocks that reach each other's memory -----------===//
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

struct LowerBlockRank : TilePattern<BlockRankOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(BlockRankOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    Value Rank = NVVM::BlockInClusterIdXOp::create(Rewriter, Op.getLoc(),
                                                   Rewriter.getI32Type());
    Rewriter.replaceOp(Op, W.toIndex(Rank));
    return success();
  }
};

struct LowerClusterSync : TilePattern<ClusterSyncOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ClusterSyncOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    // Arriving releases and waiting acquires. Unless the op says that warps are
    // together, one thread of a warp may be alone.
    UnitAttr Aligned = Op.getAlignedAttr();
    NVVM::ClusterArriveOp::create(Rewriter, Op.getLoc(), Aligned);
    NVVM::ClusterWaitOp::create(Rewriter, Op.getLoc(), Aligned);
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerSubviewColumns : TilePattern<SubviewColumnsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(SubviewColumnsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    SharedType Tile = Op.getTile().getType();
    // A line has a row of each of `pitch` rows; so many bytes a column.
    int64_t Bytes = Tile.getPitch() * int64_t(Tile.getElementBits()) / 8;
    Rewriter.replaceOp(Op,
                       W.pointer(Adaptor.getTile(),
                                 W.mul(W.toI32(Adaptor.getFirst()), Bytes)));
    return success();
  }
};

struct LowerReuse : TilePattern<ReuseOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ReuseOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    auto Ring = Op.getMemory().getDefiningOp<PipeOp>();
    if (!Ring || !Ring.isOfWarps()) {
      Rewriter.replaceOp(Op, Adaptor.getMemory()); // stages come first
      return success();
    }
    // All warps', not this warp's ring.
    auto Offset = Ring->getAttrOfType<IntegerAttr>("offset");
    if (!Offset)
      return failure(); // the pipe tells
    Rewriter.replaceOp(Op, sharedMemory(Rewriter, Op, Offset.getInt()));
    return success();
  }
};

/// Where four values of this thread are: 16 bytes for each thread of the
/// warpgroup, then the next four of all.
constexpr int64_t FourBytes = 16, RowOfFours = FourBytes * WarpgroupThreads;

Value placeOfThread(NvvmWriter &W, Value Base, const ThreadPlace &Place) {
  return W.pointer(
      Base, W.mul(W.bitAnd(Place.Thread, WarpgroupThreads - 1), FourBytes));
}

struct LowerClusterStore : TilePattern<ClusterStoreOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ClusterStoreOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    auto Four = VectorType::get(4, Op.getFragment().getType().getElement());
    Value Mine = placeOfThread(W, Adaptor.getTile(), Place);
    int64_t Values = Op.getFragment().getType().getPerThread();
    for (int64_t I = 0; I < Values; I += 4) {
      Value Vector = LLVM::UndefOp::create(Rewriter, Loc, Four);
      for (int64_t J = 0; J < 4; ++J) {
        Value One = LLVM::ExtractValueOp::create(Rewriter, Loc,
                                                 Adaptor.getFragment(), I + J);
        Vector =
            LLVM::InsertElementOp::create(Rewriter, Loc, Vector, One, W.i32(J));
      }
      LLVM::StoreOp::create(Rewriter, Loc, Vector,
                            W.pointer(Mine, I / 4 * RowOfFours), FourBytes);
    }
    Rewriter.eraseOp(Op);
    return success();
  }
};

Value added(OpBuilder &B, Location Loc, Value A, Value C) {
  if (A.getType().isInteger())
    return arith::AddIOp::create(B, Loc, A, C);
  return arith::AddFOp::create(B, Loc, A, C);
}

struct LowerClusterReduce : TilePattern<ClusterReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ClusterReduceOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Type Element = Op.getSum().getType().getElement();
    auto Four = VectorType::get(4, Element);
    auto Space = NvvmWriter::clusterPointer(Op.getContext());
    // Eight columns are four values of a thread.
    Value First = W.mul(W.toI32(Adaptor.getFirst()), RowOfFours / 8);
    Value Mine = W.pointer(placeOfThread(W, Adaptor.getTile(), Place), First);
    int64_t Values = Op.getSum().getType().getPerThread();
    SmallVector<Value> Sums(Values);
    for (int64_t Block = 0; Block < int64_t(Op.getBlocks()); ++Block) {
      Value There =
          NVVM::MapaOp::create(Rewriter, Loc, Space, Mine, W.i32(Block));
      for (int64_t I = 0; I < Values; I += 4) {
        Value Vector = LLVM::LoadOp::create(
            Rewriter, Loc, Four, W.pointer(There, I / 4 * RowOfFours),
            FourBytes);
        for (int64_t J = 0; J < 4; ++J) {
          Value One =
              LLVM::ExtractElementOp::create(Rewriter, Loc, Vector, W.i32(J));
          Value &Sum = Sums[I + J];
          Sum = Sum ? added(Rewriter, Loc, Sum, One) : One;
        }
      }
    }
    Value Struct = LLVM::UndefOp::create(
        Rewriter, Loc, getTypeConverter()->convertType(Op.getType()));
    for (int64_t I = 0; I < Values; ++I)
      Struct = LLVM::InsertValueOp::create(Rewriter, Loc, Struct, Sums[I], I);
    Rewriter.replaceOp(Op, Struct);
    return success();
  }
};

} // namespace

void kpc::tile::populateClusterPatterns(const TypeConverter &Types,
                                        RewritePatternSet &Patterns,
                                        const ThreadPlace &Place) {
  Patterns.add<LowerBlockRank, LowerClusterSync, LowerSubviewColumns,
               LowerReuse, LowerClusterStore, LowerClusterReduce>(
      Types, Patterns.getContext(), Place);
}
