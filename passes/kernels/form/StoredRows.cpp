//===- StoredRows.cpp - Rows that are in memory where they are many -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/StoredRows.h"
#include "dialects/kernel/KernelStored.h"

using namespace mlir;

namespace kpc::kernels {

static IntegerAttr aboveOf(linalg::GenericOp Op) {
  return Op->getAttrOfType<IntegerAttr>(kernel::StoredAboveName);
}

bool isStoredRows(linalg::GenericOp Op) {
  return aboveOf(Op) && Op.getNumDpsInputs() == 2;
}

std::optional<StoredRows> StoredRows::find(func::FuncOp Kernel) {
  for (auto Op : Kernel.getOps<linalg::GenericOp>()) {
    if (!isStoredRows(Op))
      continue;
    std::optional<shape::Expr> Rows = sizeExpr(tensorSize(Op.getResult(0), 0));
    if (Rows)
      return StoredRows{Op, *Rows, aboveOf(Op).getInt()};
  }
  return std::nullopt;
}

void StoredRows::takeFromMemory() {
  auto Kernel = Op->getParentOfType<func::FuncOp>();
  Op.getResult(0).replaceAllUsesWith(Op.getDpsInputOperand(1)->get());
  // Back to front: what an op was used by has been erased.
  for (Operation &One :
       llvm::make_early_inc_range(llvm::reverse(Kernel.getBody().front())))
    if (isMemoryEffectFree(&One) && One.getNumResults() && One.use_empty())
      One.erase();
}

} // namespace kpc::kernels
