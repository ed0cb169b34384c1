//===- OutputSections.h - Loops over a kernel's outputs ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which loops write a kernel's outputs: outputs of one shape share a nest, and
/// neighbouring dims that every buffer walks in one linear step are one loop.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_OUTPUTSECTIONS_H
#define KPC_PASSES_KERNELS_FORM_OUTPUTSECTIONS_H

#include "passes/kernels/form/AccessMaps.h"
#include "passes/kernels/form/FusedKernel.h"

namespace kpc::kernels {

/// Outputs of one shape, written by one nest.
struct OutputSection {
  llvm::SmallVector<KernelOutput> Outputs;
  llvm::SmallVector<mlir::OpFoldResult> Sizes;
  /// The output's dims that loops run over, from slow to fast; each run is
  /// walked by one index, which stands at its last dim.
  llvm::SmallVector<llvm::SmallVector<unsigned>> Runs;

  llvm::SmallVector<mlir::OpFoldResult> runSizes(unsigned Run) const {
    return llvm::map_to_vector(Runs[Run],
                               [&](unsigned Dim) { return Sizes[Dim]; });
  }
  bool isFlat() const { return Runs.size() <= 1; }
  /// The sizes whose product is the number of units.
  llvm::SmallVector<mlir::OpFoldResult> unitSizes() const {
    llvm::SmallVector<mlir::OpFoldResult> All;
    unsigned Last = isFlat() ? Runs.size() : Runs.size() - 1;
    for (unsigned Run = 0; Run < Last; ++Run)
      llvm::append_range(All, runSizes(Run));
    return All;
  }
};

/// The sections of all outputs, in their order.
llvm::SmallVector<OutputSection> formSections(const FusedKernel &Form);

/// The sizes of one output, its memref's where that says more.
llvm::SmallVector<mlir::OpFoldResult> outputSizes(const KernelOutput &Out);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_OUTPUTSECTIONS_H
