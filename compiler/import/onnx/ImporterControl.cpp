//===- ImporterControl.cpp - Loops and branches of a graph ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

/// Makes two types one where only sizes that may be equal differ. A size with a
/// name is not taken to be a number: that would be another model.
static bool unifyTypes(NodeImport &N, Value A, Value C) {
  if (Emitter::element(A) != Emitter::element(C) ||
      Emitter::rank(A) != Emitter::rank(C))
    return false;
  for (int64_t I = 0; I < Emitter::rank(A); ++I)
    if (Emitter::dims(A)[I] != Emitter::dims(C)[I] &&
        (Emitter::dims(A)[I].isConstant() || Emitter::dims(C)[I].isConstant() ||
         !N.unify(Expr(Emitter::dims(A)[I]), Expr(Emitter::dims(C)[I]))))
      return false;
  return A.getType() == C.getType();
}

static std::string typeText(Value V) {
  return onnx::typeText(Emitter::element(V)) + onnx::dimsText(Emitter::dims(V));
}

/// As deep as an artifact's plan may nest its controls.
static constexpr size_t MostNested = 16;

/// Whether one more loop or branch may be opened; reports if not.
static bool mayNest(NodeImport &N, size_t Depth) {
  if (Depth < MostNested)
    return true;
  N.unsupported("a loop or branch inside " + std::to_string(Depth) +
                " others; kpc nests up to " + std::to_string(MostNested));
  return false;
}

std::optional<SmallVector<Value>> Importer::importBody(Operation *Holder,
                                                       Region &Body,
                                                       TypeRange Arguments,
                                                       BodyFunction Emit) {
  OpBuilder::InsertionGuard Guard(B);
  SmallVector<Location> Locs(Arguments.size(), Holder->getLoc());
  Block *Inside = B.createBlock(&Body, {}, Arguments, Locs);
  Bodies.push_back({Scopes.size(), Holder});
  SmallVector<Value> Given(Inside->getArguments());
  std::optional<SmallVector<Value>> Results = Emit(Given);
  Bodies.pop_back();
  // Drafts of loops and branches are erased, and their ops with them.
  Evaluator.clear();
  if (Results)
    YieldOp::create(B, Holder->getLoc(), *Results);
  return Results;
}

