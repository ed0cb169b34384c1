//===- Importer.cpp - A program on its way into the graph -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"

#include "compiler/import/PartWrite.h"
#include "compiler/import/torch/Infer.h"
#include "compiler/import/torch/Rules.h"

#include "dialects/graph/SizeReasons.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

Importer::Importer(MLIRContext &Context, const ImportOptions &Options,
                   std::string ModelName, const Program &P,
                   const std::set<std::string> &State, WeightStore &Weights,
                   Diagnostics &Diags)
    : Options(Options), ModelName(std::move(ModelName)), P(P), State(State),
      Weights(Weights), Diags(Diags), B(&Context) {
  Context.loadDialect<GraphDialect, func::FuncDialect>();
}

ModelPlace Importer::place(const Node &N) const {
  std::string Name = N.Module.empty() ? N.Name : N.Module + "/" + N.Name;
  return {.Node = printable(Name), .Op = printable(N.Target)};
}

//===----------------------------------------------------------------------===//
// Values by name
//===----------------------------------------------------------------------===//

Value Importer::read(View &V, Emitter &E) {
  if (V.Version == V.Of->Version)
    return V.Made;
  if (!V.Whole)
    V.Made = V.Of->Now;
  else if (Value Whole = read(*V.Whole, E))
    V.Made = V.Forward(E, Whole);
  else
    return {};
  V.Version = V.Of->Version;
  return V.Made;
}

Value Importer::writeView(View &V, Value Part, Emitter &E) {
  if (!V.Whole) {
    V.Of->Now = Part;
    ++V.Of->Version;
    return Part;
  }
  Value Whole = read(*V.Whole, E);
  if (!Whole)
    return {};
  auto Place = [&](Value Into, Value Of) { return V.Backward(E, Into, Of); };
  Value Old = frontend::isPartOfInput(Whole) ? read(V, E) : Value();
  Value Changed = frontend::isMovedFrom(Old, Whole)
                      ? frontend::choosePart(E, Whole, Part, Old, Place)
                      : Place(Whole, Part);
  return Changed ? writeView(*V.Whole, Changed, E) : Value();
}

Value Importer::value(std::string_view Name, NodeImport &Reader) {
  auto It = Values.find(std::string(Name));
  if (It != Values.end()) {
    if (llvm::any_of(It->second->Of->Shows, [](const auto &Shows) {
          return Shows.first->Now != Shows.second;
        })) {
      // Another walk of the loop may know better.
      ++StaleReads;
      if (!Walks)
        return Reader.fail(Code::ImportNotConstant,
                           "reads '" + printable(Name) +
                               "', which a branch or a loop gave, after a "
                               "write to the tensor that it may be; give a "
                               "clone of that");
    }
    return read(*It->second, Reader);
  }
  if (Lost.count(Name)) {
    Reader.give();
    return {};
  }
  return Reader.fail(Code::ImportUndefinedValue,
                     "reads '" + printable(Name) + "', which nothing defines");
}

void Importer::define(const std::string &Name, Value V) {
  auto Made = std::make_shared<View>();
  Made->Of = std::make_shared<Storage>();
  Made->Of->Now = Made->Made = V;
  Made->Of->Made = ++Born;
  Values[Name] = std::move(Made);
}

void Importer::defineView(const std::string &Name, Value V,
                          const std::string &Of,
                          NodeImport::ForwardFunction Forward,
                          NodeImport::BackwardFunction Backward) {
  auto It = Values.find(Of);
  if (It == Values.end())
    return define(Name, V);
  auto Made = std::make_shared<View>();
  Made->Of = It->second->Of;
  Made->Whole = It->second;
  Made->Forward = std::move(Forward);
  Made->Backward = std::move(Backward);
  Made->Made = V;
  Made->Version = Made->Of->Version;
  Values[Name] = std::move(Made);
}

void Importer::alias(const std::string &Name, const std::string &Of) {
  if (auto It = Values.find(Of); It != Values.end()) {
    auto Same = It->second;
    Values[Name] = std::move(Same);
  }
}

