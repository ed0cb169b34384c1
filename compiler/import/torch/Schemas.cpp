//===- Schemas.cpp - Reads the table of schemas ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Schemas.h"
#include "compiler/import/torch/OperatorAliases.h"
#include "compiler/import/torch/SchemaTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace kpc::torch {

using llvm::StringRef;
using Kind = SchemaArgument::Kind;

static std::optional<SchemaArgument> readArgument(StringRef Text) {
  SchemaArgument A;
  A.KeywordOnly = Text.consume_front("*");
  A.HasDefault = Text.consume_back("=");
  auto [Letters, Name] = Text.split(':');
  A.Name = {Name.data(), Name.size()};
  bool List = Letters.contains("[]");
  A.Optional = Letters.contains('?');
  char Of = Letters.empty() ? ' ' : Letters.front();
  switch (Of) {
  case 'T':
    A.Is = List ? Kind::Tensors : Kind::Tensor;
    break;
  case 'i':
    A.Is = List ? Kind::Ints : Kind::Int;
    break;
  case 'f':
    A.Is = List ? Kind::Floats : Kind::Float;
    break;
  case 'S':
    A.Is = Kind::Number;
    break;
  case 'b':
    A.Is = Kind::Bool;
    break;
  case 's':
    A.Is = Kind::Text;
    break;
  case 'd':
    A.Is = Kind::ScalarType;
    break;
  default:
    A.Is = Kind::Other;
  }
  return A.Name.empty() ? std::nullopt : std::optional(A);
}

using SchemaMap = llvm::StringMap<std::vector<Schema>>;

static void readSchema(llvm::ArrayRef<StringRef> Words, SchemaMap &Map) {
  Schema S;
  const auto *Bar = llvm::find(Words, "|");
  for (StringRef Word : llvm::ArrayRef<StringRef>(Bar + 1, Words.end()))
    if (Word.consume_front("="))
      S.Results = Word == "[]" ? -1 : Word[0] - '0';
    else if (auto A = readArgument(Word))
      S.Arguments.push_back(*A);
  for (StringRef Word : llvm::ArrayRef<StringRef>(Words.begin(), Bar)) {
    // "add.Tensor"; of other domains "prims.convert_element_type.default".
    auto [Operator, Overload] = Word.rsplit('.');
    S.Overload = {Overload.data(), Overload.size()};
    Map[Operator].push_back(S);
  }
}

const std::vector<Schema> &schemasOf(std::string_view Operator) {
  static const SchemaMap Map = [] {
    SchemaMap M;
    llvm::SmallVector<StringRef> Lines, Words;
    for (const char *Table : {SchemaTable, MatrixSchemaTable})
      StringRef(Table).split(Lines, '\n', -1, /*KeepEmpty=*/false);
    for (size_t I = 0; I < Lines.size(); ++I) {
      Lines[I].split(Words, ' ', -1, /*KeepEmpty=*/false);
      if (I + 1 < Lines.size() && Lines[I + 1].starts_with(" "))
        continue;
      readSchema(Words, M);
      Words.clear();
    }
    for (const OperatorAlias &A : OperatorAliases) {
      std::vector<Schema> &Own = M[llvm::StringRef(A.Alias)];
      for (const Schema &S : std::vector<Schema>(M[llvm::StringRef(A.Of)]))
        if (llvm::none_of(Own, [&](const Schema &Has) {
              return Has.Overload == S.Overload;
            }))
          Own.push_back(S);
    }
    return M;
  }();
  static const std::vector<Schema> None;
  auto It = Map.find(Operator);
  return It == Map.end() ? None : It->second;
}

} // namespace kpc::torch
