//===- MmaSync.h - Products of one warp's registers -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mma.sync of 16-bit floats, m16n8k16. Thread (g, t) of a warp, g = lane / 4,
/// t = lane % 4, holds neighbours in the sum as one word:
///
///   A  rows g, g + 8 of sum 2 t; then rows g, g + 8 of sum 2 t + 8
///   B  sum 2 t and 2 t + 8 of column g
///   C  row g, columns 2 t and 2 t + 1; then row g + 8
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_MMASYNC_H
#define KPC_PASSES_KERNELS_GPU_MMASYNC_H

#include "passes/kernels/gpu/GpuThreads.h"

namespace kpc::kernels {

/// C + A · B in f32: four, two and four values; words are i32, of two
/// `Element`s.
llvm::SmallVector<mlir::Value> multiplyFragments(GpuWriter &W,
                                                 mlir::Type Element,
                                                 llvm::ArrayRef<mlir::Value> A,
                                                 llvm::ArrayRef<mlir::Value> B,
                                                 llvm::ArrayRef<mlir::Value> C);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_MMASYNC_H
