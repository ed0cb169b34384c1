//===- Control.cpp - Import of control flow -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

static void importIf(NodeImport &N) {
  const Graph *Then = N.graphAttribute("then_branch");
  const Graph *Else = N.graphAttribute("else_branch");
  N.expectInputs(1, 1);
  if (N.bad())
    return;
  auto Run = [&](const Graph *G) {
    std::optional<SmallVector<Value>> Results =
        N.importer().inlineGraph(*G, {}, N);
    if (!Results)
      N.result(0, Value());
    return Results;
  };
  size_t Count = N.node().Outputs.size();
  if (Then->Outputs.size() < Count || Else->Outputs.size() < Count) {
    N.fail(Code::ImportArity, "a branch has fewer outputs than the node");
    return;
  }
  const Contents *C = N.contents(0);
  std::optional<std::vector<int64_t>> Known;
  if (C)
    Known = C->integers();
  if (Known && Known->size() == 1) {
    if (std::optional<SmallVector<Value>> Results =
            Run(Known->front() ? Then : Else))
      for (size_t I = 0; I < Count; ++I)
        N.result(I, (*Results)[I]);
    return;
  }
  // Nothing in a graph has effects: both branches are computed, and the
  // condition picks.
  Value Condition = N.input(0);
  std::optional<SmallVector<Value>> A = Run(Then);
  std::optional<SmallVector<Value>> E = A ? Run(Else) : std::nullopt;
  if (!A || !E || N.bad())
    return;
  for (size_t I = 0; I < Count; ++I) {
    if ((*A)[I].getType() != (*E)[I].getType()) {
      N.unsupported("the branches give " + typeText((*A)[I].getType()) +
                    " and " + typeText((*E)[I].getType()) + " for output " +
                    std::to_string(I) +
                    ", and which is taken is known only when the model runs");
      return;
    }
    N.result(I, N.select(N.reshape(Condition, {}), (*A)[I], (*E)[I]));
  }
}

/// Loops are unrolled, where they are short enough.
static constexpr int64_t MostIterations = 256;

/// The number of iterations, where neither it nor the condition depends on
/// data.
static std::optional<int64_t> tripCount(NodeImport &N, const Graph &Body) {
  std::optional<std::vector<int64_t>> Trips = N.knownInts(0, "trip count");
  if (!Trips)
    return std::nullopt;
  bool Stops = N.hasInput(1);
  if (Stops) {
    std::optional<std::vector<int64_t>> Start = N.knownInts(1, "condition");
    if (!Start)
      return std::nullopt;
    if (!Start->empty() && Start->front() == 0)
      return 0;
    // A body that hands its own condition on never stops.
    const std::string &In = Body.Inputs[1].Name, &Out = Body.Outputs[0].Name;
    bool Hands = In == Out;
    for (const Node &Inner : Body.Nodes)
      if (Inner.Op == "Identity" && Inner.Outputs.size() == 1 &&
          Inner.Outputs[0] == Out && Inner.Inputs.size() == 1 &&
          Inner.Inputs[0] == In)
        Hands = true;
    if (!Hands) {
      N.unsupported("when the loop ends is known only when the model runs");
      return std::nullopt;
    }
  }
  int64_t Count = Trips->empty() ? 0 : Trips->front();
  if (Count > MostIterations) {
    N.unsupported("a loop of " + std::to_string(Count) +
                  " iterations; kpc unrolls up to " +
                  std::to_string(MostIterations));
    return std::nullopt;
  }
  return std::max<int64_t>(Count, 0);
}

