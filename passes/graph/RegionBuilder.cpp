//===- RegionBuilder.cpp - Puts ops into a region -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RegionBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

bool graph::isCloned(Operation *Op) {
  if (isa<BroadcastOp, IotaOp, DequantiseTilesOp, DequantiseBlocksOp>(Op))
    return true;
  DenseElementsAttr Value;
  return matchPattern(Op, m_Constant(&Value)) && Value.isSplat();
}

bool graph::readsMemory(OpOperand &Use) {
  return isa<AttentionOp>(Use.getOwner()) && Use.getOperandNumber() < 3;
}

std::string graph::wordsFor(Operation *Op) {
  std::string Text = Op->getName().stripDialect().str();
  auto Node = Op->getLoc()->findInstanceOf<NameLoc>();
  if (!Node)
    return Text;
  Text += " of '" + Node.getName().str() + "'";
  if (auto Operator = dyn_cast<NameLoc>(Node.getChildLoc()))
    Text += " (" + Operator.getName().str() + ")";
  return Text;
}

/// The first nodes and, at the end, the one whose result the region is.
static std::string nameOf(ArrayRef<Operation *> Ops) {
  llvm::SmallSetVector<StringRef, 8> Names;
  for (Operation *Op : Ops)
    if (auto Name = Op->getLoc()->findInstanceOf<NameLoc>())
      Names.insert(Name.getName().strref());
  if (auto Last = Ops.back()->getLoc()->findInstanceOf<NameLoc>()) {
    Names.remove(Last.getName().strref());
    Names.insert(Last.getName().strref());
  }
  if (Names.empty())
    for (Operation *Op : Ops)
      Names.insert(Op->getName().stripDialect());
  constexpr size_t Shown = 3;
  if (Names.size() <= Shown)
    return llvm::join(Names, "+");
  return llvm::join(Names.getArrayRef().take_front(Shown - 1), "+") + "+" +
         std::to_string(Names.size() - Shown) + " more+" + Names.back().str();
}

namespace {
/// What ops use from outside: values, and ops that the region computes for
/// itself.
struct Outside {
  llvm::SetVector<Value> Inputs;
  llvm::SetVector<Operation *> Clones;

  Outside(ArrayRef<Operation *> Ops, function_ref<bool(Operation *)> IsPlaced) {
    DenseSet<Operation *> Inside(Ops.begin(), Ops.end());
    std::function<void(Operation *)> Collect = [&](Operation *Op) {
      for (OpOperand &Use : Op->getOpOperands()) {
        Value Operand = Use.get();
        Operation *Def = Operand.getDefiningOp();
        if (Def && (Inside.contains(Def) || Clones.contains(Def)))
          continue;
        if (Def && isCloned(Def) && !IsPlaced(Def) && !readsMemory(Use)) {
          Collect(Def);
          Clones.insert(Def);
        } else {
          Inputs.insert(Operand);
        }
      }
    };
    for (Operation *Op : Ops)
      Collect(Op);
  }
};
} // namespace

RegionOp graph::buildRegion(ArrayRef<Operation *> Ops, ArrayRef<Value> Shared,
                            function_ref<bool(Operation *)> IsPlaced) {
  Operation *Last = Ops.back();
  SmallVector<Value> Results(Last->getResults());
  llvm::append_range(Results, Shared);
  OpBuilder B(Last);
  SmallVector<Location> Locs;
  for (Operation *Op : Ops)
    Locs.push_back(Op->getLoc());

  Outside From(Ops, IsPlaced);
  auto Region = RegionOp::create(
      B, FusedLoc::get(B.getContext(), ArrayRef<Location>(Locs).take_front(16)),
      llvm::to_vector(ValueRange(Results).getTypes()), nameOf(Ops),
      From.Inputs.getArrayRef());
  Block *Body = B.createBlock(&Region.getBody());
  IRMapping Map;
  for (Value Input : From.Inputs)
    Map.map(Input, Body->addArgument(Input.getType(), Input.getLoc()));
  // A clone may use an op of the region: order follows operands.
  DenseSet<Operation *> Done;
  std::function<void(Operation *)> Emit = [&](Operation *Op) {
    if (!Done.insert(Op).second)
      return;
    for (Value Operand : Op->getOperands())
      if (Operation *Def = Operand.getDefiningOp())
        if (From.Clones.contains(Def))
          Emit(Def);
    B.clone(*Op, Map);
  };
  for (Operation *Op : Ops)
    Emit(Op);
  SmallVector<Value> Yielded;
  for (Value Result : Results)
    Yielded.push_back(Map.lookup(Result));
  YieldOp::create(B, Last->getLoc(), Yielded);

  for (auto [Old, New] : llvm::zip_equal(Results, Region.getResults()))
    Old.replaceAllUsesWith(New);
  return Region;
}
