//===- PickedMatrix.cpp - Matrices that indices pick ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/PickedMatrix.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

static bool isIndexOf(Value V, uint64_t Loop) {
  auto Index = V.getDefiningOp<linalg::IndexOp>();
  return Index && Index.getDim() == Loop;
}

/// The ops of `Of`'s body that make `V`, in their order.
static SetVector<Operation *> makersOf(linalg::GenericOp Of, Value V) {
  DenseSet<Operation *> Needed;
  SmallVector<Value> Worklist{V};
  while (!Worklist.empty()) {
    Operation *Def = Worklist.pop_back_val().getDefiningOp();
    if (Def && Def->getBlock() == Of.getBody() && Needed.insert(Def).second)
      llvm::append_range(Worklist, Def->getOperands());
  }
  SetVector<Operation *> Ordered;
  for (Operation &Op : *Of.getBody())
    if (Needed.contains(&Op))
      Ordered.insert(&Op);
  return Ordered;
}

/// Whether the index depends on one element of a vector, that of loop 0.
static bool followsBatch(linalg::GenericOp Of, Value Index) {
  int Reads = 0;
  for (Operation *Op : makersOf(Of, Index)) {
    if (Op->getNumRegions() || Op->getNumResults() != 1)
      return false;
    if (auto Loop = dyn_cast<linalg::IndexOp>(Op)) {
      if (Loop.getDim() != 0)
        return false;
    } else if (auto Read = dyn_cast<tensor::ExtractOp>(Op)) {
      if (Read.getIndices().size() != 1 || !isIndexOf(Read.getIndices()[0], 0))
        return false;
      ++Reads;
    }
  }
  return Reads == 1;
}

std::optional<MatrixPick> MatrixPick::read(Value Tensor, Value &Stack) {
  auto Op = Tensor.getDefiningOp<linalg::GenericOp>();
  if (!Op || Op.getNumDpsInputs() || Op->getNumResults() != 1 ||
      Op.getNumLoops() != 3 || Op.getNumReductionLoops() ||
      !Op.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  auto Read = Op.getBody()
                  ->getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<tensor::ExtractOp>();
  if (!Read || Read.getIndices().size() != 3 ||
      !isIndexOf(Read.getIndices()[1], 1) ||
      !isIndexOf(Read.getIndices()[2], 2) ||
      !followsBatch(Op, Read.getIndices()[0]))
    return std::nullopt;
  Stack = Read.getTensor();
  return MatrixPick{Op, Read.getIndices()[0]};
}

Value MatrixPick::at(GpuWriter &W, Value Batch) const {
  IRMapping Map;
  for (Operation *Op : makersOf(By, Index)) {
    if (isa<linalg::IndexOp>(Op)) {
      Map.map(Op->getResult(0), Batch);
    } else if (auto Read = dyn_cast<tensor::ExtractOp>(Op)) {
      Value Element = W.Emitter.element(W.B, Read.getTensor(), {Batch});
      if (!Element)
        return W.index(0);
      Map.map(Read.getResult(), Element);
    } else {
      W.B.clone(*Op, Map);
    }
  }
  return Map.lookupOrDefault(Index);
}

} // namespace kpc::kernels
