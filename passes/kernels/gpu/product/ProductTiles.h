//===- ProductTiles.h - Tiles of a product, their order and end -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels of products on any tensor core share: which tile comes when,
/// and what becomes of a tile's sums.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_PRODUCT_PRODUCTTILES_H
#define KPC_PASSES_KERNELS_GPU_PRODUCT_PRODUCTTILES_H

#include "passes/kernels/gpu/product/MatrixProduct.h"

namespace kpc::kernels {

/// A tile among all of a matrix, counted in tiles; i32.
struct TilePlace {
  mlir::Value Row, Column;
};

/// Tiles are counted down a group of `GroupRows`, then along columns, then from
/// group to group: blocks that run together share rows and columns in the
/// cache. All i32.
TilePlace tileInOrder(GpuWriter &W, mlir::Value Tile, mlir::Value RowTiles,
                      mlir::Value ColumnTiles, int64_t GroupRows);

/// Where some of a product's sums are: index; `Batch` may be null.
struct SumsPlace {
  mlir::Value Batch, Row, Column;
  /// Of the whole product; null `Columns`: all of them are inside.
  mlir::Value Rows, Columns;
};

/// What the kernel makes of the fragment `Part` of the sums, and of `Beside`,
/// those of a second product or those that change places with them, as elements
/// of the output: a tile.map. `Result` becomes failure after a diagnostic.
mlir::Value mapSums(GpuWriter &W, const MatrixProduct &P,
                    const SumsPlace &Where, mlir::Value Part,
                    mlir::LogicalResult &Result, mlir::Value Beside = {});

/// What the kernel makes of the sum at the parallel indices `At`, and of
/// `Beside`, as above: an element of the output; null after a diagnostic.
mlir::Value elementOfSums(GpuWriter &W, const MatrixProduct &P,
                          mlir::ValueRange At, mlir::Value Sum,
                          mlir::Value Beside);

/// The parallel indices of the element at a row and a column of the result,
/// and a batch index, which may be null: 0.
llvm::SmallVector<mlir::Value> indicesOf(GpuWriter &W, const MatrixProduct &P,
                                         mlir::Value Batch, mlir::Value Row,
                                         mlir::Value Column);

/// The value of a size or stride that is an expression over `argN`, the
/// kernel's arguments.
mlir::Value valueOf(GpuWriter &W, KernelForm &Form, const shape::Expr &Size);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_PRODUCT_PRODUCTTILES_H
