//===- OtherMethods.cpp - What other methods do to a module ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/OtherMethods.h"

namespace kpc::torchscript {

OtherMethods::OtherMethods(Archive &Script, const Evaluator &E,
                           const Datum &Top) {
  if (Top.Is == Datum::Kind::Object)
    add(Script, E, *Top.Object);
}

void OtherMethods::add(Archive &Script, const Evaluator &E,
                       const Instance &Of) {
  if (!Seen.insert(&Of).second)
    return;
  std::string Why;
  if (const Class *C = Script.find(Of.Class, Why).TheClass)
    for (const Function &F : C->Methods)
      if (!E.wasCalled(Of.Class, F.Name) && !F.Parameters.empty()) {
        Scope Known{{{F.Parameters.front().Name, &Of}}, {}};
        scan(F.Body, Known, F.Name);
      }
  for (const auto &[Name, V] : Of.Attributes)
    if (V.Is == Datum::Kind::Object)
      add(Script, E, *V.Object);
}

/// The attribute that an expression is; empty: it is none.
std::string OtherMethods::pathOf(const Node &N, const Scope &Known) {
  if (N.Is == Node::Kind::Name) {
    auto It = Known.Tensors.find(N.Text);
    return It == Known.Tensors.end() ? "" : It->second;
  }
  if (N.Is != Node::Kind::Attribute || N.Items.front().Is != Node::Kind::Name)
    return "";
  auto It = Known.Objects.find(N.Items.front().Text);
  return It == Known.Objects.end() ? "" : It->second->pathOf(N.Text);
}

void OtherMethods::scan(const Node &N, const Scope &Known,
                        const std::string &Method) {
  if (N.Is == Node::Kind::Attribute)
    if (std::string Path = pathOf(N, Known); !Path.empty())
      Readers.try_emplace(Path, Method);
  // A write in place, perhaps through a view.
  if (N.Is == Node::Kind::Call && N.Items.size() > 1 &&
      N.Items.front().Is == Node::Kind::Attribute &&
      llvm::StringRef(N.Items.front().Text).ends_with("_") &&
      !llvm::StringRef(N.Items.front().Text).ends_with("__")) {
    const Node *Base = &N.Items[1];
    while (Base->Is == Node::Kind::Call && Base->Items.size() > 1)
      Base = &Base->Items[1];
    if (std::string Path = pathOf(*Base, Known); !Path.empty())
      Assigners.try_emplace(Path, Method);
  }
  for (const Node &Item : N.Items)
    scan(Item, Known, Method);
}

void OtherMethods::scan(const std::vector<Statement> &Block, Scope &Known,
                        const std::string &Method) {
  for (const Statement &S : Block) {
    if (S.Value)
      scan(*S.Value, Known, Method);
    for (const Node &Target : S.Targets) {
      if (Target.Is == Node::Kind::Attribute) {
        if (std::string Path = pathOf(Target, Known); !Path.empty())
          Assigners.try_emplace(Path, Method);
        continue;
      }
      // `encoder = self.encoder`
      std::string Path = S.Value ? pathOf(*S.Value, Known) : "";
      if (Path.empty())
        continue;
      Known.Tensors[Target.Text] = Path;
      if (S.Value->Is != Node::Kind::Attribute)
        continue;
      const Instance *Of = Known.Objects.at(S.Value->Items.front().Text);
      auto Part = Of->Attributes.find(S.Value->Text);
      if (Part != Of->Attributes.end() &&
          Part->second.Is == Datum::Kind::Object)
        Known.Objects[Target.Text] = Part->second.Object.get();
    }
    scan(S.Body, Known, Method);
    scan(S.Else, Known, Method);
  }
}

} // namespace kpc::torchscript
