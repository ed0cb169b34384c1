//===- PackBorders.cpp - Elements of 2 and 4 bits at the borders -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   func @main(%x : [n, 3] of i4)   →   func @main(%b : ["ceildiv(n*3, 2)"] of
///     … use of %x                           ui8 {graph.port = [n, 3] of i4})
///     return %y : i4                      %0 = graph.unpack %b
///                                         … use of %0
///                                         %1 = graph.pack %y
///                                         return %1
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_PACKBORDERS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

bool isPacked(Value V) { return isSubByte(typeOf(V).getElementType()); }

/// The elements that `Bytes` holds, as `From` is used. What gives them other
/// sizes right away unpacks to these: a reshape parts what one kernel computes.
void unpackInto(Value From, Value Bytes, SymbolicTensorType Ty, OpBuilder &B) {
  Value Inside = UnpackOp::create(B, From.getLoc(), Ty, Bytes);
  From.replaceAllUsesExcept(Inside, Inside.getDefiningOp());
  for (Operation *User : llvm::make_early_inc_range(Inside.getUsers()))
    if (auto Reshape = dyn_cast<ReshapeOp>(User);
        Reshape && packedType(typeOf(Reshape)) == Bytes.getType()) {
      Value Direct =
          UnpackOp::create(B, Reshape.getLoc(), Reshape.getType(), Bytes);
      Reshape.getY().replaceAllUsesWith(Direct);
      Reshape.erase();
    }
  if (Inside.use_empty())
    Inside.getDefiningOp()->erase();
}

void unpackArguments(func::FuncOp Func, OpBuilder &B) {
  Block &Body = Func.getBody().front();
  B.setInsertionPointToStart(&Body);
  for (BlockArgument Argument : Body.getArguments()) {
    SymbolicTensorType Ty = typeOf(Argument);
    if (!isPacked(Argument))
      continue;
    Argument.setType(packedType(Ty));
    unpackInto(Argument, Argument, Ty, B);
    Func.setArgAttr(Argument.getArgNumber(), PortAttr, TypeAttr::get(Ty));
  }
}

void unpackWeight(WeightOp Weight, OpBuilder &B) {
  SymbolicTensorType Ty = typeOf(Weight);
  B.setInsertionPoint(Weight);
  Value Bytes = WeightOp::create(B, Weight.getLoc(), packedType(Ty),
                                 Weight.getSource(), Weight.getRecipe());
  unpackInto(Weight, Bytes, Ty, B);
  Weight.erase();
}

void packResults(func::FuncOp Func, OpBuilder &B) {
  Operation *Return = Func.getBody().front().getTerminator();
  B.setInsertionPoint(Return);
  for (OpOperand &Operand : Return->getOpOperands()) {
    if (!isPacked(Operand.get()))
      continue;
    Func.setResultAttr(Operand.getOperandNumber(), PortAttr,
                       TypeAttr::get(typeOf(Operand.get())));
    Operand.set(PackOp::create(B, Return->getLoc(), Operand.get()));
  }
}

struct PackBordersPass : graph::impl::PackBordersBase<PackBordersPass> {
  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    OpBuilder B(&getContext());
    unpackArguments(Func, B);
    SmallVector<WeightOp> Weights;
    Func.walk([&](WeightOp Weight) {
      if (isPacked(Weight))
        Weights.push_back(Weight);
    });
    for (WeightOp Weight : Weights)
      unpackWeight(Weight, B);
    packResults(Func, B);
    Block &Body = Func.getBody().front();
    Func.setType(B.getFunctionType(Body.getArgumentTypes(),
                                   Body.getTerminator()->getOperandTypes()));
  }
};

} // namespace
