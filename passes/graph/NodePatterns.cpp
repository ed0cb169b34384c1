//===- NodePatterns.cpp - Options that name nodes -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/NodePatterns.h"
#include "passes/graph/Calibration.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

StringRef graph::nodeName(Operation *Op) {
  auto Name = Op->getLoc()->findInstanceOf<NameLoc>();
  return Name ? Name.getName().strref() : StringRef();
}

FailureOr<NodePatterns> NodePatterns::read(ArrayRef<std::string> Texts,
                                           Operation *Op) {
  NodePatterns Read;
  for (const std::string &Text : Texts) {
    std::string Error;
    Read.Patterns.emplace_back(Text);
    if (!Read.Patterns.back().isValid(Error))
      return Op->emitError()
             << "'" << Text << "' is no regular expression: " << Error;
  }
  return Read;
}

bool NodePatterns::match(Operation *Op) const {
  StringRef Name = nodeName(Op);
  return !Name.empty() && match(Name);
}

bool NodePatterns::match(StringRef Node) const {
  return llvm::any_of(Patterns,
                      [&](const llvm::Regex &R) { return R.match(Node); });
}

FailureOr<TypesByName> TypesByName::read(ArrayRef<std::string> Texts,
                                         Operation *Op) {
  TypesByName Read;
  for (StringRef Text : Texts) {
    auto [Pattern, Type] = Text.rsplit('=');
    llvm::Regex Names(Pattern);
    std::string Why;
    if (Type.empty() || !Names.isValid(Why))
      return Op->emitError() << "expected REGEX=TYPE, got '" << Text << "'"
                             << (Why.empty() ? "" : ": ") << Why;
    Read.Types.emplace_back(std::move(Names), Type.str());
  }
  return Read;
}

StringRef TypesByName::typeOf(Operation *Product, StringRef Base) const {
  if (auto Own = Product->getAttrOfType<StringAttr>(PrecisionAttr))
    return Own;
  StringRef Name = nodeName(Product);
  for (const auto &[Names, Type] : llvm::reverse(Types))
    if (!Name.empty() && Names.match(Name))
      return Type;
  return Base;
}
