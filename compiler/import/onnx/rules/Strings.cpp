//===- Strings.cpp - Strings that select or label -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A string is a number here: its place in a list that is known when compiling.
/// An operator that maps or compares strings is a look-up of these numbers. The
/// lists of inputs and outputs are metadata of the artifact.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Strings.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// A cast of strings to strings, as skl2onnx writes it behind labels.
static bool keepsStrings(const Node &N) {
  auto To = N.Attributes.find("to");
  return N.Op == "Cast" && To != N.Attributes.end() &&
         To->second.Int == static_cast<int64_t>(ElementType::String);
}

/// Operators that leave elements as they are: input 0 goes to output 0.
static bool movesStrings(const Node &N) {
  static constexpr std::string_view Plain[] = {
      "ConstantOfShape", "Expand",   "Flatten",  "Gather",
      "GatherElements",  "GatherND", "Identity", "Reshape",
      "Slice",           "Squeeze",  "Tile",     "Transpose",
      "Compress",        "Unsqueeze"};
  if (N.Domain == "ai.onnx.ml")
    return N.Op == "ArrayFeatureExtractor";
  return N.Domain.empty() &&
         (llvm::is_contained(Plain, N.Op) || keepsStrings(N));
}

/// Operators whose results are elements of several inputs.
static bool joinsStrings(const Node &N) {
  return N.Domain.empty() && (N.Op == "Concat" || N.Op == "Where");
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// The place of a string; the list grows where it is new.
static int64_t placeIn(StringList &List, const std::string &Text) {
  auto It = llvm::find(List, Text);
  if (It == List.end())
    It = List.insert(List.end(), Text);
  return It - List.begin();
}

/// What each string of `From` is, and last what any other is, looked up by
/// `Codes`.
static Value lookUp(NodeImport &N, Value Codes, const StringList &From,
                    Value Table) {
  if (!Codes || !Table)
    return {};
  auto Count = static_cast<int64_t>(From.size());
  Value End = N.scalarInt(Count, N.i64());
  Value Known =
      N.binary<AndOp>(N.compare(Predicate::ge, Codes, N.scalarInt(0, N.i64())),
                      N.compare(Predicate::lt, Codes, End));
  return N.gather(Table, N.select(Known, Codes, End), 0);
}

/// The numbers of `From`'s strings in `To`, and -1 for any other.
static Value translate(NodeImport &N, Value Codes, const StringList &From,
                       const StringList &To) {
  Ints Table;
  for (const std::string &Text : From) {
    auto It = llvm::find(To, Text);
    Table.push_back(It == To.end() ? -1 : It - To.begin());
  }
  Table.push_back(-1);
  return lookUp(N, Codes, From, N.intVector(Table, N.i64()));
}

void giveStrings(NodeImport &N, size_t I, Value Codes, StringList List) {
  if (!Codes)
    return N.result(I, Value());
  // Strings are compared by their numbers: each has one.
  StringList Once;
  Ints Places;
  for (const std::string &Text : List)
    Places.push_back(placeIn(Once, Text));
  if (Once.size() != List.size()) {
    Places.push_back(-1);
    Codes =
        lookUp(N, N.cast(Codes, N.i64()), List, N.intVector(Places, N.i64()));
    List = std::move(Once);
  }
  Entry E;
  E.Built = Codes;
  E.Strings = std::make_shared<StringList>(std::move(List));
  N.result(I, E);
}

/// All strings that a node compares or maps its input with.
static void collectStrings(const Node &N, StringList &List) {
  for (const char *Name :
       {"keys_strings", "cats_strings", "pool_strings", "classes_strings"})
    if (auto It = N.Attributes.find(Name); It != N.Attributes.end())
      for (const std::string &Text : It->second.Strings)
        placeIn(List, Text);
  if (auto It = N.Attributes.find("keys_tensor"); It != N.Attributes.end())
    for (const Tensor &T : It->second.Tensors)
      for (const std::string &Text : T.Strings)
        placeIn(List, Text);
}

/// The strings of a Constant.
static ArrayRef<std::string> stringsOfConstant(const Node &N) {
  auto Of = [&](std::string_view Name) {
    auto It = N.Attributes.find(Name);
    return It == N.Attributes.end() ? nullptr : &It->second;
  };
  if (const Attribute *A = Of("value"); A && A->Tensors.size() == 1)
    return A->Tensors[0].Strings;
  if (const Attribute *A = Of("value_strings"))
    return A->Strings;
  if (const Attribute *A = Of("value_string"))
    return A->String;
  return {};
}

/// All strings that nodes of a graph give.
static void collectGiven(const Graph &G, StringList &List) {
  for (const Node &N : G.Nodes) {
    for (const char *Name :
         {"values_strings", "classlabels_strings", "classes_strings",
          "cats_strings", "default_string", "values_tensor", "default_tensor"})
      if (auto It = N.Attributes.find(Name); It != N.Attributes.end()) {
        for (const std::string &Text : It->second.Strings)
          placeIn(List, Text);
        for (const Tensor &T : It->second.Tensors)
          for (const std::string &Text : T.Strings)
            placeIn(List, Text);
        if (std::string_view(Name) == "default_string")
          placeIn(List, It->second.String);
      }
  }
}

StringList stringsReadOf(const Graph &G, const std::string &Name) {
  StringList List;
  std::set<std::string, std::less<>> Made;
  bool MeetsMade = false; // what other nodes give is compared with it
  std::map<std::string, ArrayRef<std::string>, std::less<>> Constants;
  std::set<std::string, std::less<>> Same = {Name};
  // Nodes stand in order: what moves strings on is in front of its readers.
  for (const Node &N : G.Nodes) {
    if (N.Op == "Constant" && N.Domain.empty() && N.Outputs.size() == 1)
      Constants[N.Outputs[0]] = stringsOfConstant(N);
    bool Reads = llvm::any_of(
        N.Inputs, [&](const std::string &In) { return Same.count(In) != 0; });
    if (!Reads) {
      if (N.Op != "Constant")
        Made.insert(N.Outputs.begin(), N.Outputs.end());
      continue;
    }
    MeetsMade |= N.Domain.empty() && N.Op == "Equal" &&
                 llvm::any_of(N.Inputs, [&](const std::string &In) {
                   return Made.count(In) != 0;
                 });
    collectStrings(N, List);
    for (const std::string &In : N.Inputs) {
      if (auto It = G.Initializers.find(In); It != G.Initializers.end())
        for (const std::string &Text : It->second.Strings)
          placeIn(List, Text);
      if (auto It = Constants.find(In); It != Constants.end())
        for (const std::string &Text : It->second)
          placeIn(List, Text);
    }
    if (N.Domain.empty() && N.Op == "Split")
      Same.insert(N.Outputs.begin(), N.Outputs.end());
    else if ((movesStrings(N) || joinsStrings(N)) && !N.Outputs.empty())
      Same.insert(N.Outputs[0]);
  }
  if (MeetsMade)
    collectGiven(G, List);
  return List;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static void compareStrings(NodeImport &N) {
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  const Entry *EA = N.entry(0), *EC = N.entry(1);
  if (N.bad() || !EA || !EC || !EA->Strings || !EC->Strings)
    return;
  Value Place = translate(N, A, *EA->Strings, *EC->Strings);
  Value Same = N.compare(Predicate::eq, Place, C);
  // Two strings that are in no list may differ.
  Value Known = N.compare(Predicate::ge, Place, N.scalarInt(0, N.i64()));
  N.result(0, N.binary<AndOp>(Same, Known));
}

static void encodeOneHot(NodeImport &N) {
  StringList Categories = stringsAttribute(N, "cats_strings");
  bool Zeros = N.flagAttribute("zeros", true);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  const Entry *E = N.entry(0);
  if (N.bad() || !E || !E->Strings)
    return;
  if (Categories.empty()) {
    N.fail(Code::ImportElementType,
           "has categories of numbers, but its input is strings",
           "give the model numbers, or categories of strings (cats_strings)");
    return;
  }
  Value Place = translate(N, X, *E->Strings, Categories);
  if (!Place)
    return N.result(0, Place);
  Value Numbers = N.iota({Expr(int64_t(Categories.size()))}, 0, N.i64());
  giveOneHot(
      N, N.compare(Predicate::eq, N.unsqueeze(Place, {N.rank(Place)}), Numbers),
      Zeros);
}

/// Gives what `Values` has for each key, and its last element for all else.
static void giveMapped(NodeImport &N, const StringList &Keys, Value Values) {
  const Entry *E = N.entry(0);
  Value X = N.input(0);
  if (N.bad() || !E || !E->Strings || !Values)
    return;
  Ints Places;
  for (const std::string &Text : *E->Strings)
    Places.push_back(llvm::find(Keys, Text) - Keys.begin());
  Places.push_back(static_cast<int64_t>(Keys.size()));
  Value Table = N.gather(Values, N.intVector(Places, N.i64()), 0);
  N.result(0, lookUp(N, X, *E->Strings, Table));
}

/// The same where strings become strings.
static void giveMappedStrings(NodeImport &N, const StringList &Keys,
                              const StringList &Values,
                              const std::string &Default) {
  StringList List;
  Ints Codes;
  for (const std::string &Text : Values)
    Codes.push_back(placeIn(List, Text));
  Codes.push_back(placeIn(List, Default));
  giveMapped(N, Keys, N.intVector(Codes, N.i64()));
  if (const Entry *E =
          N.bad() ? nullptr : N.importer().entry(N.node().Outputs[0]))
    giveStrings(N, 0, E->Built, List);
}

static bool asManyValues(NodeImport &N, size_t Keys, size_t Values) {
  if (Keys == Values && Keys > 0)
    return true;
  N.fail(Code::ImportAttributeValue, "has " + std::to_string(Keys) +
                                         " keys, but " +
                                         std::to_string(Values) + " values");
  return false;
}

static void encodeLabels(NodeImport &N) {
  StringList Keys = stringsAttribute(N, "keys_strings"),
             Texts = stringsAttribute(N, "values_strings"),
             Places = stringsAttribute(N, "classes_strings");
  std::string Text = N.stringAttribute("default_string", "_Unused");
  double Real = N.floatAttribute("default_float", -0.0);
  int64_t Whole = N.intAttribute("default_int64", -1);
  std::optional<Ints> Numbers = N.intsAttribute("values_int64s");
  std::optional<std::vector<double>> Reals = N.floatsAttribute("values_floats");
  if (N.opset() < 2) { // keys are a list, and values the places in it
    Keys = Places;
    llvm::append_range(
        Numbers.emplace(),
        llvm::seq<int64_t>(0, static_cast<int64_t>(Keys.size())));
  }
  if (const Tensor *T = N.tensorAttribute("keys_tensor"))
    Keys = T->Strings;
  const Tensor *Default = N.tensorAttribute("default_tensor");
  Type OfWhole = N.i64(), OfReal = N.f32();
  if (const Tensor *T = N.tensorAttribute("values_tensor")) {
    if (Type Given = graphType(N.builder().getContext(), T->Type))
      OfWhole = OfReal = Given;
    if (!T->Strings.empty())
      Texts = T->Strings;
    else if (std::optional<std::vector<int64_t>> V = T->integers())
      Numbers = Ints(V->begin(), V->end());
    else
      Reals = T->reals();
  }
  if (Default && !Default->Strings.empty())
    Text = Default->Strings.front();
  else if (Default)
    if (std::vector<double> V = realsOfTensor(N, *Default); !V.empty()) {
      Real = V.front();
      Whole = static_cast<int64_t>(V.front());
    }
  N.expectInputs(1, 1);
  size_t Count = Numbers ? Numbers->size()
                 : Reals ? Reals->size()
                         : Texts.size();
  if (N.bad() || !asManyValues(N, Keys.size(), Count))
    return;
  if (Numbers) {
    Numbers->push_back(Whole);
    giveMapped(N, Keys, N.intVector(*Numbers, OfWhole));
  } else if (Reals) {
    Reals->push_back(Real);
    giveMapped(N, Keys, N.floatVector(*Reals, OfReal));
  } else {
    giveMappedStrings(N, Keys, Texts, Text);
  }
}

static void mapCategories(NodeImport &N) {
  StringList Keys = stringsAttribute(N, "cats_strings");
  Ints Numbers = N.intsAttribute("cats_int64s").value_or(Ints());
  int64_t Default = N.intAttribute("default_int64", -1);
  N.ignoreAttribute("default_string");
  N.expectInputs(1, 1);
  if (N.bad() || !asManyValues(N, Keys.size(), Numbers.size()))
    return;
  Numbers.push_back(Default);
  giveMapped(N, Keys, N.intVector(Numbers, N.i64()));
}

/// Of numbers, to strings.
static void importCategoryMapper(NodeImport &N) {
  StringList Texts = stringsAttribute(N, "cats_strings");
  Ints Numbers = N.intsAttribute("cats_int64s").value_or(Ints());
  std::string Default = N.stringAttribute("default_string", "_Unused");
  N.ignoreAttribute("default_int64");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad() || !asManyValues(N, Numbers.size(), Texts.size()))
    return;
  StringList List;
  Ints Codes;
  for (const std::string &Text : Texts)
    Codes.push_back(placeIn(List, Text));
  Value Other = N.scalarInt(placeIn(List, Default), N.i64());
  int64_t Last = N.rank(X);
  Value Hit = N.cast(N.compare(Predicate::eq, N.unsqueeze(X, {Last}),
                               N.intVector(Numbers, N.element(X))),
                     N.i32());
  Value At = N.argReduce(ReduceKind::max, Hit, Last, /*SelectLast=*/false);
  Value Any = N.cast(N.reduce(ReduceKind::max, Hit, {Last}), N.i1());
  giveStrings(
      N, 0, N.select(Any, N.gather(N.intVector(Codes, N.i64()), At, 0), Other),
      std::move(List));
}

/// Elements of inputs, which have lists of their own: one list has all strings.
static void joinStrings(NodeImport &N) {
  bool Picks = N.node().Op == "Where";
  int64_t Axis = Picks ? 0 : N.requiredInt("axis");
  StringList All;
  SmallVector<Value> Parts;
  for (size_t I = Picks ? 1 : 0; I < N.inputCount(); ++I) {
    Value X = N.input(I);
    const Entry *E = N.entry(I);
    if (N.bad() || !E)
      return;
    if (!E->Strings) {
      N.fail(Code::ImportElementType, "input " + std::to_string(I) + " is " +
                                          typeText(N.element(X)) +
                                          ", expected strings as the others");
      return;
    }
    for (const std::string &Text : *E->Strings)
      placeIn(All, Text);
    Parts.push_back(X);
  }
  for (size_t I = 0; I < Parts.size(); ++I)
    Parts[I] =
        translate(N, Parts[I], *N.entry(I + (Picks ? 1 : 0))->Strings, All);
  if (Parts.empty() || llvm::is_contained(Parts, Value()))
    return N.result(0, Value());
  Value Y;
  if (Picks) {
    N.expectInputs(3, 3);
    Value Condition = N.input(0);
    Y = N.bad() ? Value() : N.select(Condition, Parts[0], Parts[1]);
  } else {
    Axis = N.frontAxis(Axis, N.rank(Parts[0]));
    Y = N.bad() ? Value() : N.concat(Parts, Axis);
  }
  giveStrings(N, 0, Y, std::move(All));
}

/// Strings where their list stays the same.
static void moveStrings(NodeImport &N, const Rule &R,
                        const std::shared_ptr<const StringList> &List) {
  if (keepsStrings(N.node())) {
    N.ignoreAttribute("to");
    N.ignoreAttribute("saturate");
    N.ignoreAttribute("round_mode");
    return giveStrings(N, 0, N.input(0), *List);
  }
  R.Import(N);
  for (size_t I = 0; I < N.node().Outputs.size() && !N.bad(); ++I) {
    const Entry *Out =
        N.wants(I) ? N.importer().entry(N.node().Outputs[I]) : nullptr;
    if (Out && Out->Built && !Out->Strings)
      giveStrings(N, I, Out->Built, *List);
  }
}

bool importStrings(NodeImport &N, const Rule *R) {
  const Node &Of = N.node();
  const StringList *List = nullptr;
  for (size_t I = 0; I < N.inputCount() && !List; ++I)
    if (const Entry *E = N.entry(I))
      List = E->Strings.get();
  if (!List)
    return false;
  const Entry *First = N.entry(0);
  bool Splits = Of.Domain.empty() && Of.Op == "Split";
  if (R && (movesStrings(Of) || Splits) && First && First->Strings) {
    moveStrings(N, *R, First->Strings);
  } else if (joinsStrings(Of)) {
    joinStrings(N);
  } else if (Of.Domain.empty() && Of.Op == "Equal") {
    compareStrings(N);
  } else if (Of.Domain == "ai.onnx.ml" && Of.Op == "OneHotEncoder") {
    encodeOneHot(N);
  } else if (Of.Domain == "ai.onnx.ml" && Of.Op == "LabelEncoder") {
    encodeLabels(N);
  } else if (Of.Domain == "ai.onnx.ml" && Of.Op == "CategoryMapper") {
    mapCategories(N);
  } else {
    N.fail(Code::ImportUnsupported,
           "computes with strings, which kpc takes only where they select or "
           "label",
           "compute with strings outside, and give the model numbers");
  }
  return true;
}

/// Rows of scores for rows of maps; the labels are metadata.
static void importZipMap(NodeImport &N) {
  std::optional<ClassLabels> Labels = classLabels(N, "classlabels_int64s");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad() || !Labels)
    return;
  if (N.rank(X) != 1 && N.rank(X) != 2) {
    N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(N.rank(X)) +
                                 ", but should have 1 or 2");
    return;
  }
  if (!N.unify(N.dims(X).back(), Expr(int64_t(Labels->size())))) {
    N.fail(Code::ImportShape, std::to_string(Labels->size()) +
                                  " labels for scores of " +
                                  dimsText(N.dims(X)));
    return;
  }
  if (Labels->Names.empty())
    for (int64_t Number : Labels->Numbers)
      Labels->Names.push_back(std::to_string(Number));
  std::string Name = N.node().Outputs.empty() ? "" : N.node().Outputs[0];
  N.importer().describe("labels:" + Name, Labels->Names);
  N.importer()
      .diagnostics()
      .warning(Code::ImportStrings)
      .at(N.node().place())
      .message("makes maps from labels to scores; kpc gives the scores, and "
               "their labels in the metadata 'labels:" +
               printable(Name) + "'");
  N.result(0, N.rank(X) == 1 ? N.unsqueeze(X, {0}) : X);
}

ArrayRef<Rule> stringRules() {
  static const Rule Rows[] = {
      {"ai.onnx.ml", "ZipMap", 1, 5, importZipMap,
       "gives the scores; the labels are metadata"},
      {"ai.onnx.ml", "CategoryMapper", 1, 5, importCategoryMapper},
  };
  return Rows;
}

} // namespace kpc::onnx
