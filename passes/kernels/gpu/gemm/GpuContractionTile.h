//===- GpuContractionTile.h - One block's tile of a product -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GPUCONTRACTIONTILE_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GPUCONTRACTIONTILE_H

#include "passes/kernels/gpu/GpuReduction.h"

namespace kpc::kernels {

/// Loops that are walked as one, the last the fastest.
struct LoopGroup {
  llvm::SmallVector<unsigned> Loops;
  llvm::SmallVector<mlir::OpFoldResult> Sizes;
  void add(mlir::linalg::LinalgOp Op, unsigned Loop) {
    Loops.push_back(Loop);
    Sizes.push_back(loopSize(Op, Loop));
  }
};

struct Contraction {
  struct Operand {
    mlir::Value Tensor;
    mlir::AffineMap Map;
    /// From the tensor's elements to the factor, of type `Element`.
    llvm::SmallVector<mlir::Operation *> Casts;
    mlir::Type Element;
  };
  Reduction R;
  Operand A, B;
  LoopGroup M, N, Batch;
  LoopGroup K;

  static std::optional<Contraction> read(FusedKernel &Form);
};

/// Extents of a block's tile (Depth: of the sum in one step) and of a thread's.
struct Tile {
  static constexpr int32_t Threads = 256;
  int64_t M, N, Depth, ThreadM, ThreadN;
};

/// Writes the kernel of one tile.
class ContractionTile {
public:
  ContractionTile(GpuWriter &W, const Contraction &C, const Tile &Shape,
                  const target::Target &T)
      : W(W), C(C), Shape(Shape), T(T) {}

  mlir::LogicalResult emit();

private:
  /// How the threads load slices of one operand: `Lanes` neighbours along K or
  /// along the rows (columns of B).
  struct Slice {
    const Contraction::Operand *From;
    const LoopGroup *Group;
    int64_t Extent;    ///< rows of the tile
    mlir::Value First; ///< row of the tile's first
    bool AlongK = false;
    int64_t Lanes = 1;
    mlir::Value Shared;
    /// Per pass: the thread's row in the tile, its place in the step, and the
    /// loop indices of the row.
    llvm::SmallVector<mlir::Value> Row, Depth;
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> RowIndices;
  };
  using Values = llvm::SmallVector<mlir::Value>;

  void placeBlock();
  void plan(Slice &S);
  /// What this thread loads of the step that begins at `Step`.
  Values load(Slice &S, mlir::Value Step);
  void loadPass(Slice &S, unsigned Pass, mlir::Value Step, Values &Loaded);
  void store(Slice &S, mlir::ValueRange Loaded);
  /// Multiplies the slices in shared memory into `Sums`.
  Values multiply(mlir::ValueRange Sums);
  Values readShared(Slice &S, int64_t Depth, mlir::Value Place,
                    int64_t PerThread);
  Values mainloop();
  mlir::LogicalResult epilogue(mlir::ValueRange Sums);
  mlir::LogicalResult epilogueRow(mlir::ValueRange RowIndices,
                                  mlir::ValueRange Sums);
  mlir::Value cast(mlir::Value V, const Contraction::Operand &From);
  mlir::Value zero();

  GpuWriter &W;
  const Contraction &C;
  const Tile &Shape;
  const target::Target &T;
  mlir::Value Thread, ThreadRow, ThreadColumn;
  llvm::SmallVector<mlir::Value> BatchIndices;
  mlir::Value KSize;
  Slice SliceA, SliceB;
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GPUCONTRACTIONTILE_H
