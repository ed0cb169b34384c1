//===- RegionFacts.cpp - What people want to know of a region -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RegionFacts.h"
#include "dialects/graph/GraphRecurrent.h"
#include "passes/graph/ScorePlaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// A node is the outer of the nested names of a location; see placeOf of the
/// driver.
static void addNodes(Location Loc, SetVector<StringRef> &Names) {
  if (auto Name = dyn_cast<NameLoc>(Loc))
    Names.insert(Name.getName().strref());
  else if (auto Fused = dyn_cast<FusedLoc>(Loc))
    for (Location Part : Fused.getLocations())
      addNodes(Part, Names);
  else if (auto Call = dyn_cast<CallSiteLoc>(Loc))
    addNodes(Call.getCallee(), Names);
}

std::vector<StringRef> graph::nodesOf(RegionOp Region) {
  SetVector<StringRef> Names;
  for (Operation &Op : Region.getBody().front().without_terminator())
    if (!Op.hasTrait<OpTrait::ConstantLike>() && !isa<WeightOp>(Op))
      addNodes(Op.getLoc(), Names);
  return {Names.begin(), Names.end()};
}

static Expr elementsOf(Value V) { return typeOf(V).getNumElements(); }

static int64_t product(ArrayRef<int64_t> Sizes) {
  int64_t All = 1;
  for (int64_t Size : Sizes)
    All *= Size;
  return All;
}

/// All sizes of the weight but the output channels: multiply-adds for each
/// element of the result.
static Expr convDepth(ConvOp Conv) {
  Expr Depth(1);
  for (const Expr &Dim : typeOf(Conv.getW()).getDims().drop_back())
    Depth = Depth * Dim;
  return Depth;
}

/// Products of integers count as those of floats do: they are what takes time.
static Expr flopsOf(Operation &Op) {
  if (auto Recurrent = dyn_cast<RecurrentOp>(Op))
    return Expr(2) * elementsOf(Recurrent.getResult(0)) *
           typeOf(Recurrent.getR()).getDims()[1];
  if (Op.getNumResults() == 0 ||
      (!isa<MatmulOp, ConvOp>(Op) &&
       !graph::isFloat(typeOf(Op.getResult(0)).getElementType())))
    return Expr(0);
  return llvm::TypeSwitch<Operation *, Expr>(&Op)
      .Case([](MatmulOp Matmul) {
        return Expr(2) * elementsOf(Matmul.getY()) *
               typeOf(Matmul.getA()).getDims().back();
      })
      .Case([](AttentionOp Attention) {
        // Both products; of a causal one, half of them, or what its window has.
        Expr Each = typeOf(Attention.getQ()).getDims()[3] +
                    typeOf(Attention.getV()).getDims()[3];
        Expr Seen = typeOf(Attention.getK()).getDims()[2];
        Expr Heads = elementsOf(Attention.getQ())
                         .floorDiv(typeOf(Attention.getQ()).getDims()[3]);
        Expr All = Expr(2) * Heads * Seen * Each;
        if (!Attention.getCausal())
          return All;
        Expr Half = All.floorDiv(Expr(2));
        std::optional<Expr> Window = keysInWindow(Attention);
        return Window ? Expr::min(Half, Expr(2) * Heads * *Window * Each)
                      : Half;
      })
      .Case([](ConvOp Conv) {
        return Expr(2) * elementsOf(Conv.getY()) * convDepth(Conv);
      })
      .Case([](WindowOp Window) {
        return elementsOf(Window.getY()) * Expr(product(Window.getWindow()));
      })
      .Case<ReduceOp, CumSumOp>(
          [](Operation *Op) { return elementsOf(Op->getOperand(0)); })
      .Case<CompareOp, SelectOp, CastOp>([](Operation *) { return Expr(0); })
      .Default([](Operation *Op) {
        return Op->hasTrait<ElementwiseTrait>() ? elementsOf(Op->getResult(0))
                                                : Expr(0);
      });
}

std::optional<Expr> graph::flopsOf(RegionOp Region) {
  Expr All(0);
  for (Operation &Op : Region.getBody().front().without_terminator()) {
    auto Loop = dyn_cast<LoopOp>(Op);
    if (Loop && Loop.endsByData())
      return std::nullopt;
    if (!Loop) {
      All = All + ::flopsOf(Op);
      continue;
    }
    for (Operation &Inner : Loop.getBody().front().without_terminator())
      All = All + Loop.getTrips() * ::flopsOf(Inner);
  }
  if (All.overflowed())
    return std::nullopt;
  return All;
}

/// "conv", "grouped conv"; of one channel a group, each with one output,
/// "depthwise conv": it is no product of matrices.
static StringRef rootOf(ConvOp Conv) {
  if (Conv.getGroups() == 1)
    return "conv";
  ArrayRef<Expr> Filter = typeOf(Conv.getW()).getDims();
  bool IsDepthwise = Filter[Filter.size() - 2] == Expr(1) &&
                     Filter.back() == Expr(int64_t(Conv.getGroups()));
  return IsDepthwise ? "depthwise conv" : "grouped conv";
}

StringRef graph::rootOf(RegionOp Region) {
  for (Operation &Op : Region.getBody().front().without_terminator()) {
    if (isa<MatmulOp>(Op))
      return "matmul";
    if (isa<AttentionOp>(Op))
      return "attention";
    if (auto Conv = dyn_cast<ConvOp>(Op))
      return ::rootOf(Conv);
  }
  return {};
}
