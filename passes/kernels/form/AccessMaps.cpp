//===- AccessMaps.cpp - How loops over an output reach memory -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/AccessMaps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

class Walk {
public:
  explicit Walk(AccessMaps &Maps, unsigned Rank, MLIRContext *Context)
      : Maps(Maps), Rank(Rank), Context(Context) {}

  void visit(Value Tensor, AffineMap Map) {
    SmallVector<std::pair<Value, AffineMap>> Worklist{{Tensor, Map}};
    while (!Worklist.empty()) {
      auto [V, At] = Worklist.pop_back_val();
      if (Seen.insert({V, At}).second)
        step(V, At, Worklist);
    }
  }

private:
  void markOpaque(AffineExpr Expr) {
    for (unsigned Dim = 0; Dim < Rank; ++Dim)
      if (Expr.isFunctionOfDim(Dim))
        Maps.Opaque[Dim] = true;
  }

  void step(Value V, AffineMap At,
            SmallVectorImpl<std::pair<Value, AffineMap>> &Worklist) {
    if (Value View = viewOf(V)) {
      for (AffineExpr Expr : At.getResults())
        if (!Expr.isPureAffine() || !isLinear(Expr))
          markOpaque(Expr);
      Maps.Accesses.push_back({V, View, At});
      return;
    }
    if (auto Cast = V.getDefiningOp<tensor::CastOp>()) {
      Worklist.push_back({Cast.getSource(), At});
      return;
    }
    linalg::LinalgOp Op = loopsBehind(V);
    if (!Op)
      return;
    // Loops of this generic in terms of the root's dims; reductions get
    // symbols of their own.
    SmallVector<AffineExpr> Loops(Op.getNumLoops());
    AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(V));
    for (auto [Expr, Index] : llvm::zip(Result.getResults(), At.getResults()))
      if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
        Loops[Dim.getPosition()] = Index;
    for (AffineExpr &Loop : Loops)
      if (!Loop)
        Loop = getAffineSymbolExpr(NumSymbols++, Context);
    for (OpOperand &Operand : Op->getOpOperands()) {
      if (!Op.payloadUsesValueFromOperand(&Operand))
        continue;
      AffineMap Map = Op.getMatchingIndexingMap(&Operand);
      SmallVector<AffineExpr> Exprs;
      for (AffineExpr Expr : Map.getResults())
        Exprs.push_back(
            simplifyAffineExpr(Expr.replaceDims(Loops), Rank, NumSymbols));
      Worklist.push_back(
          {Operand.get(), AffineMap::get(Rank, NumSymbols, Exprs, Context)});
    }
    Op.getBlock()->walk(
        [&](linalg::IndexOp Index) { markOpaque(Loops[Index.getDim()]); });
  }

  static bool isLinear(AffineExpr Expr) {
    bool Linear = true;
    Expr.walk([&](AffineExpr Part) {
      switch (Part.getKind()) {
      case AffineExprKind::FloorDiv:
      case AffineExprKind::CeilDiv:
      case AffineExprKind::Mod:
        Linear = false;
        break;
      default:
        break;
      }
    });
    return Linear;
  }

  AccessMaps &Maps;
  unsigned Rank;
  unsigned NumSymbols = 0;
  MLIRContext *Context;
  llvm::DenseSet<std::pair<Value, AffineMap>> Seen;
};

} // namespace

int64_t factorOf(AffineExpr Linear, unsigned Dim) {
  if (auto D = dyn_cast<AffineDimExpr>(Linear))
    return D.getPosition() == Dim;
  auto Binary = dyn_cast<AffineBinaryOpExpr>(Linear);
  if (!Binary)
    return 0;
  if (Linear.getKind() == AffineExprKind::Add)
    return factorOf(Binary.getLHS(), Dim) + factorOf(Binary.getRHS(), Dim);
  if (auto Const = dyn_cast<AffineConstantExpr>(Binary.getRHS()))
    return factorOf(Binary.getLHS(), Dim) * Const.getValue();
  if (auto Const = dyn_cast<AffineConstantExpr>(Binary.getLHS()))
    return factorOf(Binary.getRHS(), Dim) * Const.getValue();
  return 0;
}

AccessMaps accessesOf(Value Tensor) {
  unsigned Rank = cast<RankedTensorType>(Tensor.getType()).getRank();
  AccessMaps Maps;
  Maps.Opaque.assign(Rank, false);
  MLIRContext *Context = Tensor.getContext();
  Walk(Maps, Rank, Context)
      .visit(Tensor, AffineMap::getMultiDimIdentityMap(Rank, Context));
  return Maps;
}

void addIdentityAccess(AccessMaps &Maps, Value Memref) {
  Maps.Accesses.push_back({Value(), Memref,
                           AffineMap::getMultiDimIdentityMap(
                               Maps.Opaque.size(), Memref.getContext())});
}

std::optional<shape::Expr> AccessMaps::stride(const Access &A,
                                              unsigned Dim) const {
  if (Opaque[Dim])
    return std::nullopt;
  shape::Expr Total;
  for (auto [Position, Expr] : llvm::enumerate(A.Map.getResults())) {
    int64_t Factor = factorOf(Expr, Dim);
    if (Factor == 0)
      continue;
    auto Stride = sizeExpr(strideOf(A.Memref, Position));
    if (!Stride)
      return std::nullopt;
    Total = Total + *Stride * Factor;
  }
  return Total;
}

bool AccessMaps::collapses(unsigned Slow, unsigned Fast,
                           const std::optional<shape::Expr> &FastSize) const {
  if (Opaque[Slow] || Opaque[Fast] || !FastSize)
    return false;
  for (const Access &A : Accesses) {
    auto Outer = stride(A, Slow), Step = stride(A, Fast);
    if (!Outer || !Step || *Outer != *FastSize * *Step)
      return false;
  }
  return true;
}

} // namespace kpc::kernels
