//===- OutputSections.cpp - Loops over a kernel's outputs -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/OutputSections.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

SmallVector<OpFoldResult> outputSizes(const KernelOutput &Out) {
  unsigned Rank = cast<RankedTensorType>(Out.Tensor.getType()).getRank();
  SmallVector<OpFoldResult> Sizes;
  auto View = Out.Memref.getDefiningOp<memref::ReinterpretCastOp>();
  for (unsigned Dim = 0; Dim < Rank; ++Dim)
    Sizes.push_back(View ? View.getMixedSizes()[Dim]
                         : tensorSize(Out.Tensor, Dim));
  return Sizes;
}

static void formRuns(OutputSection &S) {
  AccessMaps Maps;
  Maps.Opaque.assign(S.Sizes.size(), false);
  for (const KernelOutput &Out : S.Outputs) {
    AccessMaps One = accessesOf(Out.Tensor);
    for (auto [Mine, Theirs] : llvm::zip_equal(Maps.Opaque, One.Opaque))
      Mine |= Theirs;
    llvm::append_range(Maps.Accesses, One.Accesses);
    addIdentityAccess(Maps, Out.Memref);
  }
  for (unsigned Dim = 0; Dim < S.Sizes.size(); ++Dim) {
    if (constantOf(S.Sizes[Dim]) == 1)
      continue;
    if (!S.Runs.empty() &&
        Maps.collapses(S.Runs.back().back(), Dim, sizeExpr(S.Sizes[Dim])))
      S.Runs.back().push_back(Dim);
    else
      S.Runs.push_back({Dim});
  }
}

SmallVector<OutputSection> formSections(const FusedKernel &Form) {
  SmallVector<OutputSection> OutputSections;
  for (const KernelOutput &Out : Form.Outputs) {
    SmallVector<OpFoldResult> Sizes = outputSizes(Out);
    auto Same = llvm::find_if(OutputSections, [&](const OutputSection &S) {
      return S.Sizes == Sizes;
    });
    if (Same == OutputSections.end()) {
      OutputSections.push_back({{}, Sizes, {}});
      Same = std::prev(OutputSections.end());
    }
    Same->Outputs.push_back(Out);
  }
  for (OutputSection &S : OutputSections)
    formRuns(S);
  return OutputSections;
}

} // namespace kpc::kernels
