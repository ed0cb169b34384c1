//===- ImporterSizes.cpp - Symbols of a model and what is known of them ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/AssumedSizes.h"
#include "compiler/import/onnx/Importer.h"

#include "mlir/IR/AttrTypeSubElements.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

Expr Importer::symbol(const std::string &Name) {
  if (auto It = Symbols.find(Name); It != Symbols.end())
    return It->second;
  Expr Result = Expr::symbol(Name);
  shape::SymbolFacts Known;
  if (auto It = GivenDims.find(Name); It != GivenDims.end()) {
    Known = It->second;
    if (Known.Min == Known.Max)
      Result = Expr(Known.Min);
  }
  if (!Result.isConstant())
    Facts.declare(Name, Known);
  Symbols.emplace(Name, Result);
  return Result;
}

std::string Importer::freshSymbol(const std::string &Wanted) {
  std::string Name = plainName(Wanted), Base = Name;
  for (unsigned I = 1; Symbols.count(Name); ++I)
    Name = Base + "_" + std::to_string(I);
  return Name;
}

/// Exporters write derived sizes like `2*batch` where their symbols are
/// inputs' sizes as well.
std::optional<Expr> Importer::derivedSize(const std::string &Name) const {
  std::optional<Expr> Parsed = Expr::parse(Name);
  if (!Parsed || Parsed->asSymbol() || Parsed->isConstant())
    return std::nullopt;
  std::set<std::string, std::less<>> Parts;
  Parsed->collectSymbols(Parts);
  for (const std::string &P : Parts)
    if (!Symbols.count(P))
      return std::nullopt;
  return Parsed->substitute(Symbols);
}

/// Operators of one tensor whose result has its sizes.
static bool keepsSizes(std::string_view Op) {
  static constexpr std::string_view Names[] = {
      "Abs",   "Cast",     "CastLike",  "Ceil", "Clip",    "Erf",  "Exp",
      "Floor", "Identity", "LeakyRelu", "Log",  "Neg",     "Not",  "Reciprocal",
      "Relu",  "Round",    "Sigmoid",   "Sign", "Softmax", "Sqrt", "Tanh"};
  return llvm::is_contained(Names, Op);
}

/// What a graph says of a value's sizes.
static const ValueInfo *declaredIn(const Graph &G, std::string_view Name) {
  for (const ValueInfo &V : G.Outputs)
    if (V.Name == Name && V.Shape)
      return &V;
  auto It = G.Values.find(std::string(Name));
  return It != G.Values.end() && It->second.Shape ? &It->second : nullptr;
}

const ValueInfo *Importer::declared(std::string_view Name) {
  // What a function declares need not hold for each of its calls.
  if (Scopes.size() != 1)
    return Bodies.empty() || !Innermost ? nullptr
                                        : declaredIn(*Innermost, Name);
  if (!Followers) {
    Followers.emplace();
    for (const Node &N : Top->Nodes)
      if (N.Domain.empty() && keepsSizes(N.Op) && !N.Inputs.empty() &&
          !N.Outputs.empty())
        Followers->emplace(N.Inputs[0], N.Outputs[0]);
  }
  constexpr unsigned MostFollowed = 16;
  for (unsigned I = 0; I < MostFollowed; ++I) {
    if (const ValueInfo *Found = declaredIn(*Top, Name))
      return Found;
    auto Next = Followers->find(Name);
    if (Next == Followers->end())
      return nullptr;
    Name = Next->second;
  }
  return nullptr;
}

std::optional<Dims> Importer::declaredSizes(const std::string &Name) {
  const ValueInfo *Info = declared(Name);
  if (!Info)
    return std::nullopt;
  Dims Result;
  for (const Dim &D : *Info->Shape) {
    if (const int64_t *Size = std::get_if<int64_t>(&D)) {
      Result.push_back(Expr(*Size));
    } else if (const std::string *Symbol = std::get_if<std::string>(&D);
               Symbol && Symbols.count(*Symbol)) {
      Result.push_back(Symbols.find(*Symbol)->second);
    } else if (std::optional<Expr> Derived =
                   Symbol ? derivedSize(*Symbol) : std::nullopt) {
      Result.push_back(*Derived);
    } else {
      return std::nullopt;
    }
  }
  return Result;
}

bool Importer::changeSizes(llvm::function_ref<Expr(const Expr &)> Change) {
  if (!frontend::changeSizes(*Module, Change))
    return false;
  for (auto &[Name, E] : Symbols)
    E = Change(E);
  for (auto &[Part, New] : Replaced) {
    Part = Change(Part);
    New = Change(New);
  }
  for (Scope &S : Scopes)
    for (auto &[Name, E] : S)
      if (E.Known)
        for (Expr &Element : E.Known->Whole)
          Element = Change(Element);
  Evaluator.clear();
  return true;
}

