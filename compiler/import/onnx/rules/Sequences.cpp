//===- Sequences.cpp - Sequences and optional values ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sequence is a list of values that only the import knows: its length and
/// the places in it are known when compiling, and nothing is left of it. The
/// same goes for whether an optional value holds something. Where the length is
/// known only when the model runs, StackedSequences.cpp has the sequence.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/StackedSequences.h"

using namespace kpc::graph;

namespace kpc::onnx {

using Items = std::vector<Entry>;

static constexpr int64_t MostItems = 4096;

static Entry sequenceOf(Items List) {
  Entry E;
  E.Items = std::make_shared<const Items>(std::move(List));
  return E;
}

static Entry entryOf(Value V) {
  Entry E;
  E.Built = V;
  return E;
}

static Contents scalarOf(ElementType Type, const Expr &V) {
  Contents C;
  C.Type = Type;
  C.Whole = {V};
  return C;
}

/// An input that is an element of a sequence; null after a report.
static const Entry *itemInput(NodeImport &N, size_t I) {
  const Entry *E = N.entry(I);
  if (E && (E->Items || E->Stack || E->Absent)) {
    N.fail(Code::ImportValueType,
           "input " + std::to_string(I) + " should be a tensor");
    return nullptr;
  }
  if (!E)
    (void)N.input(I); // reports
  return E;
}

/// The value of an element.
static Value built(NodeImport &N, const Entry &E, size_t I) {
  const std::string Name = N.node().Outputs[0] + "/item" + std::to_string(I);
  N.importer().define(Name, E);
  return N.importer().value(Name, N);
}

static void importSequenceConstruct(NodeImport &N) {
  Items List;
  for (size_t I = 0; I < N.inputCount(); ++I) {
    const Entry *E = itemInput(N, I);
    if (!E)
      return;
    List.push_back(*E);
  }
  N.result(0, sequenceOf(std::move(List)));
}

static void importSequenceEmpty(NodeImport &N) {
  N.ignoreAttribute("dtype");
  N.result(0, sequenceOf({}));
}

static void importSequenceLength(NodeImport &N) {
  if (Value Stack = stackInput(N, 0))
    return N.result(0, scalarOf(ElementType::Int64, N.dims(Stack).front()));
  if (std::optional<Items> List = N.sequence(0))
    N.result(0,
             scalarOf(ElementType::Int64, static_cast<int64_t>(List->size())));
}

/// A place in a list of `Count`, counted from its end where it is negative.
static std::optional<size_t> placeInput(NodeImport &N, size_t I, size_t Count,
                                        bool MayBeEnd) {
  std::optional<std::vector<int64_t>> Known = N.knownInts(I, "position");
  if (!Known)
    return std::nullopt;
  auto Size = static_cast<int64_t>(Count);
  if (Known->size() == 1) {
    int64_t At = Known->front() < 0 ? Known->front() + Size : Known->front();
    if (At >= 0 && At < Size + (MayBeEnd ? 1 : 0))
      return static_cast<size_t>(At);
  }
  N.fail(Code::ImportAttributeValue,
         "position, input " + std::to_string(I) + ", is " +
             (Known->empty() ? std::string("empty")
                             : std::to_string(Known->front())) +
             ", outside a sequence of " + std::to_string(Count));
  return std::nullopt;
}

/// Elements of one shape along a new first axis; null, without a report, of
/// others.
static Value stacked(NodeImport &N, const Items &List) {
  SmallVector<Value> Parts;
  for (auto [I, E] : llvm::enumerate(List)) {
    Value Part = built(N, E, I);
    if (!Part || (!Parts.empty() && Part.getType() != Parts[0].getType()))
      return {};
    Parts.push_back(Part);
  }
  for (Value &Part : Parts)
    Part = N.unsqueeze(Part, {0});
  return Parts.empty() ? Value() : N.concat(Parts, 0);
}

static void importSequenceAt(NodeImport &N) {
  N.expectInputs(2, 2);
  if (Value Stack = stackInput(N, 0))
    return N.result(0, itemOfStack(N, Stack));
  std::optional<Items> List = N.sequence(0);
  if (!List)
    return;
  const Contents *Place = N.contents(1);
  bool IsNumber = Place && !Place->isReal() && Place->integers();
  if (Value Stack = IsNumber ? Value() : stacked(N, *List))
    return N.result(0, itemOfStack(N, Stack));
  if (std::optional<size_t> At = placeInput(N, 1, List->size(), false))
    N.result(0, (*List)[*At]);
}

static void importSequenceErase(NodeImport &N) {
  N.expectInputs(1, 2);
  if (Value Stack = stackInput(N, 0))
    return eraseFromStack(N, Stack);
  std::optional<Items> List = N.sequence(0);
  if (!List)
    return;
  std::optional<size_t> At = List->size() - 1;
  if (N.hasInput(1))
    At = placeInput(N, 1, List->size(), false);
  if (List->empty())
    N.fail(Code::ImportAttributeValue, "the sequence is empty");
  if (!At || N.bad())
    return;
  List->erase(List->begin() + static_cast<ptrdiff_t>(*At));
  N.result(0, sequenceOf(std::move(*List)));
}

static void importSequenceInsert(NodeImport &N) {
  N.expectInputs(2, 3);
  if (Value Stack = stackInput(N, 0))
    return itemInput(N, 1) ? insertIntoStack(N, Stack) : void();
  std::optional<Items> List = N.sequence(0);
  const Entry *Item = List ? itemInput(N, 1) : nullptr;
  if (!Item)
    return;
  std::optional<size_t> At = List->size();
  if (N.hasInput(2))
    At = placeInput(N, 2, List->size(), true);
  if (!At)
    return;
  List->insert(List->begin() + static_cast<ptrdiff_t>(*At), *Item);
  N.result(0, sequenceOf(std::move(*List)));
}

static void importConcatFromSequence(NodeImport &N) {
  int64_t Axis = N.requiredInt("axis");
  bool New = N.flagAttribute("new_axis");
  N.expectInputs(1, 1);
  if (Value Stack = stackInput(N, 0))
    return N.result(0, N.bad() ? Value() : joinedStack(N, Stack, Axis, New));
  std::optional<Items> List = N.sequence(0);
  if (!List || N.bad())
    return;
  if (List->empty()) {
    N.fail(Code::ImportShape, "the sequence is empty");
    return;
  }
  SmallVector<Value> Parts;
  int64_t Rank = 0;
  for (auto [I, E] : llvm::enumerate(*List)) {
    Value Part = built(N, E, I);
    if (!Part)
      return N.result(0, Part);
    if (Parts.empty()) {
      Rank = N.rank(Part);
      Axis = N.frontAxis(Axis, Rank + (New ? 1 : 0));
    }
    if (New && N.rank(Part) != Rank)
      N.fail(Code::ImportRank, "the elements have different ranks, which no "
                               "new axis joins");
    if (N.bad())
      return;
    Parts.push_back(New ? N.unsqueeze(Part, {Axis}) : Part);
  }
  N.result(0, N.concat(Parts, Axis));
}

/// The sizes of the parts of an axis; none after a report.
static std::optional<std::vector<Expr>> splitSizes(NodeImport &N,
                                                   const Expr &Size) {
  std::optional<std::vector<Expr>> Given =
      N.hasInput(1) ? N.knownSizes(1, "split")
                    : std::optional(std::vector<Expr>{Expr(1)});
  if (!Given)
    return std::nullopt;
  const Value Split = N.hasInput(1) ? N.input(1) : Value();
  if (Split && N.rank(Split) == 1) {
    Expr Sum(0);
    for (const Expr &E : *Given)
      Sum = Sum + E;
    if (N.importer().require(Sum, true, Size, "splits an axis into these", N))
      return Given;
    N.fail(Code::ImportShape, "the parts have " + Sum.str() +
                                  " in all, but the axis has " + Size.str());
    return std::nullopt;
  }
  std::optional<int64_t> Each = Given->size() == 1 ? Given->front().asConstant()
                                                   : std::nullopt,
                         All = Size.asConstant();
  if (!Each || !All || *Each < 1 || *All / *Each > MostItems) {
    N.fail(Code::ImportNotConstant,
           "how many parts an axis of " + Size.str() + " has in steps of " +
               (Given->empty() ? std::string("?") : Given->front().str()) +
               " is not known when compiling, or above " +
               std::to_string(MostItems),
           N.hasInput(1) ? N.wayToKnow(1) : "");
    return std::nullopt;
  }
  std::vector<Expr> Sizes;
  for (int64_t At = 0; At < *All; At += *Each)
    Sizes.emplace_back(std::min(*Each, *All - At));
  return Sizes;
}

static void importSplitToSequence(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  bool Keep = N.flagAttribute("keepdims", true) || N.hasInput(1);
  N.expectInputs(1, 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  if (Value Stack = splitIntoStack(N, X, Axis, Keep))
    return N.result(0, stackOf(Stack));
  std::optional<std::vector<Expr>> Sizes =
      splitSizes(N, N.dims(X)[static_cast<size_t>(Axis)]);
  if (!Sizes)
    return;
  Items List;
  Expr At(0);
  for (const Expr &Size : *Sizes) {
    Value Part = N.sliceAxis(X, Axis, At, Size);
    if (Part && !Keep) {
      Dims Left(N.dims(Part));
      Left.erase(Left.begin() + Axis);
      Part = N.reshape(Part, Left);
    }
    if (!Part)
      return N.result(0, Part);
    List.push_back(entryOf(Part));
    At = At + Size;
  }
  N.result(0, sequenceOf(std::move(List)));
}

/// The body once for each element; inputs that are tensors are the same for
/// all.
static void importSequenceMap(NodeImport &N) {
  const Graph *Body = N.graphAttribute("body");
  if (!Body)
    return;
  size_t Outputs = N.node().Outputs.size();
  if (Body->Inputs.size() != N.inputCount() || Body->Outputs.size() < Outputs) {
    N.fail(Code::ImportArity, "the body does not have the node's inputs and "
                              "outputs");
    return;
  }
  if (Value Stack = stackInput(N, 0))
    return mapStack(N, *Body, Stack);
  std::optional<Items> First = N.sequence(0);
  if (!First || N.bad())
    return;
  std::vector<Items> Results(Outputs);
  for (size_t I = 0; I < First->size(); ++I) {
    std::vector<Entry> Inputs;
    for (size_t J = 0; J < N.inputCount(); ++J) {
      const Entry *E = N.entry(J);
      if (!E)
        return N.result(0, N.input(J)); // reports
      if (E->Items && E->Items->size() != First->size()) {
        N.fail(Code::ImportShape, "input " + std::to_string(J) + " has " +
                                      std::to_string(E->Items->size()) +
                                      " elements, but input 0 " +
                                      std::to_string(First->size()));
        return;
      }
      Inputs.push_back(E->Items ? (*E->Items)[I] : *E);
    }
    std::optional<std::vector<Entry>> Made =
        N.importer().inlineEntries(*Body, Inputs, N);
    if (!Made)
      return N.result(0, Value());
    for (size_t J = 0; J < Outputs; ++J)
      Results[J].push_back((*Made)[J]);
  }
  for (size_t J = 0; J < Outputs; ++J)
    N.result(J, sequenceOf(std::move(Results[J])));
}

//===----------------------------------------------------------------------===//
// Optional values: what is there is itself
//===----------------------------------------------------------------------===//

static void importOptional(NodeImport &N) {
  N.ignoreAttribute("type");
  N.expectInputs(0, 1);
  if (N.hasInput(0)) {
    if (const Entry *E = N.entry(0))
      N.result(0, Entry(*E));
    else
      N.result(0, N.input(0)); // reports
    return;
  }
  Entry E;
  E.Absent = true;
  N.result(0, E);
}

static void importOptionalHasElement(NodeImport &N) {
  N.expectInputs(0, 1);
  const Entry *E = N.entry(0);
  if (N.hasInput(0) && !E)
    return N.result(0, N.input(0)); // reports
  N.result(0, scalarOf(ElementType::Bool, E && !E->Absent));
}

static void importOptionalGetElement(NodeImport &N) {
  N.expectInputs(1, 1);
  const Entry *E = N.entry(0);
  if (!E)
    return N.result(0, N.input(0)); // reports
  if (E->Absent) {
    N.fail(Code::ImportValueType, "the optional value holds nothing");
    return;
  }
  N.result(0, Entry(*E));
}

ArrayRef<Rule> sequenceRules() {
  static constexpr std::string_view Known =
      "where only the run knows the length, elements have one shape";
  static constexpr std::string_view Place =
      "the position must be known when compiling; where only the run knows the "
      "length, elements have one shape";
  static const Rule Rows[] = {
      {"", "SequenceConstruct", 11, Newest, importSequenceConstruct},
      {"", "SequenceEmpty", 11, Newest, importSequenceEmpty},
      {"", "SequenceLength", 11, Newest, importSequenceLength},
      {"", "SequenceAt", 11, Newest, importSequenceAt, Known},
      {"", "SequenceErase", 11, Newest, importSequenceErase, Place},
      {"", "SequenceInsert", 11, Newest, importSequenceInsert, Place},
      {"", "SequenceMap", 17, Newest, importSequenceMap, Known},
      {"", "SplitToSequence", 11, Newest, importSplitToSequence, Known},
      {"", "ConcatFromSequence", 11, Newest, importConcatFromSequence, Known},
      {"", "Optional", 15, Newest, importOptional,
       "whether there is a value must be known when compiling"},
      {"", "OptionalHasElement", 15, Newest, importOptionalHasElement,
       "whether there is a value must be known when compiling"},
      {"", "OptionalGetElement", 15, Newest, importOptionalGetElement,
       "whether there is a value must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
