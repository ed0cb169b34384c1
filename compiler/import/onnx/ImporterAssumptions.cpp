//===- ImporterAssumptions.cpp - What a model needs of its sizes ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes that must be equal, or be a number, and are for some values of the
/// model's dims alone. The model is compiled for these values: a warning says
/// so, the facts of the symbol have it from then on, and the runtime refuses
/// other values in the same words.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "dialects/shape/Assume.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

bool Importer::namesCounter(const Expr &E) const {
  std::set<std::string, std::less<>> Named;
  E.collectSymbols(Named);
  return llvm::any_of(Counters, [&](const auto &N) { return Named.count(N); });
}

/// "'Concat_5' (Concat)"
static std::string nodeText(const Node &N) {
  ModelPlace Place = N.place();
  std::string Op = printable(N.Op, 60);
  return Place.Node.empty()
             ? "a node (" + Op + ")"
             : "'" + printable(Place.Node, 120) + "' (" + Op + ")";
}

std::optional<Importer::OtherBranch>
Importer::otherBranch(const std::string &Symbol, const Expr &Taken) {
  constexpr int64_t Largest = 64;
  std::optional<int64_t> Size = Taken.asConstant();
  auto It = Facts.symbols().find(Symbol);
  if (!Size || It == Facts.symbols().end() || Branches.empty())
    return std::nullopt;
  const shape::Facts Before = Facts;
  const shape::SymbolFacts Known = It->second;
  int64_t Least = *Size + 1, Most = std::min(Known.Max, Largest);
  if (Least > Most)
    return std::nullopt;
  auto WithSizes = [&](int64_t Min, int64_t Max, Value Condition) {
    Facts.declare(Symbol, {.Min = Min, .Max = Max});
    Evaluator.clear();
    std::optional<bool> Holds = knownBool(Condition);
    Facts = Before;
    Evaluator.clear();
    return Holds;
  };
  for (const OpenBranch &Open : llvm::reverse(Branches)) {
    std::optional<bool> Here = WithSizes(*Size, *Size, Open.Condition),
                        There = WithSizes(Least, Most, Open.Condition);
    if (Here && There && Here != There)
      return OtherBranch{nodeText(*Open.If),
                         std::to_string(Least) + ".." + std::to_string(Most)};
  }
  return std::nullopt;
}

bool Importer::assume(
    NodeImport &Where,
    llvm::function_ref<bool(const frontend::Assumption &)> By) {
  ModelPlace Place = Where.node().place();
  auto Change = [&](llvm::function_ref<Expr(const Expr &)> F) {
    return changeSizes(F);
  };
  auto Replace = [&](const std::string &Old, const Expr &New,
                     const shape::Facts &Known) {
    return replaceSize(Old, New, Known);
  };
  return By({Place, nodeText(Where.node()), diagnostics(), Facts, Requirements,
             Replaced, Reasons, Change, Replace});
}

bool Importer::assumeMultiples(const Expr &A, const Expr &C,
                               NodeImport &Where) {
  if (namesCounter(A) || namesCounter(C))
    return false;
  return assume(Where, [&](const frontend::Assumption &For) {
    return frontend::assumeMultiples(A, C, For);
  });
}

bool Importer::assumeParts(const Expr &A, const Expr &C, NodeImport &Where) {
  if (namesCounter(A) || namesCounter(C))
    return false;
  return assume(Where, [&](const frontend::Assumption &For) {
    return frontend::assumeParts(A, C, For);
  });
}

/// floordiv(h, 8)*floordiv(w, 8) + 1 is 17: images of 32 by 32 pixels.
bool Importer::assumeSquare(const Expr &A, const Expr &C, NodeImport &Where) {
  if (namesCounter(A) || namesCounter(C))
    return false;
  std::optional<shape::SquareParts> Parts =
      shape::squareThatMakesEqual(Facts, A, C);
  return Parts && fix(Parts->First, Parts->Root, Where) &&
         fix(current(Parts->Second), Parts->Root, Where);
}

bool Importer::assumeEqual(const Expr &A, const Expr &C, NodeImport &Where) {
  // What holds for all sizes comes before what restricts them.
  if (!shape::remaindersThatMakeEqual(A, C).empty())
    return assumeParts(A, C, Where);
  if (Facts.isEqual(A, C) == true && assumeParts(A, C, Where))
    return true;
  return assumeMultiples(A, C, Where) || assumeParts(A, C, Where) ||
         assumeSquare(A, C, Where);
}

/// What is `Wanted` for every size from some size on, such as min(n, 1).
bool Importer::assumeAtLeast(const shape::FixedSize &Fixed, const Expr &E,
                             int64_t Wanted, NodeImport &Where) {
  auto It = Facts.symbols().find(Fixed.Symbol);
  if (It == Facts.symbols().end())
    return false;
  shape::SymbolFacts Known = It->second;
  // No facts are at hand where types are compared. A sum such as
  // min(n + 1, 2) - 1 is no part of sizes: its own parts are replaced.
  std::vector<std::pair<Expr, Expr>> Parts;
  if (E.replace(E, Expr(Wanted)) == Expr(Wanted))
    Parts.emplace_back(E, Expr(Wanted));
  else
    for (const shape::Replacement &P :
         shape::partsThatMakeEqual(Facts, E, Expr(Wanted)))
      Parts.emplace_back(P.Part, P.New);
  if (Parts.empty())
    return false;
  for (const auto &[Part, New] : Parts) {
    if (!changeSizes([&](const Expr &S) { return S.replace(Part, New); }))
      return false;
    Replaced.emplace_back(Part, New);
  }
  if (Known.Min >= Fixed.Least)
    return true;
  Known.Min = Fixed.Least;
  if (Known.Optimum)
    Known.Optimum = std::max(*Known.Optimum, Known.Min);
  Facts.declare(Fixed.Symbol, Known);
  Evaluator.clear();
  std::string Why =
      " needs the size " + E.str() + " to be " + std::to_string(Wanted);
  diagnostics()
      .warning(Code::ImportAssumed)
      .at(Where.node().place())
      .message(printable(Fixed.Symbol) + " must be at least " +
               std::to_string(Fixed.Least) + ": the node" + Why);
  Reasons[Fixed.Symbol] = nodeText(Where.node()) + Why;
  return true;
}

