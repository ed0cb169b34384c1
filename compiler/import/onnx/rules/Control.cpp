//===- Control.cpp - Import of control flow -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/BatchedScan.h"
#include "compiler/import/onnx/rules/EmbeddingBags.h"
#include "compiler/import/onnx/rules/EndedLoop.h"
#include "compiler/import/onnx/rules/StackedSequences.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Both branches are computed, and the condition picks element by element.
static void chooseSequences(NodeImport &N, const Graph &Then, const Graph &Else,
                            size_t Count) {
  Value Condition = N.input(0);
  if (N.bad())
    return;
  Condition = N.reshape(Condition, {});
  auto A = N.importer().inlineEntries(Then, ArrayRef<Entry>(), N);
  auto B = N.importer().inlineEntries(Else, ArrayRef<Entry>(), N);
  if (!A || !B || !Condition)
    return N.result(0, Value());
  auto Built = [&](const Entry &E) {
    std::string Name = N.node().Outputs[0] + "/item";
    N.importer().define(Name, E);
    return N.importer().value(Name, N);
  };
  auto Chosen = [&](const Entry &X, const Entry &Y) -> std::optional<Entry> {
    if (X.Absent && Y.Absent)
      return X;
    Value V = X.Items || X.Absent ? Value() : Built(X),
          W = Y.Items || Y.Absent ? Value() : Built(Y);
    if (!V || !W || V.getType() != W.getType()) {
      N.unsupported("the branches give values of different types, or sequences "
                    "of different lengths");
      return std::nullopt;
    }
    Entry E;
    E.Built = N.select(Condition, V, W);
    return E;
  };
  for (size_t I = 0; I < Count; ++I) {
    const Entry &X = (*A)[I], &Y = (*B)[I];
    if (!X.Items || !Y.Items || X.Items->size() != Y.Items->size()) {
      std::optional<Entry> One = Chosen(X, Y);
      if (!One)
        return;
      N.result(I, *One);
      continue;
    }
    std::vector<Entry> List;
    for (auto [V, W] : llvm::zip_equal(*X.Items, *Y.Items)) {
      std::optional<Entry> One = Chosen(V, W);
      if (!One)
        return;
      List.push_back(*One);
    }
    Entry All;
    All.Items = std::make_shared<const std::vector<Entry>>(std::move(List));
    N.result(I, All);
  }
}

static void importIf(NodeImport &N) {
  const Graph *Then = N.graphAttribute("then_branch");
  const Graph *Else = N.graphAttribute("else_branch");
  N.expectInputs(1, 1);
  if (N.bad())
    return;
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
    std::optional<std::vector<Entry>> Taken = N.importer().inlineEntries(
        Known->front() ? *Then : *Else, ArrayRef<Entry>(), N);
    if (!Taken)
      return N.result(0, Value());
    for (size_t I = 0; I < Count; ++I)
      N.result(I, (*Taken)[I]);
    return;
  }
  if (llvm::any_of(Then->Outputs, [](const ValueInfo &V) {
        return V.Is == ValueInfo::Kind::Sequence ||
               V.Is == ValueInfo::Kind::Optional;
      }))
    return chooseSequences(N, *Then, *Else, Count);
  std::optional<SmallVector<Value>> Results;
  if (Value Condition = N.input(0))
    Results = N.importer().branch(N, Condition, *Then, *Else, Count);
  if (!Results)
    return N.result(0, Value());
  for (size_t I = 0; I < Count; ++I)
    N.result(I, (*Results)[I]);
}

/// How deep loops stand inside one another in a subgraph.
static size_t loopDepth(const Graph &G) {
  size_t Deepest = 0;
  for (const Node &Inner : G.Nodes)
    for (const auto &[Name, A] : Inner.Attributes)
      for (const std::shared_ptr<Graph> &Sub : A.Graphs)
        Deepest = std::max(Deepest, loopDepth(*Sub) + (Inner.Op == "Loop" ||
                                                       Inner.Op == "Scan"));
  return Deepest;
}

