//===- ExactValues.cpp - Values of which an absolute error counts
//----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A walk against the order of the program, from each operand that must not be
/// rounded to what it is computed from, in whatever kernel that is:
///
/// - It begins at what sin, cos, tan, floor, ceil and remainders read, and at
///   floats that become integers of 32 bits or more: angles, coordinates,
///   indices. Fewer bits are codes, whose steps are coarse.
/// - It passes whatever moves elements or computes one by one.
/// - It ends at ops whose result is at most about 1 whatever they read
/// (sigmoid,
///   tanh, softmax), and at contractions and reductions of more than MostTerms
///   terms. These results are exact; what they are made of is an activation, of
///   which 16 bits do. So a GEMM of a network multiplies 16 bits as ever, while
///   positions times frequencies, or times a matrix of a camera, are f32.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ExactValues.h"
#include "passes/graph/GraphFunction.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// Coordinates have up to 4 components, and a matrix of theirs up to 16
/// elements. Layers of networks have more channels.
constexpr int64_t MostTerms = 16;

bool hasFewTerms(ArrayRef<Expr> Sizes) {
  Expr Terms = 1;
  for (const Expr &Size : Sizes)
    Terms = Terms * Size;
  std::optional<int64_t> Count = Terms.asConstant();
  return Count && *Count <= MostTerms;
}

bool hasFewTerms(Operation *Op) {
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return hasFewTerms(typeOf(Matmul.getA()).getDims().take_back());
  if (auto Conv = dyn_cast<ConvOp>(Op))
    return hasFewTerms(typeOf(Conv.getW()).getDims().drop_back());
  if (auto Conv = dyn_cast<ConvTransposeOp>(Op))
    return hasFewTerms(typeOf(Conv.getW()).getDims().drop_back());
  if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
    ArrayRef<Expr> Dims = typeOf(Reduce.getX()).getDims();
    return hasFewTerms(llvm::map_to_vector(
        Reduce.getAxes(), [&](int64_t Axis) { return Dims[Axis]; }));
  }
  return false;
}

/// The op that computes `V`, seen through what only moves elements and through
/// the borders of kernels.
Operation *producerOf(Value V) {
  while (true) {
    if (auto Argument = dyn_cast<BlockArgument>(V)) {
      auto Region = dyn_cast<RegionOp>(Argument.getOwner()->getParentOp());
      if (!Region)
        return nullptr;
      V = Region.getInputs()[Argument.getArgNumber()];
    } else if (auto Region = V.getDefiningOp<RegionOp>()) {
      V = Region.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(V).getResultNumber());
    } else if (isa<BroadcastOp, ReshapeOp, TransposeOp>(V.getDefiningOp())) {
      V = V.getDefiningOp()->getOperand(0);
    } else {
      return V.getDefiningOp();
    }
  }
}

bool isSoftmax(DivOp Div) {
  auto Sum = dyn_cast_or_null<ReduceOp>(producerOf(Div.getB()));
  return Sum && Sum.getKind() == ReduceKind::sum &&
         isa_and_present<ExpOp>(producerOf(Div.getA()));
}

/// Whether the result is small by nature, or is for others to round.
bool endsWalk(Operation *Op) {
  if (auto Div = dyn_cast<DivOp>(Op))
    return isSoftmax(Div);
  if (isa<MatmulOp, ConvOp, ConvTransposeOp, ReduceOp>(Op))
    return !hasFewTerms(Op);
  return isa<SigmoidOp, TanhOp, ErfOp, SinOp, CosOp, AsinOp, AcosOp, AtanOp,
             AttentionOp, CustomOp>(Op);
}

/// The operands of `Op` that absolute errors count in.
SmallVector<Value, 2> sensitiveOperands(Operation *Op) {
  if (isa<SinOp, CosOp, TanOp, FloorOp, CeilOp, ModOp, RemOp>(Op))
    return llvm::to_vector<2>(Op->getOperands());
  if (auto Cast = dyn_cast<CastOp>(Op))
    if (auto To = dyn_cast<IntegerType>(typeOf(Cast.getY()).getElementType());
        To && To.getWidth() >= 32)
      return {Cast.getX()};
  return {};
}

} // namespace

void ExactValues::add(Value V, Operation *Reason) {
  if (isa<SymbolicTensorType>(V.getType()) &&
      isFloat(typeOf(V).getElementType()) &&
      Reasons.try_emplace(V, Reason).second)
    Worklist.push_back(V);
}

void ExactValues::followOperands(Operation *Op, Operation *Reason) {
  if (endsWalk(Op))
    return;
  if (isa<MatmulOp, ConvOp, ConvTransposeOp>(Op))
    Sums.insert(Op);
  for (Value Operand : Op->getOperands())
    add(Operand, Reason);
}

void ExactValues::follow(Value V) {
  Operation *Reason = Reasons.lookup(V), *Def = V.getDefiningOp();
  if (auto Argument = dyn_cast<BlockArgument>(V)) {
    Operation *Parent = Argument.getOwner()->getParentOp();
    unsigned I = Argument.getArgNumber();
    if (auto Region = dyn_cast<RegionOp>(Parent)) {
      add(Region.getInputs()[I], Reason);
    } else if (auto Loop = dyn_cast<LoopOp>(Parent)) {
      add(Loop.getInits()[I], Reason);
      add(Loop.getYielded()[I], Reason);
    }
    return;
  }
  unsigned I = cast<OpResult>(V).getResultNumber();
  if (auto Loop = dyn_cast<LoopOp>(Def)) {
    add(Loop.getYielded()[I], Reason);
    if (I < Loop.getNumCarried())
      add(Loop.getInits()[I], Reason);
  } else if (isa<RegionOp, IfOp>(Def)) {
    for (Region &Body : Def->getRegions())
      add(Body.front().getTerminator()->getOperand(I), Reason);
  } else if (Def->getNumRegions() == 0) {
    followOperands(Def, Reason);
  }
}

ExactValues::ExactValues(func::FuncOp Func) {
  Func.walk([&](Operation *Op) {
    for (Value V : sensitiveOperands(Op))
      add(V, Op);
  });
  // In the order of the distance, so that the reason is the nearest one.
  for (size_t I = 0; I < Worklist.size(); ++I)
    follow(Worklist[I]);
  Worklist.clear();
}

Operation *ExactValues::reasonOf(Value V) const {
  while (auto View = V.getDefiningOp<ReshapeOp>())
    V = View.getX();
  return Reasons.lookup(V);
}
