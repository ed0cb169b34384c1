//===- GemmTileWalk.h - Tiles and their elements ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that GEMM kernels on all tensor cores share: the order of tiles, and
/// the epilogue of a tile's accumulators.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GEMMTILEWALK_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GEMMTILEWALK_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include <functional>

namespace kpc::kernels {

/// A tile among all of a matrix, counted in tiles; i32.
struct TileIndex {
  mlir::Value Row, Column;
};

/// Tiles are counted down a group of `GroupM`, then along columns, then from
/// group to group: blocks that run together share rows and columns in the
/// cache. All i32.
TileIndex tileInOrder(GpuWriter &W, mlir::Value Tile, mlir::Value RowTiles,
                      mlir::Value ColumnTiles, int64_t GroupM);

/// Where some of a GEMM's accumulators are: index; `Batch` may be null.
struct AccumulatorCoord {
  mlir::Value Batch, Row, Column;
  /// Of the whole product; null `Columns`: all of them are inside.
  mlir::Value Rows, Columns;
  /// The indices of M's loops for a row, where rows are no linear index of
  /// them; null: they are.
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value Row)> Places = {};
  /// The fragment has columns as rows; `Columns` is not null.
  bool Transposed = false;
  /// Then the result's column that is a row of the fragment, kept inside, where
  /// they are in another order; null: all follow `Column`.
  std::function<mlir::Value(mlir::Value InFragment)> ColumnOf = {};
};

/// `Columns` columns are kept inside as a whole where N is known to be a
/// multiple of them, and not one by one: a column is then known but for a base
/// and the lane's two bits, and so are the addresses of what is read there.
/// `TileColumns`: of the result in the tiles of a cluster.
void keepColumnsInside(GpuWriter &W, const GemmMatch &P, AccumulatorCoord &At,
                       int64_t Columns, int64_t TileColumns);

/// Tensors that the epilogue reads, each with what is there already: a
/// fragment, or an element.
using KnownElements =
    llvm::ArrayRef<std::pair<mlir::Value /*Tensor*/, mlir::Value>>;

/// What the kernel makes of the fragment `Part` of the accumulators, and of
/// `Paired`, those of a second GEMM or RoPE's other halves, as elements of the
/// output: a tile.map. Elements of `Known` are not loaded. `Result` becomes
/// failure after a diagnostic.
mlir::Value mapAccumulators(GpuWriter &W, const GemmMatch &P,
                            const AccumulatorCoord &Where, mlir::Value Part,
                            mlir::LogicalResult &Result,
                            mlir::Value Paired = {}, KnownElements Known = {});

/// What the kernel makes of the sum at the parallel indices `At`, and of
/// `Paired`, as above: an element of the output; null after a diagnostic.
mlir::Value elementOfAccumulator(GpuWriter &W, const GemmMatch &P,
                                 mlir::ValueRange At, mlir::Value Sum,
                                 mlir::Value Paired, KnownElements Known = {});

/// Where the matrix of `M` that a batch index takes is, in its dimensions.
llvm::SmallVector<mlir::Value> batchIndices(GpuWriter &W, const GemmMatch &P,
                                            const Matrix &M, mlir::Value Batch);
/// The same in elements from the first one; 0 where `Batch` is null.
mlir::Value batchOffset(GpuWriter &W, FusedKernel &Form, const GemmMatch &P,
                        const Matrix &M, mlir::Value Batch);

/// The parallel indices of the element at a row and a column of the result,
/// and a batch index, which may be null: 0. `Places`: the row's, of M's loops.
llvm::SmallVector<mlir::Value> indicesOf(GpuWriter &W, const GemmMatch &P,
                                         mlir::Value Batch, mlir::Value Row,
                                         mlir::Value Column,
                                         mlir::ValueRange Places = {});

/// The value of a size or stride that is an expression over `argN`, the
/// kernel's arguments.
mlir::Value valueOf(GpuWriter &W, FusedKernel &Form, const shape::Expr &Size);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMMTILEWALK_H
