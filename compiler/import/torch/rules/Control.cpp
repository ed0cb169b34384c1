//===- Control.cpp - Import of calls, branches and loops ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operators that take graphs. Their arguments have no names: graphs and lists
/// of tensors in an order that each of them says.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/TripCount.h"

using namespace kpc::graph;

namespace kpc::torch {

using Kind = Argument::Kind;
using Values = std::optional<SmallVector<Value>>;

/// Loops of up to so many iterations are unrolled: kernels of one iteration can
/// then be merged with those of the next.
static constexpr int64_t MostUnrolled = 16;

/// The tensors of an argument; none after a report.
static Values valuesOf(NodeImport &N, const Argument &A) {
  SmallVector<Value> All;
  for (const std::string &Name : A.Values) {
    if (Name.empty()) {
      N.unsupported("a number among what it hands on; kpc takes tensors");
      return std::nullopt;
    }
    All.push_back(N.importer().value(Name, N));
    if (!All.back())
      return std::nullopt;
  }
  return All;
}

/// The graph of argument `I`; null after a report.
static const Graph *graphOf(NodeImport &N, size_t I) {
  const std::vector<Argument> &Args = N.node().Inputs;
  if (I < Args.size() && Args[I].Is == Kind::Graph)
    return Args[I].Sub.get();
  N.fail(Code::ImportMalformed,
         "argument " + std::to_string(I) + " should be a graph");
  return nullptr;
}

/// The tensors of argument `I`, none of them if it is left out.
static Values listOf(NodeImport &N, size_t I) {
  const std::vector<Argument> &Args = N.node().Inputs;
  return I < Args.size() ? valuesOf(N, Args[I]) : Values(std::in_place);
}

static void giveAll(NodeImport &N, const Values &Results) {
  if (!Results)
    return N.give();
  for (size_t I = 0; I < Results->size(); ++I)
    N.result(I, (*Results)[I]);
}

/// Settings of the exporter around a graph have no meaning here.
static void wrapped(NodeImport &N) {
  const std::vector<Argument> &Args = N.node().Inputs;
  for (size_t I = 0; I < Args.size(); ++I)
    if (Args[I].Is == Kind::Graph) {
      SmallVector<Value> Inputs;
      for (size_t J = I + 1; J < Args.size(); ++J)
        for (const std::string &Name : Args[J].Values)
          Inputs.push_back(Name.empty() ? Value()
                                        : N.importer().value(Name, N));
      if (N.bad())
        return;
      return giveAll(N, N.importer().inlineGraph(*Args[I].Sub, Inputs, N));
    }
  N.give();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// What a condition on sizes is, where they say; else the sizes' comparison.
static std::optional<bool> sizesSay(NodeImport &N, const Relation &R,
                                    Value &Condition) {
  const shape::Facts &F = N.importer().facts();
  using K = Relation::Kind;
  std::optional<bool> Known;
  if (R.Is == K::Less) {
    Known = F.isLessOrEqual(R.Left + 1, R.Right);
    if (!Known && F.isLessOrEqual(R.Right, R.Left) == true)
      Known = false;
  } else if (R.Is == K::LessOrEqual) {
    Known = F.isLessOrEqual(R.Left, R.Right);
    if (!Known && F.isLessOrEqual(R.Right + 1, R.Left) == true)
      Known = false;
  } else if (std::optional<bool> Equal = F.isEqual(R.Left, R.Right)) {
    Known = *Equal == (R.Is == K::Equal);
  }
  if (!Known)
    Condition = N.compare(R.Is == K::Less          ? Predicate::lt
                          : R.Is == K::LessOrEqual ? Predicate::le
                          : R.Is == K::Equal       ? Predicate::eq
                                                   : Predicate::ne,
                          N.sizeScalar(R.Left, N.i64()),
                          N.sizeScalar(R.Right, N.i64()));
  return Known;
}

static void cond(NodeImport &N) {
  const Graph *Then = graphOf(N, 1), *Else = graphOf(N, 2);
  Values Inputs = listOf(N, 3);
  if (!Then || !Else || !Inputs)
    return N.give();
  const Argument &A = N.node().Inputs[0];
  std::optional<bool> Known;
  Value Condition;
  if (A.Is == Kind::Bool && !A.Values.empty() && A.Values[0].empty())
    Known = A.Ints[0] != 0;
  else if (A.Is == Kind::Bool && !A.Values.empty()) {
    if (auto R = N.importer().condition(A.Values[0]))
      Known = sizesSay(N, *R, Condition);
  } else if (A.Is == Kind::Tensor) {
    Condition = N.importer().value(A.Values[0], N);
  }
  if (Known)
    return giveAll(
        N, N.importer().inlineGraph(*Known ? *Then : *Else, *Inputs, N));
  if (!Condition)
    return (void)N.unsupported("a branch whose condition is no tensor and no "
                               "relation of sizes");
  auto Side = [&](const Graph &G) {
    return [&] { return N.importer().inlineGraph(G, *Inputs, N); };
  };
  giveAll(N, N.importer().branch(N, Condition, Side(*Then), Side(*Else),
                                 N.resultCount()));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Runs `Body` `Trips` times, unrolled where these are few: from the number of
/// an iteration and `Carries` values to the next ones and what is collected.
/// The last values, and what was collected with a new first axis.
static Values repeat(NodeImport &N, const Expr &Trips, SmallVector<Value> Carry,
                     frontend::LoopFunction Body, size_t Collected) {
  std::optional<int64_t> Number = Trips.asConstant();
  if (!Number || *Number > MostUnrolled)
    return N.loop(Trips, Carry, SmallVector<bool>(Collected, false), Body);
  std::vector<SmallVector<Value>> Parts(Collected);
  size_t Carried = Carry.size();
  for (int64_t I = 0; I < *Number; ++I) {
    Values Next = Body(Expr(I), Carry);
    if (!Next || Next->size() != Carried + Collected)
      return std::nullopt;
    for (size_t C = 0; C < Collected; ++C)
      Parts[C].push_back(N.unsqueeze((*Next)[Carried + C], {0}));
    Carry.assign(Next->begin(), Next->begin() + static_cast<long>(Carried));
  }
  for (const SmallVector<Value> &All : Parts) {
    if (All.empty()) {
      N.unsupported("a loop that collects nothing");
      return std::nullopt;
    }
    Carry.push_back(N.concat(All, 0));
  }
  return Carry;
}

/// Part `I` of the first axis of each.
static SmallVector<Value> partsAt(NodeImport &N, ArrayRef<Value> Xs,
                                  const Expr &I) {
  SmallVector<Value> Parts;
  for (Value X : Xs)
    Parts.push_back(N.reshape(N.sliceAxis(X, 0, I, 1), N.dims(X).drop_front()));
  return Parts;
}

/// The size that all first axes have; none after a report.
static std::optional<Expr> lengthOf(NodeImport &N, ArrayRef<Value> Xs) {
  std::optional<Expr> Length;
  for (Value X : Xs) {
    if (N.rank(X) == 0 || (Length && *Length != N.dims(X)[0] &&
                           !N.unify(*Length, N.dims(X)[0]))) {
      N.fail(Code::ImportShape, "goes over tensors whose first sizes differ");
      return std::nullopt;
    }
    if (!Length)
      Length = N.dims(X)[0];
  }
  if (!Length)
    N.fail(Code::ImportArity, "goes over no tensor");
  return Length;
}

static SmallVector<Value> joined(ArrayRef<Value> A, ArrayRef<Value> C) {
  SmallVector<Value> All(A);
  All.append(C.begin(), C.end());
  return All;
}

/// (condition, body, carried, additional)
static void whileLoop(NodeImport &N) {
  const Graph *Condition = graphOf(N, 0), *Body = graphOf(N, 1);
  Values Carried = listOf(N, 2), More = listOf(N, 3);
  if (!Condition || !Body || !Carried || !More)
    return N.give();
  std::optional<TripCount> Trips =
      tripCount(*Condition, *Body, *Carried, *More, N.importer().facts());
  auto Iteration = [&](const Expr &, ArrayRef<Value> Now) -> Values {
    return N.importer().inlineGraph(*Body, joined(Now, *More), N);
  };
  if (Trips && !Trips->MayEndEarlier)
    return giveAll(N, repeat(N, Trips->Most, *Carried, Iteration, 0));
  auto GoesOn = [&](ArrayRef<Value> Now) -> Value {
    Values Goes = N.importer().inlineGraph(*Condition, joined(Now, *More), N);
    if (!Goes || Goes->size() != 1)
      return {};
    return N.reshape(N.cast(Goes->front(), N.i1()), {});
  };
  auto UntilData = [&](const Expr &I, ArrayRef<Value> Now) -> Values {
    Values Next = Iteration(I, Now);
    if (!Next || Next->size() != Now.size())
      return std::nullopt;
    Next->insert(Next->begin(), GoesOn(*Next));
    return Next;
  };
  Value Begins = GoesOn(*Carried);
  if (!Begins)
    return N.give();
  giveAll(N, N.loop(Trips ? Trips->Most : Expr(frontend::Endless), *Carried, {},
                    UntilData, Begins));
}

/// (combine, init, xs, additional); PyTorch 2.6 had numbers among them.
static void scan(NodeImport &N) {
  const Graph *Combine = graphOf(N, 0);
  Values Init = listOf(N, 1), Xs = listOf(N, 2);
  const std::vector<Argument> &Args = N.node().Inputs;
  size_t At = 3;
  for (; At < Args.size() && Args[At].Is != Kind::Tensors; ++At)
    if (!Args[At].Ints.empty() && Args[At].Ints[0] != 0)
      return (void)N.unsupported("a scan along another axis than the first, or "
                                 "from its end");
  Values More = listOf(N, At);
  if (!Combine || !Init || !Xs || !More)
    return N.give();
  std::optional<Expr> Length = lengthOf(N, *Xs);
  if (!Length || N.resultCount() < Init->size())
    return N.give();
  auto Iteration = [&](const Expr &I, ArrayRef<Value> Now) -> Values {
    SmallVector<Value> Inputs = joined(joined(Now, partsAt(N, *Xs, I)), *More);
    return N.importer().inlineGraph(*Combine, Inputs, N);
  };
  giveAll(N,
          repeat(N, *Length, *Init, Iteration, N.resultCount() - Init->size()));
}

/// (body, xs, additional)
static void map(NodeImport &N) {
  const Graph *Body = graphOf(N, 0);
  Values Xs = listOf(N, 1), More = listOf(N, 2);
  if (!Body || !Xs || !More)
    return N.give();
  std::optional<Expr> Length = lengthOf(N, *Xs);
  if (!Length)
    return;
  auto Iteration = [&](const Expr &I, ArrayRef<Value>) -> Values {
    return N.importer().inlineGraph(*Body, joined(partsAt(N, *Xs, I), *More),
                                    N);
  };
  giveAll(N, repeat(N, *Length, {}, Iteration, N.resultCount()));
}

/// (combine, xs, additional): each result combines all parts up to its own.
static void associativeScan(NodeImport &N) {
  const Graph *Combine = graphOf(N, 0);
  Values Xs = listOf(N, 1), More = listOf(N, 2);
  if (!Combine || !Xs || !More)
    return N.give();
  std::optional<Expr> Length = lengthOf(N, *Xs);
  if (!Length)
    return;
  SmallVector<Value> First = partsAt(N, *Xs, Expr(0));
  auto Iteration = [&](const Expr &I, ArrayRef<Value> Now) -> Values {
    SmallVector<Value> Inputs =
        joined(joined(Now, partsAt(N, *Xs, I + 1)), *More);
    Values Next = N.importer().inlineGraph(*Combine, Inputs, N);
    // What is carried is collected as well.
    if (Next)
      Next->append(SmallVector<Value>(*Next));
    return Next;
  };
  if (*Length == Expr(1))
    return giveAll(N, *Xs);
  Values All = repeat(N, *Length - 1, First, Iteration, First.size());
  if (!All)
    return N.give();
  for (size_t I = 0; I < First.size(); ++I)
    N.result(
        I, N.concat({N.unsqueeze(First[I], {0}), (*All)[First.size() + I]}, 0));
}

ArrayRef<Rule> controlRules() {
  static const Rule Rows[] = {
      {"higher_order.associative_scan", associativeScan},
      {"higher_order.cond", cond, InPlace::No,
       "both branches give results of the same types and sizes"},
      {"higher_order.map_impl", map},
      {"higher_order.scan", scan, InPlace::No, "along the first axis"},
      {"higher_order.while_loop", whileLoop, InPlace::No,
       "what is carried keeps its sizes"},
      {"higher_order.wrap_with_autocast", wrapped},
      {"higher_order.wrap_with_set_grad_enabled", wrapped},
  };
  return Rows;
}

} // namespace kpc::torch
