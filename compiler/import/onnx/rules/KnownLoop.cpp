//===- KnownLoop.cpp - Import of loops whose conditions fold --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exporters write `while i < 10` as a loop without a trip count, whose
/// condition follows from constants alone.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/rules/EndedLoop.h"

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
/// Asks what the condition of a loop follows from, by names alone: to import
/// the body to find out would take time that grows with the power of the depth.
class ConditionOrigin {
public:
  ConditionOrigin(NodeImport &N, const Graph &Body) : N(N), Body(Body) {
    for (const Node &Inner : Body.Nodes)
      for (const std::string &Name : Inner.Outputs)
        Writers[Name] = &Inner;
    for (size_t I = 0; I < Body.Inputs.size(); ++I)
      Inputs[Body.Inputs[I].Name] = I;
  }

  bool isKnown() {
    Open = {Body.Outputs[0].Name};
    for (size_t At = 0; At < Open.size(); ++At)
      if (std::string Name = Open[At];
          Seen.insert(Name).second && !needsNothingUnknown(Name))
        return false;
    return true;
  }

private:
  bool needsNothingUnknown(const std::string &Name) {
    if (auto Writer = Writers.find(Name); Writer != Writers.end()) {
      for (const auto &[Key, A] : Writer->second->Attributes)
        if (!A.Graphs.empty())
          return false;
      for (const std::string &Needed : Writer->second->Inputs)
        if (!Needed.empty())
          Open.push_back(Needed);
      return true;
    }
    if (auto Input = Inputs.find(Name); Input != Inputs.end()) {
      if (Input->second < 2)
        return true;
      Open.push_back(Body.Outputs[Input->second - 1].Name);
      return N.contents(Input->second) != nullptr;
    }
    return Body.Initializers.count(Name) != 0 ||
           N.importer().contents(Name) != nullptr;
  }

  NodeImport &N;
  const Graph &Body;
  std::map<std::string, const Node *> Writers;
  std::map<std::string, size_t> Inputs;
  std::set<std::string> Seen;
  std::vector<std::string> Open;
};
} // namespace

/// Loops of more iterations are not unrolled.
static constexpr int64_t MostIterations = 256;

static bool unroll(NodeImport &N, const Graph &Body) {
  auto Number = [&](size_t I) -> std::optional<int64_t> {
    std::optional<std::vector<Expr>> Known = N.readSizes(I);
    return Known && Known->size() == 1 ? Known->front().asConstant()
                                       : std::nullopt;
  };
  std::optional<int64_t> Most = N.hasInput(0) ? Number(0) : INT64_MAX,
                         GoesOn = N.hasInput(1) ? Number(1) : 1;
  if (!Most || !GoesOn)
    return false;
  SmallVector<Value> State;
  for (size_t I = 2; I < N.inputCount(); ++I)
    State.push_back(N.input(I));
  size_t States = State.size();
  std::vector<SmallVector<Value>> Collected(Body.Outputs.size() - 1 - States);
  for (int64_t T = 0; *GoesOn && T < *Most; ++T) {
    SmallVector<Value> Inputs = {N.scalarInt(T, N.i64()),
                                 N.scalarInt(1, N.i1())};
    Inputs.append(State);
    if (N.bad() || T == MostIterations)
      return false;
    auto Results = N.importer().inlineGraph(Body, Inputs, N);
    std::optional<bool> Again =
        Results ? N.importer().knownBool(Results->front()) : std::nullopt;
    if (!Again)
      return false;
    GoesOn = *Again;
    State.assign(Results->begin() + 1,
                 Results->begin() + 1 + static_cast<ptrdiff_t>(States));
    for (size_t I = 0; I < Collected.size(); ++I)
      Collected[I].push_back(N.unsqueeze((*Results)[1 + States + I], {0}));
  }
  for (const SmallVector<Value> &Parts : Collected)
    if (Parts.empty())
      return false;
  for (size_t I = 0; I < States; ++I)
    N.result(I, State[I]);
  for (size_t I = 0; I < Collected.size(); ++I)
    N.result(States + I, N.concat(Collected[I], 0));
  return !N.bad();
}

bool unrollKnownLoop(NodeImport &N, const Graph &Body) {
  return ConditionOrigin(N, Body).isKnown() &&
         N.importer().attempt(
             N, [&](NodeImport &Trial) { return unroll(Trial, Body); });
}

} // namespace kpc::onnx