/// Refuses loops that are nested deeper than an artifact's controls may be.
/// Said before a body is imported: each loop that cannot be built is tried
/// unrolled, which takes time that grows with the power of the depth.
static bool mayNest(NodeImport &N, const Graph &Body) {
  constexpr size_t MostNested = 16;
  size_t Depth = loopDepth(Body) + 1;
  for (mlir::Operation *Op = N.builder().getInsertionBlock()->getParentOp(); Op;
       Op = Op->getParentOp())
    Depth += mlir::isa<LoopOp>(Op);
  if (Depth <= MostNested)
    return true;
  N.unsupported("loops are nested " + std::to_string(Depth) +
                " deep; kpc nests up to " + std::to_string(MostNested));
  return false;
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Loops of up to so many iterations are unrolled: kernels of one iteration can
/// then be merged with those of the next.
static constexpr int64_t MostUnrolled = 16;
/// Longer ones are too, up to here, if they cannot be loops: what they carry
/// grows.
static constexpr int64_t MostIterations = 256;

static bool isTrue(const Tensor &T) {
  return T.Type == ElementType::Bool && T.Bytes.size() == 1 && T.Bytes[0];
}

/// Whether `Body` hands its condition on, or says true: then it never stops
/// early.
static bool handsConditionOn(const Graph &Body) {
  const std::string &In = Body.Inputs[1].Name, &Out = Body.Outputs[0].Name;
  auto Always = Body.Initializers.find(Out);
  if (In == Out ||
      (Always != Body.Initializers.end() && isTrue(Always->second)))
    return true;
  return llvm::any_of(Body.Nodes, [&](const Node &Inner) {
    if (Inner.Outputs.size() != 1 || Inner.Outputs[0] != Out)
      return false;
    auto Value = Inner.Attributes.find("value");
    return (Inner.Op == "Identity" && Inner.Inputs.size() == 1 &&
            Inner.Inputs[0] == In) ||
           (Inner.Op == "Constant" && Value != Inner.Attributes.end() &&
            Value->second.Tensors.size() == 1 &&
            isTrue(Value->second.Tensors[0]));
  });
}

/// The number of iterations, where neither it nor the condition depends on
/// data.
static std::optional<Expr> tripCount(NodeImport &N, const Graph &Body) {
  std::optional<std::vector<Expr>> Trips = N.knownSizes(0, "trip count");
  if (!Trips)
    return std::nullopt;
  Expr Begins(1); // 0 or 1
  if (N.hasInput(1)) {
    std::optional<std::vector<Expr>> Start = N.knownSizes(1, "condition");
    if (!Start)
      return std::nullopt;
    if (!Start->empty())
      Begins = Start->front();
    if (Begins == Expr(0))
      return Expr(0);
    if (!handsConditionOn(Body)) {
      N.unsupported("when the loop ends is known only when the model runs");
      return std::nullopt;
    }
  }
  Expr Count = Trips->empty() ? Expr(0) : Trips->front() * Begins;
  if (std::optional<int64_t> Number = Count.asConstant())
    return Expr(std::max<int64_t>(*Number, 0));
  // A size that may be negative is no count.
  if (N.importer().facts().range(Count).Min < 0)
    return Expr::max(Count, Expr(0));
  return Count;
}

/// Whether only data says when the loop ends. Outside of loops and branches a
/// trip count of data is read back before the loop.
static bool dataEnds(NodeImport &N, const Graph &Body) {
  if (N.hasInput(1) && (!N.hasInput(0) || !handsConditionOn(Body)))
    return true;
  return N.importer().isInBody() && ((N.hasInput(0) && !N.readSizes(0)) ||
                                     (N.hasInput(1) && !N.readSizes(1)));
}

static bool carriesSequences(NodeImport &N) {
  for (size_t I = 2; I < N.inputCount(); ++I)
    if (const Entry *E = N.entry(I); E && (E->Items || E->Stack || E->Absent))
      return true;
  return false;
}

/// The same where some of the state is sequences.
static void unrollWithSequences(NodeImport &N, const Graph &Body,
                                int64_t Trips) {
  std::vector<Entry> State;
  for (size_t I = 2; I < N.inputCount(); ++I) {
    const Entry *E = N.entry(I);
    if (!E)
      return N.result(0, Value());
    State.push_back(*E);
  }
  if (Body.Outputs.size() != State.size() + 1) {
    N.unsupported("a loop that carries sequences and collects tensors");
    return;
  }
  for (int64_t T = 0; T < Trips && !N.bad(); ++T) {
    std::vector<Entry> Inputs(2);
    Inputs[0].Built = N.scalarInt(T, N.i64());
    Inputs[1].Built = N.scalarInt(1, N.i1());
    Inputs.insert(Inputs.end(), State.begin(), State.end());
    std::optional<std::vector<Entry>> Results =
        N.importer().inlineEntries(Body, Inputs, N);
    if (!Results)
      return N.result(0, Value());
    State.assign(Results->begin() + 1, Results->end());
  }
  for (size_t I = 0; I < State.size(); ++I)
    N.result(I, State[I]);
}

/// The iterations one after another, the condition true in each.
static void unrollLoop(NodeImport &N, const Graph &Body, int64_t Trips) {
  SmallVector<Value> State;
  for (size_t I = 2; I < N.inputCount(); ++I)
    State.push_back(N.input(I));
  size_t Scanned = Body.Outputs.size() - 1 - State.size();
  std::vector<SmallVector<Value>> Collected(Scanned);
  for (int64_t T = 0; T < Trips && !N.bad(); ++T) {
    SmallVector<Value> Inputs = {N.scalarInt(T, N.i64()),
                                 N.scalarInt(1, N.i1())};
    Inputs.append(State);
    std::optional<SmallVector<Value>> Results =
        N.importer().inlineGraph(Body, Inputs, N);
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

static bool buildLoop(NodeImport &N, const Graph &Body, const Expr &Trips) {
  SmallVector<Value> Inits;
  for (size_t I = 2; I < N.inputCount(); ++I)
    Inits.push_back(N.input(I));
  size_t Scanned = Body.Outputs.size() - 1 - Inits.size();
  auto Iteration =
      [&](const Expr &I,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Importer &Imp = N.importer();
    auto Define = [&] {
      Imp.define(Body.Inputs[0].Name, scalarContents(ElementType::Int64, I));
      Imp.define(Body.Inputs[1].Name, scalarContents(ElementType::Bool, 1));
      for (auto [Info, V] :
           llvm::zip_equal(llvm::drop_begin(Body.Inputs, 2), Carried))
        Imp.define(Info.Name, V);
    };
    std::optional<SmallVector<Value>> Results =
        Imp.inlineGraph(Body, Define, N);
    if (Results)
      Results->erase(Results->begin()); // the condition
    return Results;
  };
  std::optional<SmallVector<Value>> Results = N.importer().loop(
      N, Trips, Inits, SmallVector<bool>(Scanned, false), Iteration);
  for (size_t I = 0; Results && I < Results->size(); ++I)
    N.result(I, (*Results)[I]);
  return Results.has_value();
}

static void importLoop(NodeImport &N);

/// One of few iterations is unrolled, since elements may have different sizes.
static void importSequenceLoop(NodeImport &N, const Graph &Body) {
  bool Ends = dataEnds(N, Body);
  std::optional<std::vector<Expr>> Known;
  if (!Ends && N.hasInput(0))
    Known = N.readSizes(0);
  std::optional<int64_t> Number =
      Known && Known->size() == 1 ? Known->front().asConstant() : std::nullopt;
  bool Collects = Body.Outputs.size() + 1 > N.inputCount();
  bool MayUnroll = Number && *Number <= MostIterations && !Collects;
  if (!MayUnroll && importAppendingLoop(N, Body, importLoop))
    return;
  std::optional<Expr> Trips = tripCount(N, Body);
  if (!Trips)
    return;
  Number = Trips->asConstant();
  if (Number && *Number <= MostIterations)
    return unrollWithSequences(N, Body, *Number);
  N.unsupported("a loop that does more with a sequence than append elements, "
                "of " +
                Trips->str() + " iterations; kpc unrolls up to " +
                std::to_string(MostIterations));
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
  if (!mayNest(N, *Body))
    return;
  if (carriesSequences(N))
    return importSequenceLoop(N, *Body);
  if (importEmbeddingBags(N, *Body))
    return;
  if (dataEnds(N, *Body)) {
    if (!unrollKnownLoop(N, *Body))
      importEndedLoop(N, *Body);
    return;
  }
  std::optional<Expr> Trips = tripCount(N, *Body);
  if (!Trips)
    return;
  std::optional<int64_t> Number = Trips->asConstant();
  // What is collected without iterations has the sizes that a body says.
  bool CollectsNothing =
      Number == 0 && Body->Outputs.size() + 1 > N.inputCount();
  if (Number && *Number <= MostUnrolled && !CollectsNothing)
    return unrollLoop(N, *Body, *Number);
  if (!Number || CollectsNothing || *Number > MostIterations) {
    if (!buildLoop(N, *Body, *Trips))
      N.result(0, Value());
    return;
  }
  if (!N.importer().attempt(N, [&](NodeImport &Trial) {
        return buildLoop(Trial, *Body, *Trips);
      }))
    unrollLoop(N, *Body, *Number);
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

namespace {
/// A scan, its lists read and checked.
struct ScanNode {
  const Graph *Body = nullptr;
  SmallVector<Value> State, Sources;
  size_t Outputs = 0;
  Ints Axes, Turned, OutAxes, OutTurned;
  Expr Length;
};
} // namespace

/// The part of each source that iteration `At` sees, `At` counted from the
/// front or, where the source is turned, from the end.
static SmallVector<Value> scanned(NodeImport &N, const ScanNode &S,
                                  const Expr &At) {
  SmallVector<Value> Parts;
  for (auto [I, Source] : llvm::enumerate(S.Sources)) {
    Expr Place = S.Turned[I] ? S.Length - 1 - At : At;
    Dims Sizes(N.dims(Source));
    Sizes.erase(Sizes.begin() + S.Axes[I]);
    Parts.push_back(N.reshape(N.sliceAxis(Source, S.Axes[I], Place, 1), Sizes));
  }
  return Parts;
}

static std::optional<ScanNode> readScan(NodeImport &N) {
  ScanNode S;
  S.Body = N.graphAttribute("body");
  int64_t Inputs = N.requiredInt("num_scan_inputs");
  if (N.bad())
    return std::nullopt;
  if (Inputs < 1 || static_cast<size_t>(Inputs) > N.inputCount() ||
      S.Body->Inputs.size() != N.inputCount() ||
      S.Body->Outputs.size() != N.node().Outputs.size()) {
    N.fail(Code::ImportArity, "the body does not have the scan's inputs");
    return std::nullopt;
  }
  auto Scans = static_cast<size_t>(Inputs);
  size_t States = N.inputCount() - Scans;
  if (S.Body->Outputs.size() < States) {
    N.fail(Code::ImportArity, "the body has too few outputs");
    return std::nullopt;
  }
  S.Outputs = S.Body->Outputs.size() - States;
  std::optional<Ints> Axes = scanList(N, "scan_input_axes", Scans);
  std::optional<Ints> Turned = scanList(N, "scan_input_directions", Scans);
  std::optional<Ints> OutAxes = scanList(N, "scan_output_axes", S.Outputs);
  std::optional<Ints> OutTurned =
      scanList(N, "scan_output_directions", S.Outputs);
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I)
    (I < States ? S.State : S.Sources).push_back(N.input(I));
  if (N.bad())
    return std::nullopt;
  S.Axes = *Axes;
  S.Turned = *Turned;
  S.OutAxes = *OutAxes;
  S.OutTurned = *OutTurned;
  for (size_t I = 0; I < Scans; ++I) {
    S.Axes[I] = N.frontAxis(S.Axes[I], N.rank(S.Sources[I]));
    if (N.bad())
      return std::nullopt;
    Expr Size = N.dims(S.Sources[I])[static_cast<size_t>(S.Axes[I])];
    if (I && S.Length != Size && !N.unify(S.Length, Size)) {
      N.fail(Code::ImportShape, "scans sizes of " + S.Length.str() + " and " +
                                    Size.str() + " at once");
      return std::nullopt;
    }
    // Taken to be equal, they may be called otherwise now.
    S.Length = N.dims(S.Sources[0])[static_cast<size_t>(S.Axes[0])];
  }
  return S;
}

static void unrollScan(NodeImport &N, const ScanNode &S, int64_t Length) {
  SmallVector<Value> State(S.State);
  std::vector<SmallVector<Value>> Collected(S.Outputs);
  for (int64_t T = 0; T < Length; ++T) {
    SmallVector<Value> Args(State);
    Args.append(scanned(N, S, T));
    std::optional<SmallVector<Value>> Results =
        N.importer().inlineGraph(*S.Body, Args, N);
    if (!Results)
      return N.result(0, Value());
    for (size_t I = 0; I < State.size(); ++I)
      State[I] = (*Results)[I];
    for (size_t I = 0; I < S.Outputs; ++I) {
      Value Part = (*Results)[State.size() + I];
      int64_t Axis = N.frontAxis(S.OutAxes[I], N.rank(Part) + 1);
      if (N.bad())
        return;
      Part = N.unsqueeze(Part, {Axis});
      SmallVector<Value> &All = Collected[I];
      All.insert(S.OutTurned[I] ? All.begin() : All.end(), Part);
    }
  }
  for (size_t I = 0; I < State.size(); ++I)
    N.result(I, State[I]);
  for (size_t I = 0; I < S.Outputs; ++I) {
    if (Collected[I].empty()) {
      N.unsupported("a scan over nothing");
      return;
    }
    int64_t Axis = N.frontAxis(S.OutAxes[I], N.rank(Collected[I][0]));
    N.result(State.size() + I, N.concat(Collected[I], Axis));
  }
}

static bool buildScan(NodeImport &N, const ScanNode &S) {
  auto Iteration = [&](const Expr &I, ArrayRef<Value> Carried) {
    SmallVector<Value> Args(Carried);
    Args.append(scanned(N, S, I));
    return N.importer().inlineGraph(*S.Body, Args, N);
  };
  SmallVector<bool> Reversed;
  for (int64_t Turned : S.OutTurned)
    Reversed.push_back(Turned != 0);
  std::optional<SmallVector<Value>> Results =
      N.importer().loop(N, S.Length, S.State, Reversed, Iteration);
  if (!Results)
    return false;
  for (size_t I = 0; I < S.State.size(); ++I)
    N.result(I, (*Results)[I]);
  for (size_t I = 0; I < S.Outputs; ++I) {
    Value All = (*Results)[S.State.size() + I];
    int64_t Axis = N.frontAxis(S.OutAxes[I], N.rank(All));
    if (N.bad())
      return false;
    // Collected in front, wanted at the axis.
    Ints Order;
    for (int64_t D = 1; D < N.rank(All); ++D)
      Order.push_back(D);
    Order.insert(Order.begin() + Axis, 0);
    N.result(S.State.size() + I, Axis ? N.transpose(All, Order) : All);
  }
  return true;
}

static void importScan(NodeImport &N) {
  std::optional<ScanNode> S = readScan(N);
  if (!S || !mayNest(N, *S->Body))
    return;
  std::optional<int64_t> Length = S->Length.asConstant();
  bool CollectsNothing = Length == 0 && S->Outputs > 0;
  if (Length && *Length <= MostUnrolled && !CollectsNothing)
    return unrollScan(N, *S, *Length);
  if (!Length || CollectsNothing || *Length > MostIterations) {
    if (!buildScan(N, *S))
      N.result(0, Value());
    return;
  }
  if (!N.importer().attempt(
          N, [&](NodeImport &Trial) { return buildScan(Trial, *S); }))
    unrollScan(N, *S, *Length);
}

static void importBatchedScan(NodeImport &N) {
  std::optional<Node> Nested = scanOverBatch(N);
  if (!Nested)
    return;
  NodeImport Scan(N.importer(), N.importer().keep(std::move(*Nested)),
                  N.builder(), N.loc());
  importScan(Scan);
  if (Scan.bad())
    N.result(0, Value());
}

ArrayRef<Rule> controlRules() {
  static const Rule Rows[] = {
      {"", "If", 1, Newest, importIf,
       "both branches give one rank and element type, and inside a loop or "
       "branch one type, unless the condition is known"},
      {"", "Loop", 1, Newest, importLoop,
       "what is carried keeps its sizes, unless at most 256 iterations are "
       "known"},
      {"", "Scan", 8, 8, importBatchedScan,
       "all elements of a batch have the same number of steps"},
      {"", "Scan", 9, Newest, importScan},
  };
  return Rows;
}

} // namespace kpc::onnx
