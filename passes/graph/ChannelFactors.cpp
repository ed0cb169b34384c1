//===- ChannelFactors.cpp - Factors between operand and weight ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/ChannelFactors.h"
#include "passes/graph/MakeCodes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

OperandStatistics graph::dividedChannels(const OperandStatistics &Of,
                                         ArrayRef<float> Factors) {
  OperandStatistics To = Of;
  To.Least = To.Greatest = 0;
  for (auto [C, F] : llvm::enumerate(Factors)) {
    double Most = Of.Largest[C];
    To.Least = std::min(To.Least, std::max(Of.Least, -Most) / F);
    To.Greatest = std::max(To.Greatest, std::min(Of.Greatest, Most) / F);
    To.Largest[C] /= F;
    To.Mean[C] /= F;
    To.Rms[C] /= F;
  }
  To.Range = To.magnitude();
  return To;
}

static Value vectorOf(OpBuilder &B, Location Loc, ArrayRef<float> Numbers,
                      SymbolicTensorType To, int64_t Dim) {
  SmallVector<int64_t> Sizes(To.getRank(), 1);
  Sizes[Dim] = int64_t(Numbers.size());
  Value Vector = ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get(Sizes, B.getF32Type()),
                             Numbers));
  return BroadcastOp::create(B, Loc, To, Vector);
}

void graph::divideChannels(Value X, ArrayRef<Operation *> Products,
                           const OperandStatistics &Of,
                           ArrayRef<float> Factors) {
  OpBuilder B(Products.front());
  Location Loc = Products.front()->getLoc();
  std::vector<float> Inverse;
  for (float F : Factors)
    Inverse.push_back(1 / F);
  Value Wide = asF32(B, Loc, X);
  SymbolicTensorType Ty = typeOf(Wide);
  Value Smooth = MulOp::create(B, Loc, Wide,
                               vectorOf(B, Loc, Inverse, Ty, Ty.getRank() - 1));
  DictionaryAttr Known = dividedChannels(Of, Factors).attribute(B.getContext());
  for (Operation *Op : Products) {
    B.setInsertionPoint(Op);
    Value W = asF32(B, Loc, Op->getOperand(1));
    SymbolicTensorType OfW = typeOf(W);
    W = MulOp::create(B, Op->getLoc(), W,
                      vectorOf(B, Loc, Factors, OfW, OfW.getRank() - 2));
    Operation *New = Op;
    Type Element = typeOf(Op->getResult(0)).getElementType();
    Op->setOperands({Smooth, W});
    Op->setAttr(OperandAttr, Known);
    if (Element.isF32())
      continue;
    // Of 16 bits: the product of what is wide now is wide, too.
    Value Y = New->getResult(0);
    Y.setType(typeOf(Y).withElementType(B.getF32Type()));
    B.setInsertionPointAfter(New);
    Value Narrow = CastOp::create(B, Loc, Y, Element);
    Y.replaceAllUsesExcept(Narrow, Narrow.getDefiningOp());
  }
}
