//===- StackedSequences.cpp - Sequences whose length the run knows --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sequence whose length is known only when the model runs is one tensor: its
/// elements, all of one shape, along a first axis whose size is the length.
/// Such sequences come of splits of an axis into parts of one size, and of
/// loops that append.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/StackedSequences.h"
#include "compiler/import/onnx/Importer.h"

using namespace kpc::graph;

namespace kpc::onnx {

static Entry entryOf(Value V) {
  Entry E;
  E.Built = V;
  return E;
}

Entry stackOf(Value V) {
  Entry E;
  E.Stack = V;
  return E;
}

Value stackInput(NodeImport &N, size_t I) {
  const Entry *E = N.entry(I);
  return E ? E->Stack : Value();
}

static Value stackedItem(NodeImport &N, Value Stack, const Expr &At) {
  return N.reshape(N.sliceAxis(Stack, 0, At, 1), N.dims(Stack).drop_front());
}

/// A place in a stack of elements that must be known: the first one from the
/// front, or from its end where it is negative. None after a report.
static std::optional<Expr> placeInStack(NodeImport &N, size_t I, Value Stack,
                                        bool MayBeEnd) {
  Expr Size(N.dims(Stack).front()), At = Size - 1;
  if (N.hasInput(I)) {
    std::optional<std::vector<Expr>> Known = N.knownSizes(I, "position");
    if (!Known || Known->size() != 1)
      return std::nullopt;
    std::optional<int64_t> Number = Known->front().asConstant();
    At = Number && *Number < 0 ? Size + *Number : Known->front();
  } else if (MayBeEnd) {
    return Size;
  }
  auto Holds = [&](const Expr &Least, const Expr &Most) {
    return N.importer().require(
        Least, false, Most, "takes an element of a sequence of " + Size.str(),
        N);
  };
  if (Holds(0, At) && Holds(MayBeEnd ? At : At + 1, Size))
    return At;
  N.fail(Code::ImportAttributeValue,
         "position, input " + std::to_string(I) + ", is " + At.str() +
             ", outside a sequence of " + Size.str());
  return std::nullopt;
}

/// The element that data picks.
static Value pickedItem(NodeImport &N, Value Stack) {
  Value At = N.input(1);
  if (N.bad())
    return {};
  Expr Size(N.dims(Stack).front());
  if (!N.importer().require(1, false, Size, "takes an element of a sequence",
                            N))
    return N.fail(Code::ImportShape, "the sequence may be empty");
  At = N.cast(N.reshape(At, {}), N.i64());
  Value FromEnd = N.add(At, N.sizeScalar(Size, N.i64()));
  At = N.select(N.compare(Predicate::lt, At, N.scalarInt(0, N.i64())), FromEnd,
                At);
  return N.gather(Stack, At, 0);
}

Value itemOfStack(NodeImport &N, Value Stack) {
  const Contents *Place = N.contents(1);
  if (!Place || Place->isReal() || Place->count() != 1)
    return pickedItem(N, Stack);
  const shape::Facts &Facts = N.importer().facts();
  Expr Size(N.dims(Stack).front()), Given(Place->Whole.front());
  if (Facts.isLessOrEqual(0, Given) == true &&
      Facts.isLessOrEqual(Given + 1, Size) == true)
    return stackedItem(N, Stack, Given);
  if (!Given.isConstant())
    return pickedItem(N, Stack);
  std::optional<Expr> At = placeInStack(N, 1, Stack, false);
  return At ? stackedItem(N, Stack, *At) : Value();
}

void eraseFromStack(NodeImport &N, Value Stack) {
  std::optional<Expr> At = placeInStack(N, 1, Stack, false);
  if (!At)
    return;
  Expr Behind = N.dims(Stack).front() - *At - 1;
  N.result(0, stackOf(N.concat({N.sliceAxis(Stack, 0, 0, *At),
                                N.sliceAxis(Stack, 0, *At + 1, Behind)},
                               0)));
}

void insertIntoStack(NodeImport &N, Value Stack) {
  Value Item = N.input(1);
  if (N.bad())
    return;
  std::optional<Expr> At = placeInStack(N, 2, Stack, true);
  if (!At)
    return;
  Value One = N.unsqueeze(Item, {0});
  if (N.element(One) != N.element(Stack) || N.rank(One) != N.rank(Stack)) {
    N.unsupported("an element of another type than those of a sequence whose "
                  "length only the run knows");
    return;
  }
  Expr Behind = N.dims(Stack).front() - *At;
  N.result(0, stackOf(N.concat({N.sliceAxis(Stack, 0, 0, *At), One,
                                N.sliceAxis(Stack, 0, *At, Behind)},
                               0)));
}

Value joinedStack(NodeImport &N, Value Stack, int64_t Axis, bool New) {
  int64_t Rank = N.rank(Stack);
  Axis = N.frontAxis(Axis, New ? Rank : Rank - 1);
  if (N.bad())
    return {};
  Ints Order;
  for (int64_t D = 1; D < Rank; ++D)
    Order.push_back(D);
  Order.insert(Order.begin() + Axis, 0);
  Value Turned = Axis ? N.transpose(Stack, Order) : Stack;
  if (New || !Turned)
    return Turned;
  Dims Sizes(N.dims(Turned));
  auto Place = static_cast<size_t>(Axis);
  Sizes[Place] = Sizes[Place] * Sizes[Place + 1];
  Sizes.erase(Sizes.begin() + Axis + 1);
  return N.reshape(Turned, Sizes);
}

Value splitIntoStack(NodeImport &N, Value X, int64_t Axis, bool Keep) {
  Expr Size(N.dims(X)[static_cast<size_t>(Axis)]), Each(1);
  if (N.hasInput(1)) {
    std::optional<std::vector<Expr>> Given = N.readSizes(1);
    if (!Given || Given->size() != 1 || N.rank(N.input(1)) == 1)
      return {};
    Each = Given->front();
  }
  bool IsNumber = Size.isConstant() && Each.isConstant();
  if (IsNumber || Each == Expr(0) || N.importer().facts().range(Each).Min < 0 ||
      !N.importer().require(1, false, Each, "splits an axis into parts of this",
                            N))
    return {};
  Expr Count = Size.floorDiv(Each);
  if (!N.importer().require(Count * Each, true, Size,
                            "splits an axis into parts of one size", N))
    return {};
  X = N.sliceAxis(X, Axis, 0, Count * Each); // all of it
  if (!X)
    return {};
  Dims Sizes(N.dims(X));
  Sizes[static_cast<size_t>(Axis)] = Count;
  if (Keep)
    Sizes.insert(Sizes.begin() + Axis + 1, Each);
  X = N.reshape(X, Sizes);
  Ints Order = {Axis};
  for (int64_t D = 0; D < static_cast<int64_t>(Sizes.size()); ++D)
    if (D != Axis)
      Order.push_back(D);
  return X && Axis ? N.transpose(X, Order) : X;
}

void mapStack(NodeImport &N, const Graph &Body, Value Stack) {
  Expr Count(N.dims(Stack).front());
  for (size_t I = 1; I < N.inputCount(); ++I) {
    Value Other = stackInput(N, I);
    if (Other && !N.unify(Count, Expr(N.dims(Other).front()))) {
      N.fail(Code::ImportShape, "input " + std::to_string(I) + " has " +
                                    N.dims(Other).front().str() +
                                    " elements, but input 0 " + Count.str());
      return;
    }
  }
  size_t Outputs = N.node().Outputs.size();
  auto Iteration = [&](const Expr &At,
                       ArrayRef<Value>) -> std::optional<SmallVector<Value>> {
    std::vector<Entry> Inputs;
    for (size_t I = 0; I < N.inputCount(); ++I) {
      const Entry *E = N.entry(I);
      if (!E)
        return std::nullopt;
      Inputs.push_back(E->Stack ? entryOf(stackedItem(N, E->Stack, At)) : *E);
    }
    auto Define = [&] {
      for (auto [Info, E] : llvm::zip(Body.Inputs, Inputs))
        N.importer().define(Info.Name, E);
    };
    auto Results = N.importer().inlineGraph(Body, Define, N);
    if (Results)
      Results->resize(Outputs);
    return Results;
  };
  auto Results = N.importer().loop(
      N, N.current(Count), {}, SmallVector<bool>(Outputs, false), Iteration);
  if (!Results)
    return N.result(0, Value());
  for (size_t I = 0; I < Outputs; ++I)
    N.result(I, stackOf((*Results)[I]));
}

//===----------------------------------------------------------------------===//
// Loops that append
//===----------------------------------------------------------------------===//

/// How often a graph, or one inside it, reads a value.
static size_t readersOf(const Graph &G, const std::string &Name) {
  auto Named = [&](const ValueInfo &V) { return V.Name == Name; };
  auto Count = static_cast<size_t>(llvm::count_if(G.Outputs, Named));
  for (const Node &N : G.Nodes) {
    Count += static_cast<size_t>(llvm::count(N.Inputs, Name));
    for (const auto &[Key, A] : N.Attributes)
      for (const auto &Sub : A.Graphs)
        Count += readersOf(*Sub, Name);
  }
  return Count;
}

static const Node *writerOf(const Graph &G, const std::string &Name) {
  auto It = llvm::find_if(G.Nodes, [&](const Node &N) {
    return llvm::is_contained(N.Outputs, Name);
  });
  return It == G.Nodes.end() ? nullptr : &*It;
}

/// What an iteration appends to the sequence `In`, which leaves it as `Out`, in
/// order; the nodes that do it go to `Nodes`. None where the iteration does
/// anything else with the sequence.
static std::optional<std::vector<std::string>>
appended(const Graph &Body, const std::string &In, const std::string &Out,
         std::set<const Node *> &Nodes) {
  std::vector<std::string> Items;
  for (std::string Name = Out; Name != In;) {
    const Node *N = writerOf(Body, Name);
    if (!N || readersOf(Body, Name) != 1 || !N->Domain.empty() ||
        N->Inputs.empty() || Nodes.count(N))
      return std::nullopt;
    bool Hands = N->Op == "Identity",
         Appends = N->Op == "SequenceInsert" &&
                   (N->Inputs.size() == 2 ||
                    (N->Inputs.size() == 3 && N->Inputs[2].empty()));
    if (!Hands && !Appends)
      return std::nullopt;
    if (Appends)
      Items.insert(Items.begin(), N->Inputs[1]);
    Nodes.insert(N);
    Name = N->Inputs[0];
  }
  if (readersOf(Body, In) != 1)
    return std::nullopt;
  return Items;
}

namespace {
/// The loop without its sequences: what it appends to them, it collects.
class AppendingLoop {
public:
  AppendingLoop(NodeImport &N, const Graph &Body) : N(N), Body(Body) {}

