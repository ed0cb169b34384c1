//===- LowerContraction.cpp - Matrix products and convolutions -*- C++ -*-===//
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
///     [m, c…]            where b is an input: its memory in the sizes c
///   graph.conv    →  linalg.generic (n, o…, c | taps…, ci)
///                    x[n, o*stride + tap*dilation…, group*C/g + ci]
///                      * w[taps…, ci, c],    x padded by a generic before it
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/linalg/IndexMath.h"
#include "passes/graph/linalg/ScalarCast.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static Value multiplyAdd(OpBuilder &B, Location L, ValueRange X) {
  if (isa<FloatType>(X[2].getType())) {
    Value Product = arith::MulFOp::create(B, L, X[0], X[1]);
    return arith::AddFOp::create(B, L, X[2], Product);
  }
  Value Product = arith::MulIOp::create(B, L, X[0], X[1]);
  return arith::AddIOp::create(B, L, X[2], Product);
}

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
  return Product && typeOf(Product.getY()).getRank() == 2 && To.getRank() > 2 &&
         To.getDims()[0] == typeOf(Product.getY()).getDims()[0] &&
         argumentBehind(Product.getB());
}

static Value lowerSplitColumns(ReshapeOp Op, KernelWriter &W) {
  auto Product = Op.getX().getDefiningOp<MatmulOp>();
  BlockArgument B = argumentBehind(Product.getB());
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
  auto Any = [](ArrayRef<int64_t> L) {
    return llvm::any_of(L, [](int64_t V) { return V != 0; });
  };
  if (!Any(Op.getLow()) && !Any(Op.getHigh()))
    return X;
  SymbolicTensorType Ty =
      typeOf(Op.getX()).withElementType(typeOf(Op.getY()).getElementType());
  SmallVector<Expr> Dims(Ty.getDims());
  for (auto [I, Low, High] : llvm::enumerate(Op.getLow(), Op.getHigh())) {
    Dims[I + 1] = Dims[I + 1] + Low + High;
    W.deriveSize(Dims[I + 1], Low + High);
  }
  SmallVector<Value> Sizes = W.sizes(Ty);
  Type Element = W.computeType(Ty.getElementType());
  return W.produce(
      Ty.withDims(Dims), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Place(I);
        Value Inside;
        for (auto [D, Low, High] : llvm::enumerate(Op.getLow(), Op.getHigh())) {
          if (Low == 0 && High == 0)
            continue;
          Place[D + 1] = M.sub(I[D + 1], M.constant(Low));
          Inside = M.both(Inside, M.below(Place[D + 1], Sizes[D + 1]));
        }
        return scf::IfOp::create(
                   B, L, Inside,
                   [&](OpBuilder &B, Location L) {
                     Value V = tensor::ExtractOp::create(B, L, X, Place);
                     scf::YieldOp::create(B, L, V);
                   },
                   [&](OpBuilder &B, Location L) {
                     scf::YieldOp::create(
                         B, L, neutral(B, L, ReduceKind::sum, Element, false));
                   })
            .getResult(0);
      });
}

static Value lowerConv(ConvOp Op, KernelWriter &W) {
  SymbolicTensorType Kernel = typeOf(Op.getW()), To = typeOf(Op.getY());
  MLIRContext *Context = Op.getContext();
  unsigned Rank = To.getRank(), Spatial = Rank - 2, Loops = Rank + Spatial + 1;
  auto Dim = [&](unsigned I) { return getAffineDimExpr(I, Context); };
  AffineExpr Channel = Dim(Rank - 1), Tap = Dim(Rank + Spatial);

  SmallVector<AffineExpr> ReadX{Dim(0)}, ReadW;
  SmallVector<Value> Reduced;
  for (unsigned I = 0; I < Spatial; ++I) {
    ReadX.push_back(Dim(I + 1) * Op.getStride()[I] +
                    Dim(Rank + I) * Op.getDilation()[I]);
    ReadW.push_back(Dim(Rank + I));
    Reduced.push_back(W.size(Kernel.getDims()[I]));
  }
  Reduced.push_back(W.size(Kernel.getDims()[Spatial]));
  AffineExpr InputChannel = Tap;
  if (Op.getGroups() > 1) {
    std::optional<int64_t> PerGroup = Kernel.getStaticDim(Spatial);
    std::optional<int64_t> Outputs = Kernel.getStaticDim(Spatial + 1);
    if (!PerGroup || !Outputs)
      return {};
    AffineExpr Group = Channel.floorDiv(*Outputs / Op.getGroups());
    InputChannel = Group * *PerGroup + Tap;
  }
  ReadX.push_back(InputChannel);
  ReadW.append({Tap, Channel});
  return W.reduce(To, Reduced,
                  {padded(Op, W), factor(W, W.tensor(Op.getW()), Kernel)},
                  {AffineMap::get(Loops, 0, ReadX, Context),
                   AffineMap::get(Loops, 0, ReadW, Context)},
                  zeros(W, To), multiplyAdd);
}

FailureOr<Value> graph::lowerContraction(Operation *Op, KernelWriter &W) {
  if (auto Matmul = dyn_cast<MatmulOp>(Op)) {
    bool IsLate = !Op->use_empty() && llvm::all_of(Op->getUsers(), [](auto *U) {
      auto Reshape = dyn_cast<ReshapeOp>(U);
      return Reshape && splitsColumns(Reshape);
    });
    return IsLate ? Value() : lowerMatmul(Matmul, W);
  }
  if (auto Reshape = dyn_cast<ReshapeOp>(Op))
    return lowerSplitColumns(Reshape, W);
  if (auto Conv = dyn_cast<ConvOp>(Op))
    if (Value V = lowerConv(Conv, W))
      return V;
  return failure();
}