bool Importer::replaceSize(const std::string &Old, const Expr &New,
                           const shape::Facts &Known) {
  std::map<std::string, Expr, std::less<>> Map = {{Old, New}};
  if (!changeSizes([&](const Expr &E) { return E.substitute(Map); }))
    return false;
  for (Requirement &R : Requirements) {
    R.Left = R.Left.substitute(Map);
    R.Right = R.Right.substitute(Map);
  }
  Facts = Known;
  return true;
}

Expr Importer::current(const Expr &E) const {
  Expr Now = E.substitute(Symbols);
  for (const auto &[Part, New] : Replaced)
    Now = Now.replace(Part, New);
  return Now;
}

/// Says that a size is no longer one of its own. `Known`: what was known while
/// it was.
static void warnOfTaken(kpc::Diagnostic &D, const std::string &Old,
                        const Expr &New, const shape::Facts &Known) {
  std::string Text = "size " + Old + " is taken to be " + New.str() +
                     ", as the operator needs";
  if (New.isConstant() || New.asSymbol()) {
    D.message(Text);
    return;
  }
  shape::Interval Range = Known.range(New),
                  Asked = Known.range(Expr::symbol(Old));
  if (Asked != shape::Interval() &&
      (Range.Min < Asked.Min || Range.Max > Asked.Max))
    Text += "; its own range is not looked at";
  std::set<std::string, std::less<>> Parts;
  New.collectSymbols(Parts);
  D.message(Text).hint("say with --dim what " + llvm::join(Parts, " and ") +
                       (Parts.size() == 1 ? " is" : " are") + ", and " + Old +
                       " follows");
}

bool Importer::unify(const Expr &A, const Expr &C, NodeImport &Where) {
  if (A == C)
    return true;
  // What a probe guesses must not become a size of the model.
  if (Diags != &TheDiags)
    return !A.isConstant() || !C.isConstant();
  std::set<std::string, std::less<>> Named;
  A.collectSymbols(Named);
  C.collectSymbols(Named);
  if (llvm::any_of(Counters, [&](const auto &N) { return Named.count(N); }))
    return false;
  Expr New = Emitter::leftOf(A, C);
  std::optional<std::string> Old = (New == A ? C : A).asSymbol();
  if (!Old) {
    // Of n*4 elements and m*4 the n is the m.
    auto [P, Q] = shape::withoutCommonFactors(A, C);
    if ((P.asSymbol() || Q.asSymbol()) && (P != A || Q != C) &&
        !P.isConstant() && !Q.isConstant())
      return unify(P, Q, Where);
    return assumeEqual(A, C, Where);
  }
  std::set<std::string, std::less<>> Parts;
  New.collectSymbols(Parts);
  if (Parts.count(*Old))
    return assumeEqual(A, C, Where);
  std::optional<shape::Facts> Left = frontend::factsAfter(Facts, *Old, New);
  if (!Left)
    return false;
  shape::Facts Before = Facts;
  std::optional<OtherBranch> Other = otherBranch(*Old, New);
  if (!replaceSize(*Old, New, *Left))
    return false;
  kpc::Diagnostic &D = diagnostics()
                           .warning(Code::ImportSizesTakenEqual)
                           .at(Where.node().place());
  if (Other)
    D.message("size " + *Old + " is taken to be " + New.str() +
              ", as the operator needs in a branch of " + Other->If)
        .hint("compile with --dim " + *Old + "=" + Other->Sizes +
              " for the sizes that take the other branch");
  else
    warnOfTaken(D, *Old, New, Before);
  return true;
}

bool Importer::limit(const std::string &Symbol, int64_t Most,
                     NodeImport &Where) {
  if (Diags != &TheDiags)
    return true;
  if (Counters.count(Symbol))
    return false;
  auto It = Facts.symbols().find(Symbol);
  if (It == Facts.symbols().end() || It->second.Min > Most)
    return false;
  if (It->second.Max <= Most)
    return true;
  shape::SymbolFacts Known = It->second;
  Known.Max = Most;
  if (Known.Optimum && *Known.Optimum > Most)
    Known.Optimum = Most;
  diagnostics()
      .warning(Code::ImportSizeLimited)
      .at(Where.node().place())
      .message("size " + Symbol + " is taken to be at most " +
               std::to_string(Most) + ", the size of what is sliced by it");
  Facts.declare(Symbol, Known);
  Evaluator.clear();
  return true;
}

} // namespace kpc::onnx