bool Importer::fix(const Expr &E, int64_t Wanted, NodeImport &Where) {
  if (std::optional<int64_t> C = E.asConstant())
    return *C == Wanted;
  // What a probe guesses must not become a size of the model.
  if (Diags != &TheDiags)
    return true;
  if (namesCounter(E))
    return false;
  if (E.asSymbol())
    return unify(E, Wanted, Where);
  std::optional<shape::FixedSize> Fixed =
      shape::valueThatMakesEqual(Facts, E, Wanted);
  if (!Fixed)
    return false;
  if (Fixed->HasNoEnd && Fixed->Least < Fixed->Most)
    return assumeAtLeast(*Fixed, E, Wanted, Where);
  // One of two bounds that holds for all values that would do, as in the number
  // of rows min(place + 1, 32) - place, is better than one value.
  std::vector<shape::Replacement> Bounds =
      shape::partsThatMakeEqual(Facts, E, Expr(Wanted));
  if (Fixed->Least < Fixed->Most && !Bounds.empty() &&
      llvm::none_of(Bounds, [](const auto &B) { return B.Equal; }))
    return assumeParts(E, Expr(Wanted), Where);
  shape::Facts Known;
  for (const auto &[Name, F] : Facts.symbols())
    if (Name != Fixed->Symbol)
      Known.declare(Name, F);
  if (!replaceSize(Fixed->Symbol, Expr(Fixed->Value), Known))
    return false;
  std::string Name = printable(Fixed->Symbol);
  std::string Others;
  if (Fixed->Least < Fixed->Most)
    Others = "; any from " + std::to_string(Fixed->Least) + " to " +
             std::to_string(Fixed->Most) + " would do";
  diagnostics()
      .warning(Code::ImportAssumed)
      .at(Where.node().place())
      .message("size " + Name + " is taken to be " +
               std::to_string(Fixed->Value) + ": the node needs the size " +
               E.str() + " to be " + std::to_string(Wanted) + Others)
      .hint(Others.empty()
                ? "other sizes are refused when they are bound"
                : "for another, compile with --dim " + Name + "=VALUE");
  return true;
}

void Importer::takeSeveral(const Expr &E, NodeImport &Where) {
  if (Diags != &TheDiags || Facts.range(E).Min > 1 || namesCounter(E))
    return;
  std::optional<std::string> Symbol = E.asSymbol();
  auto It = Symbol ? Facts.symbols().find(*Symbol) : Facts.symbols().end();
  std::string Why =
      " is a Squeeze without axes, which removes dims of size 1; " + E.str() +
      " is assumed to be more";
  if (It == Facts.symbols().end() || It->second.Max < 2) {
    diagnostics()
        .warning(Code::ImportAssumed)
        .at(Where.node().place())
        .message("the node" + Why)
        .hint("give the node axes, or fix the size with --dim");
    return;
  }
  shape::SymbolFacts Known = It->second;
  Known.Min = 2;
  if (Known.Optimum)
    Known.Optimum = std::max<int64_t>(*Known.Optimum, 2);
  Facts.declare(*Symbol, Known);
  Evaluator.clear();
  diagnostics()
      .warning(Code::ImportAssumed)
      .at(Where.node().place())
      .message(printable(*Symbol) + " must be at least 2: the node" + Why)
      .hint("for the size 1 compile with --dim " + printable(*Symbol) + "=1");
  Reasons[*Symbol] = nodeText(Where.node()) + Why;
}

bool Importer::require(const Expr &Left, bool Equal, const Expr &Right,
                       const std::string &What, NodeImport &Where) {
  if (Diags != &TheDiags)
    return true;
  std::optional<bool> Holds =
      Equal ? Facts.isEqual(Left, Right) : Facts.isLessOrEqual(Left, Right);
  if (Holds || namesCounter(Left) || namesCounter(Right))
    return Holds.value_or(false);
  graph::Requirement R{Left, Right, Equal, nodeText(Where.node()) + " " + What};
  if (!llvm::is_contained(Requirements, R))
    Requirements.push_back(std::move(R));
  return true;
}

bool Importer::assumeOne(const Expr &Size, NodeImport &Where) {
  size_t Before = Requirements.size();
  if (!require(Size, true, Expr(1), "removes a dimension", Where))
    return false;
  if (Requirements.size() > Before)
    diagnostics()
        .warning(Code::ImportAssumed)
        .at(Where.node().place())
        .message("the node removes a dimension; its size " + Size.str() +
                 " is assumed to be 1")
        .hint("other sizes are refused when they are bound");
  return true;
}

void Importer::forbid(NodeImport &Where, Value Flag, const std::string &What) {
  if (Diags != &TheDiags)
    return;
  Flag = Where.reshape(Where.cast(Flag, Where.i64()), {});
  if (Flag)
    addForbidden(Where, {Flag, nodeText(Where.node()) + " " + What});
}

} // namespace kpc::onnx
