//===- SinkBroadcasts.cpp - Computes first, repeats after ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.broadcast %m : <[b, 1, 1, t], i64> to <[b, 1, s, t], i64>
///   %2 = graph.cast %1 to f32 : !graph.tensor<[b, 1, s, t], i64>
///     →  %1 = graph.cast %m to f32 : !graph.tensor<[b, 1, 1, t], i64>
///        %2 = graph.broadcast %1 : <[b, 1, 1, t], f32> to <[b, 1, s, t], f32>
///
/// What repeats a value a million times is computed once, and a pass that looks
/// for masks sees which sizes they have.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SINKBROADCASTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What a value repeats: the operand of a broadcast, a scalar of a constant.
Value repeated(Value V, OpBuilder &B) {
  if (auto Broadcast = V.getDefiningOp<BroadcastOp>())
    return Broadcast.getX();
  auto Constant = V.getDefiningOp<ConstantOp>();
  auto Elements =
      Constant ? dyn_cast<DenseElementsAttr>(Constant.getValue()) : nullptr;
  if (!Elements || !Elements.isSplat())
    return {};
  auto Scalar = RankedTensorType::get({}, Elements.getElementType());
  return ConstantOp::create(B, V.getLoc(), Elements.resizeSplat(Scalar));
}

/// The sizes that hold all of `Values` broadcast together, as few as there are.
SmallVector<Expr> sharedSizes(ArrayRef<Value> Values) {
  SmallVector<Expr> All;
  for (Value V : Values) {
    ArrayRef<Expr> Dims = typeOf(V).getDims();
    if (Dims.size() > All.size())
      All.insert(All.begin(), Dims.size() - All.size(), Expr(1));
    for (auto [I, Size] : llvm::enumerate(Dims))
      if (Size != Expr(1))
        All[All.size() - Dims.size() + I] = Size;
  }
  return All;
}

Value spread(Value V, ArrayRef<Expr> To, OpBuilder &B) {
  if (typeOf(V).getDims() == To)
    return V;
  return BroadcastOp::create(B, V.getLoc(), typeOf(V).withDims(To), V);
}

/// f(broadcast a, broadcast b) → broadcast f(a, b)
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *Context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, Context) {}

  LogicalResult matchAndRewrite(Operation *Op,
                                PatternRewriter &R) const override {
    if (!Op->hasTrait<ElementwiseTrait>() || Op->getNumResults() != 1 ||
        llvm::none_of(Op->getOperands(), [](Value V) {
          return V.getDefiningOp<BroadcastOp>() != nullptr;
        }))
      return failure();
    SmallVector<Value> Small;
    for (Value Operand : Op->getOperands()) {
      Operation *Def = Operand.getDefiningOp();
      if (!isa_and_present<BroadcastOp, ConstantOp>(Def))
        return failure();
      Value Of = repeated(Operand, R);
      if (!Of)
        return failure();
      Small.push_back(Of);
    }
    SymbolicTensorType Whole = typeOf(Op->getResult(0));
    SmallVector<Expr> Sizes = sharedSizes(Small);
    if (Whole.getDims() == ArrayRef<Expr>(Sizes))
      return failure();
    for (Value &V : Small)
      V = spread(V, Sizes, R);
    Operation *New = R.create(Op->getLoc(), Op->getName().getIdentifier(),
                              Small, Whole.withDims(Sizes), Op->getAttrs());
    R.replaceOpWithNewOp<BroadcastOp>(Op, Whole, New->getResult(0));
    return success();
  }
};

/// reshape(broadcast x) → broadcast(reshape x) where sizes of 1 alone move.
struct SinkThroughReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp Op,
                                PatternRewriter &R) const override {
    auto Broadcast = Op.getX().getDefiningOp<BroadcastOp>();
    if (!Broadcast || !movesOnesOnly(Op))
      return failure();
    SymbolicTensorType From = typeOf(Broadcast.getX());
    ArrayRef<Expr> Wide = typeOf(Broadcast.getY()).getDims(),
                   Narrow = From.getDims();
    // Of each size that is not 1, the size before the broadcast.
    SmallVector<Expr> Before;
    for (auto [I, Size] : llvm::enumerate(Wide))
      if (Size != Expr(1)) {
        size_t New = Wide.size() - Narrow.size();
        Before.push_back(I < New ? Expr(1) : Narrow[I - New]);
      }
    SymbolicTensorType To = typeOf(Op.getY());
    SmallVector<Expr> Sizes;
    auto *Next = Before.begin();
    for (const Expr &Size : To.getDims())
      Sizes.push_back(Size == Expr(1) ? Expr(1) : *Next++);
    Value Moved = ReshapeOp::create(R, Op.getLoc(), From.withDims(Sizes),
                                    Broadcast.getX());
    R.replaceOpWithNewOp<BroadcastOp>(Op, To, Moved);
    return success();
  }
};

struct SinkBroadcastsPass
    : graph::impl::SinkBroadcastsBase<SinkBroadcastsPass> {
  void runOnOperation() override {
    RewritePatternSet Patterns(&getContext());
    Patterns.add<SinkThroughElementwise, SinkThroughReshape>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(Patterns),
                                     inOneBlock())))
      getOperation().emitWarning("broadcasts still move after the most rounds");
  }
};

} // namespace
