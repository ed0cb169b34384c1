//===- GraphCustom.cpp - Operators that users bring -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/CustomCode.h"
#include "dialects/graph/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

unsigned graph::customArgumentBytes(const std::string &Type) {
  return llvm::StringSwitch<unsigned>(Type)
      .Cases({"i64", "f64"}, 8)
      .Cases({"i32", "f32"}, 4)
      .Default(0);
}

//===----------------------------------------------------------------------===//
// To an attribute
//===----------------------------------------------------------------------===//

DictionaryAttr CustomCode::toAttr(MLIRContext *Context, bool WithSizes) const {
  Builder B(Context);
  NamedAttrList List;
  auto Text = [&](StringRef Name, const std::string &Value) {
    if (!Value.empty())
      List.append(Name, B.getStringAttr(Value));
  };
  auto Pairs = [&](StringRef Name, const auto &Named) {
    if (Named.empty())
      return;
    SmallVector<Attribute> Each;
    for (const auto &[Key, Value] : Named)
      Each.push_back(B.getStrArrayAttr({Key, Value}));
    List.append(Name, B.getArrayAttr(Each));
  };
  auto Texts = [&](StringRef Name, const std::vector<std::string> &Values) {
    SmallVector<StringRef> Refs(Values.begin(), Values.end());
    if (!Values.empty())
      List.append(Name, B.getStrArrayAttr(Refs));
  };
  Text("function", Function);
  Text("file", File);
  Text("source", Source);
  Text("library", Library);
  Texts("arguments", Arguments);
  if (WithSizes)
    List.append("sizes", DimsAttr::get(Context, Sizes));
  if (IsCuda)
    List.append("block", B.getDenseI64ArrayAttr(Block));
  Pairs("macros", Macros);
  Pairs("headers", Headers);
  Pairs("tensors", Tensors);
  Texts("options", Options);
  return List.getDictionary(Context);
}

//===----------------------------------------------------------------------===//
// From an attribute
//===----------------------------------------------------------------------===//

static bool readTexts(DictionaryAttr From, StringRef Name,
                      std::vector<std::string> &Into) {
  Attribute Given = From.get(Name);
  if (!Given)
    return true;
  auto List = dyn_cast<ArrayAttr>(Given);
  if (!List || !llvm::all_of(List, llvm::IsaPred<StringAttr>))
    return false;
  Into.reserve(List.size());
  for (StringRef Text : List.getAsValueRange<StringAttr>())
    Into.push_back(Text.str());
  return true;
}

static bool readPairs(DictionaryAttr From, StringRef Name,
                      std::vector<std::pair<std::string, std::string>> &Into) {
  Attribute Given = From.get(Name);
  if (!Given)
    return true;
  auto List = dyn_cast<ArrayAttr>(Given);
  if (!List)
    return false;
  for (Attribute Each : List) {
    auto Pair = dyn_cast<ArrayAttr>(Each);
    if (!Pair || Pair.size() != 2 ||
        !llvm::all_of(Pair, llvm::IsaPred<StringAttr>))
      return false;
    Into.emplace_back(cast<StringAttr>(Pair[0]).str(),
                      cast<StringAttr>(Pair[1]).str());
  }
  return true;
}

std::optional<CustomCode> CustomCode::read(DictionaryAttr From, bool IsCuda,
                                           bool WithSizes,
                                           std::string &Problem) {
  CustomCode Code;
  Code.IsCuda = IsCuda;
  auto Bad = [&](const char *What) {
    Problem = What;
    return std::nullopt;
  };
  for (auto [Name, Into] : {std::pair("function", &Code.Function),
                            {"file", &Code.File},
                            {"source", &Code.Source},
                            {"library", &Code.Library}}) {
    Attribute Given = From.get(Name);
    auto Text = dyn_cast_if_present<StringAttr>(Given);
    if (Given && !Text)
      return Bad("expected texts as function, file, source and library");
    if (Text)
      *Into = Text.str();
  }
  if (Code.Function.empty() || Code.Source.empty() == Code.Library.empty() ||
      (IsCuda && Code.Source.empty()))
    return Bad("expected a function, and a source or a library");
  if (!readTexts(From, "arguments", Code.Arguments) ||
      !readTexts(From, "options", Code.Options) ||
      !readPairs(From, "macros", Code.Macros) ||
      !readPairs(From, "headers", Code.Headers) ||
      !readPairs(From, "tensors", Code.Tensors))
    return Bad("expected lists of texts as arguments and options, and lists of "
               "pairs as macros, headers and tensors");
  if (!llvm::all_of(Code.Arguments, customArgumentBytes))
    return Bad("expected arguments of i32, i64, f32 or f64");
  auto Sizes = dyn_cast_if_present<DimsAttr>(From.get("sizes"));
  size_t Count = Code.Arguments.size() + (IsCuda ? CustomLaunchSizes : 0);
  if (WithSizes && (!Sizes || Sizes.getDims().size() != Count))
    return Bad("expected a size for each argument, and for CUDA the grid and "
               "the shared memory behind");
  if (WithSizes)
    Code.Sizes.assign(Sizes.getDims().begin(), Sizes.getDims().end());
  if (!IsCuda)
    return Code;
  auto Block = dyn_cast_if_present<DenseI64ArrayAttr>(From.get("block"));
  constexpr int64_t MostThreads = 1024;
  int64_t Threads = 1;
  bool Good = Block && Block.size() == 3;
  for (size_t I = 0; Good && I < 3; ++I) {
    Code.Block[I] = Block[I];
    Good = Block[I] >= 1 && Block[I] <= MostThreads;
    Threads *= Good ? Block[I] : 1;
  }
  if (!Good || Threads > MostThreads)
    return Bad("expected a block of three extents, at most 1024 threads");
  return Code;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

LogicalResult CustomOp::verify() {
  if (!getCuda() && !getHost())
    return emitOpError("has no code: expected 'cuda', 'host' or both");
  if (getOutputs().empty())
    return emitOpError("has no result");
  std::string Problem;
  if (getCuda() && !CustomCode::read(*getCuda(), /*IsCuda=*/true,
                                     /*WithSizes=*/true, Problem))
    return emitOpError("has bad CUDA code: ") << Problem;
  if (getHost() && !CustomCode::read(*getHost(), /*IsCuda=*/false,
                                     /*WithSizes=*/true, Problem))
    return emitOpError("has bad host code: ") << Problem;
  return success();
}
