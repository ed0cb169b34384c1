//===- LowerScatter.cpp - Scatters as searches ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each element of the result looks through the updates that may hit it, in
/// their order, so the result does not depend on how work is divided and no
/// atomics are needed:
///
///   y[p] = fold over u: index(u) == p ? combine(acc, updates[u]) : acc
///
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/LowerScatter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/linalg/IndexMath.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

Value graph::combineUpdate(OpBuilder &B, Location Loc, ScatterKind Kind,
                           Value Old, Value New, bool Unsigned) {
  switch (Kind) {
  case ScatterKind::none:
    return New;
  case ScatterKind::add:
    return combine(B, Loc, ReduceKind::sum, Old, New, Unsigned);
  case ScatterKind::mul:
    return combine(B, Loc, ReduceKind::prod, Old, New, Unsigned);
  case ScatterKind::max:
    return combine(B, Loc, ReduceKind::max, Old, New, Unsigned);
  case ScatterKind::min:
    return combine(B, Loc, ReduceKind::min, Old, New, Unsigned);
  }
  llvm_unreachable("all kinds are above");
}

/// `Hit ? combineUpdate(Acc, Updates[At]) : Acc`.
static Value updateWhere(OpBuilder &B, Location Loc, Value Hit,
                         ScatterKind Kind, Value Acc, Value Updates,
                         ValueRange At, bool Unsigned) {
  return scf::IfOp::create(
             B, Loc, Hit,
             [&](OpBuilder &B, Location L) {
               Value New = tensor::ExtractOp::create(B, L, Updates, At);
               scf::YieldOp::create(
                   B, L, combineUpdate(B, L, Kind, Acc, New, Unsigned));
             },
             [&](OpBuilder &B, Location L) { scf::YieldOp::create(B, L, Acc); })
      .getResult(0);
}

static Value lowerScatterElements(ScatterElementsOp Op, KernelWriter &W) {
  SymbolicTensorType Ty = typeOf(Op.getX()), IndexTy = typeOf(Op.getIndices());
  Value Indices = W.tensor(Op.getIndices()),
        Updates = W.tensor(Op.getUpdates());
  int64_t Axis = Op.getAxis(), Rank = Ty.getRank();
  bool UnsignedIndex = isUnsigned(IndexTy.getElementType());
  bool Unsigned = isUnsigned(Ty.getElementType());
  SmallVector<Value> IndexSizes = W.sizes(IndexTy);
  Value Size = W.size(Ty.getDims()[Axis]);
  return W.reduce(
      Ty, IndexSizes[Axis], {}, {}, W.tensor(Op.getX()),
      [&](OpBuilder &B, Location L, ValueRange Acc) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> At = W.indices(B, Rank + 1);
        Value Tap = At.pop_back_val(), Here = At[Axis];
        At[Axis] = Tap;
        // Indices may be smaller than x in the other dimensions.
        Value Inside;
        for (int64_t D = 0; D < Rank; ++D)
          if (D != Axis && IndexTy.getDims()[D] != Ty.getDims()[D])
            Inside = M.both(Inside, M.below(At[D], IndexSizes[D]));
        auto Search = [&](OpBuilder &B, Location L) -> Value {
          IndexMath M{B, L};
          Value Element = tensor::ExtractOp::create(B, L, Indices, At);
          Value Target = M.wrappedIndex(Element, UnsignedIndex, Size);
          return updateWhere(B, L, M.equal(Target, Here), Op.getKind(), Acc[0],
                             Updates, At, Unsigned);
        };
        if (!Inside)
          return Search(B, L);
        return scf::IfOp::create(
                   B, L, Inside,
                   [&](OpBuilder &B, Location L) {
                     scf::YieldOp::create(B, L, Search(B, L));
                   },
                   [&](OpBuilder &B, Location L) {
                     scf::YieldOp::create(B, L, Acc[0]);
                   })
            .getResult(0);
      });
}

static Value lowerScatterNd(ScatterNdOp Op, KernelWriter &W) {
  SymbolicTensorType Ty = typeOf(Op.getX()), IndexTy = typeOf(Op.getIndices());
  Value Indices = W.tensor(Op.getIndices()),
        Updates = W.tensor(Op.getUpdates());
  int64_t Rank = Ty.getRank(), Tuples = IndexTy.getRank() - 1;
  int64_t Length = *IndexTy.getStaticDim(Tuples);
  bool UnsignedIndex = isUnsigned(IndexTy.getElementType());
  bool Unsigned = isUnsigned(Ty.getElementType());
  SmallVector<Value> Reduced = W.sizes(IndexTy), Sizes = W.sizes(Ty);
  Reduced.pop_back();
  auto Combine = [&](OpBuilder &B, Location L, ValueRange Acc) -> Value {
    IndexMath M{B, L};
    SmallVector<Value> Loop = W.indices(B, Rank + Tuples);
    ArrayRef<Value> Here = ArrayRef(Loop).take_front(Rank);
    SmallVector<Value> Entry(ArrayRef(Loop).drop_front(Rank));
    SmallVector<Value> At(Entry);
    llvm::append_range(At, Here.drop_front(Length));
    Entry.push_back(Value());
    Value Hit = arith::ConstantOp::create(B, L, B.getBoolAttr(true));
    for (int64_t K = 0; K < Length; ++K) {
      Entry.back() = M.constant(K);
      Value Element = tensor::ExtractOp::create(B, L, Indices, Entry);
      Value Target = M.wrappedIndex(Element, UnsignedIndex, Sizes[K]);
      Hit = M.both(Hit, M.equal(Target, Here[K]));
    }
    return updateWhere(B, L, Hit, Op.getKind(), Acc[0], Updates, At, Unsigned);
  };
  return W.reduce(Ty, Reduced, {}, {}, W.tensor(Op.getX()), Combine);
}

FailureOr<Value> graph::lowerScatter(Operation *Op, KernelWriter &W) {
  if (auto Elements = dyn_cast<ScatterElementsOp>(Op))
    return lowerScatterElements(Elements, W);
  if (auto Nd = dyn_cast<ScatterNdOp>(Op))
    return lowerScatterNd(Nd, W);
  return failure();
}
