//===- Control.cpp - What loops and branches of front ends share ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Control.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

/// Makes two types one where only sizes that may be equal differ. A size with a
/// name is not taken to be a number: that would be another model.
static bool unifyTypes(Emitter &E, Value A, Value C) {
  if (Emitter::element(A) != Emitter::element(C) ||
      Emitter::rank(A) != Emitter::rank(C))
    return false;
  for (int64_t I = 0; I < Emitter::rank(A); ++I)
    if (Emitter::dims(A)[I] != Emitter::dims(C)[I] &&
        (Emitter::dims(A)[I].isConstant() || Emitter::dims(C)[I].isConstant() ||
         !E.unify(Expr(Emitter::dims(A)[I]), Expr(Emitter::dims(C)[I]))))
      return false;
  return A.getType() == C.getType();
}

static std::string typeText(Value V) {
  return frontend::typeText(Emitter::element(V)) + dimsText(Emitter::dims(V));
}

bool mayNest(Emitter &E) {
  size_t Depth = 0;
  for (Operation *Op = E.builder().getInsertionBlock()->getParentOp(); Op;
       Op = Op->getParentOp())
    Depth += isa<LoopOp, IfOp>(Op);
  if (Depth < MostNested)
    return true;
  E.fail(Code::ImportUnsupported,
         "a loop or branch inside " + std::to_string(Depth) +
             " others; kpc nests up to " + std::to_string(MostNested));
  return false;
}

/// Whether a size inside depends on the iteration: its memory would change.
static bool changesSizes(LoopOp Loop) {
  return Loop
      .walk([&](Operation *Op) {
        for (Type Ty : Op->getResultTypes())
          if (names(cast<SymbolicTensorType>(Ty).getDims(), Loop.getCounter()))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// What is wrong with a loop whose body is there; reports it.
static bool checkLoop(Emitter &E, LoopOp Loop) {
  for (unsigned I = 0; I < Loop.getNumCarried(); ++I) {
    Value Init = Loop.getInits()[I], Next = Loop.getYielded()[I];
    if (Init.getType() != Next.getType() && !unifyTypes(E, Init, Next)) {
      E.fail(Code::ImportUnsupported,
             "an iteration takes " + typeText(Init) + " and gives " +
                 typeText(Next) + " as the next one's" +
                 (Loop.endsByData()
                      ? ", and when the loop ends is known only when the model "
                        "runs; let it write into a tensor of the greatest size"
                      : ""));
      return false;
    }
  }
  if (!changesSizes(Loop))
    return true;
  E.fail(Code::ImportUnsupported,
         "a size inside changes from iteration to iteration");
  return false;
}

/// The same loop with the results that its body gives.
static LoopOp withResults(LoopOp Draft, ArrayRef<bool> Reversed, OpBuilder &B) {
  SmallVector<Type> Types;
  for (auto [I, V] : llvm::enumerate(Draft.getYielded())) {
    SymbolicTensorType Ty = typeOf(V);
    Dims Sizes(Ty.getDims());
    if (I >= Draft.getNumCarried())
      Sizes.insert(Sizes.begin(), Draft.getTrips());
    Types.push_back(checkedType(Sizes, Ty.getElementType()));
    if (!Types.back())
      return {};
  }
  auto Loop = LoopOp::create(B, Draft.getLoc(), Types, Draft.getCounter(),
                             Draft.getCount(), Draft.getBegins(),
                             Draft.getInits(), Reversed);
  Loop.getBody().takeBody(Draft.getBody());
  Draft.erase();
  return Loop;
}

LoopOp finishLoop(Emitter &E, LoopOp Draft, ArrayRef<bool> Reversed) {
  if (!checkLoop(E, Draft))
    return {};
  LoopOp Loop = withResults(Draft, Reversed, E.builder());
  if (!Loop)
    E.fail(Code::ImportUnsupported,
           "all iterations together give what no tensor can be");
  return Loop;
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Ops of two branches that are computed both, and the condition picks: less
/// work than to read the condition back.
static constexpr size_t MostChosen = 8;

static bool isCheap(IfOp If) {
  size_t Ops = 0;
  bool Cheap = true;
  for (Region *Branch : {&If.getThen(), &If.getOtherwise()})
    for (Operation &Op : Branch->front().without_terminator()) {
      bool Free = isa<ConstantOp, WeightOp, BroadcastOp, ReshapeOp>(Op);
      Cheap &= Free || Op.hasTrait<ElementwiseTrait>();
      Ops += !Free;
    }
  return Cheap && Ops <= MostChosen;
}

/// Both branches in front of the op, and a choice of each result.
static SmallVector<Value> chosen(Emitter &E, IfOp If) {
  Value Condition = E.reshape(If.getCondition(), {});
  SmallVector<SmallVector<Value>> Sides;
  for (Region *Branch : {&If.getThen(), &If.getOtherwise()}) {
    Operation *Yield = Branch->front().getTerminator();
    Sides.emplace_back(Yield->getOperands());
    for (Operation &Op : llvm::make_early_inc_range(Branch->front()))
      if (&Op != Yield)
        Op.moveBefore(If);
  }
  If.erase();
  SmallVector<Value> Results;
  for (auto [A, C] : llvm::zip_equal(Sides[0], Sides[1]))
    Results.push_back(E.select(Condition, A, C));
  return Results;
}

std::optional<SmallVector<Value>>
finishBranches(Emitter &E, IfOp Draft, size_t Count,
               llvm::function_ref<bool(unsigned)> Fit) {
  SmallVector<Type> Types;
  bool Good = true;
  for (size_t I = 0; Good && I < Count; ++I) {
    Value A = Draft.getThen().front().getTerminator()->getOperand(I),
          C = Draft.getOtherwise().front().getTerminator()->getOperand(I);
    Good = A.getType() == C.getType() ||
           (Fit && Fit(static_cast<unsigned>(I))) || unifyTypes(E, A, C);
    if (!Good)
      E.fail(Code::ImportUnsupported,
             "the branches give " + typeText(A) + " and " + typeText(C) +
                 " for output " + std::to_string(I) +
                 ", and which is taken is known only when the model runs");
    Types.push_back(
        Draft.getThen().front().getTerminator()->getOperand(I).getType());
  }
  if (!Good) {
    Draft.erase();
    return std::nullopt;
  }
  if (isCheap(Draft))
    return chosen(E, Draft);
  auto If =
      IfOp::create(E.builder(), Draft.getLoc(), Types, Draft.getCondition());
  If.getThen().takeBody(Draft.getThen());
  If.getOtherwise().takeBody(Draft.getOtherwise());
  Draft.erase();
  return SmallVector<Value>(If.getResults());
}

} // namespace kpc::frontend
