//===- ImporterCustom.cpp - Nodes of users' operators ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operators of torch.library, by their qualified names: "my_ops.silu.default"
/// in a program is "silu" of the domain "my_ops" in a manifest. Tensors are
/// taken by name where all names fit, else in order; all else by name.
///
//===----------------------------------------------------------------------===//

#include "compiler/import/custom/Apply.h"
#include "compiler/import/torch/Importer.h"

using namespace mlir;

namespace kpc::torch {

const custom::Operator *
Importer::customOperator(std::string_view Target) const {
  auto [Domain, Rest] = llvm::StringRef(Target).split('.');
  StringRef Name = Rest.split('.').first;
  return Options.Custom ? Options.Custom->find(Domain, Name) : nullptr;
}

static custom::AttributeValue attributeOf(NodeImport &N,
                                          const custom::Attribute &A) {
  using Kind = custom::Attribute::Kind;
  switch (A.Is) {
  case Kind::Int:
    if (N.argument(A.Name)->Is == Argument::Kind::Bool)
      return int64_t(N.flag(A.Name, false));
    return N.integer(A.Name, 0);
  case Kind::Float:
    return N.real(A.Name, 0);
  case Kind::Text:
    return N.text(A.Name, "");
  case Kind::Ints: {
    Ints List = N.integers(A.Name, {});
    return std::vector<int64_t>(List.begin(), List.end());
  }
  case Kind::Floats:
    return N.reals(A.Name).value_or(std::vector<double>());
  }
  return int64_t(0);
}

/// The names of the tensors that the node gives, in the manifest's order.
static SmallVector<std::string> tensorNames(const NodeImport &N,
                                            const custom::Operator &Op) {
  SmallVector<std::string> Named, InOrder;
  for (const custom::Tensor &T : Op.Inputs)
    if (const Argument *A = N.argument(T.Name);
        A && A->Is == Argument::Kind::Tensor)
      Named.push_back(T.Name);
  for (const Argument &A : N.node().Inputs)
    if (A.Is == Argument::Kind::Tensor)
      InOrder.push_back(A.Name);
  return Named.size() == Op.Inputs.size() ? Named : InOrder;
}

static void importCustom(NodeImport &N) {
  const custom::Operator &Op = *N.importer().customOperator(N.node().Target);
  for (const Argument &A : N.node().Inputs)
    if (A.Is != Argument::Kind::Tensor && A.Is != Argument::Kind::None &&
        !Op.attribute(A.Name)) {
      N.fail(Code::ImportCustomNode,
             "expected attributes that the manifest names, got '" +
                 printable(A.Name) + "'");
      return;
    }
  SmallVector<Value> Inputs;
  for (const std::string &Name : tensorNames(N, Op))
    Inputs.push_back(N.tensor(Name));
  custom::AttributeValues Attributes;
  for (const custom::Attribute &A : Op.Attributes)
    if (N.has(A.Name))
      Attributes.emplace(A.Name, attributeOf(N, A));
  if (N.resultCount() != Op.Outputs.size())
    N.fail(Code::ImportCustomNode,
           "expected " + std::to_string(Op.Outputs.size()) + " results, got " +
               std::to_string(N.resultCount()));
  if (N.bad())
    return;
  if (auto Results = custom::applyOperator(Op, N, Inputs, Attributes))
    for (auto [I, V] : llvm::enumerate(*Results))
      N.result(I, V);
}

RuleFunction Importer::customRule() { return importCustom; }

} // namespace kpc::torch
