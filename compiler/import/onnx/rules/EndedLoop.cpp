//===- EndedLoop.cpp - Import of loops that their own data ends -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/EndedLoop.h"
#include "compiler/import/onnx/Importer.h"

using namespace kpc::graph;

namespace kpc::onnx {

Contents scalarContents(ElementType Type, const Expr &E) {
  Contents C;
  C.Type = Type;
  C.Whole = {E};
  return C;
}

/// What an iteration gives, where the loop goes on, else what there was.
static Value kept(NodeImport &N, Value GoesOn, Value New, Value Old) {
  if (!New || !Old || N.rank(New) != N.rank(Old) ||
      N.element(New) != N.element(Old))
    return N.unsupported("what the loop carries changes its type, and when the "
                         "loop ends is known only when the model runs");
  for (size_t I = 0; I < N.dims(New).size(); ++I)
    if (N.dims(New)[I] != N.dims(Old)[I] &&
        !N.unify(Expr(N.dims(New)[I]), Expr(N.dims(Old)[I])))
      return N.unsupported("a size that the loop carries changes, and when the "
                           "loop ends is known only when the model runs");
  return N.select(GoesOn, New, Old);
}

/// A loop that its own data may end: all iterations that there may be are
/// computed, and those after the end change nothing.
static void buildEndedLoop(NodeImport &N, const Graph &Body,
                           const Expr &Trips) {
  Importer &Imp = N.importer();
  Value Begins = N.hasInput(1) ? N.input(1) : N.scalarInt(1, N.i1());
  SmallVector<Value> Inits = {N.reshape(Begins, {}), N.scalarInt(0, N.i64())};
  for (size_t I = 2; I < N.inputCount(); ++I)
    Inits.push_back(N.input(I));
  if (N.bad())
    return;
  size_t States = Inits.size() - 2, Scanned = Body.Outputs.size() - 1 - States;
  auto Iteration =
      [&](const Expr &I,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    auto Define = [&] {
      Imp.define(Body.Inputs[0].Name, scalarContents(ElementType::Int64, I));
      Imp.define(Body.Inputs[1].Name, scalarContents(ElementType::Bool, 1));
      for (auto [Info, V] : llvm::zip_equal(llvm::drop_begin(Body.Inputs, 2),
                                            Carried.drop_front(2)))
        Imp.define(Info.Name, V);
    };
    std::optional<SmallVector<Value>> Results =
        Imp.inlineGraph(Body, Define, N);
    if (!Results)
      return std::nullopt;
    Value GoesOn = Carried[0], Again = N.reshape(Results->front(), {});
    SmallVector<Value> Next = {N.binary<AndOp>(GoesOn, Again),
                               N.add(Carried[1], N.cast(GoesOn, N.i64()))};
    for (size_t S = 0; S < States; ++S)
      Next.push_back(kept(N, GoesOn, (*Results)[S + 1], Carried[S + 2]));
    Next.append(Results->begin() + 1 + static_cast<ptrdiff_t>(States),
                Results->end());
    if (N.bad() || llvm::is_contained(Next, Value()))
      return std::nullopt;
    return Next;
  };
  std::optional<SmallVector<Value>> Results =
      Imp.loop(N, Trips, Inits, SmallVector<bool>(Scanned, false), Iteration);
  if (!Results)
    return N.result(0, Value());
  for (size_t I = 0; I < States; ++I)
    N.result(I, (*Results)[I + 2]);
  bool Collects = false;
  for (size_t I = 0; I < Scanned; ++I)
    Collects |= N.wants(States + I);
  if (!Collects)
    return;
  std::optional<Expr> Count = N.decideSize((*Results)[1], Trips, 0);
  for (size_t I = 0; Count && I < Scanned; ++I)
    N.result(States + I, N.sliceAxis((*Results)[States + 2 + I], 0, 0, *Count));
}

/// Iterations that are all computed, however early the loop ends.
static constexpr int64_t MostBeforeEnd = 1 << 16;

/// The number of iterations that there may be.
static std::optional<Expr> mostTrips(NodeImport &N) {
  constexpr const char *Hint =
      "give the node's input 0 (M) the most iterations that are needed";
  if (!N.hasInput(0)) {
    N.fail(Code::ImportUnsupported,
           "has no trip count, and when the loop ends is known only when the "
           "model runs",
           Hint);
    return std::nullopt;
  }
  std::optional<std::vector<Expr>> Trips = N.knownSizes(0, "trip count");
  if (!Trips || Trips->size() != 1)
    return std::nullopt;
  Expr Most = Expr::max(Trips->front(), 0);
  if (std::optional<int64_t> Number = Most.asConstant();
      Number && *Number > MostBeforeEnd) {
    N.fail(Code::ImportUnsupported,
           "may have " + std::to_string(*Number) +
               " iterations, and when the loop ends is known only when the "
               "model runs; kpc computes up to " +
               std::to_string(MostBeforeEnd),
           Hint);
    return std::nullopt;
  }
  return N.importer().facts().simplify(Most);
}

void importEndedLoop(NodeImport &N, const Graph &Body) {
  if (std::optional<Expr> Most = mostTrips(N))
    buildEndedLoop(N, Body, *Most);
}

} // namespace kpc::onnx
