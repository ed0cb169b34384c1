//===- PartWrite.cpp - A part of a tensor is written ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/PartWrite.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

bool isSame(Value A, Value C, unsigned Depth) {
  if (A == C)
    return true;
  Operation *Of = A ? A.getDefiningOp() : nullptr,
            *Other = C ? C.getDefiningOp() : nullptr;
  return Of && Other && Depth > 0 && Of->getName() == Other->getName() &&
         Of->getNumRegions() == 0 && A.getType() == C.getType() &&
         cast<OpResult>(A).getResultNumber() ==
             cast<OpResult>(C).getResultNumber() &&
         Of->getAttrDictionary() == Other->getAttrDictionary() &&
         Of->getNumOperands() == Other->getNumOperands() &&
         llvm::all_of(llvm::zip(Of->getOperands(), Other->getOperands()),
                      [&](auto Pair) {
                        return isSame(std::get<0>(Pair), std::get<1>(Pair),
                                      Depth - 1);
                      });
}

bool isInputWithWrites(Value V) {
  while (auto Select = V ? V.getDefiningOp<SelectOp>() : SelectOp())
    V = Select.getB();
  auto Argument = dyn_cast_if_present<BlockArgument>(V);
  return Argument &&
         isa_and_present<func::FuncOp>(Argument.getOwner()->getParentOp());
}

bool isPartOfInput(Value V) {
  while (V && !isInputWithWrites(V)) {
    Operation *Op = V.getDefiningOp();
    if (!isa_and_present<SelectOp, ReshapeOp, SliceOp, TransposeOp>(Op))
      return false;
    V = isa<SelectOp>(Op) ? cast<SelectOp>(Op).getB() : Op->getOperand(0);
  }
  return static_cast<bool>(V);
}

bool isMovedFrom(Value Part, Value Whole) {
  while (Part && Part != Whole) {
    Operation *Op = Part.getDefiningOp();
    if (!isa_and_present<ReshapeOp, SliceOp, TransposeOp>(Op))
      return false;
    Part = Op->getOperand(0);
  }
  return static_cast<bool>(Part);
}

Value choosePart(Emitter &E, Value Whole, Value Part, Value Old,
                 PlaceFunction Place) {
  if (!Whole || !Part || !Old)
    return {};
  Value Is = E.full(1, {}, E.i1()), New = Part;
  if (auto Select = Part.getDefiningOp<SelectOp>();
      Select && isSame(Select.getB(), Old)) {
    Is = Select.getCondition();
    New = Select.getA();
  } else if (typeOf(Old).getNumElements() == typeOf(Whole).getNumElements()) {
    return Place(Whole, Part);
  }
  ArrayRef<Expr> Sizes = Emitter::dims(Old);
  auto Placed = [&](Value V) {
    Value Rest = E.full(0, Emitter::dims(Whole), Emitter::element(V));
    return Place(Rest, E.broadcast(V, Sizes));
  };
  return E.select(Placed(Is), Placed(New), Whole);
}

Value chooseRows(Emitter &E, Value X, Value Index, int64_t Axis, Value From) {
  auto At = static_cast<size_t>(Axis);
  Dims Sizes(Emitter::dims(X)), Line(Sizes.size(), Expr(1));
  Expr Count = Emitter::dims(Index)[0];
  Line[At] = Sizes[At];
  // Which slice each place gets; -1: none.
  Builder &B = E.builder();
  Value Which = E.build(
      ScatterElementsOp::getOperationName(),
      {E.full(-1, {Sizes[At]}, E.i64()), Index, E.iota({Count}, 0, E.i64())},
      {B.getNamedAttr("kind",
                      ScatterKindAttr::get(B.getContext(), ScatterKind::none)),
       E.intAttr("axis", 0)});
  if (!Which)
    return {};
  Value Zero = E.scalarInt(0, E.i64());
  Value Is = E.reshape(E.compare(Predicate::ge, Which, Zero), Line);
  return E.select(Is, E.gather(From, E.max(Which, Zero), Axis), X);
}

} // namespace kpc::frontend
