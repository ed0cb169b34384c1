//===- FoldScales.cpp - Constant factors go into weights -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.conv %x, %w …                 %s2 = graph.mul %w, %s
///   (broadcast) %2 = graph.mul %1, %s (broadcast)    →   %2  = graph.conv %x,
///   %s2 …
///
/// where %s is constant and has the size of the output channels. What is
/// constant is computed when compiling.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ConstantValues.h"
#include "passes/graph/HoldsAny.h"
#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FOLDSCALES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The vector that a broadcast repeats along all but the last dimension.
Value lastDimVector(Value V, PatternRewriter &R) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  if (!Broadcast || !isConstant(Broadcast.getX()))
    return {};
  SymbolicTensorType Ty = typeOf(Broadcast.getX());
  ArrayRef<Expr> Dims = Ty.getDims();
  const Expr &Channels = typeOf(V).getDims().back();
  if (Dims.empty() || Dims.back() != Channels ||
      Ty.getNumElements() != Channels)
    return {};
  if (Ty.getRank() == 1)
    return Broadcast.getX();
  return ReshapeOp::create(R, V.getLoc(), Ty.withDims(Channels),
                           Broadcast.getX());
}

/// Whether a weight is of codes, which stay as they are.
bool isOfCodes(Value V) {
  while (isa_and_present<TransposeOp, ReshapeOp, CastOp>(V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  return isa_and_present<DequantiseOp>(V.getDefiningOp());
}

struct FoldScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp Op, PatternRewriter &R) const override {
    for (auto [Product, Scale] :
         {std::pair(Op.getA(), Op.getB()), std::pair(Op.getB(), Op.getA())}) {
      Operation *Def = Product.getDefiningOp();
      if (!isa_and_present<ConvOp, MatmulOp>(Def) || !Product.hasOneUse() ||
          !isConstant(Def->getOperand(1)) || isOfCodes(Def->getOperand(1)))
        continue;
      Value Vector = lastDimVector(Scale, R);
      if (!Vector)
        continue;
      Value Weight = Def->getOperand(1);
      Value Repeated =
          BroadcastOp::create(R, Op.getLoc(), Weight.getType(), Vector);
      Value Scaled = MulOp::create(R, Op.getLoc(), Weight, Repeated);
      Operation *New = R.clone(*Def);
      New->setOperand(1, Scaled);
      New->setLoc(FusedLoc::get(R.getContext(), {Def->getLoc(), Op.getLoc()}));
      R.replaceOp(Op, New->getResults());
      return success();
    }
    return failure();
  }
};

struct FoldScalesPass : graph::impl::FoldScalesBase<FoldScalesPass> {
  void runOnOperation() override {
    if (!holdsAny<ConvOp, MatmulOp>(getOperation()))
      return;
    RewritePatternSet Patterns(&getContext());
    Patterns.add<FoldScale>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(Patterns),
                                inOneBlock());
  }
};

} // namespace
