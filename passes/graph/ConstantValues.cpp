//===- ConstantValues.cpp - What is known when compiling -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/ConstantValues.h"

using namespace mlir;
using namespace kpc::graph;

bool kpc::graph::readsSizes(Operation *Op) {
  return llvm::any_of(Op->getAttrs(), [](NamedAttribute A) {
    auto Sizes = dyn_cast<DimsAttr>(A.getValue());
    return Sizes && llvm::any_of(Sizes.getDims(), [](const shape::Expr &E) {
             return !E.isConstant();
           });
  });
}

static bool isConstantWithin(Value V, unsigned &Budget) {
  Operation *Def = V.getDefiningOp();
  if (!Def || Budget == 0 || !typeOf(V).hasStaticShape() || readsSizes(Def))
    return false;
  --Budget;
  if (isa<ConstantOp, WeightOp>(Def))
    return true;
  if (isa<RegionOp>(Def) || Def->getNumOperands() == 0)
    return isa<IotaOp>(Def);
  return llvm::all_of(Def->getOperands(), [&](Value Operand) {
    return isConstantWithin(Operand, Budget);
  });
}

bool kpc::graph::isConstant(Value V) {
  unsigned Budget = 64;
  return isConstantWithin(V, Budget);
}
