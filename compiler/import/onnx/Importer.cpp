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

#include "compiler/import/onnx/model/Reader.h"
#include "dialects/graph/InputValues.h"
#include "dialects/graph/SizeReasons.h"
#include "mlir/IR/Verifier.h"

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
// Data
//===----------------------------------------------------------------------===//

/// Whether all elements have the same bytes; of packed ones it is not asked.
static bool repeats(const Tensor &T) {
  size_t Size = elementBits(T.Type) / 8;
  if (Size == 0 || T.Bytes.size() < Size)
    return false;
  return std::memcmp(T.Bytes.data(), T.Bytes.data() + Size,
                     T.Bytes.size() - Size) == 0;
}

/// The elements as an attribute; `Count` of them from the start.
static DenseElementsAttr elementsOf(const Tensor &T, RankedTensorType Ty,
                                    size_t Count) {
  if (T.Type == ElementType::Bool) {
    SmallVector<bool> Bits;
    for (uint8_t V : T.Bytes.first(Count))
      Bits.push_back(V != 0);
    return DenseElementsAttr::get(Ty, Bits);
  }
  size_t Size = std::max(elementBits(T.Type) / 8, 1u);
  ArrayRef<char> Raw(reinterpret_cast<const char *>(T.Bytes.data()),
                     Count * Size);
  return DenseElementsAttr::getFromRawBuffer(Ty, Raw);
}

/// With a byte for each element of 2 or 4 bits, as constants have them.
static Tensor unpacked(const Tensor &T) {
  unsigned Bits = elementBits(T.Type);
  if (Bits == 0 || Bits >= 8)
    return T;
  auto Codes = std::make_shared<std::vector<uint8_t>>();
  auto Count = static_cast<size_t>(T.count());
  for (size_t I = 0; I < Count; ++I)
    Codes->push_back(static_cast<uint8_t>(
        T.Bytes[I * Bits / 8] >> (I * Bits % 8) & ((1u << Bits) - 1)));
  Tensor Result = T;
  Result.Bytes = {Codes->data(), Codes->size()};
  Result.Keep = Codes;
  return Result;
}

Value Importer::build(const Tensor &T, NodeImport &Reader) {
  Type Element = graphType(B.getContext(), T.Type);
  if (!Element)
    return Reader.fail(Code::ImportElementType, "reads '" + printable(T.Name) +
                                                    "', whose type " +
                                                    elementTypeName(T.Type) +
                                                    " cannot be computed with");
  int64_t Count = T.count();
  if (Count == 0 && isSubByte(Element))
    return Reader.full(0, Dims(T.Dims.begin(), T.Dims.end()), Element);
  if (Count == 0 || Count > 64) {
    if (Count == 0 || !repeats(T))
      return weight(T, Element, Reader);
    auto Scalar = RankedTensorType::get({}, Element);
    Dims Sizes(T.Dims.begin(), T.Dims.end());
    return Reader.broadcast(Reader.constant(elementsOf(T, Scalar, 1)), Sizes);
  }
  return Reader.constant(elementsOf(unpacked(T),
                                    RankedTensorType::get(T.Dims, Element),
                                    static_cast<size_t>(Count)));
}

/// Bools of any byte but 0 are true; memory holds 1 for them.
static Tensor withPlainBools(const Tensor &T) {
  if (T.Type != ElementType::Bool ||
      llvm::all_of(T.Bytes, [](uint8_t V) { return V <= 1; }))
    return T;
  auto Plain = std::make_shared<std::vector<uint8_t>>();
  for (uint8_t V : T.Bytes)
    Plain->push_back(V != 0);
  Tensor Result = T;
  Result.Bytes = {Plain->data(), Plain->size()};
  Result.Keep = Plain;
  return Result;
}

