//===- GemmShape.cpp - GEMMs that tiles do not suit -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %a, %b : <[m, 1], f32>, <[1, n], f32>
///     →  %y = graph.mul %a everywhere, %b everywhere : <[m, n], f32>
///
///   %y = graph.matmul %a, %b : <[1, 65536], f32>, <[65536, 1], f32>
///     →  %p = graph.mul %a, %b as a row : <[1, 65536], f32>
///        %y = graph.reduce sum, %p axes [1]
///
/// Tiles of a GEMM would be mostly empty, and a dot is one block's.
///
//===----------------------------------------------------------------------===//
#include "passes/graph/GemmShape.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// Rows of a dot from this length on are read by several blocks
/// (SplitReductions.cpp); the families of few rows are as fast up to there.
constexpr int64_t LongDot = 16384;

class GemmShaper {
public:
  explicit GemmShaper(MatmulOp Op)
      : B(Op), Loc(Op.getLoc()), Op(Op), A(typeOf(Op.getA())),
        W(typeOf(Op.getB())), Y(typeOf(Op.getY())), Batches(A.getRank() - 2) {}

  bool hasOneType() const {
    return A.getElementType() == Y.getElementType() &&
           W.getElementType() == Y.getElementType();
  }
  const Expr &rows() const { return A.getDims()[Batches]; }
  const Expr &columns() const { return W.getDims()[Batches + 1]; }
  const Expr &length() const { return A.getDims()[Batches + 1]; }

  Value asProduct() {
    return MulOp::create(B, Loc, spread(Op.getA(), Y.getDims()),
                         spread(Op.getB(), Y.getDims()));
  }

  Value asReduction() {
    SmallVector<Expr> Line(Y.getDims());
    Line.back() = length();
    SmallVector<Expr> Row(W.getDims());
    std::swap(Row[Batches], Row[Batches + 1]);
    Value OfB = ReshapeOp::create(B, Loc, W.withDims(Row), Op.getB());
    // Factors of 16 bits have products of 32.
    Value Products = MulOp::create(B, Loc, spread(widened(Op.getA()), Line),
                                   spread(widened(OfB), Line));
    Value Sum = ReduceOp::create(B, Loc, ReduceKind::sum, Products,
                                 ArrayRef<int64_t>{int64_t(Batches + 1)});
    if (typeOf(Sum).getElementType() != Y.getElementType())
      Sum = CastOp::create(B, Loc, Sum, Y.getElementType());
    return ReshapeOp::create(B, Loc, Y, Sum);
  }

private:
  Value spread(Value V, ArrayRef<Expr> Dims) {
    SymbolicTensorType To = typeOf(V).withDims(Dims);
    if (typeOf(V) == To)
      return V;
    return BroadcastOp::create(B, Loc, To, V);
  }
  Value widened(Value V) {
    Type Element = typeOf(V).getElementType();
    if (!Element.isF16() && !Element.isBF16())
      return V;
    return CastOp::create(B, Loc, V, B.getF32Type());
  }

  OpBuilder B;
  Location Loc;
  MatmulOp Op;
  SymbolicTensorType A, W, Y;
  size_t Batches;
};

} // namespace

Value graph::reshapeGemm(MatmulOp Op, const shape::Facts &Facts) {
  GemmShaper S(Op);
  // Of FP8 and of integers of 8 bits the result has another type.
  if (!S.hasOneType())
    return {};
  if (S.length() == Expr(1))
    return S.asProduct();
  if (S.rows() == Expr(1) && S.columns() == Expr(1) &&
      Facts.range(S.length()).Max >= LongDot)
    return S.asReduction();
  return {};
}
