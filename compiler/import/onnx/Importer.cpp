//===- Importer.cpp - A model on its way into the graph dialect -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/SequenceInputs.h"
#include "compiler/import/onnx/rules/EndedLoop.h"
#include "compiler/import/onnx/rules/Maps.h"
#include "compiler/import/onnx/rules/Strings.h"

#include "compiler/import/onnx/model/Reader.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

Importer::Importer(MLIRContext &Context, const ImportOptions &Options,
                   std::string ModelName, WeightStore &Weights,
                   Diagnostics &Diags)
    : Options(Options), ModelName(std::move(ModelName)), Weights(Weights),
      TheDiags(Diags), Diags(&Diags), B(&Context), Evaluator(Facts, Weights) {
  Context.loadDialect<GraphDialect, func::FuncDialect>();
}

//===----------------------------------------------------------------------===//
// Values by name
//===----------------------------------------------------------------------===//

Entry *Importer::find(std::string_view Name, size_t *Scope) {
  std::string Key(Name);
  for (size_t I = Scopes.size(); I-- > 0;)
    if (auto It = Scopes[I].find(Key); It != Scopes[I].end()) {
      if (Scope)
        *Scope = I;
      return &It->second;
    }
  return nullptr;
}

const Entry *Importer::entry(std::string_view Name) {
  Entry *E = find(Name);
  if (!E || E->Lost)
    return nullptr;
  if (E->Data && !E->Strings && !E->Data->Strings.empty())
    E->Strings = std::make_shared<std::vector<std::string>>(E->Data->Strings);
  return E;
}

bool Importer::isLost(std::string_view Name) const {
  const Entry *E = find(Name);
  return !E || E->Lost;
}

Value Importer::value(std::string_view Name, NodeImport &Reader) {
  size_t Scope = 0;
  Entry *E = find(Name, &Scope);
  if (!E || E->Lost)
    return {};
  OpBuilder::InsertionGuard Guard(B);
  setInsertionPointFor(Scope);
  if (!E->Built && E->Data && E->Data->Type == ElementType::String)
    buildStrings(*E, Reader);
  if (!E->Built && E->Known && !E->Data)
    E->Built = build(*E->Known, Reader);
  else if (!E->Built && E->Data)
    E->Built = build(*E->Data, Reader);
  return E->Built;
}

const Contents *Importer::contents(std::string_view Name) {
  Entry *E = find(Name);
  if (!E || E->Lost)
    return nullptr;
  if (!E->Known && E->Data)
    E->Known = Contents::of(*E->Data);
  else if (!E->Known && E->Built)
    E->Known = Evaluator.contents(E->Built);
  return E->Known ? &*E->Known : nullptr;
}

void Importer::define(const std::string &Name, Value V) {
  Scopes.back()[Name].Built = V;
}

void Importer::define(const std::string &Name, Contents C) {
  Scopes.back()[Name].Known = std::move(C);
}

void Importer::lose(const std::string &Name) {
  Scopes.back()[Name].Lost = true;
}

