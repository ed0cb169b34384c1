//===- ReadAhead.cpp - Loads of the next step -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/loops/ReadAhead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Registers that the values of the next step may take.
constexpr size_t MostAhead = 24;

class Ahead {
public:
  Ahead(scf::ForOp Steps, const llvm::SmallPtrSetImpl<Operation *> &Clamped)
      : Steps(Steps), Clamped(Clamped) {}

  void run();

private:
  bool stands(Operation *Op) const;
  /// Whether `V` can be computed from the step's number and what is outside.
  bool follows(Value V);
  /// `V` for another step, computed at the builder's place.
  Value copy(OpBuilder &B, Value V, IRMapping &Map);
  Value load(OpBuilder &B, memref::LoadOp Load, IRMapping &Map);

  scf::ForOp Steps;
  const llvm::SmallPtrSetImpl<Operation *> &Clamped;
  DenseMap<Value, bool> Known;
};

bool Ahead::stands(Operation *Op) const {
  Operation *Parent = Op->getParentOp();
  while (Parent != Steps && Clamped.contains(Parent))
    Parent = Parent->getParentOp();
  return Parent == Steps;
}

bool Ahead::follows(Value V) {
  if (V == Steps.getInductionVar() ||
      !Steps->isAncestor(V.getParentRegion()->getParentOp()))
    return true;
  Operation *Def = V.getDefiningOp();
  if (!Def || Def->getNumRegions() != 0 || !isMemoryEffectFree(Def))
    return false;
  if (auto It = Known.find(V); It != Known.end())
    return It->second;
  bool Follows = llvm::all_of(Def->getOperands(),
                              [&](Value Operand) { return follows(Operand); });
  return Known[V] = Follows;
}

Value Ahead::copy(OpBuilder &B, Value V, IRMapping &Map) {
  if (Value Done = Map.lookupOrNull(V))
    return Done;
  Operation *Def = V.getDefiningOp();
  if (!Def || !Steps->isAncestor(Def))
    return V;
  for (Value Operand : Def->getOperands())
    Map.map(Operand, copy(B, Operand, Map));
  B.clone(*Def, Map);
  return Map.lookup(V);
}

Value Ahead::load(OpBuilder &B, memref::LoadOp Load, IRMapping &Map) {
  SmallVector<Value> At;
  for (Value Index : Load.getIndices())
    At.push_back(copy(B, Index, Map));
  return memref::LoadOp::create(B, Load.getLoc(), Load.getMemRef(), At);
}

void Ahead::run() {
  SmallVector<memref::LoadOp> Loads;
  Steps.getBody()->walk([&](memref::LoadOp Load) {
    if (Loads.size() < MostAhead && !Load.getMemRefType().getMemorySpace() &&
        !Steps->isAncestor(Load.getMemRef().getParentRegion()->getParentOp()) &&
        stands(Load) &&
        llvm::all_of(Load.getIndices(), [&](Value V) { return follows(V); }))
      Loads.push_back(Load);
  });
  if (Loads.empty())
    return;
  IRRewriter B(Steps);
  Location Loc = Steps.getLoc();
  Value Upper = Steps.getUpperBound(), One = Steps.getStep();
  SmallVector<Type> Types;
  for (memref::LoadOp Load : Loads)
    Types.push_back(Load.getType());
  auto Any =
      scf::IfOp::create(B, Loc, Types,
                        arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt,
                                              Steps.getLowerBound(), Upper),
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(Any.thenBlock());
    IRMapping Map;
    Map.map(Steps.getInductionVar(), Steps.getLowerBound());
    SmallVector<Value> First, None;
    for (memref::LoadOp Load : Loads)
      First.push_back(load(B, Load, Map));
    scf::YieldOp::create(B, Loc, First);
    B.setInsertionPointToStart(Any.elseBlock());
    for (Type Ty : Types)
      None.push_back(arith::ConstantOp::create(B, Loc, B.getZeroAttr(Ty)));
    scf::YieldOp::create(B, Loc, None);
  }
  auto New = scf::ForOp::create(B, Loc, Steps.getLowerBound(), Upper, One,
                                Any.getResults());
  Block *To = New.getBody();
  scf::ForOp Old = Steps;
  Operation *End = Old.getBody()->getTerminator();
  End->erase();
  Old.getInductionVar().replaceAllUsesWith(New.getInductionVar());
  To->getOperations().splice(To->end(), Old.getBody()->getOperations());
  Steps = New;
  B.setInsertionPointToStart(To);
  Value Next = arith::AddIOp::create(B, Loc, New.getInductionVar(), One);
  Value Last = arith::SubIOp::create(B, Loc, Upper, One);
  Next = arith::MinSIOp::create(B, Loc, Next, Last);
  IRMapping Map;
  Map.map(New.getInductionVar(), Next);
  SmallVector<Value> Loaded;
  for (memref::LoadOp Load : Loads)
    Loaded.push_back(load(B, Load, Map));
  B.setInsertionPointToEnd(To);
  scf::YieldOp::create(B, Loc, Loaded);
  for (auto [Load, Carried] : llvm::zip_equal(Loads, New.getRegionIterArgs())) {
    Load.replaceAllUsesWith(Value(Carried));
    Load.erase();
  }
  Old.erase();
}

} // namespace

void readAhead(scf::ForOp Steps,
               const llvm::SmallPtrSetImpl<Operation *> &Clamped) {
  Ahead(Steps, Clamped).run();
}

} // namespace kpc::kernels
