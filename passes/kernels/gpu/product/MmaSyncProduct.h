//===- MmaSyncProduct.h - Tiles of sums on mma.sync -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels on mma.sync have in common, wherever their operands come from:
/// slots in shared memory that all threads fill (cp.async), warpgroups that
/// multiply them, what the kernel does with each element, the way back to
/// memory, and which block computes which tile. A builder of such kernels says
/// where each piece of an operand is.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_PRODUCT_MMASYNCPRODUCT_H
#define KPC_PASSES_KERNELS_GPU_PRODUCT_MMASYNCPRODUCT_H

#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/product/MatrixProduct.h"
#include "passes/schedule/MmaSyncSchedule.h"

namespace kpc::kernels {

class MmaSyncProduct : protected TileBuilder {
public:
  /// Of `P`, what stands in A and B is the builder's own business.
  MmaSyncProduct(KernelForm &Form, MatrixProduct &P,
                 const schedule::MmaSyncSchedule &S, const target::Target &T)
      : TileBuilder(Form), P(P), S(S), T(T) {}
  virtual ~MmaSyncProduct() = default;

  mlir::LogicalResult emit(GpuLaunch &Launch);

protected:
  /// What is copied into a slot.
  struct Source {
    mlir::Value Memory; ///< a memref of one dimension
    int64_t PieceBytes = 16;
    bool AlongSum = true; ///< pieces are neighbours along the sum
    mlir::Type Element;
  };
  /// Where a piece is, and how many of its elements are there; null: all.
  struct Piece {
    mlir::Value At, Count;
  };
  /// Fills in `A` and `B`; what does not change from step to step.
  virtual void prepare() = 0;
  /// The piece of A that begins at a row and a place of the sum, which are
  /// those of the whole product and may be beyond its end; of B at a column.
  virtual Piece pieceOfA(mlir::Value Row, mlir::Value Sum) = 0;
  virtual Piece pieceOfB(mlir::Value Column, mlir::Value Sum) = 0;
  /// The whole sum, as it is walked in steps of `TileSum`.
  virtual mlir::Value countSum() = 0;

  mlir::Value sub(mlir::Value A, mlir::Value C);
  mlir::Value least(mlir::Value A, mlir::Value C);

  MatrixProduct &P;
  const schedule::MmaSyncSchedule &S;
  const target::Target &T;
  Source A, B;
  mlir::Value FirstRow, FirstColumn, Batch; ///< of this block's tile
  mlir::Value RowCount, ColumnCount;

private:
  tile::SharedType slotType(const Source &From, int64_t Extent, int64_t Slots);
  mlir::Value slotOf(mlir::Value Ring, const Source &From, int64_t Extent,
                     mlir::Value Slot);
  void placeBlock();
  void gather(
      const Source &From, mlir::Value Slot,
      llvm::function_ref<Piece(mlir::Value Row, mlir::Value Column)> PieceAt);
  void fill(mlir::Value Slot, mlir::Value Step);
  mlir::Value multiply(mlir::Value Slot, mlir::Value Sums);
  mlir::Value sumTile();
  void finish(mlir::Value Sums);
  void storePart(mlir::Value Sums, mlir::Value Stage, int64_t First);
  int64_t partColumns() const;
  int64_t resultPiece() const;

  mlir::Value RingA, RingB, Group; ///< index: the warpgroup's number
  mlir::Value SumCount;
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_PRODUCT_MMASYNCPRODUCT_H
