//===- AttentionTma.h - Heads that TMA copies -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders of attention share whose heads come through pipes that TMA
/// fills, on Hopper and on Blackwell: parameters of the kernel for copies, and
/// stages that are filled and waited for.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONTMA_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONTMA_H

#include "passes/kernels/gpu/attention/AttentionSoftmax.h"

namespace kpc::kernels {

class AttentionTma : protected AttentionSoftmax {
protected:
  using AttentionSoftmax::AttentionSoftmax;

  /// A parameter of the kernel for copies of rows of `H`, a tile at a time.
  mlir::BlockArgument addView(const HeadsInMemory &H, tile::SharedType Tile,
                              const shape::Expr &Heads, const shape::Expr &Rows,
                              const shape::Expr &Columns);
  /// The same of keys that wgmma multiplies as FP8, blocks of 16 rows of all
  /// heads: row 4a + 2b + c of each comes as row 8b + 2a + c.
  mlir::BlockArgument addKeysInOrder(const HeadsInMemory &H,
                                     tile::SharedType Tile,
                                     const shape::Expr &Heads,
                                     const shape::Expr &Rows, int64_t Columns);
  /// Behind all of them: how their tensor maps are encoded.
  void describeViews();
  /// The number of a head of `H` among those of the tensor in memory.
  Value headInMemory(Value Head, const HeadsInMemory &H);
  /// Copies one tile into the pipe; the cursor behind it.
  Value fill(Value Pipe, Value Cursor, Value View, ValueRange At);
  /// The stage at a place, when it is full, and its tile.
  std::pair<Value, Value> waitFor(Value Pipe, Value Cursor);
  /// Rows of a tile in shared memory, from `First` (index) on.
  Value rowsOf(Value Tile, Value First, int64_t Count);

private:
  /// `Box` is outermost first, dims and strides are innermost first; strides in
  /// elements, of all dims but the first.
  mlir::BlockArgument addMap(const HeadsInMemory &H, tile::SharedType Tile,
                             llvm::ArrayRef<int64_t> Box,
                             llvm::ArrayRef<shape::Expr> Dims,
                             llvm::ArrayRef<shape::Expr> Strides);

  llvm::SmallVector<mlir::Attribute> TensorMaps;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONTMA_H
