//===- HopperProduct.h - Tiles of sums on wgmma -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels on wgmma have in common, wherever their operands come from: the
/// warpgroups that multiply them, 64 rows each, with their sums in registers,
/// and blocks that share a tile's sum.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_PRODUCT_HOPPERPRODUCT_H
#define KPC_PASSES_KERNELS_GPU_PRODUCT_HOPPERPRODUCT_H

#include "passes/kernels/gpu/product/TmaProduct.h"

namespace kpc::kernels {

class HopperProduct : public TmaProduct {
public:
  using TmaProduct::TmaProduct;

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  void joinCluster();
  void shareSum();
  void consume(mlir::Value Group);
  void consumeInTurn(mlir::Value Group);
  void endRole();
  mlir::Value multiplyTile(mlir::Value Group, mlir::Value &Cursor);
  void finishTile(const Place &Where, mlir::Value Group, mlir::Value Sums);
  bool sharesAngles() const;
  mlir::Value besidePart(mlir::Value From, int64_t First, mlir::Type Part);
  mlir::Value linesOf(mlir::Value Tile, mlir::Value First);
  mlir::Value shareOfSums(mlir::Value Group, mlir::Value Sums);

  tile::FragmentType Sums;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_PRODUCT_HOPPERPRODUCT_H
