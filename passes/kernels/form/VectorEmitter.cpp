//===- VectorEmitter.cpp - Computes neighbouring elements at once ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/VectorEmitter.h"

#include "passes/kernels/form/FusedKernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;

namespace kpc::kernels {

std::optional<bool> countsWith(AffineExpr Expr, int Lane) {
  if (Lane < 0 || !Expr.isFunctionOfDim(Lane))
    return false;
  if (isa<AffineDimExpr>(Expr))
    return true;
  auto Binary = dyn_cast<AffineBinaryOpExpr>(Expr);
  if (!Binary || Expr.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto Lhs = countsWith(Binary.getLHS(), Lane);
  auto Rhs = countsWith(Binary.getRHS(), Lane);
  if (!Lhs || !Rhs || (*Lhs && *Rhs))
    return std::nullopt;
  return *Lhs || *Rhs;
}

/// Which of a map's results counts up with `Lane`: its position, -1 if none
/// does; none if the lanes have no simple form in it.
static std::optional<int> laneResult(AffineMap Map, int Lane) {
  int Found = -1;
  for (auto [Position, Expr] : llvm::enumerate(Map.getResults())) {
    auto Counts = countsWith(Expr, Lane);
    if (!Counts || (*Counts && Found >= 0))
      return std::nullopt;
    if (*Counts)
      Found = Position;
  }
  return Found;
}

/// Index arithmetic that keeps a counting operand counting.
static bool keepsCounting(Operation *Op, ArrayRef<bool> Counts) {
  if (isa<arith::AddIOp>(Op))
    return Counts[0] != Counts[1];
  if (isa<arith::SubIOp>(Op))
    return Counts[0] && !Counts[1];
  if (auto Apply = dyn_cast<affine::AffineApplyOp>(Op)) {
    AffineExpr Expr = Apply.getAffineMap().getResult(0);
    unsigned Dims = Apply.getAffineMap().getNumDims();
    int Lane = -1;
    for (auto [I, Is] : llvm::enumerate(Counts)) {
      if (!Is)
        continue;
      if (Lane >= 0 || I >= Dims)
        return false;
      Lane = I;
    }
    return countsWith(Expr, Lane) == true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Whether there is a form
//===----------------------------------------------------------------------===//

namespace {

class Check {
public:
  explicit Check(Operation *Given) : Given(Given) {}

  bool tensor(Value Tensor, int LaneDim, bool AtRoot) {
    if (Given && Tensor.getDefiningOp() == Given)
      return AtRoot;
    if (!Seen.insert({Tensor, LaneDim * 2 + AtRoot}).second)
      return true;
    if (Value View = viewOf(Tensor)) {
      if (LaneDim < 0)
        return true;
      unsigned Last = cast<MemRefType>(View.getType()).getRank() - 1;
      return constantOf(strideOf(View, LaneDim)) == 1 &&
             constantOf(strideOf(View, Last)) == 1;
    }
    if (auto Cast = Tensor.getDefiningOp<tensor::CastOp>())
      return tensor(Cast.getSource(), LaneDim, AtRoot);
    linalg::LinalgOp Op = loopsBehind(Tensor);
    if (!Op)
      return true;
    if (Op.getNumReductionLoops() != 0)
      return LaneDim < 0 && !Given;
    AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(Tensor));
    int LaneLoop = -1;
    if (LaneDim >= 0) {
      auto Dim = dyn_cast<AffineDimExpr>(Result.getResult(LaneDim));
      if (!Dim)
        return false;
      LaneLoop = Dim.getPosition();
    }
    for (OpOperand &Operand : Op->getOpOperands()) {
      if (!Op.payloadUsesValueFromOperand(&Operand))
        continue;
      AffineMap Map = Op.getMatchingIndexingMap(&Operand);
      auto Lane = laneResult(Map, LaneLoop);
      if (!Lane || !tensor(Operand.get(), *Lane,
                           AtRoot && Map.isIdentity() && Result.isIdentity()))
        return false;
    }
    return block(*Op.getBlock(), LaneLoop);
  }

  bool block(Block &Body, int LaneLoop) {
    for (Operation &Op : Body)
      if (!operation(Op, LaneLoop))
        return false;
    return true;
  }

private:
  /// Whether a value of a body may differ between lanes is not tracked here:
  /// only what counts, and whether a branch may depend on it.
  bool operation(Operation &Op, int LaneLoop) {
    // What was found when the lanes ran along another loop holds no longer: a
    // tensor may be read as a row and as a column.
    for (Value Result : Op.getResults()) {
      Counting.erase(Result);
      Uniform.erase(Result);
    }
    if (isa<linalg::YieldOp, scf::YieldOp, arith::ConstantOp>(Op))
      return true;
    if (auto Index = dyn_cast<linalg::IndexOp>(Op)) {
      if (int(Index.getDim()) == LaneLoop)
        Counting.insert(Index.getResult());
      else
        Uniform.insert(Index.getResult());
      return true;
    }
    if (auto Extract = dyn_cast<tensor::ExtractOp>(Op)) {
      int Lane = -1;
      for (auto [I, Index] : llvm::enumerate(Extract.getIndices())) {
        if (isUniform(Index))
          continue;
        if (!Counting.contains(Index) || Lane >= 0)
          return false;
        Lane = I;
      }
      return tensor(Extract.getTensor(), Lane, false);
    }
    if (auto If = dyn_cast<scf::IfOp>(Op)) {
      if (!isUniform(If.getCondition()))
        return false;
      return llvm::all_of(Op.getRegions(), [&](Region &R) {
        return R.empty() || block(R.front(), LaneLoop);
      });
    }
    if (Op.getNumRegions() != 0)
      return false;
    if (llvm::all_of(Op.getOperands(), [&](Value V) { return isUniform(V); })) {
      Uniform.insert_range(Op.getResults());
      return true;
    }
    SmallVector<bool> Counts = llvm::map_to_vector(
        Op.getOperands(), [&](Value V) { return Counting.contains(V); });
    if (llvm::is_contained(Counts, true) && keepsCounting(&Op, Counts)) {
      Counting.insert(Op.getResult(0));
      return true;
    }
    return OpTrait::hasElementwiseMappableTraits(&Op);
  }

  bool isUniform(Value V) const {
    if (Uniform.contains(V))
      return true;
    Operation *Def = V.getDefiningOp();
    // Constants, and sizes from outside of all bodies.
    return (Def && (Def->hasTrait<OpTrait::ConstantLike>() ||
                    isa<func::FuncOp>(Def->getParentOp()))) ||
           (!Def && isa<func::FuncOp>(V.getParentBlock()->getParentOp()));
  }

  Operation *Given;
  llvm::DenseSet<std::pair<Value, int>> Seen;
  llvm::DenseSet<Value> Counting, Uniform;
};

} // namespace

bool VectorEmitter::vectorises(Value Tensor, int LaneDim, Operation *Given) {
  return Check(Given).tensor(Tensor, LaneDim, true);
}

bool VectorEmitter::bodyVectorises(linalg::LinalgOp Op, int LaneLoop) {
  return Check(nullptr).block(*Op.getBlock(), LaneLoop);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value VectorEmitter::broadcast(OpBuilder &B, Value V) {
  if (isa<VectorType>(V.getType()))
    return V;
  return vector::BroadcastOp::create(B, V.getLoc(), vectorOf(V.getType()), V);
}

Value VectorEmitter::load(OpBuilder &B, Location Loc, Value Memref,
                          ValueRange Indices) {
  Type Element = cast<MemRefType>(Memref.getType()).getElementType();
  VectorType Type = vectorOf(Element);
  if (!Mask)
    return vector::LoadOp::create(B, Loc, Type, Memref, Indices);
  // Lanes that do not exist must not make an integer division trap.
  TypedAttr Rest = isa<FloatType>(Element)
                       ? B.getZeroAttr(Type)
                       : cast<TypedAttr>(DenseElementsAttr::get(
                             Type, B.getIntegerAttr(Element, 1)));
  Value Else = arith::ConstantOp::create(B, Loc, Rest);
  return vector::MaskedLoadOp::create(B, Loc, Type, Memref, Indices, Mask,
                                      Else);
}

void VectorEmitter::store(OpBuilder &B, Location Loc, Value V, Value Memref,
                          ValueRange Indices) {
  V = broadcast(B, V);
  if (Mask)
    vector::MaskedStoreOp::create(B, Loc, Memref, Indices, Mask, V);
  else
    vector::StoreOp::create(B, Loc, V, Memref, Indices);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value VectorEmitter::element(OpBuilder &B, Value Tensor, ValueRange Indices,
                             int LaneDim) {
  Key K{Tensor.getAsOpaquePointer(), Mask.getAsOpaquePointer(),
        reinterpret_cast<const void *>(intptr_t(LaneDim))};
  for (Value Index : Indices)
    K.push_back(Index.getAsOpaquePointer());
  if (auto It = Known.find(K);
      It != Known.end() && dominatesInsertion(It->second, B))
    return It->second;
  Value Result = compute(B, Tensor, Indices, LaneDim);
  if (Result)
    Known[K] = Result;
  return Result;
}

Value VectorEmitter::compute(OpBuilder &B, Value Tensor, ValueRange Indices,
                             int LaneDim) {
  if (OnElement)
    if (Value Given = OnElement(B, Tensor, Indices))
      return Given;
  if (LaneDim < 0)
    return Scalars.element(B, Tensor, Indices);
  if (Value View = viewOf(Tensor))
    return load(B, Tensor.getLoc(), Scalars.outer().lookupOrDefault(View),
                Indices);
  if (auto Cast = Tensor.getDefiningOp<tensor::CastOp>())
    return element(B, Cast.getSource(), Indices, LaneDim);
  linalg::LinalgOp Op = loopsBehind(Tensor);
  if (!Op) // fills and the like: the same in every lane
    return Scalars.element(B, Tensor, Indices);
  unsigned Number = cast<OpResult>(Tensor).getResultNumber();
  AffineMap Map = Op.getIndexingMapMatchingResult(Op->getResult(Number));
  SmallVector<Value> Loops = loopIndicesOfElement(Op, Number, Indices);
  int LaneLoop = cast<AffineDimExpr>(Map.getResult(LaneDim)).getPosition();
  SmallVector<Value> Results;
  if (failed(body(B, Op, Loops, LaneLoop, IRMapping(), Results)))
    return {};
  return Results[Number];
}

LogicalResult VectorEmitter::body(OpBuilder &B, linalg::LinalgOp Op,
                                  ValueRange Loops, int LaneLoop, IRMapping Map,
                                  SmallVectorImpl<Value> &Yielded) {
  for (OpOperand &Operand : Op->getOpOperands()) {
    BlockArgument Arg = Op.getMatchingBlockArgument(&Operand);
    if (Map.contains(Arg) || Arg.use_empty())
      continue;
    // A value given for what is made of it alone stands for it.
    if (llvm::all_of(Arg.getUsers(), [&](Operation *User) {
          return User->getNumResults() == 1 && Map.contains(User->getResult(0));
        }))
      continue;
    AffineMap At = Op.getMatchingIndexingMap(&Operand);
    auto Lane = laneResult(At, LaneLoop);
    if (!Lane)
      return failure();
    SmallVector<Value> Indices;
    for (AffineExpr Expr : At.getResults())
      Indices.push_back(Scalars.apply(B, Op.getLoc(), Expr, Loops));
    Value Pulled = element(B, Operand.get(), Indices, *Lane);
    if (!Pulled)
      return failure();
    Map.map(Arg, Pulled);
  }
  for (Operation &One : *Op.getBlock()) {
    if (isa<linalg::YieldOp>(One) ||
        (One.getNumResults() == 1 && Map.contains(One.getResult(0))))
      continue;
    if (failed(cloneOp(B, One, Map, Loops, LaneLoop)))
      return failure();
  }
  for (Value V : Op.getBlock()->getTerminator()->getOperands())
    Yielded.push_back(mapped(B, V, Map, /*AsVector=*/Counting.contains(V)));
  return success();
}

Value VectorEmitter::counting(OpBuilder &B, Location Loc, Value Base) {
  return arith::AddIOp::create(B, Loc, broadcast(B, Base), laneNumbers(B, Loc));
}

Value VectorEmitter::laneNumbers(OpBuilder &B, Location Loc) {
  SmallVector<int64_t> Numbers(Lanes);
  std::iota(Numbers.begin(), Numbers.end(), 0);
  return arith::ConstantOp::create(
      B, Loc, DenseIntElementsAttr::get(vectorOf(B.getIndexType()), Numbers));
}

Value VectorEmitter::mapped(OpBuilder &B, Value Original, IRMapping &Map,
                            bool AsVector) {
  Value V = Scalars.outer().lookupOrDefault(Map.lookupOrDefault(Original));
  if (!AsVector)
    return V;
  if (Counting.contains(Original) && !isa<VectorType>(V.getType()))
    return counting(B, Original.getLoc(), V);
  return broadcast(B, V);
}

/// `a*b + c` in one rounding where the product has no other use, as every
/// contraction has it.
Value VectorEmitter::fusedMultiplyAdd(OpBuilder &B, Operation &Op,
                                      IRMapping &Map) {
  auto Add = dyn_cast<arith::AddFOp>(Op);
  if (!Fma || !Add)
    return {};
  for (bool Swap : {false, true}) {
    Value Product = Swap ? Add.getLhs() : Add.getRhs();
    Value Sum = Swap ? Add.getRhs() : Add.getLhs();
    auto Mul = Product.getDefiningOp<arith::MulFOp>();
    if (!Mul || !Mul->hasOneUse() || Mul->getBlock() != Op.getBlock())
      continue;
    if (Mul.getType().getIntOrFloatBitWidth() < 32)
      continue;
    Value X = mapped(B, Mul.getLhs(), Map, true);
    Value Y = mapped(B, Mul.getRhs(), Map, true);
    Value Z = mapped(B, Sum, Map, true);
    return vector::FMAOp::create(B, Op.getLoc(), X, Y, Z);
  }
  return {};
}

/// A product that its one user will take into a fused multiply-add.
static bool waitsForAdd(Operation &Op) {
  if (!isa<arith::MulFOp>(Op) || !Op.hasOneUse() ||
      Op.getResult(0).getType().getIntOrFloatBitWidth() < 32)
    return false;
  Operation *User = *Op.user_begin();
  if (!isa<arith::AddFOp>(User) || User->getBlock() != Op.getBlock())
    return false;
  // Of two products the second is fused, the first is made.
  Value Rhs = User->getOperand(1);
  auto Other = Rhs.getDefiningOp<arith::MulFOp>();
  return Rhs == Op.getResult(0) || !Other || !Other->hasOneUse() ||
         Other->getBlock() != Op.getBlock();
}

LogicalResult VectorEmitter::cloneOp(OpBuilder &B, Operation &Op,
                                     IRMapping &Map, ValueRange Loops,
                                     int LaneLoop) {
  // The body may have been computed with lanes along another loop.
  for (Value Result : Op.getResults())
    Counting.erase(Result);
  if (auto Index = dyn_cast<linalg::IndexOp>(Op)) {
    Map.map(Index.getResult(), Loops[Index.getDim()]);
    if (int(Index.getDim()) == LaneLoop)
      Counting.insert(Index.getResult());
    return success();
  }
  if (auto Extract = dyn_cast<tensor::ExtractOp>(Op)) {
    int Lane = -1;
    SmallVector<Value> At;
    for (auto [I, Index] : llvm::enumerate(Extract.getIndices())) {
      At.push_back(mapped(B, Index, Map, false));
      if (Counting.contains(Index))
        Lane = I;
      else if (isa<VectorType>(At.back().getType()))
        return failure();
    }
    Value Result = element(B, Extract.getTensor(), At, Lane);
    if (!Result)
      return failure();
    Map.map(Extract.getResult(), Result);
    return success();
  }
  if (Op.getNumRegions() != 0)
    return cloneBranch(B, Op, Map, Loops, LaneLoop);
  if (Fma && waitsForAdd(Op))
    return success();
  if (Value Fused = fusedMultiplyAdd(B, Op, Map)) {
    Map.map(Op.getResult(0), Fused);
    return success();
  }
  SmallVector<bool> Counts = llvm::map_to_vector(
      Op.getOperands(), [&](Value V) { return Counting.contains(V); });
  bool Keeps = llvm::is_contained(Counts, true) && keepsCounting(&Op, Counts);
  bool AsVector = !Keeps && llvm::any_of(Op.getOperands(), [&](Value V) {
    return Counting.contains(V) ||
           isa<VectorType>(mapped(B, V, Map, false).getType());
  });
  if (AsVector && !OpTrait::hasElementwiseMappableTraits(&Op))
    return failure();
  SmallVector<Value> Operands;
  for (Value V : Op.getOperands())
    Operands.push_back(mapped(B, V, Map, AsVector));
  IRMapping Local;
  Local.map(Op.getOperands(), Operands);
  Operation *New = Op.clone(Local);
  if (AsVector)
    for (Value Result : New->getResults())
      Result.setType(vectorOf(Result.getType()));
  B.insert(New);
  Map.map(Op.getResults(), New->getResults());
  if (Keeps)
    Counting.insert(Op.getResult(0));
  return success();
}

LogicalResult VectorEmitter::cloneBranch(OpBuilder &B, Operation &Op,
                                         IRMapping &Map, ValueRange Loops,
                                         int LaneLoop) {
  auto If = dyn_cast<scf::IfOp>(Op);
  if (!If || If.getElseRegion().empty())
    return failure();
  Value Condition = mapped(B, If.getCondition(), Map, false);
  if (isa<VectorType>(Condition.getType()))
    return failure();
  SmallVector<Type> Types = llvm::map_to_vector(
      If.getResultTypes(), [&](Type T) -> Type { return vectorOf(T); });
  auto New = scf::IfOp::create(B, Op.getLoc(), Types, Condition,
                               /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(B);
  for (auto [From, To] : {std::pair(If.thenBlock(), New.thenBlock()),
                          std::pair(If.elseBlock(), New.elseBlock())}) {
    if (!To->empty())
      To->back().erase();
    B.setInsertionPointToEnd(To);
    for (Operation &One : From->without_terminator())
      if (failed(cloneOp(B, One, Map, Loops, LaneLoop)))
        return failure();
    SmallVector<Value> Yielded;
    for (Value V : From->getTerminator()->getOperands())
      Yielded.push_back(mapped(B, V, Map, true));
    scf::YieldOp::create(B, Op.getLoc(), Yielded);
  }
  Map.map(If.getResults(), New.getResults());
  return success();
}

} // namespace kpc::kernels