Value Importer::weight(const Tensor &T, Type Element, NodeImport &Reader) {
  std::string Source = ModelName + "#" + printable(T.Name);
  Tensor Plain = withPlainBools(T);
  Weight W{typeText(Element), Plain.Dims, Plain.Bytes, Plain.Keep};
  if (isSubByte(Element)) {
    W.ElementType = "ui8";
    W.Dims = {static_cast<int64_t>(Plain.Bytes.size())};
  }
  // Subgraphs may use a name again for other data.
  std::string Wanted = Source;
  for (unsigned I = 1; !Weights.add(Source, W); ++I) {
    const Weight *Other = Weights.find(Source);
    if (Other->Bytes.data() == W.Bytes.data() && Other->Dims == W.Dims)
      break;
    Source = Wanted + "_" + std::to_string(I);
  }
  Dims Sizes(T.Dims.begin(), T.Dims.end());
  return Reader.buildSized(WeightOp::getOperationName(), {},
                           {B.getNamedAttr("source", B.getStringAttr(Source)),
                            B.getNamedAttr("recipe", B.getArrayAttr({}))},
                           Sizes, Element);
}

Value Importer::build(const Contents &C, NodeImport &Reader) {
  Type Element = graphType(B.getContext(), C.Type);
  Dims Sizes(C.Dims.begin(), C.Dims.end());
  if (!Element)
    return Reader.fail(Code::ImportElementType,
                       elementTypeName(C.Type) + " cannot be computed with");
  if (C.count() == 0)
    return Reader.full(0, Sizes, Element);
  if (C.isReal())
    return Reader.reshape(Reader.floatVector(C.Real, Element), Sizes);
  if (std::optional<std::vector<int64_t>> Numbers = C.integers()) {
    if (isBool(Element)) {
      SmallVector<bool> Bits(Numbers->begin(), Numbers->end());
      auto Ty = RankedTensorType::get(C.Dims, Element);
      return Reader.constant(DenseElementsAttr::get(Ty, Bits));
    }
    return Reader.reshape(Reader.intVector(*Numbers, Element), Sizes);
  }
  Value V = Reader.sizes(C.Whole);
  return Reader.reshape(Reader.cast(V, Element), Sizes);
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
                  "kpc knows no operators of the domain '" + Domain + "'");
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
  const Rule *R = findRule(N.Domain, N.Op, N.Opset);
  bool Lost = llvm::any_of(N.Inputs, [&](const std::string &Name) {
    return !Name.empty() && isLost(Name);
  });
  if (!R) {
    if (std::optional<RuleFunction> Refuse = refusalOf(N.Domain, N.Op))
      (*Refuse)(Import);
    else
      reportUnknown(N);
    Lost = true;
  } else if (Lost) {
    probe(N, *R);
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
}

