//===- LowerAttention.cpp - Attention as one op of a kernel --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.attention  →  kernel.attention
///
/// Only those that builders take come here: decompose-attention has taken the
/// others apart.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/linalg/KernelWriter.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

FailureOr<Value> graph::lowerAttention(Operation *Op, KernelWriter &W) {
  auto Attention = dyn_cast<AttentionOp>(Op);
  if (!Attention)
    return failure();
  SymbolicTensorType To = typeOf(Attention.getY());
  if (!W.computeType(To.getElementType()).isF32())
    return failure();
  auto Tensor = [&](Value V) { return V ? W.tensor(V) : Value(); };
  Value Offset;
  if (std::optional<DimsAttr> Causal = Attention.getCausal())
    Offset = W.size(Causal->getDims()[0]);
  SmallVector<OpFoldResult> Sizes;
  for (const shape::Expr &E : To.getDims())
    Sizes.push_back(
        E.asConstant() ? OpFoldResult(W.builder().getIndexAttr(*E.asConstant()))
                       : OpFoldResult(W.size(E)));
  Value Init = tensor::EmptyOp::create(W.builder(), W.loc(), Sizes,
                                       W.computeType(To.getElementType()));
  return kernel::AttentionOp::create(
             W.builder(), W.loc(), Init.getType(), Tensor(Attention.getQ()),
             Tensor(Attention.getK()), Tensor(Attention.getV()),
             Tensor(Attention.getBias()), Tensor(Attention.getMask()), Offset,
             Attention.getScaleAttr(), Attention.getSoftcapAttr(),
             /*tf32=*/UnitAttr(), Init)
      .getResult();
}
