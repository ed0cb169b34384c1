//===- QuantiseAttention.cpp - Attention of codes from that of floats -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.attention %q, %k, %v scale 0.1
///     →  %qc, %sq = codes of each row of %q, and the rows' scales
///        %kc, %sk = codes of %k with one scale
///        %vc, %sv = codes of %v with one scale, [batch, groups, width, keys]
///        %p  = graph.attention (graph.cast %qc to f32) * (%sq * %sk),
///                  (graph.cast %kc to f32),
///                  graph.transpose (graph.cast %vc to f32) [0, 1, 3, 2]
///                  scale 0.1 {graph.codes}
///        %y  = graph.mul %p, %sv
///
/// form-regions leaves the casts, the factor of rows, the transpose and the
/// scale of values to the attention's kernel: memory has codes. Tensor Cores of
/// Hopper read FP8 contiguous along the keys, so values are stored as columns.
///
/// One scale is enough for keys and for values: E4M3 is a floating-point
/// format, so numbers far below the greatest keep their bits. Rows of queries
/// have one each because one kernel finds and uses those, and three use one
/// scale of all.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/QuantiseAttention.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/CodeProducts.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

static void rewrite(AttentionOp Op) {
  OpBuilder B(Op);
  Location Loc = Op.getLoc();
  SymbolicTensorType To = typeOf(Op.getY());
  auto CodesOf = [&](Value Heads, ArrayRef<int64_t> Summed) {
    return codesOfLines(B, Loc, asF32(B, Loc, Heads), Summed, CodeType::Fp8);
  };
  Codes Q = CodesOf(Op.getQ(), {3}), K = CodesOf(Op.getK(), {0, 1, 2, 3}),
        V = CodesOf(Op.getV(), {0, 1, 2, 3});
  auto Times = [&](Value X, Value Scale) -> Value {
    return MulOp::create(B, Loc, X,
                         BroadcastOp::create(B, Loc, typeOf(X), Scale));
  };
  auto Turned = [&](Value Heads) -> Value {
    return TransposeOp::create(B, Loc, Heads, ArrayRef<int64_t>{0, 1, 3, 2});
  };
  Value Queries = Times(asF32(B, Loc, Q.Of), Times(Q.Scale, K.Scale));
  Value Values = Turned(asF32(B, Loc, Turned(V.Of)));
  auto Product =
      AttentionOp::create(B, Loc, Queries, asF32(B, Loc, K.Of), Values,
                          /*bias=*/Value(), /*mask=*/Value(), Op.getScaleAttr(),
                          /*softcap=*/FloatAttr(), Op.getCausalAttr());
  Product->setAttr(CodesAttr, B.getUnitAttr());
  Value Y = Times(Product, V.Scale);
  if (!To.getElementType().isF32())
    Y = CastOp::create(B, Loc, Y, To.getElementType());
  remark::passed(Loc, remark::RemarkOpts::name("fp8").category("quantisation"))
      << "An attention multiplies FP8, with a scale for each row of queries "
         "and one each for keys and values.";
  Op.replaceAllUsesWith(Y);
  Op.erase();
}

void graph::quantiseAttentions(func::FuncOp Func, const CodePolicy &Policy,
                               bool HaveKernel) {
  SmallVector<AttentionOp> Ops;
  Func.walk([&](AttentionOp Op) {
    if (Policy.typeOf(Op) == CodeType::Fp8)
      Ops.push_back(Op);
  });
  for (AttentionOp Op : Ops) {
    std::string Why = HaveKernel ? Policy.refusal(Op)
                                 : "the target has no kernel of it in FP8";
    if (!Why.empty())
      tellOfRefusal(Op, Why);
    else
      rewrite(Op);
  }
}