void Importer::importNodes(const Graph &G) {
  for (const Node &N : G.Nodes)
    importNode(N);
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
  if (V.Is != ValueInfo::Kind::Tensor)
    return Report(Code::ImportValueType, "is " + std::string(kindText(V.Is)) +
                                             ", but kpc takes dense tensors");
  Type Element = graphType(B.getContext(), V.Type);
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

/// Whether no node, no output and no subgraph names a value.
static bool isUnread(const Graph &G, const std::string &Name) {
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
    if (V.Is == ValueInfo::Kind::Tensor && !V.Shape &&
        isUnread(M.Main, V.Name)) {
      diagnostics()
          .warning(Code::ImportTolerated)
          .message("the model's input '" + printable(V.Name) +
                   "' has no shape, and nothing reads it: it is left out");
      continue;
    }
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
  finish(M);
  if (diagnostics().errorCount() != ErrorsBefore)
    return {};
  return std::move(Module);
}

/// The node that defines a value, for messages about the value.
static ModelPlace writerOf(const Graph &G, const std::string &Name) {
  for (const Node &N : G.Nodes)
    if (llvm::is_contained(N.Outputs, Name))
      return N.place();
  return {};
}

static std::string declaredText(const ValueInfo &V) {
  std::string Text = elementTypeName(V.Type) + " [";
  for (size_t I = 0; V.Shape && I < V.Shape->size(); ++I) {
    const Dim &D = (*V.Shape)[I];
    const int64_t *Size = std::get_if<int64_t>(&D);
    const std::string *Name = std::get_if<std::string>(&D);
    Text += (I ? ", " : "") + (Size   ? std::to_string(*Size)
                               : Name ? printable(*Name, 40)
                                      : std::string("?"));
  }
  return Text + "]";
}

void Importer::checkDeclared(const ValueInfo &V, Value Result,
                             std::string_view What) {
  ArrayRef<Expr> Sizes = Emitter::dims(Result);
  Type Declared = graphType(B.getContext(), V.Type);
  bool SameType = !Declared || Declared == Emitter::element(Result);
  bool Fits = SameType;
  if (V.Shape) {
    Fits &= V.Shape->size() == Sizes.size();
    for (size_t I = 0; Fits && I < Sizes.size(); ++I) {
      const int64_t *Size = std::get_if<int64_t>(&(*V.Shape)[I]);
      Fits = !Size || Sizes[I].asConstant().value_or(*Size) == *Size;
    }
  }
  if (Fits)
    return;
  std::string Text = "the model declares its " + std::string(What) + " '" +
                     printable(V.Name) + "' as " + declaredText(V) +
                     ", but computes " + typeText(Result.getType());
  // Another type would be another program's; sizes are what is computed.
  if (!SameType)
    diagnostics()
        .error(Code::ImportShape)
        .at(writerOf(*Top, V.Name))
        .message(Text)
        .hint("correct the declaration, or convert the value with a Cast");
  else
    diagnostics()
        .warning(Code::ImportContradiction)
        .at(writerOf(*Top, V.Name))
        .message(Text);
}

void Importer::addOutput(const ValueInfo &V, const std::string &Name,
                         const Entry &E, SmallVector<Value> &Results,
                         SmallVector<std::string> &Names) {
  if (E.Absent) {
    diagnostics()
        .error(Code::ImportValueType)
        .at(writerOf(*Top, V.Name))
        .message("the model's output '" + printable(Name) +
                 "' is an optional value that holds nothing, but an output is "
                 "a tensor");
    return;
  }
  if (E.Items) {
    for (auto [I, Item] : llvm::enumerate(*E.Items))
      addOutput(V, inputValueName(Name, static_cast<int64_t>(I)), Item, Results,
                Names);
    return;
  }
  Node Reader;
  Reader.Name = Name;
  NodeImport Import(*this, Reader, B, Main.getLoc());
  if (Name != V.Name)
    define(Name, E);
  Value Result = value(Name, Import);
  if (!Result)
    return;
  if (V.Is == ValueInfo::Kind::Tensor || V.Is == ValueInfo::Kind::Unknown)
    checkDeclared(V, Result, "output");
  if (llvm::is_contained(Names, Name)) {
    diagnostics()
        .warning(Code::ImportTolerated)
        .at(writerOf(*Top, V.Name))
        .message("the model lists its output '" + printable(Name) +
                 "' twice; it is given once");
    return;
  }
  Results.push_back(Result);
  Names.push_back(Name);
}

void Importer::finish(const Model &M) {
  SmallVector<Value> Results;
  SmallVector<std::string> Names;
  for (const ValueInfo &V : M.Main.Outputs)
    if (const Entry *E = entry(V.Name))
      addOutput(V, V.Name, *E, Results, Names);
  reportIdleOutputDims();
  size_t Own = Results.size();
  addDataSizes(Results, Names);
  func::ReturnOp::create(B, Main.getLoc(), Results);
  Main.setFunctionType(B.getFunctionType(Main.getBody().getArgumentTypes(),
                                         TypeRange(ValueRange(Results))));
  for (auto [I, Input] : llvm::enumerate(Signature))
    Main.setArgAttr(I, "graph.name", B.getStringAttr(Input));
  for (auto [I, Name] : llvm::enumerate(Names))
    Main.setResultAttr(I, "graph.name", B.getStringAttr(Name));
  Decided.mark(Main, Own);
  if (!NodeScopes.empty())
    Main->setAttr(ScopesName, NodeScopes.getDictionary(B.getContext()));
  keepInputValues();
  setSymbolFacts(*Module, Facts);
  TakenDims Taken;
  // A multiple of a number, rounded to it, is still the dim itself.
  for (const auto &[Name, Size] : Symbols)
    if (Facts.simplify(Size).asSymbol() != Name)
      Taken.emplace(Name, Size);
  setTakenDims(*Module, Taken);
  setSizeReasons(*Module, Reasons);
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
