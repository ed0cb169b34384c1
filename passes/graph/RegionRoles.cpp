//===- RegionRoles.cpp - What an op is to the kernels around it -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/graph/RegionRoles.h"

#include "dialects/graph/Graph.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RegionBuilder.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

/// Steps back in which a product is looked for.
static constexpr unsigned MostSteps = 16;
/// The same of codes, which are dequantised and quantised on the way.
static constexpr unsigned MostCodeSteps = 64;

Role graph::roleOf(Operation *Op) {
  if (isa<ConstantOp, WeightOp>(Op))
    return Role::Source;
  if (isa<ReshapeOp>(Op) || isPartOfMemory(Op))
    return Role::View;
  if (isa<ReduceOp, ArgReduceOp, CumSumOp, WindowOp, MatmulOp, ConvOp,
          AttentionOp, ScatterElementsOp, ScatterNdOp, SortRunsOp,
          DigitCountsOp, OrderByDigitOp, SearchSortedOp, FoldSegmentsOp>(Op))
    return Role::Root;
  return Role::Map;
}

bool graph::readsOnce(Operation *Op) {
  if (auto Window = dyn_cast<WindowOp>(Op))
    return Window.isPartition();
  if (auto Runs = dyn_cast<SortRunsOp>(Op))
    return Runs.getFrom() == 1;
  return !isa<MatmulOp, ConvOp, AttentionOp, CumSumOp, ScatterElementsOp,
              ScatterNdOp, SearchSortedOp, FoldSegmentsOp>(Op);
}

bool graph::isOrderOfHeads(Operation *Op) {
  auto Transpose = dyn_cast<TransposeOp>(Op);
  return Transpose && Transpose.getPerm().size() == 4 &&
         Transpose.getPerm().back() == 3;
}

bool graph::isSliceOfHeads(Operation *Op) {
  auto Slice = dyn_cast<SliceOp>(Op);
  if (!Slice || Slice.getStep().size() != 4 ||
      llvm::any_of(Slice.getStep(), [](int64_t Step) { return Step != 1; }))
    return false;
  int64_t Axis = -1;
  for (auto [I, Start, From, To] : llvm::enumerate(
           Slice.getStart().getDims(), typeOf(Slice.getX()).getDims(),
           typeOf(Slice.getY()).getDims())) {
    if (Start == shape::Expr(0) && From == To)
      continue;
    if (Axis >= 0 || !Start.asConstant())
      return false;
    Axis = I;
  }
  return llvm::all_of(Op->getUses(), [&](OpOperand &Use) {
    auto Turn = dyn_cast<TransposeOp>(Use.getOwner());
    if (Turn && isOrderOfHeads(Turn))
      return Turn.getPerm()[1] == Axis &&
             llvm::all_of(Turn->getUses(), readsMemory);
    return readsMemory(Use) && Axis == 1;
  });
}

bool graph::keepsLines(Operation *Op) {
  if (auto Transpose = dyn_cast<TransposeOp>(Op)) {
    ArrayRef<int64_t> Perm = Transpose.getPerm();
    return !Perm.empty() && Perm.back() == int64_t(Perm.size()) - 1;
  }
  auto Slice = dyn_cast<SliceOp>(Op);
  return Slice && !Slice.getStep().empty() && Slice.getStep().back() == 1;
}

bool graph::picksMatrices(Operation *Op, Operation *Product) {
  auto Gather = dyn_cast<GatherOp>(Op);
  auto Matmul = dyn_cast<MatmulOp>(Product);
  return Gather && Matmul && Gather.getAxis() == 0 &&
         typeOf(Gather.getIndices()).getRank() == 1 &&
         typeOf(Gather.getX()).getRank() == 3 &&
         (Matmul.getA() == Gather.getY()) != (Matmul.getB() == Gather.getY());
}

bool graph::makesGatheredLines(Operation *Op, Operation *Gather,
                               const shape::Facts &Facts) {
  // With fewer, the image in between is not worth being written and read.
  constexpr int64_t Often = 2;
  auto ElementsOf = [&](Value V) {
    shape::Expr Count(1);
    for (const shape::Expr &Size : typeOf(V).getDims())
      Count = Count * Size;
    return Facts.optimum(Count).value_or(0);
  };
  return isa<TransposeOp>(Op) && !keepsLines(Op) &&
         isa<GatherOp, GatherNdOp>(Gather) &&
         Gather->getOperand(0) == Op->getResult(0) &&
         typeOf(Gather->getResult(0)).getDims().back() ==
             typeOf(Op->getResult(0)).getDims().back() &&
         ElementsOf(Gather->getResult(0)) >=
             Often * ElementsOf(Op->getResult(0));
}

/// Whether `Op` computes elements of a product that `IsWanted`, which nothing
/// else uses, in so many steps. What several ops on the way use counts, as the
/// x of x * sigmoid(x).
static bool followsProduct(Operation *Op, unsigned Limit,
                           function_ref<bool(Operation *)> IsWanted) {
  llvm::SmallSetVector<Operation *, 8> OnTheWay;
  OnTheWay.insert(Op);
  for (unsigned Step = 0; Step < OnTheWay.size() && Step < Limit; ++Step) {
    for (Value Operand : OnTheWay[Step]->getOperands()) {
      Operation *Def = Operand.getDefiningOp();
      // Each user tries, and the last one succeeds.
      if (!Def || !llvm::all_of(Def->getUsers(), [&](Operation *User) {
            return OnTheWay.contains(User);
          }))
        continue;
      if (isa<MatmulOp, ConvOp>(Def) && IsWanted(Def))
        return true;
      if (Def->hasTrait<ElementwiseTrait>())
        OnTheWay.insert(Def);
    }
  }
  return false;
}

bool graph::isGemmEpilogue(Operation *Op) {
  return followsProduct(Op, MostSteps, [](Operation *) { return true; });
}

bool graph::isCodeProduct(Operation *Op) {
  return isa<MatmulOp, ConvOp>(Op) &&
         isCode(typeOf(Op->getOperand(0)).getElementType());
}

bool graph::isCodeEpilogue(Operation *Op) {
  return Op->hasTrait<ElementwiseTrait>() &&
         followsProduct(Op, MostCodeSteps, isCodeProduct);
}

void graph::forEachRealUser(Operation *Op,
                            function_ref<void(Operation *, bool)> Visit,
                            bool Through) {
  for (Operation *User : Op->getUsers()) {
    if (isa<BroadcastOp>(User) && llvm::none_of(User->getUsers(), takesMemory))
      forEachRealUser(User, Visit, true);
    else
      Visit(User, Through);
  }
}
