//===- ImporterControl.cpp - Loops and branches ---------------------------===//
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
  Bodies.emplace_back();
  SmallVector<Value> Given(Inside->getArguments());
  std::optional<SmallVector<Value>> Results = Emit(Given);
  BodyFlags = std::move(Bodies.back());
  Bodies.pop_back();
  if (Results && llvm::is_contained(*Results, Value()))
    Results.reset();
  if (Results)
    YieldOp::create(B, Holder->getLoc(), *Results);
  return Results;
}

/// `V` with its sizes written as those of `Like` where they are equal.
static Value fitted(NodeImport &N, const shape::Facts &Facts, Value V,
                    Value Like) {
  if (!V || V.getType() == Like.getType() ||
      Emitter::element(V) != Emitter::element(Like) ||
      Emitter::rank(V) != Emitter::rank(Like))
    return V;
  for (auto [A, C] : llvm::zip_equal(Emitter::dims(V), Emitter::dims(Like)))
    if (Facts.isEqual(A, C) != true)
      return V;
  return N.reshape(V, Emitter::dims(Like));
}

std::optional<SmallVector<Value>>
Importer::loop(NodeImport &N, const Expr &Count, ArrayRef<Value> Inits,
               ArrayRef<bool> Reversed, frontend::LoopFunction Body,
               Value Begins) {
  if (llvm::is_contained(Inits, Value()) || !frontend::mayNest(N))
    return std::nullopt;
  std::string Counter =
      Spare.empty() ? freshSymbol("kpc_iteration") : Spare.pop_back_val();
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
      (*Next)[First + I] = fitted(N, Facts, (*Next)[First + I], Inits[I]);
    return Next;
  };
  LoopOp Loop;
  std::vector<Forbidden> Flags;
  if (importBody(Draft, Draft.getBody(), TypeRange(ValueRange(Inits)), Emit)) {
    Flags = std::move(BodyFlags);
    frontend::carryFlags(N, Draft, Flags);
    Loop = frontend::finishLoop(N, Draft, Reversed);
  }
  if (!Loop) {
    Draft.erase();
    return std::nullopt;
  }
  SmallVector<Value> Results(Loop.getResults());
  addForbidden(N, frontend::takeFlags(Results, Inits.size(), Flags));
  return Results;
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
        (*Results)[I] = fitted(N, Facts, (*Results)[I], (*First)[I]);
      return Results;
    };
    return importBody(Draft, Body, {}, Emit);
  };
  First = Fill(Then, Draft.getThen());
  std::vector<Forbidden> Flags = std::move(BodyFlags);
  if (First && Fill(Else, Draft.getOtherwise())) {
    std::vector<Forbidden> Others = std::move(BodyFlags);
    frontend::yieldFlags(N, Draft, Flags, Others);
    llvm::append_range(Flags, Others);
    auto Results = frontend::finishBranches(N, Draft, Count + Flags.size());
    if (Results)
      addForbidden(N, frontend::takeFlags(*Results, Count, Flags));
    return Results;
  }
  Draft.erase();
  return std::nullopt;
}

void Importer::defineJoined(const std::string &Name, Value V, const Shown &Of) {
  define(Name, V);
  Storage &Made = *Values[Name]->Of;
  Made.Joined = true;
  for (const std::shared_ptr<Storage> &S : Of)
    Made.Shows.emplace_back(S, S->Now);
}

bool Importer::addShown(const std::string &Name, unsigned Mark,
                        Shown &To) const {
  auto It = Values.find(Name);
  if (It == Values.end())
    return false;
  size_t Had = To.size();
  auto Add = [&](const std::shared_ptr<Storage> &S) {
    if (S->Made <= Mark)
      To.insert(S);
  };
  Add(It->second->Of);
  for (const auto &[S, Then] : It->second->Of->Shows)
    Add(S);
  return To.size() != Had;
}

/// Forgets values that were made inside of an op: they end with it. Names from
/// outside stay: what shows a storage that changed is made anew.
void Importer::leaveBody(Operation *Holder, const std::set<std::string> &Stay) {
  for (auto It = Values.begin(); It != Values.end();) {
    Value Made = It->second->Made;
    if (Made && !Stay.count(It->first) &&
        Holder->isAncestor(Made.getParentRegion()->getParentOp()))
      It = Values.erase(It);
    else
      ++It;
  }
}

