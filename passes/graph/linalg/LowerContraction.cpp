//===- LowerContraction.cpp - GEMMs and convolutions ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.matmul      →  kernel.gemm a[batch…, m, k], b[batch…, k, n]
///   its reshape to    →  kernel.gemm a[m, k], b[k, c…]
///     [m, c…]            where b is an input: its memory in the sizes c; or
///                        codes in tiles
///   graph.conv        →  kernel.conv of kernel.pad x
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "dialects/shape/LiveTaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/linalg/KernelWriter.h"
#include "passes/graph/linalg/ScalarCast.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static Value zeros(KernelWriter &W, SymbolicTensorType Ty) {
  return W.filled(Ty, neutral(W.builder(), W.loc(), ReduceKind::sum,
                              W.computeType(Ty.getElementType()), false));
}

static Value gemm(KernelWriter &W, Value A, Value B, SymbolicTensorType To) {
  return kernel::GemmOp::create(W.builder(), W.loc(), A, B, zeros(W, To));
}

/// A factor, of `Ty`, in the accumulator's type.
static Value factor(KernelWriter &W, Value Operand, SymbolicTensorType Ty) {
  Type From = Ty.getElementType();
  if (!isCode(From))
    return Operand;
  Type To = isFp8(From) ? Type(W.builder().getF32Type())
                        : Type(W.builder().getI32Type());
  AffineMap Same =
      leadingDims(Ty.getRank(), Ty.getRank(), Operand.getContext());
  return W.map(Ty.withElementType(To), Operand, {Same},
               [&](OpBuilder &B, Location L, ValueRange X) {
                 return castScalar(B, L, X[0], From, To);
               });
}

bool graph::splitsColumns(ReshapeOp Op) {
  auto Product = Op.getX().getDefiningOp<MatmulOp>();
  SymbolicTensorType To = typeOf(Op.getY());
  // What a loop carries is no argument of its kernel.
  return Product && !isa<LoopOp>(Op->getParentOp()) &&
         typeOf(Product.getY()).getRank() == 2 && To.getRank() > 2 &&
         To.getDims()[0] == typeOf(Product.getY()).getDims()[0] &&
         (argumentBehind(Product.getB()) ||
          Product.getB().getDefiningOp<DequantiseTilesOp>());
}

bool graph::isSplitLater(MatmulOp Op) {
  return !Op->use_empty() && llvm::all_of(Op->getUsers(), [](auto *U) {
    auto Reshape = dyn_cast<ReshapeOp>(U);
    return Reshape && splitsColumns(Reshape);
  });
}

static Value lowerSplitColumns(ReshapeOp Op, KernelWriter &W) {
  auto Product = Op.getX().getDefiningOp<MatmulOp>();
  BlockArgument B = argumentBehind(Product.getB());
  if (auto Tiles = Product.getB().getDefiningOp<DequantiseTilesOp>())
    return gemm(W, W.tensor(Product.getA()),
                lowerTiles(Tiles, typeOf(Op.getY()).getDims().drop_front(), W),
                typeOf(Op.getY()));
  SymbolicTensorType A = typeOf(Product.getA()), To = typeOf(Op.getY());
  SmallVector<Expr> Dims(To.getDims());
  Dims[0] = A.getDims()[1];
  SymbolicTensorType Split = typeOf(B).withDims(Dims);
  return gemm(W, factor(W, W.tensor(Product.getA()), A),
              factor(W, W.inSplitColumns(B, Split), Split), To);
}

static Value lowerMatmul(MatmulOp Op, KernelWriter &W) {
  return gemm(W, factor(W, W.tensor(Op.getA()), typeOf(Op.getA())),
              factor(W, W.tensor(Op.getB()), typeOf(Op.getB())),
              typeOf(Op.getY()));
}

/// x surrounded by zeros in its spatial dimensions, in the accumulator's type.
static Value padded(ConvOp Op, KernelWriter &W) {
  Value X = factor(W, W.tensor(Op.getX()), typeOf(Op.getX()));
  SymbolicTensorType Ty =
      typeOf(Op.getX()).withElementType(typeOf(Op.getY()).getElementType());
  SmallVector<int64_t> Low(Ty.getRank()), High(Ty.getRank());
  bool IsEmpty = false;
  for (auto [I, OfLow, OfHigh] : llvm::enumerate(Op.getLow(), Op.getHigh())) {
    Low[I + 1] = OfLow;
    High[I + 1] = OfHigh;
    IsEmpty |= (OfLow || OfHigh) && Ty.getDims()[I + 1] == Expr(0);
  }
  TypedAttr Outside =
      W.builder().getZeroAttr(W.computeType(Ty.getElementType()));
  X = W.surrounded(X, Ty, Low, High, Outside);
  if (!IsEmpty)
    return X;
  X.getDefiningOp()->erase();
  return zeros(W, Ty);
}

static Value lowerConv(ConvOp Op, KernelWriter &W) {
  SymbolicTensorType Filter = typeOf(Op.getW());
  int64_t Spatial = Filter.getRank() - 2;
  // Index maps hold how many channels and outputs a group has.
  if (Op.getGroups() > 1 &&
      (!Filter.getStaticDim(Spatial) || !Filter.getStaticDim(Spatial + 1)))
    return {};
  Value X = padded(Op, W), Zeros = zeros(W, typeOf(Op.getY()));
  auto Conv = kernel::ConvOp::create(
      W.builder(), W.loc(), X, factor(W, W.tensor(Op.getW()), Filter), Zeros,
      Op.getStride(), Op.getDilation(), Op.getGroups());
  if (Attribute Live = Op->getAttr(GraphLiveTapsName))
    Conv->setAttr(KernelLiveTapsName, Live);
  return Conv;
}

FailureOr<Value> graph::lowerContraction(Operation *Op, KernelWriter &W) {
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return isSplitLater(Matmul) ? Value() : lowerMatmul(Matmul, W);
  if (auto Reshape = dyn_cast<ReshapeOp>(Op))
    return lowerSplitColumns(Reshape, W);
  if (auto Conv = dyn_cast<ConvOp>(Op))
    if (Value V = lowerConv(Conv, W))
      return V;
  return failure();
}
