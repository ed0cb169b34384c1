//===- Maps.cpp - Import of what reads maps -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A map is the row of its values, in the order in which its reader would put
/// them. The keys of that order are metadata of the artifact.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Maps.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"

using namespace kpc::graph;

namespace kpc::onnx {

static std::vector<std::string> vocabularyOf(const Node &N) {
  if (auto It = N.Attributes.find("string_vocabulary");
      It != N.Attributes.end())
    return It->second.Strings;
  std::vector<std::string> Keys;
  if (auto It = N.Attributes.find("int64_vocabulary"); It != N.Attributes.end())
    for (int64_t Key : It->second.Ints)
      Keys.push_back(std::to_string(Key));
  return Keys;
}

/// What the operator's definition has where the node says nothing.
static constexpr int64_t FewestSlots = 1;
/// A run writes them all, whatever the map holds.
static constexpr int64_t MostSlots = 1 << 24;

/// Values by key from 0 on: how many there are, which may be out of bounds.
static std::optional<int64_t> slotsOf(const Node &N) {
  auto Form = N.Attributes.find("map_form"),
       Most = N.Attributes.find("max_map");
  if (Form == N.Attributes.end() || Form->second.String != "SPARSE")
    return std::nullopt;
  return Most == N.Attributes.end() ? FewestSlots : Most->second.Int;
}

static std::optional<MapRow> rowOf(const Node &Reader, const ValueInfo &Map) {
  if (Reader.Domain != "ai.onnx.ml" || Map.Type == ElementType::Undefined ||
      Map.Type == ElementType::String)
    return std::nullopt;
  MapRow Row;
  std::string List = "'labels:" + printable(Map.Name) + "'";
  if (Reader.Op == "DictVectorizer") {
    Row.Keys = vocabularyOf(Reader);
    Row.Order = "in the order of the keys in the metadata " + List +
                ", with zeros for those it lacks";
    Row.Columns = static_cast<int64_t>(Row.Keys.size());
    return Row.Keys.empty() ? std::nullopt : std::optional(std::move(Row));
  }
  if (Reader.Op != "CastMap")
    return std::nullopt;
  Row.Order = "in the order of their keys";
  if (std::optional<int64_t> Slots = slotsOf(Reader)) {
    Row.Columns = std::clamp(*Slots, FewestSlots, MostSlots);
    Row.Order = "each at the place that is its key, with zeros between them";
  }
  return Row;
}

/// All nodes that read a value, those of subgraphs among them.
static void collectReaders(const Graph &G, const std::string &Name,
                           std::vector<const Node *> &Readers) {
  for (const Node &N : G.Nodes) {
    if (llvm::is_contained(N.Inputs, Name))
      Readers.push_back(&N);
    for (const auto &[Key, A] : N.Attributes)
      for (const auto &Sub : A.Graphs)
        collectReaders(*Sub, Name, Readers);
  }
}

std::optional<MapRow> rowOfMap(const Graph &G, const ValueInfo &Map) {
  std::vector<const Node *> Readers;
  collectReaders(G, Map.Name, Readers);
  return Readers.empty() ? std::nullopt : rowOf(*Readers.front(), Map);
}

std::optional<bool> takeMap(Importer &Into, const Graph &G,
                            const ValueInfo &Map) {
  std::vector<const Node *> Readers;
  collectReaders(G, Map.Name, Readers);
  std::optional<MapRow> Row =
      Readers.empty() ? std::nullopt : rowOf(*Readers.front(), Map);
  if (!Row)
    return false;
  std::string Input =
      "the model's input '" + printable(Map.Name) + "' is a map";
  const Node &First = *Readers.front();
  for (const Node *N : llvm::drop_begin(Readers))
    if (rowOf(*N, Map) != Row) {
      Into.diagnostics()
          .error(Code::ImportValueType)
          .at(N->place())
          .message(Input +
                   ", and the node takes its values in another order "
                   "than the node '" +
                   printable(First.Name.empty() ? First.Op : First.Name) +
                   "', which reads it first")
          .hint("give each of the two nodes an input of its own");
      return std::nullopt;
    }
  if (!Row->Keys.empty())
    Into.describe("labels:" + Map.Name, Row->Keys);
  kpc::Diagnostic &Warning = Into.diagnostics().warning(Code::ImportStrings);
  Warning.at(First.place())
      .message(Input + "; kpc takes its values as a row, " + Row->Order);
  if (Row->Keys.empty())
    Warning.hint("give the run that row; --strict makes this an error");
  return true;
}

/// The row is the result.
static void importDictVectorizer(NodeImport &N) {
  N.ignoreAttribute("string_vocabulary");
  N.ignoreAttribute("int64_vocabulary");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, X);
}

static void importCastMap(NodeImport &N) {
  std::string To = N.stringAttribute("cast_to", "TO_FLOAT");
  N.ignoreAttribute("map_form");
  N.ignoreAttribute("max_map");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  int64_t Slots = slotsOf(N.node()).value_or(FewestSlots);
  if (Slots < FewestSlots || Slots > MostSlots) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'max_map' is " + std::to_string(Slots) + ", expected " +
               std::to_string(FewestSlots) + " to " +
               std::to_string(MostSlots));
    return;
  }
  if (To == "TO_FLOAT" || To == "TO_INT64")
    return N.result(0, N.cast(X, To == "TO_FLOAT" ? N.f32() : N.i64()));
  N.fail(Code::ImportElementType,
         "makes texts of numbers ('cast_to' is '" + printable(To) +
             "'), and kpc takes strings only where they select or label",
         "make the numbers an output, and format them outside");
}

ArrayRef<Rule> mapRules() {
  static const Rule Rows[] = {
      {"ai.onnx.ml", "DictVectorizer", 1, 5, importDictVectorizer,
       "takes the row of a map's values; the keys are metadata"},
      {"ai.onnx.ml", "CastMap", 1, 5, importCastMap,
       "takes the row of a map's values, which are numbers; no TO_STRING"},
  };
  return Rows;
}

} // namespace kpc::onnx
