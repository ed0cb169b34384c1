//===- ImporterAssumptions.cpp - Sizes that PyTorch knows to be equal -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PyTorch's solver knows more of sizes than kpc's algebra, such as what the
/// guards of an export say together. Two sizes that it takes for equal are made
/// the same expression where that is possible without an assumption, else under
/// one; what cannot be written so is compared when a run binds its inputs.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "dialects/shape/Assume.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

std::string Importer::nodeText(const ModelPlace &Place) {
  return "'" + Place.Node + "' (" + Place.Op + ")";
}

Expr Importer::current(const Expr &E) const {
  Expr Now = E;
  for (const auto &[Part, New] : Replaced)
    Now = Now.replace(Part, New);
  return Now;
}

bool Importer::changeSizes(llvm::function_ref<Expr(const Expr &)> Change) {
  if (!frontend::changeSizes(*Module, Change))
    return false;
  for (auto &[Name, E] : Symbols)
    E = Change(E);
  for (auto &[Name, E] : Numbers)
    E = Change(E);
  return true;
}

bool Importer::replaceSize(const std::string &Old, const Expr &New,
                           const shape::Facts &Known) {
  Expr Symbol = Expr::symbol(Old);
  auto Change = [&](const Expr &E) { return E.replace(Symbol, New); };
  if (!changeSizes(Change))
    return false;
  for (Requirement &R : Required) {
    R.Left = Change(R.Left);
    R.Right = Change(R.Right);
  }
  Replaced.emplace_back(Symbol, New);
  Facts = Known;
  return true;
}

bool Importer::assume(
    NodeImport &Where,
    llvm::function_ref<bool(const frontend::Assumption &)> By) {
  ModelPlace Place = place(Where.node());
  auto Change = [&](llvm::function_ref<Expr(const Expr &)> F) {
    return changeSizes(F);
  };
  auto Replace = [&](const std::string &Old, const Expr &New,
                     const shape::Facts &Known) {
    return replaceSize(Old, New, Known);
  };
  return By({Place, nodeText(Place), Diags, Facts, Required, Replaced, Reasons,
             Change, Replace});
}

bool Importer::assumeMultiples(const Expr &A, const Expr &C,
                               NodeImport &Where) {
  return assume(Where, [&](const frontend::Assumption &For) {
    return frontend::assumeMultiples(A, C, For);
  });
}

bool Importer::assumeParts(const Expr &A, const Expr &C, NodeImport &Where) {
  return assume(Where, [&](const frontend::Assumption &For) {
    return frontend::assumeParts(A, C, For);
  });
}

/// Whether an expression can stand for a symbol wherever that is: it is another
/// symbol or a number.
static bool isLeft(const Expr &E, const std::string &Old) {
  std::optional<std::string> Name = E.asSymbol();
  return Name ? *Name != Old : E.isConstant();
}

bool Importer::assumeSymbol(const Expr &A, const Expr &C, NodeImport &Where) {
  std::set<std::string, std::less<>> Named;
  A.collectSymbols(Named);
  C.collectSymbols(Named);
  // Of two names the earlier stays, as Emitter::leftOf() has it, but for those
  // that data decides.
  SmallVector<std::string> Order;
  for (bool Decided : {true, false})
    for (const std::string &Name : llvm::reverse(Named))
      if (bool(ByData.count(Name)) == Decided)
        Order.push_back(Name);
  for (const std::string &Old : Order) {
    Expr Symbol = Expr::symbol(Old), New = Symbol + A - C;
    if (!isLeft(New, Old))
      New = Symbol + C - A;
    if (!isLeft(New, Old))
      continue;
    std::optional<shape::Facts> Known = frontend::factsAfter(Facts, Old, New);
    if (!Known || !replaceSize(Old, New, *Known))
      continue;
    Diags.warning(Code::ImportSizesTakenEqual)
        .at(place(Where.node()))
        .message("size " + printable(Old) + " is taken to be " + New.str() +
                 ", as the operator needs");
    return true;
  }
  return false;
}

bool Importer::assumeEqual(const Expr &A, const Expr &C, NodeImport &Where) {
  std::optional<bool> Known = Facts.isEqual(A, C);
  if (Known == false || A.overflowed() || C.overflowed() || namesCounter(A) ||
      namesCounter(C))
    return false;
  // What holds for all sizes comes before what restricts them.
  if (!shape::remaindersThatMakeEqual(A, C).empty())
    return assumeParts(A, C, Where);
  // Types are compared as text: what is equal gets one text where it can.
  if (Known == true) {
    assumeParts(A, C, Where);
    return true;
  }
  if (assumeSymbol(A, C, Where) || assumeMultiples(A, C, Where) ||
      assumeParts(A, C, Where))
    return true;
  ModelPlace Place = place(Where.node());
  std::string Why =
      " needs the sizes " + A.str() + " and " + C.str() + " to be equal";
  Requirement R{A, C, /*Equal=*/true, nodeText(Place) + Why};
  if (llvm::is_contained(Required, R))
    return true;
  Required.push_back(std::move(R));
  Diags.warning(Code::ImportAssumed)
      .at(Place)
      .message(A.str() + " must be equal to " + C.str() + ": the node" + Why);
  return true;
}

} // namespace kpc::torch
