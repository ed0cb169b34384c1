//===- BlackwellGemm.h - GEMMs on tcgen05 -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of matrices of 16 bits, or of FP8, on chips with tensor memory. One
/// warp of a block copies slices of both operands into a ring in shared memory
/// (TMA); one thread of another begins MMAs on them (tcgen05.mma), whose
/// accumulators grow in tensor memory; a warpgroup reads the accumulators of
/// the tile before, does in registers what the kernel does with each element,
/// and stores through shared memory (TMA).
///
///   global A,B ──TMA──▶ stages ─tcgen05──▶ tensor memory: two tiles of sums
///                        ▲ full/empty         │ full/empty
///   global D ◀──TMA── staging ◀── registers ◀─┘ epilogue
///
/// In a pair, two blocks multiply as one: 256 rows, of which each has 128, by
/// columns of which each has half in its shared memory. The even block's thread
/// begins the MMAs of both.
///
/// Of two GEMMs of one A whose results meet element by element (a gated MLP),
/// B's columns in a stage are those of the one and, behind them, as many of the
/// other: so are the accumulators', in each block's share. A thread of the
/// epilogue has a row of both. Where elements meet those of the other half of a
/// head (RoPE), it has the whole head.
///
/// Sums of FP8 stay in tensor memory as those of 16 bits do: tcgen05 adds them
/// up in f32, not in 14 bits as wgmma. Scales of a tensor, of rows and of
/// columns are part of what happens in registers.
///
/// Not for: a K that may be 0, rows of memory that do not start at
/// multiples of 16 bytes. Never run on hardware by this project.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H

#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/schedule/BlackwellSchedule.h"

namespace kpc::kernels {

class BlackwellGemm : public TmaGemm {
public:
  BlackwellGemm(FusedKernel &Form, GemmMatch &P,
                const schedule::BlackwellSchedule &S)
      : TmaGemm(Form, P, S), Cut(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

protected:
  /// What the thread that multiplies carries from stage to stage beside its
  /// place in the ring.
  virtual Values firstPlacesOfProducts() { return {}; }
  virtual Values nextPlaces(mlir::ValueRange) { return {}; }
  /// The products of a stage, whose tiles these are.
  virtual void multiply(mlir::ValueRange Tiles, mlir::Value D, mlir::Value Add,
                        mlir::ValueRange Places);

  /// Columns of one GEMM's B that are in a block's stages.
  int64_t ownColumnsOfOne() const {
    return Cut.ownColumns() / (P.Second ? 2 : 1);
  }

  const schedule::BlackwellSchedule &Cut;
  mlir::Value Memory; ///< all tensor memory of a block, accumulators first

private:
  void declare();
  void mma();
  void epilogue(mlir::Value Group);
  /// `Places`: in the ring of stages, in that of accumulators, and what
  /// nextPlaces() gives.
  Values mainloop(mlir::Value Count, mlir::ValueRange Places);
  void epilogueTile(const TileCoord &Where, mlir::Value Group,
                    mlir::Value Stage);
  mlir::Value tileOf(mlir::Value Stage);
  int64_t accumulatorColumn(int64_t Column, bool OfSecond) const;
  llvm::SmallVector<int64_t> columnsOfParts() const;
  /// Begins to read one part of the accumulators; ends it, in registers.
  mlir::Value beginRead(mlir::Value Acc, int64_t Column);
  mlir::Value endRead(mlir::Value Read);
  /// What the function sees of some columns of the result; `Paired` may be
  /// null.
  struct Part {
    mlir::Value Own, Paired;
  };
  Part readPart(mlir::Value Acc, int64_t Column);

  tile::TensorMemoryType AccTy;
  mlir::Value AccPipe;
};

/// The same with operands (GemmOperands.h, ConvOperands.h): blocks of a pair
/// have half of the columns of B each.
template <typename Operands> class ColumnsOfPairs : public Operands {
public:
  using Operands::Operands;

private:
  int64_t columnsOfB() override { return this->Cut.ownColumns(); }
  mlir::Value firstColumnOfB(const typename Operands::TileCoord &At) override {
    if (!this->Cut.isPair())
      return At.Column;
    auto &W = this->W;
    return W.add(At.Column,
                 W.mul(this->Rank, W.index(this->ownColumnsOfOne())));
  }
};

using BlackwellOperands = ColumnsOfPairs<GemmOperands<BlackwellGemm>>;

/// Whether tcgen05 multiplies such operands here: of 16 bits, of FP8, or of f32
/// as tf32.
inline bool multipliesByTcgen05(const GemmMatch &P) {
  return P.A.Element.getIntOrFloatBitWidth() == 16 || P.isFp8() || P.isTf32();
}
inline constexpr const char *NotOfTcgen05 =
    "operands are neither of 16 bits, tf32 nor FP8";

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H