std::set<std::string> Importer::namesOfValues() const {
  std::set<std::string> Names;
  for (const auto &[Name, V] : Values)
    Names.insert(Name);
  return Names;
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

/// Erases what was walked to learn what it writes to. Its counters are free
/// again: facts of a size that nothing has would have to be given in a run.
void Importer::discard(Operation *Walked) {
  Walked->walk([&](LoopOp Loop) { Spare.push_back(Loop.getCounter().str()); });
  Walked->erase();
}

/// The storages that changed since, as what they were before.
void Importer::takeBack(const Versions &Since, Changes &Into) {
  for (const auto &[Of, Version] : Since)
    if (Of->Version != Version &&
        llvm::none_of(Into, [&](const Change &C) { return C.Of == Of; }))
      Into.push_back({Of, {}});
}

void Importer::setStorage(Storage &Of, Value Now) {
  Of.Now = Now;
  ++Of.Version;
}

std::optional<SmallVector<Value>> Importer::branch(const Node &Where,
                                                   Value Condition,
                                                   SideFunction Then,
                                                   SideFunction Else) {
  NodeImport N = statement(Where);
  Condition = N.reshape(N.cast(Condition, N.i1()), {});
  if (!Condition || !frontend::mayNest(N))
    return std::nullopt;
  // What a side writes to is known once it was walked: then both give it.
  Changes Changed;
  while (true) {
    Versions Before = versionsRead(N);
    std::set<std::string> Stay = namesOfValues();
    for (Change &C : Changed)
      C.Before = C.Of->Now;
    size_t Known = Changed.size();
    Changes All = Changed;
    auto Side = [&](SideFunction Emit) {
      std::optional<SmallVector<Value>> Results = Emit();
      takeBack(Before, All);
      for (Change &C : Changed)
        if (Results)
          Results->push_back(C.Of->Now);
      return Results;
    };
    std::map<Storage *, Value> Held;
    for (const auto &[Of, Version] : Before)
      Held.emplace(Of, Of->Now);
    auto Restore = [&] {
      for (const auto &[Of, Version] : Before)
        if (Of->Version != Version)
          setStorage(*Of, Held.at(Of));
      (void)versionsRead(N);
      for (auto &[Of, Version] : Before)
        Version = Of->Version;
    };
    auto Draft = IfOp::create(B, N.loc(), TypeRange(), Condition);
    std::optional<SmallVector<Value>> First, Second;
    First = importBody(Draft, Draft.getThen(), {},
                       [&](ArrayRef<Value>) { return Side(Then); });
    leaveBody(Draft, Stay);
    B.setInsertionPoint(Draft);
    Restore();
    B.setInsertionPointAfter(Draft);
    if (First)
      Second =
          importBody(Draft, Draft.getOtherwise(), {},
                     [&](ArrayRef<Value>) -> std::optional<SmallVector<Value>> {
                       std::optional<SmallVector<Value>> Results = Side(Else);
                       if (!Results || Results->size() != First->size())
                         return std::nullopt;
                       for (auto [V, Like] : llvm::zip_equal(*Results, *First))
                         V = fitted(N, Facts, V, Like);
                       return Results;
                     });
    leaveBody(Draft, Stay);
    B.setInsertionPoint(Draft);
    Restore();
    B.setInsertionPointAfter(Draft);
    if (!Second) {
      Draft.erase();
      return std::nullopt;
    }
    if (All.size() != Known) {
      discard(Draft);
      Changed = All;
      continue;
    }
    std::optional<SmallVector<Value>> Results =
        frontend::finishBranches(N, Draft, First->size());
    for (size_t I = 0; Results && I < Known; ++I)
      setStorage(*Changed[I].Of, (*Results)[Results->size() - Known + I]);
    if (Results)
      Results->truncate(Results->size() - Known);
    return Results;
  }
}

std::optional<SmallVector<Value>>
Importer::loop(const Node &Where, const Expr &Count, Value Begins,
               ArrayRef<Value> Inits, frontend::LoopFunction Body,
               llvm::function_ref<bool()> Settled) {
  NodeImport N = statement(Where);
  auto Truth = [&](Value V) { return N.reshape(N.cast(V, N.i1()), {}); };
  Value Enters = Begins ? Truth(Begins) : Value();
  // What an iteration writes to is known once it was walked: then each hands
  // it on to the next one.
  Changes Changed;
  for (;;) {
    Versions Before = versionsRead(N);
    std::set<std::string> Stay = namesOfValues();
    SmallVector<Value> All(Inits);
    for (Change &C : Changed) {
      C.Before = C.Of->Now;
      All.push_back(C.Of->Now);
    }
    std::map<Storage *, Value> Held;
    for (const auto &[Of, Version] : Before)
      Held.emplace(Of, Of->Now);
    Changes Found = Changed;
    auto Iteration =
        [&](const Expr &I,
            ArrayRef<Value> Now) -> std::optional<SmallVector<Value>> {
      Operation *Holder = B.getInsertionBlock()->getParentOp();
      for (size_t K = 0; K < Changed.size(); ++K)
        setStorage(*Changed[K].Of, Now[Inits.size() + K]);
      auto Next = Body(I, Now.take_front(Inits.size()));
      if (Next && Begins)
        Next->front() = Truth(Next->front());
      takeBack(Before, Found);
      for (Change &C : Changed)
        if (Next)
          Next->push_back(C.Of->Now);
      leaveBody(Holder, Stay);
      return Next;
    };
    size_t Errors = Diags.errorCount();
    unsigned Stale = StaleReads;
    ++Walks;
    std::optional<SmallVector<Value>> Results =
        loop(N, Count, All, {}, Iteration, Enters);
    --Walks;
    for (const auto &[Of, Version] : Before)
      if (Of->Version != Version)
        setStorage(*Of, Held.at(Of));
    if (Diags.errorCount() != Errors)
      return std::nullopt;
    if (!Settled() || Found.size() != Changed.size()) {
      StaleReads = Stale;
      if (Results)
        discard(&*std::prev(B.getInsertionPoint()));
      Changed = Found;
      continue;
    }
    if (!Results)
      return std::nullopt;
    // What the next iteration is handed has the contents of before the write.
    // A loop around this one may be walked again, and know better.
    if (StaleReads != Stale && !Walks) {
      N.fail(Code::ImportNotConstant,
             "writes to a tensor from outside that an iteration also hands on "
             "to the next one; hand on a clone of it");
      return std::nullopt;
    }
    for (size_t I = 0; I < Changed.size(); ++I)
      setStorage(*Changed[I].Of, (*Results)[Inits.size() + I]);
    Results->truncate(Inits.size());
    return Results;
  }
}

bool Importer::namesCounter(const Expr &E) const {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  return llvm::any_of(Names, [&](const std::string &Name) {
    return Counters.count(Name) != 0;
  });
}

std::optional<Relation> Importer::condition(std::string_view Name) const {
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Conditions.find(Name); It != G->Conditions.end())
      return parseRelation(It->second, Symbols);
  return std::nullopt;
}

} // namespace kpc::torch
