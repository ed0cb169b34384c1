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

/// Values by key from 0 on, where the node says how many there are at most.
static int64_t slotsOf(const Node &N) {
  auto Form = N.Attributes.find("map_form"),
       Most = N.Attributes.find("max_map");
  bool Sparse = Form != N.Attributes.end() && Form->second.String == "SPARSE";
  constexpr int64_t Highest = 1 << 24;
  return Sparse && Most != N.Attributes.end()
             ? std::clamp<int64_t>(Most->second.Int, 0, Highest)
             : 0;
}

std::optional<MapRow> rowOfMap(const Node &Reader, const ValueInfo &Map) {
  if (Reader.Domain != "ai.onnx.ml" || Map.Type == ElementType::Undefined ||
      Map.Type == ElementType::String)
    return std::nullopt;
  MapRow Row;
  std::string List = "'labels:" + printable(Map.Name) + "'";
  if (Reader.Op == "DictVectorizer") {
    Row.Keys = vocabularyOf(Reader);
    Row.Order = "in the order of the keys in the metadata " + List +
                ", with zeros for those it lacks";
    return Row.Keys.empty() ? std::nullopt : std::optional(std::move(Row));
  }
  if (Reader.Op != "CastMap")
    return std::nullopt;
  Row.Order = "in the order of their keys";
  for (int64_t Slot = 0; Slot < slotsOf(Reader); ++Slot)
    Row.Keys.push_back(std::to_string(Slot));
  if (!Row.Keys.empty())
    Row.Order = "each at the place that is its key, with zeros between them";
  return Row;
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