  /// Whether all that it carries of sequences is appended to.
  bool read();
  void import(llvm::function_ref<void(NodeImport &)> ImportLoop);

private:
  struct Carried {
    size_t Place; ///< among what the loop carries
    std::vector<std::string> Items;
  };

  void giveSequence(const Carried &C, ArrayRef<std::string> Collected);

  NodeImport &N;
  const Graph &Body;
  std::set<const Node *> Inserts;
  std::vector<Carried> Sequences;
};
} // namespace

bool AppendingLoop::read() {
  for (size_t I = 2; I < N.inputCount(); ++I) {
    const Entry *E = N.entry(I);
    if (E && E->Absent)
      return false;
    if (!E || (!E->Items && !E->Stack))
      continue;
    auto Items =
        appended(Body, Body.Inputs[I].Name, Body.Outputs[I - 1].Name, Inserts);
    if (!Items || Items->empty())
      return false;
    Sequences.push_back({I - 2, std::move(*Items)});
  }
  return true;
}

/// What was there before, and behind it what each iteration appended.
void AppendingLoop::giveSequence(const Carried &C,
                                 ArrayRef<std::string> Collected) {
  SmallVector<Value> Parts;
  for (const std::string &Name : Collected) {
    Value All = N.importer().value(Name, N);
    if (!All)
      return N.result(C.Place, Value());
    if (!Parts.empty() && All.getType() != Parts[0].getType()) {
      N.unsupported(
          "a loop that appends elements of different shapes, as often "
          "as only the run knows");
      return;
    }
    Parts.push_back(All);
  }
  Dims Sizes(N.dims(Parts[0]));
  Sizes[0] = Sizes[0] * static_cast<int64_t>(Parts.size());
  Value Stack = Parts[0];
  if (Parts.size() > 1) {
    for (Value &Part : Parts)
      Part = N.unsqueeze(Part, {1});
    Stack = N.reshape(N.concat(Parts, 1), Sizes);
  }
  const Entry *Before = N.entry(C.Place + 2);
  SmallVector<Value> Whole;
  if (Before->Stack)
    Whole.push_back(Before->Stack);
  for (size_t I = 0; Before->Items && I < Before->Items->size(); ++I) {
    std::string Name = N.node().Outputs[C.Place] + "/before";
    N.importer().define(Name, (*Before->Items)[I]);
    Value Item = N.importer().value(Name, N);
    if (!Item)
      return N.result(C.Place, Value());
    Whole.push_back(N.unsqueeze(Item, {0}));
  }
  Whole.push_back(Stack);
  for (Value Part : Whole)
    if (Part && (N.rank(Part) != N.rank(Stack) ||
                 N.element(Part) != N.element(Stack))) {
      N.unsupported("a loop that appends to elements of another type, as often "
                    "as only the run knows");
      return;
    }
  Value Result = Whole.size() == 1 ? Stack : N.concat(Whole, 0);
  if (!Result)
    return N.result(C.Place, Value());
  N.result(C.Place, stackOf(Result));
}

void AppendingLoop::import(llvm::function_ref<void(NodeImport &)> ImportLoop) {
  auto Inner = std::make_shared<Graph>(Body);
  Node Loop = N.node();
  Loop.Attributes.find("body")->second.Graphs = {Inner};
  Inner->Nodes.clear();
  for (const onnx::Node &Each : Body.Nodes)
    if (!Inserts.count(&Each))
      Inner->Nodes.push_back(Each);
  Loop.Outputs.resize(Body.Outputs.size() - 1);
  std::vector<std::vector<std::string>> Collected;
  for (Carried &C : Sequences) {
    Collected.emplace_back();
    if (!N.wants(C.Place))
      continue;
    for (const std::string &Item : C.Items) {
      ValueInfo Info;
      Info.Name = Item;
      Inner->Outputs.push_back(Info);
      std::string Name = N.node().Outputs[C.Place] + "_items";
      if (!Collected.back().empty())
        Name += std::to_string(Collected.back().size());
      Collected.back().push_back(Name);
      Loop.Outputs.push_back(Name);
    }
  }
  for (size_t I = Sequences.size(); I-- > 0;) {
    auto At = static_cast<ptrdiff_t>(Sequences[I].Place);
    Inner->Inputs.erase(Inner->Inputs.begin() + At + 2);
    Inner->Outputs.erase(Inner->Outputs.begin() + At + 1);
    Loop.Inputs.erase(Loop.Inputs.begin() + At + 2);
    Loop.Outputs.erase(Loop.Outputs.begin() + At);
  }
  NodeImport Import(N.importer(), N.importer().keep(std::move(Loop)),
                    N.builder(), N.loc());
  ImportLoop(Import);
  if (Import.bad())
    return N.result(0, Value());
  for (auto [C, Names] : llvm::zip_equal(Sequences, Collected))
    if (!N.bad() && N.wants(C.Place))
      giveSequence(C, Names);
}

bool importAppendingLoop(NodeImport &N, const Graph &Body,
                         llvm::function_ref<void(NodeImport &)> ImportLoop) {
  AppendingLoop Loop(N, Body);
  if (!Loop.read())
    return false;
  Loop.import(ImportLoop);
  return true;
}

} // namespace kpc::onnx
