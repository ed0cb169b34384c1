//===- SizeAssumptions.cpp - What a model needs of its sizes --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/artifact/SizeAssumptions.h"

#include "dialects/graph/Graph.h"
#include "dialects/graph/SizeReasons.h"

using namespace kpc;

void kpc::addSizeAssumptions(mlir::ModuleOp Module,
                             artifact::Contents &Contents) {
  graph::SizeReasons Reasons = graph::sizeReasons(Module);
  for (artifact::Symbol &S : Contents.Symbols)
    if (auto It = Reasons.find(S.Name); It != Reasons.end())
      S.Reason = It->second;
  shape::Facts Facts = graph::symbolFacts(Module);
  for (auto *Ports : {&Contents.Inputs, &Contents.Outputs})
    for (artifact::Port &P : *Ports)
      for (shape::Expr &Dim : P.Dims)
        Dim = Facts.simplify(Dim);
}
