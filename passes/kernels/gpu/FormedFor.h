//===- FormedFor.h - What fusion made a kernel for --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fusion joins some ops only because a family computes them in one kernel: two
/// reductions of a row, the two GEMMs of a gated MLP, RoPE after a GEMM, a
/// weight of codes in tiles. If no such family takes the kernel, the builder of
/// loops does. Its result is right, but it computes the joined ops again for
/// each element. That is a defect of fusion, which should have asked the
/// family. Tests find it here.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_FORMEDFOR_H
#define KPC_PASSES_KERNELS_GPU_FORMEDFOR_H

#include "passes/kernels/gpu/KernelFamily.h"

namespace kpc::kernels {

/// Why `Form` was joined, and the classes of families that this is for.
struct FormedFor {
  std::string What; ///< "it has two reductions"
  llvm::SmallVector<FamilyClass> Classes;

  /// None where loops do no more than other families.
  static std::optional<FormedFor> read(const FusedKernel &Form);
};

/// Whether a kernel that goes to loops although it was formed for another
/// family is an error: the environment has KPC_STRICT_FAMILIES, as all tests
/// set it.
bool familiesAreStrict();

/// Fails, after a diagnostic, where `Chosen` is of no class that `Form` was
/// made for.
mlir::LogicalResult checkFormedFor(const FusedKernel &Form,
                                   const KernelOffers &Offers,
                                   KernelOffers::Place Chosen);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_FORMEDFOR_H
