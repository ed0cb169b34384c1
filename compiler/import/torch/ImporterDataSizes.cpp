//===- ImporterDataSizes.cpp - Sizes that the program's data decides ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many elements an operator finds is a number that the program computes,
/// and a size of its own. The archive may declare it as a number, or as a size
/// that something else has: then a run checks that the data agrees.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/PartWrite.h"
#include "compiler/import/torch/Importer.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

const Size *Importer::declaredNumber(std::string_view Name) const {
  for (const Graph *G : llvm::reverse(Graphs))
    if (auto It = G->Numbers.find(Name); It != G->Numbers.end())
      return &It->second;
  return nullptr;
}

bool Importer::namesData(const Expr &E) const {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  return llvm::any_of(
      Names, [&](const std::string &Name) { return ByData.count(Name) != 0; });
}

void Importer::requireDeclared(NodeImport &N, const Expr &Size,
                               const Expr &Must) {
  if (!namesData(Size) || namesCounter(Size) || namesCounter(Must))
    return;
  Requirement R{Size, Must, /*Equal=*/true,
                nodeText(place(N.node())) +
                    " gives a size that data decides, declared as " +
                    Must.str()};
  if (!llvm::is_contained(Required, R))
    Required.push_back(std::move(R));
}

//===----------------------------------------------------------------------===//
// What must not be
//===----------------------------------------------------------------------===//

void Importer::addForbidden(NodeImport &N, Forbidden F) {
  if (!Bodies.empty())
    return Bodies.back().push_back(std::move(F));
  Expr Size = addSymbol(N.node().Name + "_fault", {.Min = 0, .Max = 1});
  addCount(N, F.Flag, Size, Expr(1));
  Required.push_back({Size, Expr(0), /*Equal=*/true, F.What});
}

void Importer::addForbidden(NodeImport &N, std::vector<Forbidden> All) {
  for (Forbidden &F : All)
    addForbidden(N, std::move(F));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Expr Importer::addSymbol(const std::string &Wanted, shape::SymbolFacts Known) {
  std::string Name = freshSymbol(Wanted);
  Facts.declare(Name, Known);
  ByData.insert(Name);
  return Expr::symbol(Name);
}

void Importer::addCount(NodeImport &N, Value Count, const Expr &Size,
                        const Expr &AtMost) {
  Decided.add(N.reshape(N.cast(Count, N.i64()), {}), Size, AtMost);
  Counted.emplace_back(Count, Size);
}

void Importer::checkCount(NodeImport &N, Value Count, const Expr &AtMost,
                          const Expr &Must, const std::string &Wanted) {
  if (llvm::any_of(Counted, [&](const auto &C) {
        return current(C.second) == Must && frontend::isSame(C.first, Count);
      }))
    return;
  if (Facts.isLessOrEqual(Must, AtMost) == false)
    return (void)N.fail(Code::ImportShape,
                        "finds at most " + AtMost.str() +
                            " elements, but the archive declares " +
                            Must.str());
  std::string What = nodeText(place(N.node())) +
                     " gives a size that data decides, declared as " +
                     Must.str();
  if (!Bodies.empty()) {
    Value Flag = N.compare(Predicate::ne, N.reshape(N.cast(Count, N.i64()), {}),
                           N.sizeScalar(Must, N.i64()));
    if (Flag)
      addForbidden(N, {N.cast(Flag, N.i64()), What + ", got another size"});
    return;
  }
  int64_t Most = Facts.range(AtMost).Max;
  Expr Size = addSymbol(Wanted, {.Min = 0, .Max = Most});
  addCount(N, Count, Size, AtMost);
  Required.push_back({Size, Must, /*Equal=*/true, What});
}

std::optional<Expr> Importer::decideSize(NodeImport &N, Value Count,
                                         const Expr &AtMost,
                                         const Size *Declared,
                                         const std::string &Wanted) {
  if (!Count)
    return std::nullopt;
  if (std::optional<Expr> Must = Declared ? sizeOf(*Declared) : std::nullopt) {
    checkCount(N, Count, AtMost, *Must, Wanted);
    return N.bad() ? std::nullopt : Must;
  }
  if (!Bodies.empty()) {
    N.fail(Code::ImportNotConstant,
           "how many elements there are is known only when the model runs, and "
           "not before the loop or branch around it");
    return std::nullopt;
  }
  std::string Symbol = Declared ? loneSymbol(Declared->Text) : "";
  auto Named = DecidedNames.find(Symbol);
  // Results of TorchScript begin with a sign that no name of a user has.
  llvm::StringRef Own = llvm::StringRef(Wanted).ltrim('%');
  std::string Name =
      freshSymbol(Named == DecidedNames.end() ? Own.str() : Named->second);
  shape::SymbolFacts Known;
  if (auto It = P.Ranges.find(Symbol); It != P.Ranges.end()) {
    Known.Min = It->second.Min;
    Known.Max = It->second.Max;
  }
  if (auto It = Given.find(Name); It != Given.end()) {
    Known.Min = std::max(Known.Min, It->second.Min);
    Known.Max = std::min(Known.Max, It->second.Max);
    Known.Optimum = It->second.Optimum;
    Known.Divisor = It->second.Divisor;
  }
  Known.Max = std::max(Known.Min, std::min(Known.Max, Facts.range(AtMost).Max));
  if (Known.Optimum)
    Known.Optimum = std::clamp(*Known.Optimum, Known.Min, Known.Max);
  Expr Size = Expr::symbol(Name);
  if (Known.Min == Known.Max)
    Size = Expr(Known.Min);
  else
    Facts.declare(Name, Known);
  ByData.insert(Name);
  if (!Symbol.empty())
    Symbols.emplace(Symbol, Size);
  addCount(N, Count, Size, AtMost);
  return Size;
}

} // namespace kpc::torch
