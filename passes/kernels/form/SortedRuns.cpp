//===- SortedRuns.cpp - A kernel that sorts or merges runs ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SortedRuns.h"

using namespace mlir;

namespace kpc::kernels {

std::optional<SortedRuns> SortedRuns::read(const FusedKernel &Form) {
  if (Form.Outputs.size() != 1)
    return std::nullopt;
  const KernelOutput &Out = Form.Outputs.front();
  SortedRuns Runs;
  Runs.Op = Out.Tensor.getDefiningOp<kernel::SortRunsOp>();
  if (!Runs.Op)
    return std::nullopt;
  Runs.Memref = Out.Memref;
  unsigned Last = cast<RankedTensorType>(Out.Tensor.getType()).getRank() - 1;
  for (unsigned Dim = 0; Dim < Last; ++Dim)
    Runs.RowSizes.push_back(tensorSize(Out.Tensor, Dim));
  Runs.Written = tensorSize(Out.Tensor, Last);
  bool WritesAll = Runs.Op.getX().getType() == Out.Tensor.getType();
  Runs.Size = WritesAll ? Runs.Written : tensorSize(Runs.Op.getX(), Last);
  return Runs;
}

std::optional<shape::Expr> SortedRuns::parts(int64_t Elements) const {
  std::optional<shape::Expr> Rows = productExpr(RowSizes),
                             Length = sizeExpr(Size);
  if (!Rows || !Length)
    return std::nullopt;
  return *Rows * Length->ceilDiv(shape::Expr(Elements));
}

} // namespace kpc::kernels