bool Importer::write(const std::string &Name, Value V, NodeImport &Where) {
  auto It = Values.find(Name);
  if (It == Values.end() || !V)
    return false;
  if (It->second->Of->Joined) {
    Where.fail(Code::ImportNotConstant,
               "writes to what comes of a branch that data decides, which may "
               "be another tensor");
    return false;
  }
  Value Old = read(*It->second, Where);
  if (!Old)
    return false;
  if (V == Old)
    return true;
  // What is written takes the type and the sizes of what is there.
  V = Where.cast(V, Emitter::element(Old));
  if (V && Emitter::dims(V) != Emitter::dims(Old))
    V = Where.broadcast(V, Emitter::dims(Old));
  return V && writeView(*It->second, V, Where);
}

void Importer::replace(const std::string &Name, const std::string &By) {
  auto Old = Values.find(Name), New = Values.find(By);
  if (Old == Values.end() || New == Values.end())
    return;
  // One tensor may have several names.
  const std::shared_ptr<View> Before = Old->second, After = New->second;
  for (auto &[Other, V] : Values)
    if (V == Before)
      V = After;
}

const TensorMeta *Importer::meta(std::string_view Name) const {
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Tensors.find(Name); It != G->Tensors.end())
      return &It->second;
  return nullptr;
}

std::optional<Expr> Importer::sizeOf(const Size &S) const {
  if (S.Known)
    return Facts.simplify(current(*S.Known));
  if (S.Text.empty())
    return Expr(S.Number);
  std::optional<Expr> E = parseSize(S.Text, Symbols);
  return E && !E->overflowed() ? std::optional(Facts.simplify(current(*E)))
                               : std::nullopt;
}

std::optional<Expr> Importer::number(std::string_view Name) const {
  if (auto It = Numbers.find(Name); It != Numbers.end())
    return It->second;
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Numbers.find(Name); It != G->Numbers.end())
      return sizeOf(It->second);
  return std::nullopt;
}

