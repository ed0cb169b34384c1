//===- SyncProducts.h - Products by mma.sync --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instruction mma.sync for each 16 rows and 8 columns of a product, of
/// whatever types (LowerMmaSync.cpp, LowerMmaWindow.cpp).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_TILE_SYNCPRODUCTS_H
#define KPC_PASSES_TILE_SYNCPRODUCTS_H

#include "passes/tile/MatrixOperand.h"

namespace kpc::tile {

/// What is multiplied, and what it is summed up in.
struct Kinds {
  mlir::Type A, B, Sum;
};

class SyncProducts {
public:
  using Values = mlir::MutableArrayRef<mlir::Value>;

  SyncProducts(mlir::OpBuilder &B, mlir::Location Loc, const Kinds &Of)
      : B(B), Loc(Loc), Of(Of) {}

  /// A thread's sums of 16 rows × 8 columns, of a result of so many columns.
  static Values sumsOf(Values Sums, int64_t Columns, int64_t Block,
                       int64_t Column) {
    int64_t PerBlock = Columns / 2; // in 64 rows
    return Sums.slice(Block * PerBlock + Column / 2, 4);
  }

  /// 16 rows × 8 columns more of the product. Of 16 bits, half as many words of
  /// both factors are 8 elements of the sum.
  void multiply(llvm::ArrayRef<mlir::Value> Left,
                llvm::ArrayRef<mlir::Value> Right, Values Sums) const;
  /// 16 columns of all rows more.
  void multiplyColumns(llvm::ArrayRef<mlir::Value> Left,
                       llvm::ArrayRef<mlir::Value> Right, int64_t Columns,
                       int64_t Column, Values Sums) const;

private:
  void multiplyFp8(mlir::Type Four, llvm::ArrayRef<mlir::Value> OfA,
                   llvm::ArrayRef<mlir::Value> OfB, Values Sums) const;

  mlir::OpBuilder &B;
  mlir::Location Loc;
  Kinds Of;
};

} // namespace kpc::tile

#endif // KPC_PASSES_TILE_SYNCPRODUCTS_H
