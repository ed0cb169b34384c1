//===- MatrixOperand.h - Operands of mma.sync from tiles --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a warp loads an operand of mma.sync from a tile in shared memory
/// (LowerMmaSync.cpp, LowerMmaScaled.cpp).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_TILE_MATRIXOPERAND_H
#define KPC_PASSES_TILE_MATRIXOPERAND_H

#include "passes/tile/LowerTile.h"

namespace kpc::tile {

/// Bytes of the sum that one instruction takes.
inline constexpr int64_t StepBytes = 32;

/// mma's a, or b of two neighbouring blocks of 8 columns.
struct MatrixRegisters {
  llvm::SmallVector<mlir::Value, 4> High;
  llvm::SmallVector<mlir::Value, 4> Low; ///< of a split operand
};

/// One operand as a warp loads it: 16 rows of a, or 16 columns of b, at a time.
/// `Mn` are rows of a and columns of b.
class MatrixOperand {
public:
  /// `KHalf` of the lanes' matrices is told by which bit of the lane: a's
  /// matrices go down first, b's along the sum. `InPairs`: of 8 along the sum,
  /// a has the even ones first (PackedType of f32).
  MatrixOperand(mlir::OpBuilder &B, mlir::Location Loc, SharedType Tile,
                mlir::Value Pointer, const ThreadPlace &Place, bool IsA,
                bool AlongK, bool InPairs = false);

  /// Four registers: mma's a, or b of two neighbouring blocks of 8 columns.
  MatrixRegisters load(int64_t Step, int64_t Mn, Tf32 Are);
  /// The same of 16 bits in a tile whose rows are the sum, from a row on that
  /// is a multiple of 8.
  llvm::SmallVector<mlir::Value, 4> loadRows(int64_t Row, int64_t Mn) {
    return loadMatrices(Row, Mn * 2);
  }
  /// Words of f32 as products of tf32 take them.
  MatrixRegisters asTf32(llvm::ArrayRef<mlir::Value> Loaded, Tf32 Are);

private:
  using Values = llvm::SmallVector<mlir::Value, 4>;

  mlir::Value quiet(mlir::Value Wide, mlir::Value Word);
  mlir::Value cut(mlir::Value Wide);
  mlir::Value rounded(mlir::Value Wide);
  mlir::Value high(mlir::Value Word);
  mlir::Value low(mlir::Value Wide, mlir::Value High);
  Values loadMatrices(int64_t Row, int64_t Byte);
  Values loadWords(int64_t Step, int64_t Mn);
  mlir::Value addressOf(int64_t Row, int64_t Byte, int64_t Flipped = 0);
  int64_t lineBytes() const { return Tile.getSwizzle(); }
  int64_t rowOffset(int64_t Byte, int64_t Row) const {
    return (Byte / lineBytes() * Tile.getPitch() + Row) * lineBytes();
  }

  mlir::OpBuilder &B;
  mlir::Location Loc;
  NvvmWriter W;
  SharedType Tile;
  bool AlongK, IsA, InPairs, ByWord = false;
  mlir::Value Start, Swizzled; ///< this lane's row, and its bytes in a line
};

} // namespace kpc::tile

#endif // KPC_PASSES_TILE_MATRIXOPERAND_H
