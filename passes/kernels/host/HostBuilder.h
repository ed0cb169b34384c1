//===- HostBuilder.h - Builders of kernels for the CPU ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A host builder turns a kernel in its linalg form into loops, in place. The
/// function gains two index arguments, `begin` and `end`: it does the work
/// units of that range. Units are independent of one another and of the range
/// they are done in, so results do not depend on the number of threads. The
/// function also gains these attributes:
///
///   kernel.work      the number of units, as an expression of dialects/shape
///                    over `argN` (N counts all of the function's arguments),
///                    and the grain: the least number of units worth a task
///   kernel.schedule  what the builder chose, in words
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_HOST_HOSTBUILDER_H
#define KPC_PASSES_KERNELS_HOST_HOSTBUILDER_H

#include "passes/kernels/form/FusedKernel.h"

#include <string>

namespace kpc::kernels {

/// What builders need to know of the CPU.
struct HostMachine {
  unsigned VectorBits = 256;
  unsigned VectorRegisters = 16;
  /// Fused multiply-add: x86-64-v3 and up.
  bool HasFma = true;
  /// Bytes; what a panel should stay in.
  unsigned L1Bytes = 32 * 1024;
  unsigned L2Bytes = 512 * 1024;

  unsigned lanes(mlir::Type Element) const {
    return VectorBits / Element.getIntOrFloatBitWidth();
  }
};

/// Builds the loops of `Func` by the builder that fits it.
mlir::LogicalResult buildHostKernel(mlir::func::FuncOp Func,
                                    const HostMachine &Machine);

/// Each builder reports failure after a diagnostic, or returns false, with
/// nothing changed, where the kernel is not its kind.
mlir::FailureOr<bool> buildHostSortRuns(FusedKernel &Form,
                                        const HostMachine &Machine);
mlir::FailureOr<bool> buildHostTile(FusedKernel &Form,
                                    const HostMachine &Machine);
mlir::FailureOr<bool> buildHostReduction(FusedKernel &Form,
                                         const HostMachine &Machine);
mlir::FailureOr<bool> buildHostTranspose(FusedKernel &Form,
                                         const HostMachine &Machine);
mlir::FailureOr<bool> buildHostMap(FusedKernel &Form,
                                   const HostMachine &Machine);

/// The pass `kpc-host-build-kernel` over func.func.
void registerHostBuildPass();

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_HOST_HOSTBUILDER_H
