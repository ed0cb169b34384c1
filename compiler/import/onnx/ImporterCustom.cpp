//===- ImporterCustom.cpp - Nodes of users' operators ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/custom/Apply.h"
#include "compiler/import/onnx/Importer.h"

using namespace mlir;

namespace kpc::onnx {

const custom::Operator *Importer::customOperator(const Node &N) const {
  return Options.Custom ? Options.Custom->find(N.Domain, N.Op) : nullptr;
}

static custom::AttributeValue attributeOf(NodeImport &N,
                                          const custom::Attribute &A) {
  using Kind = custom::Attribute::Kind;
  switch (A.Is) {
  case Kind::Int:
    return N.intAttribute(A.Name, 0);
  case Kind::Float:
    return N.floatAttribute(A.Name, 0);
  case Kind::Text:
    return N.stringAttribute(A.Name, "");
  case Kind::Ints: {
    std::vector<int64_t> List;
    if (auto Ints = N.intsAttribute(A.Name))
      List.assign(Ints->begin(), Ints->end());
    return List;
  }
  case Kind::Floats:
    return N.floatsAttribute(A.Name).value_or(std::vector<double>());
  }
  return int64_t(0);
}

void Importer::importCustom(NodeImport &N, const custom::Operator &Op) {
  N.expectInputs(Op.Inputs.size(), Op.Inputs.size());
  if (N.bad())
    return;
  SmallVector<Value> Inputs;
  for (size_t I = 0; I < Op.Inputs.size(); ++I)
    Inputs.push_back(N.input(I));
  custom::AttributeValues Attributes;
  for (const custom::Attribute &A : Op.Attributes)
    if (N.hasAttribute(A.Name))
      Attributes.emplace(A.Name, attributeOf(N, A));
  N.checkUnread();
  if (N.node().Outputs.size() > Op.Outputs.size())
    N.fail(Code::ImportCustomNode,
           "expected at most " + std::to_string(Op.Outputs.size()) +
               " outputs, got " + std::to_string(N.node().Outputs.size()));
  if (N.bad())
    return;
  if (auto Results = custom::applyOperator(Op, N, Inputs, Attributes))
    for (auto [I, V] : llvm::enumerate(*Results))
      if (N.wants(I))
        N.result(I, V);
}

} // namespace kpc::onnx
