//===- Control.cpp - Import of calls and branches -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// A graph that is called with what stands behind it.
static std::optional<SmallVector<Value>> call(NodeImport &N, size_t At) {
  const std::vector<Argument> &Args = N.node().Inputs;
  SmallVector<Value> Inputs;
  for (size_t I = At + 1; I < Args.size(); ++I)
    for (const std::string &Name : Args[I].Values)
      Inputs.push_back(Name.empty() ? Value() : N.importer().value(Name, N));
  if (N.bad())
    return std::nullopt;
  return N.importer().inlineGraph(*Args[At].Sub, Inputs, N);
}

/// Settings of the exporter around a graph have no meaning here.
static void wrapped(NodeImport &N) {
  const std::vector<Argument> &Args = N.node().Inputs;
  for (size_t I = 0; I < Args.size(); ++I)
    if (Args[I].Is == Argument::Kind::Graph) {
      std::optional<SmallVector<Value>> Results = call(N, I);
      if (!Results)
        return N.give();
      for (size_t R = 0; R < Results->size(); ++R)
        N.result(R, (*Results)[R]);
      return;
    }
  N.give();
}

/// Both branches are computed, and the condition picks.
static void cond(NodeImport &N) {
  const std::vector<Argument> &Args = N.node().Inputs;
  if (Args.size() != 4 || Args[1].Is != Argument::Kind::Graph ||
      Args[2].Is != Argument::Kind::Graph ||
      Args[0].Is != Argument::Kind::Tensor)
    return (void)N.unsupported("a branch whose condition is no tensor");
  Value Condition = N.importer().value(Args[0].Values[0], N);
  SmallVector<Value> Inputs;
  for (const std::string &Name : Args[3].Values)
    Inputs.push_back(Name.empty() ? Value() : N.importer().value(Name, N));
  if (N.bad() || !Condition)
    return N.give();
  auto Then = N.importer().inlineGraph(*Args[1].Sub, Inputs, N);
  auto Else = N.importer().inlineGraph(*Args[2].Sub, Inputs, N);
  if (!Then || !Else || Then->size() != Else->size())
    return N.give();
  Condition = N.reshape(N.cast(Condition, N.i1()), {});
  for (size_t I = 0; I < Then->size(); ++I)
    N.result(I, N.select(Condition, (*Then)[I], (*Else)[I]));
}

ArrayRef<Rule> controlRules() {
  static const Rule Rows[] = {
      {"higher_order.cond", cond, InPlace::No, "both branches are computed"},
      {"higher_order.wrap_with_autocast", wrapped},
      {"higher_order.wrap_with_set_grad_enabled", wrapped},
  };
  return Rows;
}

} // namespace kpc::torch
