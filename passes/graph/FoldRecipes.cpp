//===- FoldRecipes.cpp - Steps of weights' recipes -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.weight "m#w" [] : [4, 8]         %2 = graph.weight "m#w"
///   %2 = graph.transpose %1 [1, 0]          →        [{transpose = [1, 0]}] :
///   [8, 4]
///
/// The recipe is executed while the artifact is written.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FOLDRECIPES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

bool hasStep(WeightOp Weight, StringRef Name) {
  return llvm::any_of(Weight.getRecipe(), [&](Attribute A) {
    return cast<DictionaryAttr>(A).contains(Name);
  });
}

/// The step that does what `Op` does to a weight; null if a recipe cannot.
Attribute stepFor(Operation *Op, WeightOp Weight, Builder &B) {
  auto Step = [&](StringRef Name, Attribute Value) {
    return B.getDictionaryAttr(B.getNamedAttr(Name, Value));
  };
  if (auto Transpose = dyn_cast<TransposeOp>(Op))
    return Step("transpose", Transpose.getPermAttr());
  if (auto Cast = dyn_cast<CastOp>(Op)) {
    // A recipe converts from the model's type to the last one, without those
    // between: only the first may be narrow.
    bool Narrow = !hasStep(Weight, "cast") && isNarrowFloat(Cast.getTo()) &&
                  !isSubByte(Cast.getTo()) &&
                  !isa<Float8E8M0FNUType>(Cast.getTo());
    if (isFloat(typeOf(Weight).getElementType()) &&
        (isFloat(Cast.getTo()) || Narrow))
      return Step("cast", TypeAttr::get(Cast.getTo()));
    return {};
  }
  // Recipes reshape what is in the model's order only.
  if (isa<ReshapeOp>(Op) && !hasStep(Weight, "transpose") &&
      typeOf(Op->getResult(0)).hasStaticShape()) {
    SmallVector<int64_t> Sizes;
    for (const Expr &E : typeOf(Op->getResult(0)).getDims())
      Sizes.push_back(*E.asConstant());
    return Step("reshape", B.getDenseI64ArrayAttr(Sizes));
  }
  return {};
}

struct FoldIntoRecipe : RewritePattern {
  FoldIntoRecipe(MLIRContext *Context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, Context) {}

  LogicalResult matchAndRewrite(Operation *Op,
                                PatternRewriter &R) const override {
    if (!isa<TransposeOp, CastOp, ReshapeOp>(Op))
      return failure();
    auto Weight = Op->getOperand(0).getDefiningOp<WeightOp>();
    if (!Weight)
      return failure();
    Attribute Step = stepFor(Op, Weight, R);
    if (!Step)
      return failure();
    SmallVector<Attribute> Recipe(Weight.getRecipe().getValue());
    Recipe.push_back(Step);
    R.replaceOpWithNewOp<WeightOp>(Op, Op->getResult(0).getType(),
                                   Weight.getSource(), R.getArrayAttr(Recipe));
    return success();
  }
};

struct FoldRecipesPass : graph::impl::FoldRecipesBase<FoldRecipesPass> {
  void runOnOperation() override {
    RewritePatternSet Patterns(&getContext());
    Patterns.add<FoldIntoRecipe>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(Patterns),
                                inOneBlock());
  }
};

} // namespace
