//===- ElementEmitter.cpp - Computes one element of a tensor --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/ElementEmitter.h"

#include "passes/kernels/form/FusedKernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kpc::kernels {

size_t ElementEmitter::KeyHash::operator()(const Key &K) const {
  return llvm::hash_combine_range(K.begin(), K.end());
}

bool dominatesInsertion(Value V, OpBuilder &B) {
  Block *Home = V.getParentBlock();
  Block *At = B.getInsertionBlock();
  Operation *Before =
      B.getInsertionPoint() == At->end() ? nullptr : &*B.getInsertionPoint();
  while (At != Home) {
    Before = At->getParentOp();
    if (!Before || isa<FunctionOpInterface>(Before))
      return false;
    At = Before->getBlock();
  }
  Operation *Def = V.getDefiningOp();
  return !Def || !Before || (Def != Before && Def->isBeforeInBlock(Before));
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

Value ElementEmitter::lookup(const Key &K, OpBuilder &B) {
  auto It = Elements.find(K);
  if (It == Elements.end())
    return {};
  for (Value V : It->second)
    if (dominatesInsertion(V, B))
      return V;
  return {};
}

Value ElementEmitter::constant(OpBuilder &B, Location Loc, TypedAttr Attr) {
  Value &Known = Constants[Attr];
  if (Known)
    return Known;
  Operation *Parent = B.getInsertionBlock()->getParentOp();
  while (Parent && !isa<FunctionOpInterface>(Parent))
    Parent = Parent->getParentOp();
  OpBuilder::InsertionGuard Guard(B);
  if (Parent)
    B.setInsertionPointToStart(&Parent->getRegion(0).front());
  return Known = arith::ConstantOp::create(B, Loc, Attr);
}

Value ElementEmitter::constantIndex(OpBuilder &B, int64_t Value) {
  return constant(B, B.getUnknownLoc(), B.getIndexAttr(Value));
}

Value ElementEmitter::materialize(OpBuilder &B, OpFoldResult Size) {
  if (auto Known = constantOf(Size))
    return constantIndex(B, *Known);
  return Outer.lookupOrDefault(cast<Value>(Size));
}

SmallVector<Value> ElementEmitter::share(OpBuilder &B, Operation *Op) {
  if (auto Const = dyn_cast<arith::ConstantOp>(Op)) {
    Value Known = constant(B, Op->getLoc(), Const.getValue());
    if (Known != Const.getResult())
      Op->erase();
    return {Known};
  }
  if (Op->getNumRegions() != 0 || !isMemoryEffectFree(Op))
    return Op->getResults();
  SmallVector<Value> Folded;
  SmallVector<Operation *> NewConstants;
  if (succeeded(B.tryFold(Op, Folded, &NewConstants)) && !Folded.empty()) {
    Op->erase();
    for (Value &V : Folded)
      if (auto Const = V.getDefiningOp<arith::ConstantOp>();
          Const && llvm::is_contained(NewConstants, Const))
        V = constant(B, Const.getLoc(), Const.getValue());
    for (Operation *Const : NewConstants)
      if (Const->use_empty() &&
          !llvm::is_contained(Folded, Const->getResult(0)))
        Const->erase();
    return Folded;
  }
  unsigned Hash = OperationEquivalence::computeHash(
      Op, OperationEquivalence::directHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  auto &Bucket = Shared[Hash];
  for (Operation *Other : Bucket)
    if (OperationEquivalence::isEquivalentTo(
            Op, Other, OperationEquivalence::IgnoreLocations) &&
        Other->getNumResults() != 0 &&
        dominatesInsertion(Other->getResult(0), B)) {
      Op->erase();
      return Other->getResults();
    }
  Bucket.push_back(Op);
  return Op->getResults();
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value ElementEmitter::binary(OpBuilder &B, Location Loc, StringRef Name,
                             Value Lhs, Value Rhs) {
  OperationState State(Loc, Name);
  State.addOperands({Lhs, Rhs});
  State.addTypes(Lhs.getType());
  return share(B, B.create(State)).front();
}

Value ElementEmitter::add(OpBuilder &B, Location Loc, Value Lhs, Value Rhs) {
  return binary(B, Loc, arith::AddIOp::getOperationName(), Lhs, Rhs);
}

Value ElementEmitter::mul(OpBuilder &B, Location Loc, Value Lhs, Value Rhs) {
  return binary(B, Loc, arith::MulIOp::getOperationName(), Lhs, Rhs);
}

/// Iteration indices are never negative.
static bool isNonNegative(AffineExpr Expr) {
  if (auto Const = dyn_cast<AffineConstantExpr>(Expr))
    return Const.getValue() >= 0;
  auto Binary = dyn_cast<AffineBinaryOpExpr>(Expr);
  if (!Binary || Expr.getKind() == AffineExprKind::Mod)
    return true;
  return isNonNegative(Binary.getLHS()) && isNonNegative(Binary.getRHS());
}

Value ElementEmitter::apply(OpBuilder &B, Location Loc, AffineExpr Expr,
                            ValueRange Dims) {
  if (auto Const = dyn_cast<AffineConstantExpr>(Expr))
    return constantIndex(B, Const.getValue());
  if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
    return Dims[Dim.getPosition()];
  auto Binary = cast<AffineBinaryOpExpr>(Expr);
  StringRef Name;
  switch (Expr.getKind()) {
  case AffineExprKind::Add:
    Name = arith::AddIOp::getOperationName();
    break;
  case AffineExprKind::Mul:
    Name = arith::MulIOp::getOperationName();
    break;
  case AffineExprKind::FloorDiv:
    Name = isNonNegative(Binary.getLHS())
               ? arith::DivUIOp::getOperationName()
               : arith::FloorDivSIOp::getOperationName();
    break;
  case AffineExprKind::Mod:
    if (isNonNegative(Binary.getLHS()))
      Name = arith::RemUIOp::getOperationName();
    break;
  default:
    break;
  }
  if (Name.empty())
    return affine::expandAffineExpr(B, Loc, Expr, Dims, {});
  Value Lhs = apply(B, Loc, Binary.getLHS(), Dims);
  Value Rhs = apply(B, Loc, Binary.getRHS(), Dims);
  return binary(B, Loc, Name, Lhs, Rhs);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static LogicalResult unsupported(Value Tensor) {
  Operation *Def = Tensor.getDefiningOp();
  if (Def)
    return Def->emitOpError("has no place in the linalg form of a kernel");
  return emitError(Tensor.getLoc(),
                   "a kernel's tensors must come from operations");
}

Value ElementEmitter::element(OpBuilder &B, Value Tensor, ValueRange Indices) {
  Key K{Tensor.getAsOpaquePointer()};
  for (Value Index : Indices)
    K.push_back(Index.getAsOpaquePointer());
  if (Value Known = lookup(K, B))
    return Known;
  Value Result = compute(B, Tensor, Indices);
  if (Result)
    Elements[K].push_back(Result);
  return Result;
}

Value ElementEmitter::compute(OpBuilder &B, Value Tensor, ValueRange Indices) {
  Location Loc = Tensor.getLoc();
  if (OnElement)
    if (Value Given = OnElement(B, Loc, Tensor, Indices))
      return Given;
  if (Value View = viewOf(Tensor)) {
    View = Outer.lookupOrDefault(View);
    if (OnLoad)
      return OnLoad(B, Loc, View, Indices);
    return memref::LoadOp::create(B, Loc, View, Indices);
  }
  Operation *Def = Tensor.getDefiningOp();
  if (!Def) {
    (void)unsupported(Tensor);
    return {};
  }
  if (auto Fill = dyn_cast<linalg::FillOp>(Def))
    return Outer.lookupOrDefault(Fill.getInputs().front());
  if (auto Cast = dyn_cast<tensor::CastOp>(Def))
    return element(B, Cast.getSource(), Indices);
  if (isa<tensor::EmptyOp>(Def)) {
    // Never read by a kernel that means something; zero is reproducible.
    Type Element = cast<RankedTensorType>(Tensor.getType()).getElementType();
    return constant(B, Loc, B.getZeroAttr(Element));
  }
  if (auto Const = dyn_cast<arith::ConstantOp>(Def))
    if (auto Splat = dyn_cast<SplatElementsAttr>(Const.getValue()))
      return constant(B, Loc, Splat.getSplatValue<TypedAttr>());
  linalg::LinalgOp Op = loopsBehind(Tensor);
  if (!Op) {
    (void)unsupported(Tensor);
    return {};
  }
  unsigned Number = cast<OpResult>(Tensor).getResultNumber();
  SmallVector<Value> Results;
  if (failed(
          generic(B, Op, loopIndicesOfElement(Op, Number, Indices), Results)))
    return {};
  // The other results were computed at the same place: remember them.
  AffineMap Mine = Op.getIndexingMapMatchingResult(Op->getResult(Number));
  for (unsigned I = 0, E = Results.size(); I != E; ++I) {
    if (I == Number ||
        Op.getIndexingMapMatchingResult(Op->getResult(I)) != Mine)
      continue;
    Key K{Op->getResult(I).getAsOpaquePointer()};
    for (Value Index : Indices)
      K.push_back(Index.getAsOpaquePointer());
    Elements[K].push_back(Results[I]);
  }
  return Results[Number];
}

LogicalResult ElementEmitter::generic(OpBuilder &B, linalg::LinalgOp Op,
                                      ValueRange Loops,
                                      SmallVectorImpl<Value> &Results) {
  SmallVector<unsigned> Order;
  for (auto [Loop, Kind] : llvm::enumerate(Op.getIteratorTypesArray())) {
    if (Kind == utils::IteratorType::reduction)
      Order.push_back(Loop);
    else if (!Loops[Loop])
      return Op.emitOpError("has a parallel loop that its result has not");
  }
  if (Order.empty()) {
    SmallVector<Value> None(Op.getNumDpsInits());
    return body(B, Op, Loops, None, Results);
  }
  for (OpOperand &Init : Op.getDpsInitsMutable()) {
    SmallVector<Value> At;
    for (AffineExpr Expr : Op.getMatchingIndexingMap(&Init).getResults())
      At.push_back(apply(B, Op.getLoc(), Expr, Loops));
    Value Start = element(B, Init.get(), At);
    if (!Start)
      return failure();
    Results.push_back(Start);
  }
  return reduce(B, Op, Order, llvm::to_vector(Loops), Results);
}

LogicalResult ElementEmitter::reduce(OpBuilder &B, linalg::LinalgOp Op,
                                     ArrayRef<unsigned> Order,
                                     SmallVector<Value> Loops,
                                     SmallVectorImpl<Value> &Accumulators) {
  if (Order.empty()) {
    SmallVector<Value> Yielded;
    if (failed(body(B, Op, Loops, Accumulators, Yielded)))
      return failure();
    Accumulators.assign(Yielded.begin(), Yielded.end());
    return success();
  }
  OpFoldResult Size = loopSize(Op, Order.front());
  if (!Size)
    return Op.emitOpError("has a reduction loop of unknown size");
  LogicalResult Inside = success();
  auto Body = [&](OpBuilder &, Value Index, ValueRange Carried) {
    SmallVector<Value> Next(Loops), Inner(Carried);
    Next[Order.front()] = Index;
    if (failed(reduce(B, Op, Order.drop_front(), Next, Inner)))
      Inside = failure();
    return Inner;
  };
  Value Upper = materialize(B, Size);
  if (OnReduction) {
    Accumulators = OnReduction(B, Op, Order.front(), Upper, Accumulators, Body);
    return Inside;
  }
  auto For = makeLoop(B, Op.getLoc(), constantIndex(B, 0), Upper,
                      constantIndex(B, 1), Accumulators, Body);
  Accumulators = llvm::to_vector(ValueRange(For.getResults()));
  return Inside;
}

LogicalResult ElementEmitter::body(OpBuilder &B, linalg::LinalgOp Op,
                                   ValueRange Loops, ValueRange Accumulators,
                                   SmallVectorImpl<Value> &Yielded) {
  SmallVector<Value> None(Op.getNumDpsInputs());
  return bodyWithInputs(B, Op, Loops, None, Accumulators, Yielded);
}

LogicalResult ElementEmitter::bodyWithInputs(OpBuilder &B, linalg::LinalgOp Op,
                                             ValueRange Loops,
                                             ValueRange Inputs,
                                             ValueRange Accumulators,
                                             SmallVectorImpl<Value> &Yielded) {
  IRMapping Map;
  Block &Body = *Op.getBlock();
  for (OpOperand &Operand : Op->getOpOperands()) {
    unsigned Number = Operand.getOperandNumber();
    BlockArgument Arg = Body.getArgument(Number);
    Value Given = Number < Inputs.size()
                      ? Inputs[Number]
                      : Accumulators[Number - Op.getNumDpsInputs()];
    // An input that the body does not read only gives a loop its size.
    if (!Given && Arg.use_empty())
      continue;
    if (!Given) {
      SmallVector<Value> At;
      for (AffineExpr Expr : Op.getMatchingIndexingMap(&Operand).getResults())
        At.push_back(apply(B, Op.getLoc(), Expr, Loops));
      Given = element(B, Operand.get(), At);
    }
    if (!Given)
      return failure();
    Map.map(Arg, Given);
  }
  if (failed(cloneBlock(B, Body, Map, Loops)))
    return failure();
  for (Value V : Body.getTerminator()->getOperands())
    Yielded.push_back(Outer.lookupOrDefault(Map.lookupOrDefault(V)));
  return success();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

LogicalResult ElementEmitter::cloneBlock(OpBuilder &B, Block &From,
                                         IRMapping &Map, ValueRange Loops) {
  for (Operation &Op : From) {
    if (isa<linalg::YieldOp>(Op))
      continue;
    if (failed(cloneOp(B, Op, Map, Loops)))
      return failure();
  }
  return success();
}

LogicalResult ElementEmitter::cloneOp(OpBuilder &B, Operation &Op,
                                      IRMapping &Map, ValueRange Loops) {
  auto Mapped = [&](Value V) {
    return Outer.lookupOrDefault(Map.lookupOrDefault(V));
  };
  if (auto Index = dyn_cast<linalg::IndexOp>(Op)) {
    Map.map(Index.getResult(), Loops[Index.getDim()]);
    return success();
  }
  if (auto Extract = dyn_cast<tensor::ExtractOp>(Op)) {
    SmallVector<Value> At = llvm::map_to_vector(Extract.getIndices(), Mapped);
    Value Result = element(B, Extract.getTensor(), At);
    if (!Result)
      return failure();
    Map.map(Extract.getResult(), Result);
    return success();
  }
  for (Value Operand : Op.getOperands())
    if (!Map.contains(Operand))
      if (Value To = Outer.lookupOrNull(Operand))
        Map.map(Operand, To);
  Operation *New = B.insert(Op.cloneWithoutRegions(Map));
  if (Op.getNumRegions() == 0) {
    for (auto [From, To] : llvm::zip_equal(Op.getResults(), share(B, New)))
      Map.map(From, To);
    return success();
  }
  OpBuilder::InsertionGuard Guard(B);
  for (auto [From, To] : llvm::zip_equal(Op.getRegions(), New->getRegions())) {
    for (Block &FromBlock : From) {
      Block *ToBlock = B.createBlock(&To, To.end());
      for (BlockArgument Arg : FromBlock.getArguments())
        Map.map(Arg, ToBlock->addArgument(Arg.getType(), Arg.getLoc()));
      B.setInsertionPointToEnd(ToBlock);
      if (failed(cloneBlock(B, FromBlock, Map, Loops)))
        return failure();
    }
  }
  return success(); // cloneWithoutRegions has mapped the results
}

} // namespace kpc::kernels
