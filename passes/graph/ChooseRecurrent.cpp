//===- ChooseRecurrent.cpp - Recurrent layers as one kernel --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y, %h = graph.recurrent gru(%x) weights %r … { … }
///     →  %y, %h, %m, %e, %n = graph.region (%x, %r, …) {
///          … = graph.recurrent gru(…) …        without a body
///        }
///     or what stands in its body, where a target has no room for the weights.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ChooseRecurrent.h"
#include "compiler/target/Target.h"
#include "dialects/graph/GraphRecurrent.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/FloatTypeNames.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/StoredValues.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/RecurrentSchedule.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_CHOOSERECURRENT
#include "passes/graph/ChooseRecurrent.h.inc"
} // namespace kpc::graph

namespace {

/// `V` with elements of another type; of a weight the recipe does it.
Value withElement(OpBuilder &B, Value V, Type To) {
  if (typeOf(V).getElementType() == To)
    return V;
  auto Weight = V.getDefiningOp<WeightOp>();
  if (!Weight)
    return CastOp::create(B, V.getLoc(), V, To);
  SmallVector<Attribute> Recipe(Weight.getRecipe().getValue());
  Recipe.push_back(
      B.getDictionaryAttr(B.getNamedAttr("cast", TypeAttr::get(To))));
  auto Narrow = cast<WeightOp>(B.clone(*Weight.getOperation()));
  Narrow.setRecipeAttr(B.getArrayAttr(Recipe));
  Narrow->getResult(0).setType(typeOf(V).withElementType(To));
  return Narrow->getResult(0);
}

/// The layer as a kernel: a region whose results are the op's own, and what
/// blocks need beside them. What is multiplied and y are of `Factor`.
void becomeKernel(RecurrentOp Op, Type Factor) {
  OpBuilder B(Op);
  Location Loc = Op.getLoc();
  SmallVector<Value> Xs;
  for (Value X : Op.getX())
    Xs.push_back(withElement(B, X, Factor));
  Value R = withElement(B, Op.getR(), Factor);
  SymbolicTensorType Y = typeOf(Op.getResult(0));
  Expr Batch = Y.getDims()[1], Directions = Y.getDims()[2];
  int64_t Hidden = *Y.getStaticDim(3);
  SmallVector<Type> Types(Op.getResultTypes());
  Types[0] = Y.withElementType(Factor);
  auto Memory = [&](ArrayRef<Expr> Dims, Type Of) {
    Types.push_back(SymbolicTensorType::get(Dims, Of));
  };
  constexpr int64_t CounterPitch = 32; // a line of the second cache
  Memory({Expr(2), Directions, Batch, Expr(Hidden)}, B.getF32Type());
  Memory({Expr(2), Directions, Batch, Expr(RecurrentOp::paddedHidden(Hidden))},
         Factor);
  Memory({Directions * Expr(CounterPitch)}, B.getI32Type());

  SmallVector<Value> Inputs(Xs);
  for (Value V : {R, Value(Op.getBias()), Value(Op.getLengths()),
                  Value(Op.getState()), Value(Op.getCell())})
    if (V)
      Inputs.push_back(V);
  auto Node = Loc->findInstanceOf<NameLoc>();
  auto Region = RegionOp::create(
      B, Loc, Types, Node ? Node.getName().strref() : "recurrent", Inputs);
  Block *Body = B.createBlock(&Region.getBody());
  for (Value Input : Inputs)
    Body->addArgument(Input.getType(), Loc);
  unsigned Next = 0;
  auto Take = [&](Value V) {
    return V ? Value(Body->getArgument(Next++)) : Value();
  };
  for (Value &X : Xs)
    X = Take(X);
  Value Weights = Take(R), Bias = Take(Op.getBias()),
        Lengths = Take(Op.getLengths()), State = Take(Op.getState()),
        Cell = Take(Op.getCell());
  auto Kernel =
      RecurrentOp::create(B, Loc, Types, Op.getKind(), Xs, Weights, Bias,
                          Lengths, State, Cell, Op.getReversed());
  graph::YieldOp::create(B, Loc, Kernel.getResults());
  B.setInsertionPoint(Op);
  for (auto [I, Result] : llvm::enumerate(Op.getResults()))
    Result.replaceAllUsesWith(
        withElement(B, Region.getResult(I), typeOf(Result).getElementType()));
  Op.erase();
}

/// Counters of loops that are gone would be taken for dims of the model.
void forgetCounters(ModuleOp Module, RecurrentOp Op) {
  llvm::StringSet<> Gone;
  Op.walk([&](LoopOp Loop) { Gone.insert(Loop.getCounter()); });
  forgetSymbols(Module, Gone);
}

void becomeLoops(RecurrentOp Op) {
  Block &Body = Op.getBody().front();
  auto Yield = cast<RecurrentYieldOp>(Body.getTerminator());
  SmallVector<Value> Results(Yield.getValues());
  for (Operation &Inner : llvm::make_early_inc_range(Body.without_terminator()))
    Inner.moveBefore(Op);
  Op.replaceAllUsesWith(Results);
  Op.erase();
}

struct ChooseRecurrentPass
    : graph::impl::ChooseRecurrentBase<ChooseRecurrentPass> {
  using ChooseRecurrentBase::ChooseRecurrentBase;

  /// Why the layer is no kernel; empty: it is.
  std::string refusal(RecurrentOp Op, Type Factor,
                      ArrayRef<const target::Target *> All, bool Rounds,
                      const shape::Facts &Facts) {
    if (All.empty())
      return "there is no target";
    if (!Factor.isF16() && !Factor.isBF16() && !Factor.isF32())
      return "it is neither of 16 bits nor of f32";
    if (Op->getParentOfType<LoopOp>() || Op->getParentOfType<IfOp>())
      return "it stands in a loop or in a branch";
    SymbolicTensorType Y = typeOf(Op.getResult(0));
    constexpr int64_t Unknown = 64;
    schedule::RecurrentShape Shape;
    Shape.Steps = Facts.optimum(Y.getDims()[0]).value_or(Unknown);
    Shape.Batch = Facts.optimum(Y.getDims()[1]).value_or(Unknown);
    Shape.Hidden = *Y.getStaticDim(3);
    Shape.Gates = RecurrentOp::gatesOf(Op.getKind());
    Shape.Directions = Op.getDirections();
    Shape.ElementBytes = Factor.isF32() ? 4 : 2;
    Shape.Split = Factor.isF32() && !Rounds;
    if (Facts.range(Y.getDims()[0]).Min < 1 ||
        Facts.range(Y.getDims()[1]).Min < 1)
      return "it may have no steps or an empty batch";
    // The counters and indices of rows are 32 bits wide.
    constexpr int64_t MostSteps = 1 << 20;
    if (Facts.range(Y.getDims()[0]).Max > MostSteps)
      return "its steps have no bound below " + std::to_string(MostSteps);
    for (const target::Target *T : All) {
      std::string Why;
      if (schedule::rankRecurrentSchedules(Shape, *T, &Why).empty())
        return Why;
    }
    return {};
  }

  void runOnOperation() override {
    auto All = targetsNamed(Targets, getOperation());
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, getOperation());
    FailureOr<Type> To = floatTypeNamed(Narrow, getOperation());
    if (failed(All) || failed(Kept) || failed(To))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(getOperation());
    SmallVector<RecurrentOp> Ops;
    getOperation().walk([&](RecurrentOp Op) {
      if (!Op.getBody().empty())
        Ops.push_back(Op);
    });
    for (RecurrentOp Op : Ops) {
      Type Factor = typeOf(Op.getR()).getElementType();
      bool IsKept = Kept->match(Op);
      if (Factor.isF32() && *To && !IsKept)
        Factor = *To;
      std::string Why = refusal(Op, Factor, *All, Tf32 && !IsKept, Facts);
      if (Why.empty()) {
        forgetCounters(getOperation(), Op);
        becomeKernel(Op, Factor);
        continue;
      }
      if (!All->empty())
        remark::missed(
            Op.getLoc(),
            remark::RemarkOpts::name("recurrent").category("recognition"))
            << "A recurrent layer is not one kernel, because " + Why +
                   "; it becomes a loop.";
      becomeLoops(Op);
    }
  }
};

} // namespace