bool Importer::check(NodeImport &N, const std::string &Name, Value V) {
  const TensorMeta *M = meta(Name);
  if (!M)
    return true;
  Type Declared = graphType(B.getContext(), partsType(M->Type));
  ArrayRef<Expr> Sizes = Emitter::dims(V);
  if (isComplexType(M->Type) && !Sizes.empty())
    Sizes = Sizes.drop_back();
  bool Fits =
      Declared == Emitter::element(V) && Sizes.size() == M->Sizes.size();
  std::string Text = "[";
  for (size_t I = 0; I < M->Sizes.size(); ++I) {
    std::optional<Expr> E = sizeOf(M->Sizes[I]);
    Text += (I ? ", " : "") + (E ? E->str() : std::string("?"));
    std::optional<bool> Same =
        Fits && E ? Facts.isEqual(*E, Sizes[I]) : std::nullopt;
    if (Fits && E && !Same)
      requireDeclared(N, Sizes[I], *E);
    Fits &= Same != false;
  }
  if (Fits)
    return true;
  N.fail(Code::ImportShape,
         "kpc computes " + typeText(Emitter::element(V)) + dimsText(Sizes) +
             ", but the archive declares " + typeName(M->Type) + Text + "]");
  return false;
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

void Importer::declareDim(const NamedSymbol &N) {
  const std::string &Symbol = N.Symbol, &Dim = N.Name;
  shape::SymbolFacts Known;
  if (auto It = P.Ranges.find(Symbol); It != P.Ranges.end()) {
    Known.Min = It->second.Min;
    // PyTorch writes "no bound" as a very large number.
    if (It->second.Max < (int64_t(1) << 40))
      Known.Max = It->second.Max;
  }
  if (auto It = Given.find(Dim); It != Given.end()) {
    const shape::SymbolFacts &Asked = It->second;
    if (Asked.Min > Known.Max || Asked.Max < Known.Min) {
      Diags.error(Code::ImportDimOption)
          .message("--dim gives '" + Dim + "' sizes from " +
                   std::to_string(Asked.Min) +
                   " on, but the program was "
                   "exported for " +
                   std::to_string(Known.Min) + " to " +
                   std::to_string(Known.Max));
    }
    Known.Min = std::max(Known.Min, Asked.Min);
    Known.Max = std::min(Known.Max, Asked.Max);
    Known.Divisor = Asked.Divisor;
    Known.Optimum = Asked.Optimum;
  }
  if (Known.Min == Known.Max) {
    Symbols.emplace(Symbol, Expr(Known.Min));
    return;
  }
  if (Known.Optimum)
    Known.Optimum = std::clamp(*Known.Optimum, Known.Min, Known.Max);
  Symbols.emplace(Symbol, Expr::symbol(Dim));
  Facts.declare(Dim, Known);
  if (Options.Notes && !Given.count(Dim) && !N.Input.empty())
    Options.Notes->push_back("dim " + std::to_string(N.Axis) + " of input '" +
                             printable(N.Input) +
                             "' has no name in the program; it is called '" +
                             Dim + "', as in --dim " + Dim + "=8");
}

void Importer::readDimOptions() {
  Given = Options.Dims;
  for (const auto &[Name, Sizes] : Options.Places)
    for (size_t I = 0; I < Sizes.size(); ++I)
      if (Sizes[I] != shape::SymbolFacts())
        Given.emplace(plainName(Name + "_" + std::to_string(I)), Sizes[I]);
}

void Importer::readSymbols() {
  readDimOptions();
  std::set<std::string> Names;
  for (const NamedSymbol &N : namedSymbols(P)) {
    if (N.ByData)
      DecidedNames.emplace(N.Symbol, N.Name);
    else
      declareDim(N);
    Names.insert(N.Name);
  }
  for (const auto &[Name, F] : Given)
    if (!Names.count(Name)) {
      std::vector<std::string_view> Known(Names.begin(), Names.end());
      std::string_view Near = nearest(Name, Known);
      Diags.error(Code::ImportDimOption)
          .message("the program has no dim '" + printable(Name) + "'")
          .hint(
              !Near.empty() ? "did you mean '" + std::string(Near) + "'?"
              : Names.empty()
                  ? std::string("all of its sizes are numbers: export it with "
                                "dynamic_shapes")
                  : "its dims are " + llvm::join(Names, ", "));
    }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void Importer::forEachResult(const Node &N,
                             llvm::function_ref<void(const std::string &)> Do) {
  for (const Argument &A : N.Outputs)
    if (A.Is == Argument::Kind::Tensor || A.Is == Argument::Kind::Tensors)
      for (const std::string &Name : A.Values)
        if (!Name.empty())
          Do(Name);
}

void Importer::importNode(const Node &N) {
  // Symbolic numbers are known by what the archive says of them.
  if (importReal(N))
    return;
  bool Makes = false;
  bool Used = infers();
  forEachResult(N, [&](const std::string &Name) {
    Makes = true;
    Used |= Read.count(Name) != 0;
  });
  InPlace Form = InPlace::No;
  const Rule *R = findRule(N.Target, Form);
  // What nothing reads needs no rule, as the draws of a layer drop.
  if (Makes && !Used && Form == InPlace::No &&
      !llvm::StringRef(N.Target).contains("_."))
    return;
  if (!R && !Makes &&
      llvm::all_of(N.Outputs,
                   [](const Argument &A) {
                     return A.Is != Argument::Kind::Other &&
                            A.Is != Argument::Kind::None;
                   }) &&
      !N.Outputs.empty())
    return;
  // What takes no tensors and gives none that is read can do nothing here, as
  // questions for versions and devices.
  bool Takes = llvm::any_of(N.Inputs, [](const Argument &A) {
    return A.Is == Argument::Kind::Tensor || A.Is == Argument::Kind::Tensors;
  });
  bool Asked = llvm::any_of(N.Outputs, [&](const Argument &A) {
    return llvm::any_of(A.Values, [&](const std::string &Name) {
      return Read.count(Name) != 0;
    });
  });
  if (!R && !Takes && !Makes && !Asked && !customOperator(N.Target)) {
    std::string Note = "left out '" + printable(N.Target) +
                       "': it takes no tensors, and nothing uses its result";
    if (Options.Notes && !llvm::is_contained(*Options.Notes, Note))
      Options.Notes->push_back(Note);
    return;
  }
  if (customOperator(N.Target))
    return importBy(customRule(), N, InPlace::No);
  if (!R) {
    Missing &M = Unknown[N.Target];
    if (M.Count++ == 0)
      M.First = &N;
    forEachResult(N, [&](const std::string &Name) { Lost.insert(Name); });
    return;
  }
  if (touchesComplex(N))
    importComplex(N, R);
  else
    importBy(R->Import, N, Form);
}

void Importer::importBy(RuleFunction Import, const Node &N, InPlace Form) {
  size_t Errors = Diags.errorCount();
  ModelPlace Where = place(N);
  Location Op = NameLoc::get(B.getStringAttr(printable(N.Target)));
  NodeImport At(*this, N, B, NameLoc::get(B.getStringAttr(Where.Node), Op));
  bool AnyLost = false;
  for (const Argument &A : N.Inputs)
    for (const std::string &Name : A.Values)
      AnyLost |= Lost.count(Name) != 0;
  if (!AnyLost) {
    Import(At);
    if (Form != InPlace::No && !At.bad()) {
      const Argument *Self = N.Inputs.empty() ? nullptr : &N.Inputs.front();
      std::string Result;
      forEachResult(N, [&](const std::string &Name) { Result = Name; });
      if (!Self || Self->Is != Argument::Kind::Tensor || Result.empty())
        At.give();
      else if (Form == InPlace::Sizes)
        replace(Self->Values[0], Result);
      else if (!write(Self->Values[0], value(Result, At), At))
        At.give();
      else
        alias(Result, Self->Values[0]);
    }
    if (At.bad() && Diags.errorCount() == Errors)
      Diags.error(Code::ImportUnsupported)
          .at(Where)
          .message("this form of the operator is not supported");
  }
  forEachResult(N, [&](const std::string &Name) {
    if (AnyLost || At.bad())
      Lost.insert(Name);
    else if (!Values.count(Name) && !isUndefined(Name))
      At.unsupported("result '" + printable(Name) + "' is not computed by kpc");
    if (At.bad())
      Lost.insert(Name);
  });
}

std::optional<size_t> Importer::countResults(const Node &N) {
  NodeImport Import(*this, N, B, Main.getLoc());
  std::optional<SmallVector<Dims>> Sizes = inferSizes(Import);
  return Sizes ? std::optional(Sizes->size()) : std::nullopt;
}

bool Importer::isWritten(const std::string &Name) const {
  auto It = Values.find(Name);
  return It != Values.end() && It->second->Of->Version != 0;
}

Value Importer::look(const std::string &Name) {
  Node Reader;
  Reader.Name = Name;
  NodeImport Import(*this, Reader, B, Main.getLoc());
  return value(Name, Import);
}

void Importer::importNodes(const Graph &G) {
  for (const Node &N : G.Nodes)
    importNode(N);
}

std::optional<SmallVector<Value>> Importer::inlineGraph(const Graph &G,
                                                        ArrayRef<Value> Inputs,
                                                        NodeImport &Caller) {
  if (Inputs.size() != G.Inputs.size() || Graphs.size() > 32) {
    Caller.fail(Code::ImportMalformed,
                "calls a graph of " + std::to_string(G.Inputs.size()) +
                    " inputs with " + std::to_string(Inputs.size()));
    return std::nullopt;
  }
  // Names of a subgraph are its own.
  auto Outside = Values;
  Graphs.push_back(&G);
  for (auto [A, V] : llvm::zip(G.Inputs, Inputs))
    if (A.Is == Argument::Kind::Tensor && V)
      define(A.Values[0], V);
  importNodes(G);
  std::optional<SmallVector<Value>> Results(std::in_place);
  for (const Argument &A : G.Outputs)
    for (const std::string &Name : A.Values)
      if (Value V = value(Name, Caller); V && Results)
        Results->push_back(V);
      else
        Results.reset();
  Graphs.pop_back();
  Values = std::move(Outside);
  return Results;
}

/// What to do about an operator without a rule.
static std::string hintFor(llvm::StringRef Target) {
  if (Target.starts_with("aten.") || Target.starts_with("prims.") ||
      Target.starts_with("higher_order."))
    return "program.run_decompositions() makes core operators of many; "
           "`kpc ops --domain aten` lists what imports";
  return "it is an operator of its own library: a manifest describes it to "
         "kpc (--operator FILE.json; docs/custom-operators.md)";
}

void Importer::reportUnknown() {
  std::vector<std::string_view> Names;
  std::vector<std::string> Store;
  for (const auto &[Target, M] : Unknown) {
    std::string Text = "kpc has no import rule for this operator, which the "
                       "program uses " +
                       std::to_string(M.Count) +
                       (M.Count == 1 ? " time" : " times");
    if (!M.First->Source.empty())
      Text += ", first in " + printable(M.First->Source);
    Diags.error(Code::ImportUnknownOp)
        .at(place(*M.First))
        .message(Text)
        .hint(hintFor(Target));
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Importer::finish() {
  SmallVector<Value> Results;
  SmallVector<std::string> Names;
  Node Reader;
  Reader.Name = "output";
  NodeImport Import(*this, Reader, B, Main.getLoc());
  auto Give = [&](std::string Name, const std::string &Of) {
    Value V = value(Of, Import);
    if (!V)
      return;
    std::string Wanted = Name;
    for (unsigned I = 1;
         llvm::is_contained(Names, Name) || llvm::is_contained(Signature, Name);
         ++I)
      Name = Wanted + (I == 1 ? "_out" : "_out" + std::to_string(I));
    if (Options.Notes && isComplex(Of))
      Options.Notes->push_back("the output '" + Name +
                               "' is complex: its last dim has the real and "
                               "the imaginary part");
    Results.push_back(V);
    Names.push_back(Name);
  };
  size_t Place = 0;
  for (const OutputSpec &S : P.Outputs) {
    if (S.Is == OutputSpec::Kind::User) {
      std::string Name = outputName(P, Place++);
      if (S.Value.Is == Argument::Kind::Tensor)
        Give(Name, S.Value.Values[0]);
      else if (S.Value.Is == Argument::Kind::Int) {
        NodeImport Number(*this, Reader, B, Main.getLoc());
        std::optional<Expr> E = S.Value.Values[0].empty()
                                    ? std::optional(Expr(S.Value.Ints[0]))
                                    : number(S.Value.Values[0]);
        if (E) {
          Results.push_back(Number.sizeScalar(*E, B.getI64Type()));
          Names.push_back(Name);
        }
      }
    } else if (S.Is != OutputSpec::Kind::Other) {
      Give(S.Target, S.Value.Values[0]);
      if (S.Is == OutputSpec::Kind::BufferMutation && !State.count(S.Target))
        Written.insert(S.Target);
    }
  }
  // Inputs and buffers that operators wrote to.
  for (const InputSpec &S : P.Inputs) {
    if (S.Value.Values.empty())
      continue;
    const std::string &Name = S.Value.Values.front();
    auto It = Values.find(Name);
    if (It == Values.end() || It->second->Of->Version == 0)
      continue;
    if (isTensorInput(S)) {
      Give(Name, Name);
    } else if (S.Is == InputSpec::Kind::Buffer) {
      if (!State.count(S.Target))
        Written.insert(S.Target);
      else
        Give(S.Target, Name);
    }
  }
  size_t Own = Results.size();
  Decided.addTo(
      Results, Names, Required, [&](const Expr &E) { return current(E); },
      Facts);
  func::ReturnOp::create(B, Main.getLoc(), Results);
  Main.setFunctionType(B.getFunctionType(Main.getBody().getArgumentTypes(),
                                         TypeRange(ValueRange(Results))));
  for (auto [I, Input] : llvm::enumerate(Signature))
    Main.setArgAttr(I, "graph.name", B.getStringAttr(Input));
  for (auto [I, Name] : llvm::enumerate(Names))
    Main.setResultAttr(I, "graph.name", B.getStringAttr(Name));
  Decided.mark(Main, Own);
  setRequirements(*Module, Required);
  setSizeReasons(*Module, Reasons);
  setSymbolFacts(*Module, Facts);
}

OwningOpRef<ModuleOp> Importer::run() {
  return run([&](Importer &) {
    importNodes(P.Main);
    reportUnknown();
    return true;
  });
}

OwningOpRef<ModuleOp> Importer::run(llvm::function_ref<bool(Importer &)> Body) {
  size_t Errors = Diags.errorCount();
  Location Loc =
      NameLoc::get(StringAttr::get(B.getContext(), printable(ModelName)));
  Module = ModuleOp::create(Loc);
  B.setInsertionPointToEnd(Module->getBody());
  Main = func::FuncOp::create(B, Loc, "main", B.getFunctionType({}, {}));
  B.setInsertionPointToEnd(Main.addEntryBlock());
  Graphs.push_back(&P.Main);
  readSymbols();
  if (Diags.errorCount() != Errors)
    return {};
  addInputs();
  readGuards();
  if (!Body(*this))
    return {};
  finish();
  if (Diags.errorCount() != Errors)
    return {};
  return std::move(Module);
}

} // namespace kpc::torch
