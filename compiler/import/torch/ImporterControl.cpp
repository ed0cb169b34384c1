//===- ImporterControl.cpp - Loops, branches and sizes of data ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"

#include "compiler/import/Control.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

std::string Importer::freshSymbol(const std::string &Wanted) const {
  std::string Name = plainName(Wanted), Base = Name;
  for (unsigned I = 1; Facts.symbols().count(Name); ++I)
    Name = Base + "_" + std::to_string(I);
  return Name;
}

std::optional<SmallVector<Value>> Importer::importBody(
    Operation *Holder, Region &Body, TypeRange Arguments,
    llvm::function_ref<std::optional<SmallVector<Value>>(ArrayRef<Value>)>
        Emit) {
  OpBuilder::InsertionGuard Guard(B);
  SmallVector<Location> Locs(Arguments.size(), Holder->getLoc());
  Block *Inside = B.createBlock(&Body, {}, Arguments, Locs);
  SmallVector<Value> Given(Inside->getArguments());
  std::optional<SmallVector<Value>> Results = Emit(Given);
  if (Results && llvm::is_contained(*Results, Value()))
    Results.reset();
  if (Results)
    YieldOp::create(B, Holder->getLoc(), *Results);
  return Results;
}

/// `V` with its sizes written as those of `Like` where they are equal.
static Value fitted(NodeImport &N, Value V, Value Like) {
  if (!V || V.getType() == Like.getType() ||
      Emitter::element(V) != Emitter::element(Like) ||
      Emitter::rank(V) != Emitter::rank(Like))
    return V;
  for (auto [A, C] : llvm::zip_equal(Emitter::dims(V), Emitter::dims(Like)))
    if (A != C && !N.unify(A, C))
      return V;
  return N.reshape(V, Emitter::dims(Like));
}

std::optional<SmallVector<Value>>
Importer::loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
               ArrayRef<bool> Reversed, frontend::LoopFunction Body,
               Value Begins) {
  if (llvm::is_contained(Inits, Value()) || !frontend::mayNest(N))
    return std::nullopt;
  std::string Counter = freshSymbol("kpc_iteration");
  Counters.insert(Counter);
  shape::Interval Trips = Facts.range(Count);
  Facts.declare(Counter, {.Min = 0,
                          .Max = Trips.Max == shape::Interval::Unbounded
                                     ? Trips.Max
                                     : std::max<int64_t>(Trips.Max - 1, 0)});
  auto Draft = LoopOp::create(B, N.loc(), TypeRange(), Counter,
                              DimsAttr::get(B.getContext(), {Count}), Begins,
                              Inits, ArrayRef<bool>());
  auto Emit = [&](ArrayRef<Value> Carried) {
    std::optional<SmallVector<Value>> Next =
        Body(Expr::symbol(Counter), Carried);
    size_t First = Begins ? 1 : 0; // after whether it goes on
    size_t Wanted = First + Inits.size() + Reversed.size();
    if (Next && Next->size() != Wanted) {
      N.fail(Code::ImportMalformed, "expected " + std::to_string(Wanted) +
                                        " values of the loop's body, got " +
                                        std::to_string(Next->size()));
      Next.reset();
    }
    for (size_t I = 0; Next && I < Inits.size(); ++I)
      (*Next)[First + I] = fitted(N, (*Next)[First + I], Inits[I]);
    return Next;
  };
  LoopOp Loop;
  if (importBody(Draft, Draft.getBody(), TypeRange(ValueRange(Inits)), Emit))
    Loop = frontend::finishLoop(N, Draft, Reversed);
  if (!Loop) {
    Draft.erase();
    return std::nullopt;
  }
  return SmallVector<Value>(Loop.getResults());
}

std::optional<SmallVector<Value>>
Importer::branch(NodeImport &N, Value Condition, SideFunction Then,
                 SideFunction Else, size_t Count) {
  Condition = N.reshape(N.cast(Condition, N.i1()), {});
  if (!Condition || !frontend::mayNest(N))
    return std::nullopt;
  auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
  std::optional<SmallVector<Value>> First;
  auto Fill = [&](SideFunction Side, Region &Body) {
    auto Emit = [&](ArrayRef<Value>) -> std::optional<SmallVector<Value>> {
      std::optional<SmallVector<Value>> Results = Side();
      if (!Results || Results->size() < Count)
        return std::nullopt;
      Results->resize(Count);
      for (size_t I = 0; First && I < Count; ++I)
        (*Results)[I] = fitted(N, (*Results)[I], (*First)[I]);
      return Results;
    };
    return importBody(Draft, Body, {}, Emit);
  };
  First = Fill(Then, Draft.getThen());
  if (First && Fill(Else, Draft.getOtherwise()))
    return frontend::finishBranches(N, Draft, Count);
  Draft.erase();
  return std::nullopt;
}

/// Forgets values that were made inside of an op: they end with it.
void Importer::leaveBody(Operation *Holder) {
  for (auto It = Values.begin(); It != Values.end();) {
    Value Made = It->second->Made;
    if (Made && Holder->isAncestor(Made.getParentRegion()->getParentOp()))
      It = Values.erase(It);
    else
      ++It;
  }
}

NodeImport Importer::statement(const Node &Where) {
  return {*this, Where, B,
          NameLoc::get(B.getStringAttr(place(Where).Node),
                       NameLoc::get(B.getStringAttr(Where.Target)))};
}

/// Reads all there is: what is read inside must not be made anew there.
Importer::Versions Importer::versionsRead(NodeImport &N) {
  Versions Of;
  for (const auto &[Name, V] : Values) {
    (void)read(*V, N);
    Of.emplace(V->Of.get(), V->Of->Version);
  }
  return Of;
}