void Importer::setInsertionPointFor(size_t Scope) {
  for (const OpenBody &Body : Bodies)
    if (Body.Scope > Scope) {
      B.setInsertionPoint(Body.Holder);
      return;
    }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A symbol of the loop's own; nothing of the model has its name.
Expr Importer::makeCounter(const Expr &Count) {
  std::string Name = freshSymbol("kpc_iteration");
  Expr Counter = Expr::symbol(Name);
  Symbols.emplace(Name, Counter);
  Counters.insert(Name);
  shape::Interval Trips = Facts.range(Count);
  int64_t Most = Trips.Max == shape::Interval::Unbounded
                     ? Trips.Max
                     : std::max<int64_t>(Trips.Max - 1, 0);
  Facts.declare(Name, {.Min = 0, .Max = Most});
  return Counter;
}

void Importer::forgetCounter(const Expr &Counter) {
  std::string Name = *Counter.asSymbol();
  Symbols.erase(Name);
  Counters.erase(Name);
  shape::Facts Left;
  for (const auto &[Other, Known] : Facts.symbols())
    if (Other != Name)
      Left.declare(Other, Known);
  Facts = Left;
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
static bool checkLoop(NodeImport &N, LoopOp Loop) {
  Operation *Yield = Loop.getBody().front().getTerminator();
  for (unsigned I = 0; I < Loop.getNumCarried(); ++I) {
    Value Init = Loop.getInits()[I], Next = Yield->getOperand(I);
    if (Init.getType() != Next.getType() && !unifyTypes(N, Init, Next)) {
      N.unsupported("an iteration takes " + typeText(Init) + " and gives " +
                    typeText(Next) + " as the next one's");
      return false;
    }
  }
  if (!changesSizes(Loop))
    return true;
  N.unsupported("a size inside changes from iteration to iteration");
  return false;
}

/// The same loop with the results that its body gives.
static LoopOp withResults(LoopOp Draft, ArrayRef<bool> Reversed, OpBuilder &B) {
  Operation *Yield = Draft.getBody().front().getTerminator();
  SmallVector<Type> Types;
  for (auto [I, V] : llvm::enumerate(Yield->getOperands())) {
    SymbolicTensorType Ty = typeOf(V);
    Dims Sizes(Ty.getDims());
    if (I >= Draft.getNumCarried())
      Sizes.insert(Sizes.begin(), Draft.getTrips());
    Types.push_back(checkedType(Sizes, Ty.getElementType()));
    if (!Types.back())
      return {};
  }
  auto Loop = LoopOp::create(B, Draft.getLoc(), Types, Draft.getCounter(),
                             Draft.getCount(), Draft.getInits(), Reversed);
  Loop.getBody().takeBody(Draft.getBody());
  Draft.erase();
  return Loop;
}

std::optional<SmallVector<Value>>
Importer::loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
               ArrayRef<bool> Reversed, LoopFunction Body) {
  if (llvm::is_contained(Inits, Value()) || !mayNest(N, Bodies.size()))
    return std::nullopt;
  Expr Counter = makeCounter(Count);
  auto Draft = LoopOp::create(B, N.loc(), TypeRange(), *Counter.asSymbol(),
                              DimsAttr::get(B.getContext(), {Count}), Inits,
                              ArrayRef<bool>());
  std::optional<SmallVector<Value>> Yielded = importBody(
      Draft, Draft.getBody(), TypeRange(ValueRange(Inits)),
      [&](ArrayRef<Value> Carried) { return Body(Counter, Carried); });
  LoopOp Loop;
  if (Yielded && checkLoop(N, Draft)) {
    Loop = withResults(Draft, Reversed, B);
    if (!Loop)
      N.unsupported("all iterations together give what no tensor can be");
  }
  if (!Loop) {
    Draft.walk([&](LoopOp Lost) {
      forgetCounter(Expr::symbol(Lost.getCounter().str()));
    });
    Draft.erase();
    return std::nullopt;
  }
  return SmallVector<Value>(Loop.getResults());
}

bool Importer::attempt(NodeImport &N,
                       llvm::function_ref<bool(NodeImport &)> Try) {
  kpc::Diagnostics Before = *Diags;
  size_t NodesBefore = Inlined;
  NodeImport Trial(*this, N.node(), B, N.loc());
  if (Try(Trial) && !Trial.bad())
    return true;
  *Diags = std::move(Before);
  Inlined = NodesBefore;
  return false;
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
static SmallVector<Value> chosen(NodeImport &N, IfOp If) {
  Value Condition = N.reshape(If.getCondition(), {});
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
    Results.push_back(N.select(Condition, A, C));
  return Results;
}

std::optional<bool> Importer::knownBool(Value V) {
  std::optional<Contents> C = Evaluator.contents(V);
  if (!C || C->isReal() || C->count() != 1 || !C->Whole[0].isConstant())
    return std::nullopt;
  return C->Whole[0] != Expr(0);
}

/// `V` with other sizes, which it has whenever it is taken.
static Value withSizes(NodeImport &N, Value V, ArrayRef<Expr> Sizes) {
  for (size_t I = 0; V && I < Sizes.size(); ++I) {
    Dims Own(Emitter::dims(V));
    if (Own[I] == Sizes[I])
      continue;
    // One more element, so that there is one to read.
    auto Axis = static_cast<int64_t>(I);
    Ints None(Own.size(), 0), High(Own.size(), 0);
    High[I] = 1;
    Value Longer =
        N.pad(V, N.scalarInt(0, Emitter::element(V)), None, High, None);
    Value At =
        N.min(N.iota({Sizes[I]}, 0, N.i64()), N.sizeScalar(Own[I], N.i64()));
    V = N.gather(Longer, At, Axis);
  }
  return V;
}

bool Importer::decideBranchSizes(NodeImport &N, IfOp Draft, Value Condition,
                                 unsigned I) {
  Operation *Then = Draft.getThen().front().getTerminator(),
            *Else = Draft.getOtherwise().front().getTerminator();
  Value A = Then->getOperand(I), C = Else->getOperand(I);
  if (Diags != &TheDiags || !Bodies.empty() ||
      Emitter::rank(A) != Emitter::rank(C) ||
      Emitter::element(A) != Emitter::element(C))
    return false;
  Dims Sizes(Emitter::dims(A)), Others(Emitter::dims(C));
  OpBuilder::InsertionGuard Guard(B);
  B.setInsertionPoint(Draft);
  for (size_t Axis = 0; Axis < Sizes.size(); ++Axis) {
    if (Sizes[Axis] == Others[Axis])
      continue;
    Value Count = N.select(Condition, N.sizeScalar(Sizes[Axis], N.i64()),
                           N.sizeScalar(Others[Axis], N.i64()));
    const std::string &Output = N.node().Outputs[I];
    std::string Wanted = declaredName(Output, Axis);
    Sizes[Axis] = addDataSize(N, Count, Expr::max(Sizes[Axis], Others[Axis]),
                              Wanted.empty() ? Output + "_size" : Wanted);
  }
  for (Operation *Yield : {Then, Else}) {
    B.setInsertionPoint(Yield);
    Value Fitted = withSizes(N, Yield->getOperand(I), Sizes);
    if (!Fitted)
      return false;
    Yield->setOperand(I, Fitted);
  }
  return true;
}

std::optional<SmallVector<Value>>
Importer::branch(NodeImport &N, Value Condition, const Graph &Then,
                 const Graph &Else, size_t Count) {
  Condition = N.reshape(Condition, {});
  if (!Condition || !mayNest(N, Bodies.size()))
    return std::nullopt;
  auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
  auto Fill = [&](const Graph &G, Region &Body) {
    return importBody(Draft, Body, {}, [&](ArrayRef<Value>) {
      auto Results = inlineGraph(G, ArrayRef<Value>(), N);
      if (Results)
        Results->resize(Count);
      return Results;
    });
  };
  bool Good = Fill(Then, Draft.getThen()).has_value();
  // What a branch needs of the sizes may decide which one is taken: exporters
  // write a squeeze of a dim that may be 1 as a branch on that.
  if (std::optional<bool> Taken = Good ? knownBool(Condition) : std::nullopt) {
    Draft.erase();
    Evaluator.clear();
    auto Results = inlineGraph(*Taken ? Then : Else, ArrayRef<Value>(), N);
    if (Results)
      Results->resize(Count);
    return Results;
  }
  Good = Good && Fill(Else, Draft.getOtherwise());
  SmallVector<Type> Types;
  for (size_t I = 0; Good && I < Count; ++I) {
    Value A = Draft.getThen().front().getTerminator()->getOperand(I),
          C = Draft.getOtherwise().front().getTerminator()->getOperand(I);
    Good = A.getType() == C.getType() ||
           decideBranchSizes(N, Draft, Condition, static_cast<unsigned>(I)) ||
           unifyTypes(N, A, C);
    if (!Good)
      N.unsupported("the branches give " + typeText(A) + " and " + typeText(C) +
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
    return chosen(N, Draft);
  auto If = IfOp::create(B, N.loc(), Types, Condition);
  If.getThen().takeBody(Draft.getThen());
  If.getOtherwise().takeBody(Draft.getOtherwise());
  Draft.erase();
  return SmallVector<Value>(If.getResults());
}

} // namespace kpc::onnx
