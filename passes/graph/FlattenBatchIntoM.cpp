//===- FlattenBatchIntoM.cpp - Batches become part of M -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.matmul %x, %w : <[b, s, 768], f32>, <[1, 768, 64], f32>
///   %2 = graph.add %1, %bias
///     →  %0 = graph.reshape %x : <[b, s, 768], f32> to <["b*s", 768], f32>
///        %1 = graph.matmul %0, %w2 : <["b*s", 768], f32>, <[768, 64], f32>
///        %2 = graph.add %1, %bias2
///        %3 = graph.reshape %2 : <["b*s", 64], f32> to <[b, s, 64], f32>
///
/// All rows of a batch are rows of one product: its tiles do not end where a
/// sequence does, and a kernel sees one stride. The reshape is moved behind
/// what works on each row by itself, so that this stays with the product and
/// norms stay whole.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/HoldsAny.h"
#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FLATTENBATCHINTOM
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The type with all dimensions but the last as one.
SymbolicTensorType merged(SymbolicTensorType Ty) {
  Expr Rows = 1;
  for (const Expr &Size : Ty.getDims().drop_back())
    Rows = Rows * Size;
  return Ty.withDims({Rows, Ty.getDims().back()});
}

/// The rows that `V` is with their dimension split; null where it is something
/// else.
Value rowsOf(Value V, OpBuilder &B) {
  auto Split = V.getDefiningOp<ReshapeOp>();
  SymbolicTensorType Ty = typeOf(V);
  if (!Split || Ty.getRank() < 3)
    return {};
  SymbolicTensorType Rows = merged(Ty), From = typeOf(Split.getX());
  if (From == Rows)
    return Split.getX();
  if (From.getRank() != 1 || Ty.getDims().back() != Expr(1))
    return {};
  return ReshapeOp::create(B, V.getLoc(), Rows, Split.getX());
}

bool isRows(Value V) {
  auto Split = V.getDefiningOp<ReshapeOp>();
  SymbolicTensorType Ty = typeOf(V);
  if (!Split || Ty.getRank() < 3)
    return false;
  SymbolicTensorType From = typeOf(Split.getX());
  return From == merged(Ty) ||
         (From.getRank() == 1 && Ty.getDims().back() == Expr(1));
}

/// Whether a broadcast gives all rows the same.
bool isSameInRows(BroadcastOp Op) {
  return llvm::all_of(typeOf(Op.getX()).getDims().empty()
                          ? ArrayRef<Expr>()
                          : typeOf(Op.getX()).getDims().drop_back(),
                      [](const Expr &Size) { return Size == Expr(1); });
}

struct FlattenBatch : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp Op,
                                PatternRewriter &R) const override {
    SymbolicTensorType A = typeOf(Op.getA()), W = typeOf(Op.getB());
    auto IsOne = [](const Expr &Size) { return Size == Expr(1); };
    if (A.getRank() < 3 || !llvm::all_of(W.getDims().drop_back(2), IsOne))
      return failure();
    Location Loc = Op.getLoc();
    Value Rows = R.createOrFold<ReshapeOp>(Loc, merged(A), Op.getA());
    Value Matrix = R.createOrFold<ReshapeOp>(
        Loc, W.withDims(W.getDims().take_back(2)), Op.getB());
    Value Product = MatmulOp::create(R, Loc, Rows, Matrix);
    R.replaceOpWithNewOp<ReshapeOp>(Op, Op.getType(), Product);
    return success();
  }
};

struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *Context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, Context) {}

  LogicalResult matchAndRewrite(Operation *Op,
                                PatternRewriter &R) const override {
    if (!Op->hasTrait<ElementwiseTrait>() || Op->getNumResults() != 1 ||
        llvm::none_of(Op->getOperands(), isRows))
      return failure();
    for (Value V : Op->getOperands())
      if (auto Broadcast = V.getDefiningOp<BroadcastOp>();
          Broadcast && !isSameInRows(Broadcast))
        return failure();
    SmallVector<Value> Operands;
    for (Value V : Op->getOperands())
      Operands.push_back(inRows(V, R));
    SymbolicTensorType Ty = typeOf(Op->getResult(0));
    Operation *New = R.create(Op->getLoc(), Op->getName().getIdentifier(),
                              Operands, merged(Ty), Op->getAttrs());
    R.replaceOpWithNewOp<ReshapeOp>(Op, Ty, New->getResult(0));
    return success();
  }

  static Value inRows(Value V, PatternRewriter &R) {
    if (Value Rows = rowsOf(V, R))
      return Rows;
    SymbolicTensorType To = merged(typeOf(V));
    auto Broadcast = V.getDefiningOp<BroadcastOp>();
    if (!Broadcast)
      return R.createOrFold<ReshapeOp>(V.getLoc(), To, V);
    SymbolicTensorType From = typeOf(Broadcast.getX());
    Value Small = Broadcast.getX();
    if (From.getRank() > 1)
      Small = R.createOrFold<ReshapeOp>(
          V.getLoc(), From.withDims(From.getDims().back()), Small);
    return BroadcastOp::create(R, V.getLoc(), To, Small);
  }
};