static void importLoop(NodeImport &N) {
  const Graph *Body = N.graphAttribute("body");
  if (N.bad())
    return;
  if (N.inputCount() < 2 || Body->Inputs.size() != N.inputCount() ||
      Body->Outputs.size() + 1 < N.inputCount()) {
    N.fail(Code::ImportArity, "the body does not have the loop's inputs");
    return;
  }
  std::optional<int64_t> Trips = tripCount(N, *Body);
  if (!Trips)
    return;
  SmallVector<Value> State;
  for (size_t I = 2; I < N.inputCount(); ++I)
    State.push_back(N.input(I));
  size_t Scanned = Body->Outputs.size() - 1 - State.size();
  std::vector<SmallVector<Value>> Collected(Scanned);
  for (int64_t T = 0; T < *Trips && !N.bad(); ++T) {
    SmallVector<Value> Inputs = {N.scalarInt(T, N.i64()),
                                 N.scalarInt(1, N.i1())};
    Inputs.append(State);
    std::optional<SmallVector<Value>> Results =
        N.importer().inlineGraph(*Body, Inputs, N);
    if (!Results)
      return N.result(0, Value());
    for (size_t I = 0; I < State.size(); ++I)
      State[I] = (*Results)[I + 1];
    for (size_t I = 0; I < Scanned; ++I)
      Collected[I].push_back(
          N.unsqueeze((*Results)[I + 1 + State.size()], {0}));
  }
  if (N.bad())
    return;
  for (size_t I = 0; I < State.size(); ++I)
    N.result(I, State[I]);
  for (size_t I = 0; I < Scanned; ++I) {
    if (Collected[I].empty()) {
      N.unsupported("a loop that collects nothing");
      return;
    }
    N.result(State.size() + I, N.concat(Collected[I], 0));
  }
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

static std::optional<Ints> scanList(NodeImport &N, std::string_view Name,
                                    size_t Count) {
  Ints List(Count, 0);
  if (std::optional<Ints> Given = N.intsAttribute(Name))
    List = *Given;
  if (List.size() == Count)
    return List;
  N.fail(Code::ImportAttributeValue,
         "attribute '" + std::string(Name) + "' has " +
             std::to_string(List.size()) + " entries, but should have " +
             std::to_string(Count));
  return std::nullopt;
}

static void importScan(NodeImport &N) {
  const Graph *Body = N.graphAttribute("body");
  int64_t Inputs = N.requiredInt("num_scan_inputs");
  if (N.bad())
    return;
  if (Inputs < 1 || static_cast<size_t>(Inputs) > N.inputCount() ||
      Body->Inputs.size() != N.inputCount() ||
      Body->Outputs.size() != N.node().Outputs.size()) {
    N.fail(Code::ImportArity, "the body does not have the scan's inputs");
    return;
  }
  auto Scans = static_cast<size_t>(Inputs);
  size_t States = N.inputCount() - Scans;
  if (Body->Outputs.size() < States) {
    N.fail(Code::ImportArity, "the body has too few outputs");
    return;
  }
  size_t Outputs = Body->Outputs.size() - States;
  std::optional<Ints> Axes = scanList(N, "scan_input_axes", Scans);
  std::optional<Ints> Turned = scanList(N, "scan_input_directions", Scans);
  std::optional<Ints> OutAxes = scanList(N, "scan_output_axes", Outputs);
  std::optional<Ints> OutTurned =
      scanList(N, "scan_output_directions", Outputs);
  SmallVector<Value> State, Sources;
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I)
    (I < States ? State : Sources).push_back(N.input(I));
  if (N.bad())
    return;
  std::optional<int64_t> Length;
  for (size_t I = 0; I < Scans; ++I) {
    (*Axes)[I] = N.frontAxis((*Axes)[I], N.rank(Sources[I]));
    if (N.bad())
      return;
    Expr Size = N.dims(Sources[I])[static_cast<size_t>((*Axes)[I])];
    if (!Size.asConstant() || *Size.asConstant() > MostIterations ||
        (Length && *Length != *Size.asConstant())) {
      N.unsupported("scans a size of " + Size.str() + "; kpc unrolls up to " +
                    std::to_string(MostIterations));
      return;
    }
    Length = Size.asConstant();
  }
  std::vector<SmallVector<Value>> Collected(Outputs);
  for (int64_t T = 0; T < *Length; ++T) {
    SmallVector<Value> Args(State);
    for (size_t I = 0; I < Scans; ++I) {
      int64_t At = (*Turned)[I] ? *Length - 1 - T : T;
      Value Part = N.sliceAxis(Sources[I], (*Axes)[I], At, 1);
      Dims Sizes(N.dims(Sources[I]));
      Sizes.erase(Sizes.begin() + (*Axes)[I]);
      Args.push_back(N.reshape(Part, Sizes));
    }
    std::optional<SmallVector<Value>> Results =
        N.importer().inlineGraph(*Body, Args, N);
    if (!Results)
      return N.result(0, Value());
    for (size_t I = 0; I < States; ++I)
      State[I] = (*Results)[I];
    for (size_t I = 0; I < Outputs; ++I) {
      Value Part = (*Results)[States + I];
      int64_t Axis = N.frontAxis((*OutAxes)[I], N.rank(Part) + 1);
      if (N.bad())
        return;
      Part = N.unsqueeze(Part, {Axis});
      SmallVector<Value> &All = Collected[I];
      All.insert((*OutTurned)[I] ? All.begin() : All.end(), Part);
    }
  }
  for (size_t I = 0; I < States; ++I)
    N.result(I, State[I]);
  for (size_t I = 0; I < Outputs; ++I) {
    if (Collected[I].empty()) {
      N.unsupported("a scan over nothing");
      return;
    }
    int64_t Axis = N.frontAxis((*OutAxes)[I], N.rank(Collected[I][0]));
    N.result(States + I, N.concat(Collected[I], Axis));
  }
}

ArrayRef<Rule> controlRules() {
  static const Rule Rows[] = {
      {"", "If", 1, Newest, importIf,
       "both branches give one type, unless the condition is known"},
      {"", "Loop", 1, Newest, importLoop,
       "up to 256 iterations, their number known when compiling"},
      {"", "Scan", 9, Newest, importScan,
       "up to 256 iterations, their number known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
