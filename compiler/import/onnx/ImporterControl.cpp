//===- ImporterControl.cpp - Loops and branches of a graph ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Control.h"
#include "compiler/import/onnx/Importer.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

std::optional<SmallVector<Value>> Importer::importBody(Operation *Holder,
                                                       Region &Body,
                                                       TypeRange Arguments,
                                                       BodyFunction Emit) {
  OpBuilder::InsertionGuard Guard(B);
  SmallVector<Location> Locs(Arguments.size(), Holder->getLoc());
  Block *Inside = B.createBlock(&Body, {}, Arguments, Locs);
  Bodies.push_back({Scopes.size(), Holder, {}});
  SmallVector<Value> Given(Inside->getArguments());
  std::optional<SmallVector<Value>> Results = Emit(Given);
  BodyFlags = std::move(Bodies.back().Flags);
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
// Checks of what bodies compute
//===----------------------------------------------------------------------===//

/// Numbers of the model become its sizes outside of loops and branches alone.
void Importer::addForbidden(NodeImport &N, Forbidden F) {
  if (!Bodies.empty())
    return Bodies.back().Flags.push_back(std::move(F));
  Expr Size = addDataSize(N, F.Flag, Expr(1), N.node().Outputs[0] + "_fault");
  Requirements.push_back({Size, Expr(0), /*Equal=*/true, F.What});
}

void Importer::addForbidden(NodeImport &N, std::vector<Forbidden> All) {
  for (Forbidden &F : All)
    addForbidden(N, std::move(F));
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

std::optional<SmallVector<Value>>
Importer::loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
               ArrayRef<bool> Reversed, frontend::LoopFunction Body,
               Value Begins) {
  if (llvm::is_contained(Inits, Value()) || !frontend::mayNest(N))
    return std::nullopt;
  Expr Counter = makeCounter(Count);
  auto Draft = LoopOp::create(B, N.loc(), TypeRange(), *Counter.asSymbol(),
                              DimsAttr::get(B.getContext(), {Count}), Begins,
                              Inits, ArrayRef<bool>());
  std::optional<SmallVector<Value>> Yielded = importBody(
      Draft, Draft.getBody(), TypeRange(ValueRange(Inits)),
      [&](ArrayRef<Value> Carried) { return Body(Counter, Carried); });
  std::vector<Forbidden> Flags = std::move(BodyFlags);
  LoopOp Loop;
  if (Yielded) {
    frontend::carryFlags(N, Draft, Flags);
    Loop = frontend::finishLoop(N, Draft, Reversed);
  }
  if (!Loop) {
    Draft.walk([&](LoopOp Lost) {
      forgetCounter(Expr::symbol(Lost.getCounter().str()));
    });
    Draft.erase();
    return std::nullopt;
  }
  SmallVector<Value> Results(Loop.getResults());
  addForbidden(N, frontend::takeFlags(Results, Inits.size(), Flags));
  return Results;
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

std::optional<SmallVector<Value>> Importer::branch(
    NodeImport &N, Value Condition,
    llvm::function_ref<std::optional<SmallVector<Value>>()> Then,
    llvm::function_ref<std::optional<SmallVector<Value>>(ArrayRef<Value>)>
        Else) {
  if (!Condition || !frontend::mayNest(N))
    return std::nullopt;
  auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
  auto First = importBody(Draft, Draft.getThen(), {},
                          [&](ArrayRef<Value>) { return Then(); });
  std::vector<Forbidden> Flags = std::move(BodyFlags);
  if (First && importBody(Draft, Draft.getOtherwise(), {},
                          [&](ArrayRef<Value>) { return Else(*First); })) {
    std::vector<Forbidden> Others = std::move(BodyFlags);
    frontend::yieldFlags(N, Draft, Flags, Others);
    llvm::append_range(Flags, Others);
    auto Results =
        frontend::finishBranches(N, Draft, First->size() + Flags.size());
    if (Results)
      addForbidden(N, frontend::takeFlags(*Results, First->size(), Flags));
    return Results;
  }
  Draft.erase();
  return std::nullopt;
}

std::optional<SmallVector<Value>>
Importer::branch(NodeImport &N, Value Condition, const Graph &Then,
                 const Graph &Else, size_t Count) {
  Condition = N.reshape(Condition, {});
  if (!Condition || !frontend::mayNest(N))
    return std::nullopt;
  auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
  auto Fill = [&](const Graph &G, Region &Body) {
    Branches.push_back({&N.node(), Condition});
    llvm::scope_exit Close([&] { Branches.pop_back(); });
    return importBody(Draft, Body, {}, [&](ArrayRef<Value>) {
      auto Results = inlineGraph(G, ArrayRef<Value>(), N);
      if (Results)
        Results->resize(Count);
      return Results;
    });
  };
  bool Good = Fill(Then, Draft.getThen()).has_value();
  std::vector<Forbidden> Flags = std::move(BodyFlags);
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
  if (Good) {
    std::vector<Forbidden> Others = std::move(BodyFlags);
    frontend::yieldFlags(N, Draft, Flags, Others);
    llvm::append_range(Flags, Others);
    auto Results = frontend::finishBranches(
        N, Draft, Count + Flags.size(),
        [&](unsigned I) { return decideBranchSizes(N, Draft, Condition, I); });
    if (Results)
      addForbidden(N, frontend::takeFlags(*Results, Count, Flags));
    return Results;
  }
  Draft.erase();
  return std::nullopt;
}

} // namespace kpc::onnx
