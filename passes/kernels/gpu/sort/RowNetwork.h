//===- RowNetwork.h - Short rows sorted in registers ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A row of up to 128 elements has a lane for each eight of them, or one lane
/// if it has fewer. Lanes sort their own elements. Then pairs of sorted parts
/// are merged, which doubles their length each time:
///
///   sorted            sorted              each with its mirror: the lesser
///   a0 a1 a2 a3       b0 b1 b2 b3         here, the greater there; then each
///        └───────────────┴── a3 : b0      half by itself, at halved distances
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_SORT_ROWNETWORK_H
#define KPC_PASSES_KERNELS_GPU_SORT_ROWNETWORK_H

#include "passes/kernels/form/SortedRuns.h"
#include "passes/kernels/gpu/GpuThreads.h"

namespace kpc::kernels {

inline constexpr int32_t NetworkThreads = 256;

/// Rows of `Length` elements, a power of two up to 128, that a block sorts.
int64_t rowsOfNetwork(int64_t Length);

/// Sorts eight numbers where they are.
void sortEight(GpuWriter &W, llvm::MutableArrayRef<mlir::Value> Eight);

/// Fails after a diagnostic.
mlir::LogicalResult emitRowNetwork(GpuWriter &W, SortedRuns &Runs);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_SORT_ROWNETWORK_H
