//===- ApproximateMath.h - Math of which 16 bits are stored -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// If every output of a kernel is f16 or bf16, its exp, erf, tanh and divisions
/// in f32 need not be exact to the last of 24 bits. They are marked
/// `fastmath<afn>`, and ExpandMath then uses its short forms on GPUs. Sums of
/// products in the epilogues of tiles are marked `fastmath<contract>`. Operands
/// of comparisons, of roundings to whole numbers and of conversions to integers
/// are not marked, because 6 / 3 must not be less than 2 there.
///
/// Where fewer bits than f16's are stored, `kernel.stored_bits` at an erf or a
/// tanh has their number: GELU is then shorter.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_APPROXIMATEMATH_H
#define KPC_PASSES_KERNELS_GPU_APPROXIMATEMATH_H

#include "passes/kernels/form/FusedKernel.h"

namespace kpc::kernels {

/// Marks the ops of a kernel that is built, by what its outputs are.
void markApproximateMath(const FusedKernel &Form);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_APPROXIMATEMATH_H
