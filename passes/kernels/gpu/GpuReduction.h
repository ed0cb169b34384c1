//===- GpuReduction.h - What reduction builders share -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads a reducing generic: which operation joins two partial results, and
/// along which loop memory is contiguous. Writes the ops after the reduction.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GPUREDUCTION_H
#define KPC_PASSES_KERNELS_GPU_GPUREDUCTION_H

#include "passes/kernels/gpu/GpuThreads.h"

namespace kpc::kernels {

/// A root generic whose outputs all have the shape of its parallel loops; for
/// those that ask, with dims of one element between and behind them.
struct Reduction {
  FusedKernel &Form;
  mlir::linalg::LinalgOp Op;
  llvm::SmallVector<unsigned> Parallel, Reduced; ///< loops, in their order
  llvm::SmallVector<mlir::OpFoldResult> ParallelSizes, ReducedSizes;
  /// Per result, the operation that joins partial results (`acc op value` in
  /// the body), or null where the body is no such thing (argmax, say).
  llvm::SmallVector<mlir::Operation *> Combiners;
  /// The loop along which the largest input is contiguous.
  unsigned Innermost = 0;
  /// The last ones of Parallel that the largest input is contiguous along
  /// together: the channels of groups.
  unsigned ColumnLoops = 1;

  /// For each output, the parallel loop of each of its dims; -1: it has one
  /// element.
  llvm::SmallVector<llvm::SmallVector<int>> LoopsOfOutputs = {};

  /// None where the kernel has another shape.
  static std::optional<Reduction> read(FusedKernel &Form, bool OrOnes = false);
  /// Indices of output `Number` at those of the parallel loops.
  llvm::SmallVector<mlir::Value> placeIn(GpuWriter &W, size_t Number,
                                         mlir::ValueRange At) const;

  bool isCombinable() const {
    return llvm::all_of(Combiners, [](mlir::Operation *Op) { return Op; });
  }
  bool isInnermostReduced() const {
    return llvm::is_contained(Reduced, Innermost);
  }
  /// Lanes (a power of two) in which `Loop` can be walked: its size is a
  /// multiple, and elements of the smallest input fit `Bytes`.
  unsigned lanesAlong(unsigned Loop, int64_t Bytes) const;
  /// An upper bound of a product of sizes; none where unknown.
  static std::optional<int64_t>
  boundOf(llvm::ArrayRef<mlir::OpFoldResult> Sizes);
};

/// Values of all loops: `Parallel` and `Reduced` in their places.
llvm::SmallVector<mlir::Value> loopValues(const Reduction &R,
                                          mlir::ValueRange Parallel,
                                          mlir::ValueRange Reduced);

/// The value that `Combiner` leaves others as they are with.
mlir::Value neutral(GpuWriter &W, mlir::Operation *Combiner);
/// `Combiner` of two partial results.
mlir::Value combine(GpuWriter &W, mlir::Operation *Combiner, mlir::Value A,
                    mlir::Value B);
/// Joins partial results of the lanes of a warp, in a fixed order; every lane
/// gets the result.
mlir::Value reduceWarp(GpuWriter &W, mlir::Operation *Combiner, mlir::Value V,
                       unsigned Width = 32);

/// Joins the initial value (the outs of `Op`) with `Partial` results at the
/// parallel indices `At`. Fails after a diagnostic.
mlir::LogicalResult combineInitial(GpuWriter &W, mlir::linalg::LinalgOp Op,
                                   llvm::ArrayRef<mlir::Operation *> Combiners,
                                   mlir::ValueRange At,
                                   llvm::SmallVectorImpl<mlir::Value> &Partial);
inline mlir::LogicalResult
combineInitial(GpuWriter &W, const Reduction &R, mlir::ValueRange At,
               llvm::SmallVectorImpl<mlir::Value> &Partial) {
  return combineInitial(W, R.Op, R.Combiners, At, Partial);
}

/// Computes and stores all outputs for lanes along the last parallel loop:
/// `Results[L]` holds the root results of lane L, whose indices are `At` with
/// the last one from `Loads`, or all of `At` where there is one lane.
mlir::LogicalResult
storeOutputs(GpuWriter &W, const Reduction &R, mlir::ValueRange At,
             llvm::ArrayRef<llvm::SmallVector<mlir::Value>> Results);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GPUREDUCTION_H
