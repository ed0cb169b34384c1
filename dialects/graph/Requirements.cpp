//===- Requirements.cpp - What must hold of a model's sizes ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Requirements.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kpc::graph {

static constexpr llvm::StringLiteral Equals = "equal to", AtMost = "at most";

static std::optional<Requirement> read(Attribute Entry) {
  auto Fields = dyn_cast<DictionaryAttr>(Entry);
  auto Text = [&](StringRef Name) {
    auto Field = Fields ? Fields.getAs<StringAttr>(Name) : StringAttr();
    return Field ? Field.getValue() : StringRef();
  };
  StringRef Relation = Text("relation");
  std::optional<shape::Expr> Left = shape::Expr::parse(Text("left")),
                             Right = shape::Expr::parse(Text("right"));
  if (!Left || !Right || Left->overflowed() || Right->overflowed() ||
      (Relation != Equals && Relation != AtMost))
    return std::nullopt;
  return Requirement{*Left, *Right, Relation == Equals, Text("reason").str()};
}

std::vector<Requirement> requirements(ModuleOp Module) {
  std::vector<Requirement> List;
  auto Entries = Module->getAttrOfType<ArrayAttr>(RequirementsName);
  for (Attribute Entry : Entries ? Entries.getValue() : ArrayRef<Attribute>())
    if (std::optional<Requirement> R = read(Entry))
      List.push_back(std::move(*R));
  return List;
}

LogicalResult verifyRequirements(Operation *Op, NamedAttribute Given) {
  auto Entries = dyn_cast<ArrayAttr>(Given.getValue());
  if (isa<ModuleOp>(Op) && Entries &&
      llvm::all_of(Entries, [](Attribute E) { return read(E).has_value(); }))
    return success();
  return Op->emitError() << "'" << RequirementsName
                         << "' belongs on a module and is a list of "
                            "dictionaries with left and right, which are sizes "
                            "in words, and the relation \"at most\" or "
                            "\"equal to\"";
}

void setRequirements(ModuleOp Module, const std::vector<Requirement> &List) {
  Builder B(Module.getContext());
  SmallVector<Attribute> Entries;
  for (const Requirement &R : List) {
    NamedAttrList Fields;
    Fields.set("left", B.getStringAttr(R.Left.str()));
    Fields.set("relation", B.getStringAttr(R.Equal ? Equals : AtMost));
    Fields.set("right", B.getStringAttr(R.Right.str()));
    Fields.set("reason", B.getStringAttr(R.Reason));
    Entries.push_back(Fields.getDictionary(Module.getContext()));
  }
  if (!Entries.empty())
    Module->setAttr(RequirementsName, B.getArrayAttr(Entries));
}

} // namespace kpc::graph
