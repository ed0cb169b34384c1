//===- ModelNeeds.cpp - What a model asks of sizes and runs ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ModelNeeds.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/InputValues.h"
#include "dialects/graph/Requirements.h"
#include "dialects/graph/SizeReasons.h"
#include "dialects/plan/Plan.h"

#include <set>

using namespace kpc;
using namespace mlir;

/// The symbols of the inputs' dims, which a caller chooses.
static std::set<std::string, std::less<>> dimsOfInputs(ModuleOp Plan) {
  std::set<std::string, std::less<>> Names;
  Plan.walk([&](plan::InputOp Input) {
    Type Ty = Input.getAs().value_or(Input.getBuffer().getType());
    for (const shape::Expr &E : cast<graph::SymbolicTensorType>(Ty).getDims())
      E.collectSymbols(Names);
  });
  return Names;
}

/// The name of the node that an op is of.
static std::string nodeOf(Operation *Op) {
  if (auto Named = dyn_cast<NameLoc>(Op->getLoc()))
    return Named.getName().str();
  return {};
}

ModelNeeds kpc::needsOf(ModuleOp Graph, ModuleOp Plan) {
  ModelNeeds Needs;
  graph::SizeReasons Reasons = graph::sizeReasons(Graph);
  std::set<std::string, std::less<>> OfInputs = dimsOfInputs(Plan);
  shape::Facts Facts = graph::symbolFacts(Graph);
  for (const auto &[Name, Known] : Facts.symbols())
    if (OfInputs.count(Name)) {
      auto Why = Reasons.find(Name);
      Needs.Dims.push_back(
          {Name, Known, Why == Reasons.end() ? "" : Why->second});
    }
  for (const auto &[Name, Size] : graph::takenDims(Graph))
    Needs.Settled.emplace_back(Name, Size.str());
  for (const graph::Requirement &R : graph::requirements(Graph))
    Needs.Requirements.push_back(
        {R.Left.str(), R.Right.str(), R.Equal, R.Reason});
  for (const graph::InputValue &V : graph::inputValues(Graph))
    Needs.InputValues.emplace_back(graph::inputValueName(V.Input, V.Element),
                                   V.Size.str());
  Plan.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    if (auto Output = dyn_cast<plan::OutputOp>(Op)) {
      if (Output.getDecides())
        Needs.DataSizes.emplace_back(
            Output.getDecides()->getDims().front().str(),
            Output.getAtMost() ? Output.getAtMost()->getDims().front().str()
                               : "");
    } else if (auto Loop = dyn_cast<plan::LoopOp>(Op)) {
      Needs.Controls.push_back({true, nodeOf(Op),
                                Loop.getCount().getDims().front().str(),
                                Loop.getCondition() != nullptr});
    } else if (isa<plan::IfOp>(Op)) {
      Needs.Controls.push_back({false, nodeOf(Op), ""});
    }
  });
  Graph.walk([&](graph::CustomOp Op) {
    std::string Code = Op.getCuda() ? "CUDA" : "";
    if (Op.getHost())
      Code += Code.empty() ? "host" : ", host";
    Needs.Operators.push_back(
        {nodeOf(Op), Op.getOperatorName().str(), std::move(Code)});
  });
  return Needs;
}