/// Of the last dimension alone.
struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp Op,
                                PatternRewriter &R) const override {
    int64_t Last = typeOf(Op.getX()).getRank() - 1;
    if (Op.getAxes() != ArrayRef<int64_t>{Last})
      return failure();
    Value Rows = rowsOf(Op.getX(), R);
    if (!Rows)
      return failure();
    Value New = ReduceOp::create(R, Op.getLoc(), Op.getKind(), Rows,
                                 ArrayRef<int64_t>{1});
    R.replaceOpWithNewOp<ReshapeOp>(Op, Op.getType(), New);
    return success();
  }
};

/// One element a row to all of the row.
struct SinkThroughBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp Op,
                                PatternRewriter &R) const override {
    SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
    if (From.getRank() != To.getRank() || From.getRank() < 3 ||
        From.getDims().drop_back() != To.getDims().drop_back())
      return failure();
    Value Rows = rowsOf(Op.getX(), R);
    if (!Rows)
      return failure();
    Value New = BroadcastOp::create(R, Op.getLoc(), merged(To), Rows);
    R.replaceOpWithNewOp<ReshapeOp>(Op, To, New);
    return success();
  }
};

/// Of the last dimension alone: queries, keys and values of one product.
struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp Op, PatternRewriter &R) const override {
    SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
    if (From.getRank() < 3 ||
        From.getDims().drop_back() != To.getDims().drop_back() ||
        llvm::any_of(Op.getStep(), [](int64_t Step) { return Step != 1; }))
      return failure();
    Value Rows = rowsOf(Op.getX(), R);
    if (!Rows)
      return failure();
    auto Start = DimsAttr::get(R.getContext(),
                               {Expr(0), Op.getStart().getDims().back()});
    Value New = SliceOp::create(R, Op.getLoc(), merged(To), Rows, Start,
                                R.getDenseI64ArrayAttr({1, 1}));
    R.replaceOpWithNewOp<ReshapeOp>(Op, To, New);
    return success();
  }
};

/// reshape(slice(x)) to heads → slice(reshape(x)): some of the heads. Where
/// these are split further (halves, or pairs, for RoPE), that comes after.
struct SplitHeadsOfSlice : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp Op,
                                PatternRewriter &R) const override {
    auto Slice = Op.getX().getDefiningOp<SliceOp>();
    SymbolicTensorType To = typeOf(Op.getY());
    if (!Slice || To.getRank() < 3 || typeOf(Slice.getX()).getRank() != 2)
      return failure();
    SymbolicTensorType From = typeOf(Slice.getX()), Part = typeOf(Op.getX());
    ArrayRef<Expr> Starts = Slice.getStart().getDims();
    SmallVector<Expr> Dims(To.getDims());
    bool InParts = Dims.size() > 4 &&
                   (Dims.back() == Expr(2) || Dims[Dims.size() - 2] == Expr(2));
    if (InParts) {
      Expr Last = Dims.pop_back_val();
      Dims.back() = Dims.back() * Last;
    }
    // Of one query, heads may come before it, which is a reshape as well.
    bool IsTurned = Dims.size() > 3 && Dims[Dims.size() - 2] == Expr(1) &&
                    Dims[Dims.size() - 3] != Expr(1) &&
                    Dims[Dims.size() - 3] * Dims.back() == Part.getDims()[1];
    if (IsTurned)
      std::swap(Dims[Dims.size() - 2], Dims[Dims.size() - 3]);
    SymbolicTensorType Some = To.withDims(Dims);
    std::optional<int64_t> Depth = Dims.back().asConstant(),
                           Count = Dims[Dims.size() - 2].asConstant(),
                           Whole = From.getStaticDim(1),
                           Columns = Part.getStaticDim(1),
                           Start = Starts[1].asConstant();
    if (!Depth || !Count || !Whole || !Columns || !Start || *Depth < 1 ||
        *Columns != *Depth * *Count || *Whole % *Depth || *Start % *Depth ||
        From.getDims()[0] != Part.getDims()[0] || Slice.getStep()[1] != 1 ||
        Slice.getStep()[0] != 1)
      return failure();
    SmallVector<Expr> Begin(Dims.size(), Expr(0));
    Dims[Dims.size() - 2] = Expr(*Whole / *Depth);
    Begin[Begin.size() - 2] = Expr(*Start / *Depth);
    Value Heads =
        R.createOrFold<ReshapeOp>(Op.getLoc(), To.withDims(Dims), Slice.getX());
    Heads = SliceOp::create(
        R, Op.getLoc(), Some, Heads, DimsAttr::get(R.getContext(), Begin),
        R.getDenseI64ArrayAttr(SmallVector<int64_t>(Dims.size(), 1)));
    if (InParts || IsTurned)
      Heads = ReshapeOp::create(R, Op.getLoc(), To, Heads);
    R.replaceOp(Op, Heads);
    return success();
  }
};

struct FlattenBatchIntoMPass
    : graph::impl::FlattenBatchIntoMBase<FlattenBatchIntoMPass> {
  void runOnOperation() override {
    if (!holdsAny<MatmulOp, ReshapeOp>(getOperation()))
      return;
    RewritePatternSet Patterns(&getContext());
    Patterns.add<FlattenBatch, SinkThroughElementwise, SinkThroughReduce,
                 SinkThroughBroadcast, SinkThroughSlice, SplitHeadsOfSlice>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(Patterns),
                                     inOneBlock())))
      getOperation().emitWarning("reshapes still move after the most rounds");
  }
};

} // namespace