void Importer::addInitializers(const Graph &G) {
  for (const auto &[Name, T] : G.Initializers)
    Scopes.back()[Name].Data = &T;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static std::string shownName(const Node &N) {
  std::string Name = N.place().Node;
  return printable(Name.empty() ? N.Op : Name);
}

static Location locationOf(MLIRContext *Context, const Node &N) {
  Location Op = NameLoc::get(StringAttr::get(Context, printable(N.Op)));
  return NameLoc::get(StringAttr::get(Context, shownName(N)), Op);
}

/// What to do with a model that has operators of a domain without rules.
static std::string wayOutOf(std::string_view Domain) {
  if (Domain == "com.microsoft.nchwc")
    return "ONNX Runtime made it for the processor that saved the model: take "
           "the model from before, or save it with ORT_ENABLE_EXTENDED";
  if (Domain == "ai.onnx.contrib")
    return "these are onnxruntime-extensions, mostly of texts and images: "
           "start the model after them (onnx.utils.extract_model)";
  if (Domain == "org.pytorch.aten" || Domain == "aten" || Domain == "prim")
    return "the exporter fell back to PyTorch's own operators: export with "
           "operator_export_type ONNX, or give kpc a .pt2 file";
  return "`kpc ops` lists the domains and operators that import; --operator "
         "brings others";
}

void Importer::reportUnknown(const Node &N) {
  auto Report = [&](Code C, std::string Text, std::string Hint = "") {
    kpc::Diagnostic &D =
        diagnostics().error(C).at(N.place()).message(std::move(Text));
    if (!Hint.empty())
      D.hint(std::move(Hint));
  };
  std::vector<std::string_view> Names;
  bool KnownDomain = false;
  for (const Rule *R : allRules())
    if (R->Domain == N.Domain) {
      KnownDomain = true;
      Names.push_back(R->Op);
    }
  std::string Domain = N.Domain.empty() ? "ai.onnx" : printable(N.Domain);
  if (!KnownDomain)
    return Report(Code::ImportUnknownDomain,
                  "kpc knows no operators of the domain '" + Domain + "'",
                  wayOutOf(N.Domain));
  if (N.Opset == 0)
    return Report(Code::ImportOpset,
                  "the model does not say which version of operator set '" +
                      Domain + "' it uses");
  std::vector<const Rule *> Rows = rowsOf(N.Domain, N.Op);
  if (!Rows.empty())
    return Report(Code::ImportUnknownOp,
                  "kpc imports this operator of opset " +
                      std::to_string(Rows.front()->Since) + " to " +
                      std::to_string(Rows.back()->Until) + " only",
                  "convert the model to one of these opsets: "
                  "onnx.version_converter");
  std::string_view Near = nearest(N.Op, Names);
  Report(Code::ImportUnknownOp, "kpc has no import rule for this operator",
         Near.empty() ? ""
                      : "did you mean " + std::string(Near) +
                            "? `kpc ops` lists what imports");
}

void Importer::importNode(const Node &N) {
  size_t ErrorsBefore = diagnostics().errorCount();
  NodeImport Import(*this, N, B, locationOf(B.getContext(), N));
  if (!N.Scope.empty())
    NodeScopes.set(shownName(N), B.getStringAttr(printable(N.Scope)));
  const custom::Operator *Custom = customOperator(N);
  const Rule *R = Custom ? nullptr : findRule(N.Domain, N.Op, N.Opset);
  bool Lost = llvm::any_of(N.Inputs, [&](const std::string &Name) {
    return !Name.empty() && isLost(Name);
  });
  if (Custom) {
    if (!Lost)
      importCustom(Import, *Custom);
  } else if (!R) {
    if (std::optional<RuleFunction> Refuse = refusalOf(N.Domain, N.Op))
      (*Refuse)(Import);
    else
      reportUnknown(N);
    Lost = true;
  } else if (Lost) {
    probe(N, *R);
  } else if (importStrings(Import, R)) {
    if (!Import.bad())
      Import.checkUnread();
  } else if (!importByContents(Import) && !Import.bad()) {
    R->Import(Import);
    if (!Import.bad())
      Import.checkUnread();
  }
  // A rule that gave up without a word must not pass for one that worked.
  if (!Lost && Import.bad() && diagnostics().errorCount() == ErrorsBefore)
    diagnostics()
        .error(Code::ImportUnsupported)
        .at(N.place())
        .message("this form of the operator is not supported");
  for (const std::string &Name : N.Outputs) {
    if (Name.empty())
      continue;
    auto It = Scopes.back().find(Name);
    bool Defined = It != Scopes.back().end();
    if (!Lost && !Import.bad() && !Defined)
      Import.unsupported("output '" + printable(Name) +
                         "' is not computed by kpc");
    if (Lost || Import.bad())
      lose(Name);
  }
  if (Options.Types && Scopes.size() == 1)
    noteTypes(N);
  if (!Lost && !Import.bad() && Scopes.size() == 1)
    checkValueInfo(N);
}

void Importer::importNodes(const Graph &G) {
  const Graph *Around = std::exchange(Innermost, &G);
  for (const Node &N : G.Nodes)
    importNode(N);
  Innermost = Around;
}

std::optional<SmallVector<Value>> Importer::inlineGraph(const Graph &G,
                                                        ArrayRef<Value> Inputs,
                                                        NodeImport &Caller) {
  return inlineGraph(
      G,
      [&] {
        for (auto [Info, V] : llvm::zip(G.Inputs, Inputs))
          define(Info.Name, V);
      },
      Caller);
}

/// The recursion is bounded: the reader refuses deeper nesting. The nodes are
/// bounded here: loops in loops multiply.
bool Importer::mayInline(const Graph &G, NodeImport &Caller) {
  Inlined += G.Nodes.size();
  if (Inlined <= Options.MostInlined)
    return true;
  Caller.fail(Code::ImportTooDeep,
              "unrolling the model's loops makes more than " +
                  std::to_string(Options.MostInlined) +
                  " nodes, the most that --limit unrolled=NODES allows");
  return false;
}

std::optional<SmallVector<Value>>
Importer::inlineGraph(const Graph &G, llvm::function_ref<void()> Define,
                      NodeImport &Caller) {
  if (!mayInline(G, Caller))
    return std::nullopt;
  Scopes.emplace_back();
  addInitializers(G);
  Define();
  importNodes(G);
  std::optional<SmallVector<Value>> Results(std::in_place);
  for (const ValueInfo &V : G.Outputs) {
    Value Result = value(V.Name, Caller);
    if (!Result) {
      Results.reset();
      break;
    }
    Results->push_back(Result);
  }
  Scopes.pop_back();
  return Results;
}

std::optional<std::vector<Entry>>
Importer::inlineEntries(const Graph &G, ArrayRef<Entry> Inputs,
                        NodeImport &Caller) {
  std::optional<std::vector<Entry>> Results(std::in_place);
  bool Good = mayInline(G, Caller);
  if (!Good)
    return std::nullopt;
  Scopes.emplace_back();
  addInitializers(G);
  for (auto [Info, E] : llvm::zip(G.Inputs, Inputs))
    define(Info.Name, E);
  importNodes(G);
  for (const ValueInfo &V : G.Outputs) {
    const Entry *E = entry(V.Name);
    if (!E) {
      Results.reset();
      break;
    }
    Results->push_back(*E);
  }
  Scopes.pop_back();
  return Results;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// The first node that reads a value, for messages about the value.
static ModelPlace readerOf(const Graph &G, const std::string &Name) {
  for (const Node &N : G.Nodes)
    if (llvm::is_contained(N.Inputs, Name))
      return N.place();
  return {};
}

static std::string_view kindText(ValueInfo::Kind K) {
  static constexpr std::string_view Names[] = {"a value without a type",
                                               "a tensor",
                                               "a sparse tensor",
                                               "a sequence",
                                               "a map",
                                               "an optional value"};
  return Names[static_cast<size_t>(K)];
}

/// An input of strings that no list in the model tells apart, where its reader
/// is an operator without a rule, which is reported.
static bool isReadInVain(const Graph &G, const ValueInfo &V,
                         const custom::Operators *Custom) {
  auto Reader = llvm::find_if(G.Nodes, [&](const Node &N) {
    return llvm::is_contained(N.Inputs, V.Name);
  });
  return V.Type == ElementType::String && Reader != G.Nodes.end() &&
         !(Custom && Custom->find(Reader->Domain, Reader->Op)) &&
         rowsOf(Reader->Domain, Reader->Op).empty();
}

std::optional<Type> Importer::inputType(const ValueInfo &V) {
  auto Report = [&](Code C, const std::string &What,
                    const std::string &Hint = "") {
    kpc::Diagnostic &D = diagnostics().error(C).at(readerOf(*Top, V.Name));
    D.message("the model's input '" + printable(V.Name) + "' " + What);
    if (!Hint.empty())
      D.hint(Hint);
    return std::nullopt;
  };
  if (V.Is == ValueInfo::Kind::Unknown)
    return Report(Code::ImportNoRank, "has no type",
                  "give the input its type and shape when exporting");
  bool IsRow = false;
  if (V.Is == ValueInfo::Kind::Map) {
    std::optional<bool> Taken = takeMap(*this, *Top, V);
    if (!Taken)
      return std::nullopt;
    IsRow = *Taken;
  }
  if (V.Is != ValueInfo::Kind::Tensor && !IsRow)
    return Report(Code::ImportValueType, "is " + std::string(kindText(V.Is)) +
                                             ", but kpc takes dense tensors");
  Type Element = graphType(B.getContext(), V.Type);
  if (!Element && isReadInVain(*Top, V, Options.Custom))
    return std::nullopt;
  if (!Element && V.Type == ElementType::String)
    return Report(Code::ImportElementType,
                  "is strings, and nothing in the model says which: kpc takes "
                  "strings only where they select or label",
                  "compute with strings outside, and give the model numbers; "
                  "compare them with constants or lists of the model, and it "
                  "compiles");
  if (!Element)
    return Report(Code::ImportElementType,
                  "has the type " + elementTypeName(V.Type) +
                      ", which kpc cannot compute with");
  if (!V.Shape) {
    if (auto It = RankOnly.find(V.Name); It != RankOnly.end())
      return checkedType(It->second, Element);
    return Report(Code::ImportNoRank, "has no shape");
  }
  Dims Sizes;
  for (size_t I = 0; I < V.Shape->size(); ++I)
    Sizes.push_back(inputSize(V, I, (*V.Shape)[I]));
  if (SymbolicTensorType Ty = checkedType(Sizes, Element))
    return Ty;
  return Report(Code::ImportBadDims, "has the sizes " + dimsText(Sizes) +
                                         ", which no tensor can have");
}

void Importer::describe(const std::string &Key, ArrayRef<std::string> Names) {
  if (!Options.Metadata)
    return;
  llvm::json::Array List;
  for (const std::string &Name : Names)
    List.push_back(llvm::json::isUTF8(Name) ? Name : llvm::json::fixUTF8(Name));
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::json::Value(std::move(List));
  Options.Metadata->emplace_back(Key, Text);
}

void Importer::buildStrings(Entry &E, NodeImport &Reader) {
  // The first place of each: a list may have a string twice.
  std::unordered_map<std::string_view, int64_t> First;
  Ints Places;
  for (const std::string &Text : E.Data->Strings)
    Places.push_back(
        First.emplace(Text, static_cast<int64_t>(Places.size())).first->second);
  Dims Sizes(E.Data->Dims.begin(), E.Data->Dims.end());
  E.Built = Reader.reshape(Reader.intVector(Places, Reader.i64()), Sizes);
}

bool Importer::defineStrings(const ValueInfo &V, Block &Body) {
  std::vector<std::string> List = stringsReadOf(*Top, V.Name);
  if (List.empty() || !V.Shape)
    return false;
  ValueInfo Numbers = V;
  Numbers.Type = ElementType::Int64;
  std::optional<Type> Ty = inputType(Numbers);
  if (!Ty)
    return false;
  describe("strings:" + V.Name, List);
  diagnostics()
      .warning(Code::ImportStrings)
      .at(readerOf(*Top, V.Name))
      .message("the model's input '" + printable(V.Name) +
               "' is strings; kpc takes their places in the list that the "
               "metadata 'strings:" +
               printable(V.Name) + "' has, and -1 for any other string");
  Entry E;
  E.Built =
      Body.addArgument(*Ty, NameLoc::get(B.getStringAttr(printable(V.Name))));
  E.Strings = std::make_shared<std::vector<std::string>>(std::move(List));
  define(V.Name, std::move(E));
  Signature.push_back(V.Name);
  return true;
}

bool isUnread(const Graph &G, const std::string &Name) {
  auto Named = [&](const ValueInfo &V) { return V.Name == Name; };
  if (llvm::any_of(G.Outputs, Named))
    return false;
  return llvm::none_of(G.Nodes, [&](const Node &N) {
    return llvm::is_contained(N.Inputs, Name) ||
           llvm::any_of(N.Attributes, [&](const auto &A) {
             return llvm::any_of(A.second.Graphs, [&](const auto &Sub) {
               return !isUnread(*Sub, Name);
             });
           });
  });
}

OwningOpRef<ModuleOp> Importer::run(const Model &M) {
  size_t ErrorsBefore = diagnostics().errorCount();
  Location Loc =
      NameLoc::get(StringAttr::get(B.getContext(), printable(ModelName)));
  Module = ModuleOp::create(Loc);
  B.setInsertionPointToEnd(Module->getBody());
  Main = func::FuncOp::create(B, Loc, "main", B.getFunctionType({}, {}));
  Block *Body = Main.addEntryBlock();
  B.setInsertionPointToEnd(Body);
  Top = &M.Main;
  if (Options.Metadata)
    *Options.Metadata = M.Metadata;
  Scopes.emplace_back();
  addInitializers(M.Main);
  readDimOptions(M);
  for (const ValueInfo &V : M.Main.Inputs) {
    if (auto It = Options.Bound.find(V.Name); It != Options.Bound.end()) {
      Scopes.back()[V.Name].Data = &It->second;
      continue;
    }
    if (auto It = Options.Values.find(V.Name); It != Options.Values.end()) {
      defineGivenValue(V, It->second);
      continue;
    }
    bool IsText = V.Type == ElementType::String;
    if (V.Is == ValueInfo::Kind::Tensor && (!V.Shape || IsText) &&
        isUnread(M.Main, V.Name)) {
      diagnostics()
          .warning(Code::ImportTolerated)
          .message("the model's input '" + printable(V.Name) +
                   (IsText ? "' is strings" : "' has no shape") +
                   ", and nothing reads it: it is left out");
      continue;
    }
    if (V.Is == ValueInfo::Kind::Tensor && V.Type == ElementType::String &&
        defineStrings(V, *Body))
      continue;
    std::optional<Type> Ty = inputType(V);
    if (!Ty) {
      lose(V.Name);
      continue;
    }
    Location At = NameLoc::get(B.getStringAttr(printable(V.Name)));
    define(V.Name, Body->addArgument(*Ty, At));
    Signature.push_back(V.Name);
  }
  importNodes(M.Main);
  // What reads such an input says why; without a word it would be forgotten.
  for (const ValueInfo &V : M.Main.Inputs)
    if (const Entry *E = find(V.Name);
        E && E->Lost && diagnostics().errorCount() == ErrorsBefore)
      diagnostics()
          .error(Code::ImportUnsupported)
          .at(readerOf(M.Main, V.Name))
          .message("the model's input '" + printable(V.Name) +
                   "' is none that kpc can take");
  finish(M);
  if (diagnostics().errorCount() != ErrorsBefore)
    return {};
  return std::move(Module);
}

OwningOpRef<ModuleOp> importModel(MLIRContext &Context, Model &TheModel,
                                  const ImportOptions &Options,
                                  WeightStore &Weights, Diagnostics &Diags) {
  std::string Name = Options.ModelName.empty() ? "model" : Options.ModelName;
  ImportOptions Own = Options;
  if (!takeSequencesApart(TheModel, Own, Diags))
    return {};
  return Importer(Context, Own, Name, Weights, Diags).run(TheModel);
}

OwningOpRef<ModuleOp> importModel(MLIRContext &Context, const std::string &Path,
                                  const ImportOptions &Options,
                                  WeightStore &Weights, Diagnostics &Diags) {
  std::string Name = Path.substr(Path.rfind('/') + 1);
  if (Diags.file().empty())
    Diags.setFile(Name);
  std::optional<Model> M = readModel(Path, Diags, Options.DataFolder);
  if (!M)
    return {};
  if (!Options.ModelName.empty())
    Name = Options.ModelName;
  ImportOptions Own = Options;
  if (!takeSequencesApart(*M, Own, Diags))
    return {};
  return Importer(Context, Own, Name, Weights, Diags).run(*M);
}

} // namespace kpc::onnx