/// What a body yields, unless it wrote to what is from outside.
static std::optional<SmallVector<Value>>
unlessWritten(NodeImport &N, std::optional<SmallVector<Value>> Results,
              bool Wrote) {
  if (!Results || !Wrote)
    return Results;
  N.fail(Code::ImportNotConstant,
         "writes to a tensor from outside in a branch or loop that data "
         "decides");
  return std::nullopt;
}

std::optional<SmallVector<Value>> Importer::branch(const Node &Where,
                                                   Value Condition,
                                                   SideFunction Then,
                                                   SideFunction Else) {
  NodeImport N = statement(Where);
  Versions Before = versionsRead(N);
  auto Side = [&](SideFunction Emit) {
    auto Results = Emit();
    return unlessWritten(N, std::move(Results), isWritten(Before));
  };
  Condition = N.reshape(N.cast(Condition, N.i1()), {});
  if (!Condition || !frontend::mayNest(N))
    return std::nullopt;
  auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
  std::optional<SmallVector<Value>> First, Second;
  First = importBody(Draft, Draft.getThen(), {},
                     [&](ArrayRef<Value>) { return Side(Then); });
  leaveBody(Draft);
  if (First)
    Second =
        importBody(Draft, Draft.getOtherwise(), {},
                   [&](ArrayRef<Value>) -> std::optional<SmallVector<Value>> {
                     std::optional<SmallVector<Value>> Results = Side(Else);
                     if (!Results || Results->size() != First->size())
                       return std::nullopt;
                     for (auto [V, Like] : llvm::zip_equal(*Results, *First))
                       V = fitted(N, V, Like);
                     return Results;
                   });
  leaveBody(Draft);
  if (Second)
    return frontend::finishBranches(N, Draft, First->size());
  Draft.erase();
  return std::nullopt;
}

std::optional<SmallVector<Value>>
Importer::loop(const Node &Where, const Expr &Count, Value Begins,
               ArrayRef<Value> Inits, frontend::LoopFunction Body) {
  NodeImport N = statement(Where);
  Versions Before = versionsRead(N);
  auto Truth = [&](Value V) { return N.reshape(N.cast(V, N.i1()), {}); };
  auto Iteration = [&](const Expr &I, ArrayRef<Value> Now) {
    Operation *Holder = B.getInsertionBlock()->getParentOp();
    auto Next = Body(I, Now);
    if (Next && Begins)
      Next->front() = Truth(Next->front());
    Next = unlessWritten(N, std::move(Next), isWritten(Before));
    leaveBody(Holder);
    return Next;
  };
  return loop(N, Count, Inits, {}, Iteration, Begins ? Truth(Begins) : Value());
}

bool Importer::namesCounter(const Expr &E) const {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  return llvm::any_of(Names, [&](const std::string &Name) {
    return Counters.count(Name) != 0;
  });
}

bool Importer::isWritten(const Versions &Since) {
  return llvm::any_of(
      Since, [](const auto &One) { return One.first->Version != One.second; });
}

const Size *Importer::declaredNumber(std::string_view Name) const {
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Numbers.find(Name); It != G->Numbers.end())
      return &It->second;
  return nullptr;
}

std::optional<Relation> Importer::condition(std::string_view Name) const {
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Conditions.find(Name); It != G->Conditions.end())
      return parseRelation(It->second, Symbols);
  return std::nullopt;
}

std::optional<Expr> Importer::decideSize(NodeImport &N, Value Count,
                                         const Expr &AtMost,
                                         const Size *Declared,
                                         const std::string &Wanted) {
  if (!Count)
    return std::nullopt;
  if (std::optional<Expr> Known = Declared ? sizeOf(*Declared) : std::nullopt)
    return Known;
  if (isa<LoopOp, IfOp>(B.getInsertionBlock()->getParentOp())) {
    N.fail(Code::ImportNotConstant,
           "how many elements there are is known only when the model runs, and "
           "not before the loop or branch around it");
    return std::nullopt;
  }
  std::string Symbol = Declared ? loneSymbol(Declared->Text) : "";
  auto Named = DecidedNames.find(Symbol);
  // Results of TorchScript begin with a sign that no name of a user has.
  llvm::StringRef Own = llvm::StringRef(Wanted).ltrim('%');
  std::string Name =
      freshSymbol(Named == DecidedNames.end() ? Own.str() : Named->second);
  shape::SymbolFacts Known;
  if (auto It = P.Ranges.find(Symbol); It != P.Ranges.end()) {
    Known.Min = It->second.Min;
    Known.Max = It->second.Max;
  }
  if (auto It = Given.find(Name); It != Given.end()) {
    Known.Min = std::max(Known.Min, It->second.Min);
    Known.Max = std::min(Known.Max, It->second.Max);
    Known.Optimum = It->second.Optimum;
    Known.Divisor = It->second.Divisor;
  }
  Known.Max = std::max(Known.Min, std::min(Known.Max, Facts.range(AtMost).Max));
  if (Known.Optimum)
    Known.Optimum = std::clamp(*Known.Optimum, Known.Min, Known.Max);
  Expr Size = Expr::symbol(Name);
  if (Known.Min == Known.Max)
    Size = Expr(Known.Min);
  else
    Facts.declare(Name, Known);
  if (!Symbol.empty())
    Symbols.emplace(Symbol, Size);
  Decided.add(N.reshape(N.cast(Count, N.i64()), {}), Size, AtMost);
  return Size;
}

} // namespace kpc::torch
