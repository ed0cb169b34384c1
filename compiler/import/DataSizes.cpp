//===- DataSizes.cpp - Sizes that the model's own data decides ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/DataSizes.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

namespace {
/// What results need: ops, and the sizes that these name.
class Needed {
public:
  Needed() {
    Walker.addWalk([&](SymbolicTensorType Ty) { add(Ty.getDims()); });
    Walker.addWalk([&](DimsAttr A) { add(A.getDims()); });
  }
  void add(ArrayRef<Expr> Sizes) {
    for (const Expr &E : Sizes)
      E.collectSymbols(Symbols);
  }
  void add(Value V) {
    Walker.walk(V.getType());
    SmallVector<Operation *> Work;
    auto Visit = [&](Value Of) {
      if (Operation *Op = Of.getDefiningOp(); Op && Ops.insert(Op).second)
        Work.push_back(Op);
    };
    Visit(V);
    while (!Work.empty())
      Work.pop_back_val()->walk([&](Operation *Op) {
        Walker.walk(Op->getAttrDictionary());
        for (Type Ty : Op->getResultTypes())
          Walker.walk(Ty);
        for (Value Operand : Op->getOperands())
          Visit(Operand);
      });
  }
  std::set<std::string, std::less<>> Symbols;

private:
  llvm::DenseSet<Operation *> Ops;
  mlir::AttrTypeWalker Walker;
};
} // namespace

std::vector<std::string>
DataSizes::addTo(SmallVector<Value> &Results, SmallVector<std::string> &Names,
                 ArrayRef<Requirement> Requirements,
                 llvm::function_ref<Expr(const Expr &)> Current,
                 shape::Facts &Facts) {
  Needed Live;
  for (Value Result : Results)
    Live.add(Result);
  for (const Requirement &R : Requirements)
    Live.add({R.Left, R.Right});
  // A number may be counted among what another one decides.
  for (DataSize &D : All) {
    D.Size = Current(D.Size);
    D.AtMost = Current(D.AtMost);
    D.IsRead = false;
  }
  for (bool More = true; More;) {
    More = false;
    for (DataSize &D : All) {
      std::optional<std::string> Symbol = D.Size.asSymbol();
      if (D.IsRead || (Symbol && !Live.Symbols.count(*Symbol)))
        continue;
      D.IsRead = More = true;
      Live.add(D.Count);
      Live.add(ArrayRef<Expr>(D.AtMost));
    }
  }
  std::vector<std::string> Idle;
  for (const DataSize &D : All) {
    if (!D.IsRead) {
      Idle.push_back(*D.Size.asSymbol());
      continue;
    }
    std::string Name = "size " + D.Size.str();
    while (llvm::is_contained(Names, Name))
      Name += "'";
    Results.push_back(D.Count);
    Names.push_back(Name);
  }
  // What nothing names is no size of the model.
  shape::Facts Left;
  for (const auto &[Name, F] : Facts.symbols())
    if (!llvm::is_contained(Idle, Name))
      Left.declare(Name, F);
  Facts = Left;
  return Idle;
}

void DataSizes::mark(func::FuncOp Main, size_t First) const {
  auto Of = [&](const Expr &E) {
    return DimsAttr::get(Main.getContext(), {E});
  };
  for (const DataSize &D : All) {
    if (!D.IsRead)
      continue;
    Main.setResultAttr(First, "graph.decides", Of(D.Size));
    Main.setResultAttr(First, "graph.at_most", Of(D.AtMost));
    ++First;
  }
}

} // namespace kpc::frontend
