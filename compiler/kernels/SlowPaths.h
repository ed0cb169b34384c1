//===- SlowPaths.h - Work that misses the Tensor Cores ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction that no family of Tensor Core kernels takes becomes loops of
/// scalar multiply-adds. It is right, and often an order of magnitude slower.
/// What is found here is told to the user, with the reason and the way out.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_SLOWPATHS_H
#define KPC_COMPILER_KERNELS_SLOWPATHS_H

#include "compiler/CompileOptions.h"
#include "compiler/kernels/TargetKernels.h"

namespace kpc {

/// Launches of one target that are scalar for one reason.
struct SlowPath {
  std::string Target;
  std::string Reason; ///< "they read fp32": the end of a sentence
  std::string WayOut; ///< what to change, or that there is nothing to change
  std::vector<std::string> Launches; ///< names, in order; one may come twice
  /// Of the plan's floating-point operations at the optimum sizes, in [0, 1].
  double Share = 0;
  /// Modelled time over that of Tensor Cores at the same sizes; at least.
  double Slowdown = 0;

  /// "sm_90a: 93 % of the arithmetic …", two or three sentences.
  std::string text() const;
};

/// The slow paths of a GPU target that matter: a tenth of the operations or
/// more, and some microseconds. Whether a kernel uses Tensor Cores is read from
/// its PTX, so nothing is guessed but the times.
std::vector<SlowPath> slowPaths(const TargetKernels &Compiled,
                                const CompileOptions &Options);

/// The same before any kernel is made, from the families that would make them.
std::vector<SlowPath> expectedSlowPaths(mlir::ModuleOp Plan,
                                        const target::Target &T,
                                        const CompileOptions &Options);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_SLOWPATHS_H
