//===- SizeAssumptions.cpp - What a model needs of its sizes --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/artifact/SizeAssumptions.h"

#include "dialects/graph/Graph.h"
#include "dialects/graph/InputValues.h"
#include "dialects/graph/Requirements.h"
#include "dialects/graph/SizeReasons.h"

using namespace kpc;

llvm::Error kpc::addSizeAssumptions(mlir::ModuleOp Module,
                                    artifact::Contents &Contents) {
  graph::SizeReasons Reasons = graph::sizeReasons(Module);
  for (artifact::Symbol &S : Contents.Symbols)
    if (auto It = Reasons.find(S.Name); It != Reasons.end())
      S.Reason = It->second;
  shape::Facts Facts = graph::symbolFacts(Module);
  Contents.Requirements.clear();
  for (const graph::Requirement &R : graph::requirements(Module))
    Contents.Requirements.push_back(
        {Facts.simplify(R.Left), Facts.simplify(R.Right), R.Equal, R.Reason});
  Contents.InputValues.clear();
  for (const graph::InputValue &V : graph::inputValues(Module)) {
    auto Port = llvm::find_if(Contents.Inputs, [&](const artifact::Port &P) {
      return P.Name == V.Input;
    });
    if (Port == Contents.Inputs.end())
      return llvm::createStringError(
          "'%s' reads an element of '%s', which is no input",
          graph::InputValuesName.data(), V.Input.c_str());
    Contents.InputValues.push_back(
        {static_cast<uint32_t>(Port - Contents.Inputs.begin()),
         static_cast<uint32_t>(V.Element), Facts.simplify(V.Size)});
  }
  for (auto *Ports : {&Contents.Inputs, &Contents.Outputs})
    for (artifact::Port &P : *Ports)
      for (shape::Expr &Dim : P.Dims)
        Dim = Facts.simplify(Dim);
  for (artifact::Port &P : Contents.Outputs)
    if (P.Decides) {
      P.Decides = Facts.simplify(*P.Decides);
      P.AtMost = Facts.simplify(*P.AtMost);
    }
  return llvm::Error::success();
}
