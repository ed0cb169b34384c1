//===- GatherNdToBroadcast.cpp - Gathers that are broadcasts --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %i = graph.concat %batch_numbers, %positions axis 4
///   %y = graph.gather_nd %x, %i : <[b, s], i1>, <[b, 1, 1, s, 2], i64>
///     →  %y = graph.reshape %x : <[b, s], i1> to <[b, 1, 1, s], i1>
///
/// PyTorch's exporter looks up a padding mask by its own indices: two counters,
/// a concat and a gather, to read the mask where it is.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/LinearIndex.h"
#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_GATHERNDTOBROADCAST
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The dimension whose index all elements of `V` are; none where they are
/// something else. The last dimension of `V` has one element.
std::optional<int64_t> dimensionOf(Value V) {
  std::optional<LinearIndex> Index = LinearIndex::of(V);
  if (!Index || Index->Offset != Expr(0))
    return std::nullopt;
  std::optional<int64_t> Found;
  for (auto [I, Factor] : llvm::enumerate(Index->Factors)) {
    if (Factor == 0)
      continue;
    if (Factor != 1 || Found)
      return std::nullopt;
    Found = int64_t(I);
  }
  return Found;
}

struct ReadByOwnIndices : OpRewritePattern<GatherNdOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherNdOp Op,
                                PatternRewriter &R) const override {
    auto Indices = Op.getIndices().getDefiningOp<ConcatOp>();
    SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
    if (!Indices || Op.getBatchDims() != 0 ||
        int64_t(Indices.getAxis()) != typeOf(Indices.getY()).getRank() - 1 ||
        int64_t(Indices.getXs().size()) != From.getRank())
      return failure();
    // Each index in its dimension of the result, in the order of x's.
    SmallVector<Expr> Sizes(To.getRank(), Expr(1));
    int64_t Last = -1;
    for (auto [X, Size] : llvm::zip_equal(Indices.getXs(), From.getDims())) {
      std::optional<int64_t> Dimension = dimensionOf(X);
      if (typeOf(X).getDims().back() != Expr(1) || !Dimension ||
          *Dimension <= Last || *Dimension >= To.getRank() ||
          To.getDims()[*Dimension] != Size)
        return failure();
      Last = *Dimension;
      Sizes[Last] = Size;
    }
    Value Same =
        R.createOrFold<ReshapeOp>(Op.getLoc(), To.withDims(Sizes), Op.getX());
    R.replaceOp(Op, R.createOrFold<BroadcastOp>(Op.getLoc(), To, Same));
    return success();
  }
};

struct GatherNdToBroadcastPass
    : graph::impl::GatherNdToBroadcastBase<GatherNdToBroadcastPass> {
  void runOnOperation() override {
    RewritePatternSet Patterns(&getContext());
    Patterns.add<ReadByOwnIndices>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(Patterns),
                                inOneBlock());
  }
};

} // namespace
