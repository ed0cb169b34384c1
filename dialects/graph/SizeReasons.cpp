//===- SizeReasons.cpp - Why sizes must be as the module says -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/SizeReasons.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kpc::graph {

static constexpr llvm::StringLiteral ReasonsName = "graph.reasons";

SizeReasons sizeReasons(ModuleOp Module) {
  SizeReasons Reasons;
  auto Texts = Module->getAttrOfType<DictionaryAttr>(ReasonsName);
  for (NamedAttribute Reason :
       Texts ? Texts.getValue() : ArrayRef<NamedAttribute>())
    if (auto Text = dyn_cast<StringAttr>(Reason.getValue()))
      Reasons.emplace(Reason.getName().str(), Text.str());
  return Reasons;
}

void setSizeReasons(ModuleOp Module, const SizeReasons &Reasons) {
  Builder B(Module.getContext());
  NamedAttrList Texts;
  for (const auto &[Symbol, Why] : Reasons)
    Texts.set(Symbol, B.getStringAttr(Why));
  if (!Texts.empty())
    Module->setAttr(ReasonsName, Texts.getDictionary(Module.getContext()));
}

} // namespace kpc::graph
