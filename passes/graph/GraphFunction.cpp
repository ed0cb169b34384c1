//===- GraphFunction.cpp - Which functions are programs of graph ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/GraphFunction.h"
#include "dialects/graph/GraphRecurrent.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

static bool areTensors(TypeRange Types) {
  return llvm::all_of(Types, llvm::IsaPred<SymbolicTensorType>);
}

SmallVector<Block *> graph::blocksOf(func::FuncOp Func) {
  SmallVector<Block *> Blocks;
  Func.walk([&](Operation *Op) {
    // A loop in a region is one kernel.
    if (isa<LoopOp, IfOp>(Op) && !Op->getParentOfType<RegionOp>())
      for (Region &Body : Op->getRegions())
        Blocks.push_back(&Body.front());
  });
  Blocks.push_back(&Func.getBody().front());
  return Blocks;
}

void graph::forgetSymbols(ModuleOp Module, const llvm::StringSet<> &Gone) {
  if (Gone.empty())
    return;
  shape::Facts Left;
  shape::Facts All = symbolFacts(Module);
  for (const auto &[Name, Known] : All.symbols())
    if (!Gone.contains(Name))
      Left.declare(Name, Known);
  setSymbolFacts(Module, Left);
}

bool graph::isPartOfMemory(Operation *Op) {
  auto Slice = dyn_cast<SliceOp>(Op);
  if (!Slice || !Slice->getParentOfType<LoopOp>() || Slice.getStep().empty() ||
      Slice.getStart().getDims().front().isConstant())
    return false;
  SymbolicTensorType From = typeOf(Slice.getX()), To = typeOf(Slice.getY());
  shape::Expr Row = elementBytes(From.getElementType());
  for (int64_t I = 1; I < From.getRank(); ++I) {
    if (From.getDims()[I] != To.getDims()[I])
      return false;
    Row = Row * From.getDims()[I];
  }
  // Nothing need be known of sizes: a row of a number of vectors begins at one.
  return llvm::all_of(Slice.getStep(), [](int64_t S) { return S == 1; }) &&
         shape::Facts().divisor(Row) % KernelAlignment == 0;
}

bool graph::takesMemory(Operation *Op) {
  return isa<func::ReturnOp, YieldOp, ReshapeOp, RegionOp, LoopOp, IfOp>(Op) ||
         isPartOfMemory(Op);
}

bool graph::holdsCustom(Operation *Op) {
  auto Region = dyn_cast<RegionOp>(Op);
  return Region && isa<CustomOp, RecurrentOp>(Region.getBody().front().front());
}

bool graph::isGraphFunction(func::FuncOp Func) {
  return Func.getBody().hasOneBlock() && areTensors(Func.getArgumentTypes()) &&
         llvm::all_of(Func.getBody().front(), [](Operation &Op) {
           return areTensors(Op.getOperandTypes()) &&
                  (isa<func::ReturnOp>(Op) ||
                   isa_and_present<GraphDialect>(Op.getDialect()));
         });
}
