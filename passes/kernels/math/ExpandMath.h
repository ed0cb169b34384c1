//===- ExpandMath.h - Math ops as plain arithmetic --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rewrites `math` ops (and the `arith` ops that would end in library calls)
/// on scalars and vectors into arithmetic that every back end selects inline:
/// no libm on the host, no libdevice on the GPU, one accuracy for both (see
/// docs/math-accuracy.md). What a processor has an instruction for stays:
/// math.sqrt, fma, floor, ceil, trunc, roundeven, absf, copysign on f32, f64.
///
///   %y = math.exp %x : f32     // becomes about 20 arith ops and 6 fma
///
/// f16 and bf16 are computed in f32. All of it is free of branches but for
/// arith.remf and math.ipowi, which are bounded scf.while loops, so LLVM's
/// loop vectoriser takes the rest as it is.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_MATH_EXPANDMATH_H
#define KPC_PASSES_KERNELS_MATH_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace kpc::kernels {

/// Every rewrite; they are to be applied until nothing changes.
/// `Fp8Instructions`: kernels of GPUs convert to FP8 by instructions that chips
/// have from sm_89 on.
void populateExpandMathPatterns(mlir::RewritePatternSet &Patterns,
                                bool Fp8Instructions = false);

/// `kpc-expand-math`, on any op.
std::unique_ptr<mlir::Pass> createExpandMathPass(bool Fp8Instructions = false);
void registerExpandMathPass();

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_MATH_EXPANDMATH_H
