//===- MmaSyncGemm.h - GEMMs on mma.sync ------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that all kernels on mma.sync share, independent of the source of their
/// operands: stages in shared memory that all threads fill (cp.async),
/// warpgroups that multiply, the epilogue, stores to memory, and the order of
/// tiles. A builder of such kernels says where each piece of an operand is.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCGEMM_H

#include "passes/kernels/gpu/gemm/MmaSyncResults.h"

namespace kpc::kernels {

/// Why mma.sync does not multiply the factors of `P`, or does not store its
/// result; none: it does.
std::optional<schedule::Refusal> refusalOfMmaSyncTypes(const GemmMatch &P,
                                                       const target::Target &T);

/// Shorter pieces are copied through registers.
inline constexpr int64_t LeastCopyBytes = 4;

class MmaSyncGemm : protected MmaSyncResults {
public:
  /// Of `P`, what stands in A and B is the builder's own business.
  using MmaSyncResults::MmaSyncResults;

  mlir::LogicalResult emit(GpuLaunch &Launch);

protected:
  /// What is copied into a stage.
  struct Source {
    mlir::Value Memory; ///< a memref of one dimension
    int64_t PieceBytes = 16;
    bool AlongK = true; ///< pieces are neighbours along K
    mlir::Type Element;
    /// From a row of a stage to the next in memory, in elements, where that is
    /// so of all rows; null: it is not.
    mlir::Value RowStride;
    bool Cached = false; ///< pieces are copied again, from the first cache
  };
  static int64_t elementsOf(const Source &From) {
    return From.PieceBytes * 8 / int64_t(From.Element.getIntOrFloatBitWidth());
  }
  /// Where a piece is, and how many of its elements are there; null: all.
  struct Piece {
    mlir::Value At, Count;
  };
  /// Fills in `A` and `B`; what does not change from step to step.
  virtual void prepare() = 0;
  /// The piece of A that begins at a row and a place along K, which are
  /// those of the whole GEMM and may be beyond its end; of B at a column.
  virtual Piece pieceOfA(mlir::Value Row, mlir::Value K) = 0;
  virtual Piece pieceOfB(mlir::Value Column, mlir::Value K) = 0;
  /// The same of the B of a second GEMM, which lies in memory as the first.
  virtual Piece pieceOfSecondB(mlir::Value /*Column*/, mlir::Value /*K*/) {
    return {};
  }
  /// All of K, as it is walked in steps of `TileK`.
  virtual mlir::Value countK() = 0;
  /// Copies that belong to a stage as A and B do, made with theirs.
  virtual void fillMore(mlir::Value /*Stage*/, mlir::Value /*Step*/) {}
  /// What a warpgroup multiplies of a stage, and its first row and column in
  /// the tile.
  struct Factors {
    mlir::Value Left, Right, FirstOfA, FirstOfB;
  };
  /// A warpgroup's part of a stage's product.
  virtual mlir::Value multiplyTiles(mlir::Value Stage, const Factors &Of,
                                    mlir::Value Acc, tile::Tf32 As);
  /// Whether factors are loaded while those before are multiplied, instead of
  /// by `multiplyTiles`.
  virtual bool loadsAhead() const;
  void gather(
      const Source &From, mlir::Value Stage,
      llvm::function_ref<Piece(mlir::Value Row, mlir::Value Column)> PieceAt);
  /// Columns of one batch index.
  virtual mlir::Value countColumns() { return W.size(P.C.N.Sizes); }

  Source A, B;
  Source SecondB;     ///< of a gated MLP
  mlir::Value Exists; ///< the step that is copied, i1; null: it does

private:
  tile::SharedType stageType(const Source &From, int64_t Extent,
                             int64_t Stages);
  mlir::Value stageOf(mlir::Value Ring, const Source &From, int64_t Extent,
                      mlir::Value Stage);
  mlir::Value partOfStage(mlir::Value Tile, const Source &From,
                          mlir::Value First, int64_t Extent);
  void placeBlock();
  void fillB(mlir::Value Stage, mlir::Value Step);
  void fill(mlir::Value Stage, mlir::Value Step, mlir::Value IsThere = {});
  Factors factorsOf(mlir::Value Stage);
  mlir::Value loadFactors(mlir::Value Stage, int64_t Step, tile::Tf32 As);
  void awaitStage();
  mlir::Value stageAfter(mlir::Value Stage);
  mlir::Value mainloop(tile::Tf32 As);
  mlir::Value mainloopAhead(mlir::Value Acc, tile::Tf32 As);
  mlir::Value accumulators();

  mlir::Value RingA, RingB, KCount;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_MMASYNCGEMM_H
