//===- DecomposeDequantise.cpp - Quantised weights as arithmetic ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.dequantise %w scales %s zeros %z blocks [1, 128]
///     →  f32(i32(w) - i32(z)) * s, cast to y's type
///
/// Whole blocks of a dimension become a dimension of their own, along which
/// scales and zero points are broadcast, so that nothing of w's size but w is
/// made.
///
/// Weights of GEMMs stay what they are until constants have been folded, or an
/// artifact would hold their values in place of their codes.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_DECOMPOSEDEQUANTISE
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Whether codes of floats, which have scales of their own, are multiplied by
/// one number.
bool isScaledWhole(Operation *Op) {
  auto Product = dyn_cast<MulOp>(Op);
  auto Of =
      Product ? Product.getA().getDefiningOp<DequantiseOp>() : DequantiseOp();
  return Of && isNarrowFloat(typeOf(Of.getW()).getElementType()) &&
         splatValue(Product.getB());
}

/// Whether GEMMs, and nothing else, read `V` as one of their operands.
bool isOfGemms(Value V) {
  return !V.use_empty() && llvm::all_of(V.getUsers(), [](Operation *User) {
    if (isa<MatmulOp>(User))
      return true;
    return (isa<TransposeOp, ReshapeOp, CastOp>(User) || isScaledWhole(User)) &&
           isOfGemms(User->getResult(0));
  });
}

class Arithmetic {
public:
  explicit Arithmetic(DequantiseOp Op)
      : Op(Op), B(Op), Loc(Op.getLoc()), Sizes(typeOf(Op.getW()).getDims()) {
    for (auto [Size, Block] : llvm::zip_equal(Sizes, Op.getBlocks()))
      IsSplit.push_back(Block > 1 && Size != Size.ceilDiv(Block) &&
                        Size.ceilDiv(Block) != Expr(1) &&
                        Size.ceilDiv(Block) * Block == Size);
  }

  Value run() {
    // A float is its own number.
    bool IsFloat = isNarrowFloat(typeOf(Op.getW()).getElementType());
    Type Wide = IsFloat ? Type(B.getF32Type()) : B.getIntegerType(32);
    Value X = cast(reshape(Op.getW(), split(Sizes)), Wide);
    if (Value Zeros = Op.getZeros()) {
      if (isFloat(typeOf(Zeros).getElementType())) {
        X = cast(X, B.getF32Type());
        X = SubOp::create(B, Loc, X, fitted(cast(Zeros, B.getF32Type())));
      } else {
        X = SubOp::create(B, Loc, X, fitted(cast(Zeros, Wide)));
      }
    }
    X = MulOp::create(B, Loc, cast(X, B.getF32Type()),
                      fitted(cast(Op.getScales(), B.getF32Type())));
    X = cast(X, typeOf(Op.getY()).getElementType());
    return reshape(X, Sizes);
  }

private:
  /// `From` with each dimension of whole blocks as two.
  SmallVector<Expr> split(ArrayRef<Expr> From) const {
    SmallVector<Expr> To;
    for (auto [Size, Block, Splits] :
         llvm::zip_equal(From, Op.getBlocks(), IsSplit)) {
      To.push_back(Splits ? Size.ceilDiv(Block) : Size);
      if (Splits)
        To.push_back(Expr(Block));
    }
    return To;
  }

  Value cast(Value X, Type To) {
    return typeOf(X).getElementType() == To ? X : CastOp::create(B, Loc, X, To);
  }

  Value reshape(Value X, ArrayRef<Expr> To) {
    return B.createOrFold<ReshapeOp>(Loc, typeOf(X).withDims(To), X);
  }

  /// Scales or zero points with one for each element of the split w.
  Value fitted(Value V) {
    SmallVector<Expr> Now(typeOf(V).getDims());
    for (unsigned Axis = 0; Axis < Sizes.size(); ++Axis)
      if (!IsSplit[Axis] && Now[Axis] != Expr(1) && Now[Axis] != Sizes[Axis])
        V = repeated(V, Axis);
    Now.assign(typeOf(V).getDims().begin(), typeOf(V).getDims().end());
    SmallVector<Expr> WithOnes;
    for (auto [Size, Splits] : llvm::zip_equal(Now, IsSplit)) {
      WithOnes.push_back(Size);
      if (Splits)
        WithOnes.push_back(Expr(1));
    }
    V = reshape(V, WithOnes);
    SymbolicTensorType To = typeOf(V).withDims(split(Sizes));
    return To == V.getType() ? V : BroadcastOp::create(B, Loc, To, V);
  }

  /// One for each element along an axis whose last block is cut:
  /// [a, n, b] to [a, n, block, b] to [a, n*block, b] to [a, size, b].
  Value repeated(Value V, unsigned Axis) {
    SmallVector<Expr> Now(typeOf(V).getDims());
    SmallVector<Expr> Ones(Now);
    Ones.insert(Ones.begin() + Axis + 1, Expr(1));
    SmallVector<Expr> Whole(Ones);
    Whole[Axis + 1] = Expr(Op.getBlocks()[Axis]);
    Value Y = BroadcastOp::create(B, Loc, typeOf(V).withDims(Whole),
                                  reshape(V, Ones));
    Now[Axis] = Now[Axis] * Op.getBlocks()[Axis];
    Y = reshape(Y, Now);
    Now[Axis] = Sizes[Axis];
    SmallVector<Expr> Starts(Now.size(), Expr(0));
    return SliceOp::create(
        B, Loc, typeOf(Y).withDims(Now), Y,
        DimsAttr::get(B.getContext(), Starts),
        B.getDenseI64ArrayAttr(SmallVector<int64_t>(Now.size(), 1)));
  }

  mutable DequantiseOp Op;
  OpBuilder B;
  Location Loc;
  ArrayRef<Expr> Sizes;
  SmallVector<bool> IsSplit;
};

struct DecomposeDequantisePass
    : graph::impl::DecomposeDequantiseBase<DecomposeDequantisePass> {
  using DecomposeDequantiseBase::DecomposeDequantiseBase;
  void runOnOperation() override {
    SmallVector<DequantiseOp> Ops;
    getOperation().walk([&](DequantiseOp Op) {
      if (!KeepWeights || !isOfGemms(Op.getY()))
        Ops.push_back(Op);
    });
    for (DequantiseOp Op : Ops) {
      Op.replaceAllUsesWith(Arithmetic(Op).run());
      Op.erase();
    }
  }
};

} // namespace
